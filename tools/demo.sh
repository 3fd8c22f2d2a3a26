#!/usr/bin/env bash
# Starts the bundled example job on real PyTorch, captures five of its steps, and shows what came out.
# Exit: that of tpbpf.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
say() { printf 'demo: %s\n' "$*"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

[ -x "$build/tpbpf" ] || die "build/tpbpf is not built: run make"
[ -r "$build/python" ] || die "no PyTorch chosen yet: run tools/setup.sh"
if [ "$(id -u)" -ne 0 ]; then
	printf 'demo: attaching probes needs root: sudo make demo\n' >&2
	exit 5
fi
python=$(cat "$build/python")

mkdir -p "$build/demo"
log=$build/demo/job.log
out=$build/demo/$(date -u +%Y%m%dT%H%M%SZ)-$$
[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$build/demo"

# The job has no need of root, and an interpreter of the user's own should not get it.
as_user=()
if [ "${SUDO_UID:-0}" != 0 ]; then
	as_user=(setpriv "--reuid=$SUDO_UID" "--regid=${SUDO_GID:-$SUDO_UID}" --init-groups)
fi

job=''
end_job() {
	if [ -n "$job" ]; then
		kill "$job" 2>/dev/null || true
		wait "$job" 2>/dev/null || true
		job=''
	fi
}
trap end_job EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "starting the example job: $python tools/demo_job.py"
"${as_user[@]}" "$python" "$root/tools/demo_job.py" </dev/null >"$log" 2>&1 &
job=$!
waited=0
until grep -q '^training: ' "$log"; do
	kill -0 "$job" 2>/dev/null || die "the job ended before it trained: $(tail -n 3 "$log")"
	[ "$waited" -lt 1200 ] || die "the job does not train after two minutes: $(tail -n 3 "$log")"
	sleep 0.1
	waited=$((waited + 1))
done
say "$(grep '^training: ' "$log")"

say "build/tpbpf -p $job --wait 2 --warmup 2 --active 5 -o ${out#"$root/"}"
rc=0
"$build/tpbpf" -p "$job" --wait 2 --warmup 2 --active 5 --timeout 60 -o "$out" || rc=$?
if kill -0 "$job" 2>/dev/null; then
	say "the job trains on; ending it"
else
	say "the job has ended, which it should not have"
	[ "$rc" -ne 0 ] || rc=1
fi
end_job

if [ -f "$out/cpu_ops.txt" ]; then
	printf '\n%s:\n' "${out#"$root/"}/cpu_ops.txt"
	cat "$out/cpu_ops.txt"
fi
if [ -d "$out" ]; then
	printf '\nfiles in %s:\n' "${out#"$root/"}"
	(cd "$out" && find . -type f | sort | while IFS= read -r file; do
		printf '%10d  %s\n' "$(stat -c %s "$file")" "${file#./}"
	done)
fi
exit "$rc"
