#!/usr/bin/env bash
# Runs tests/e2e/[0-9]*.py, or those whose name contains one of PATTERNS, each PyTorch test with every interpreter at hand.
# Exit 0 unless a test failed. The last line is "N passed, N failed, N skipped".
#   TPBPF_TEST_PYTHONS    more interpreters, separated by colons
#   TPBPF_TEST_TIMEOUT    seconds for one test (default 600)
#   TPBPF_TEST_LIVE       set: also what a test says while it says it
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
patterns=("$@")
[ $# -gt 0 ] || patterns=('')
limit=${TPBPF_TEST_TIMEOUT:-600}
python=${PYTHON:-python3}
passed=0 failed=0 skipped=0
export PYTHONDONTWRITEBYTECODE=1

finish() {
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" -eq 0 ] || exit 1
	exit 0
}

skip_tier() {
	printf 'skip  e2e tier: %s\n' "$*"
	skipped=$((skipped + 1))
	finish
}

can_load_bpf() {
	# An unprivileged container's root is root in name only: ask the kernel through the tool that the build needs anyway.
	local bpftool
	for bpftool in "$root/build/bpftool" bpftool /usr/sbin/bpftool; do
		"$bpftool" prog list >/dev/null 2>&1 && return 0
	done
	return 1
}

[ "$(id -u)" -eq 0 ] || skip_tier "needs root to attach probes (sudo $0)"
[ "$(uname -sm)" = "Linux x86_64" ] || skip_tier "needs Linux on x86-64"
can_load_bpf || skip_tier "the kernel refuses bpf() to this user (a container?), or bpftool is missing"
[ -x "${TPBPF:-$root/build/tpbpf}" ] || {
	printf 'FAIL  build/tpbpf is not built\n'
	failed=1
	finish
}

TPBPF_TEST_INTERPRETERS=${TPBPF_TEST_INTERPRETERS-$("$python" "$here/harness.py")}
export TPBPF_TEST_INTERPRETERS
if [ -n "$TPBPF_TEST_INTERPRETERS" ]; then
	printf '%s\n' "$TPBPF_TEST_INTERPRETERS" | while IFS="$(printf '\t')" read -r label path _; do
		printf 'PyTorch: %s (%s)\n' "$label" "$path"
	done
else
	printf 'PyTorch: none in this run (tools/setup.sh provides one)\n'
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

run_one() { # FILE VARIANT
	local name begun rc lines
	name=$(basename "$1" .py)
	[ "$2" = - ] || name="$name [$2]"
	begun=$SECONDS
	rc=0
	# SIGTERM first, so that the test ends its target and its tpbpf
	if [ -n "${TPBPF_TEST_LIVE:-}" ]; then
		timeout -k 15 "$limit" "$python" "$1" --variant "$2" </dev/null 2>&1 | tee "$log" | while IFS= read -r line; do
			printf '      . %s\n' "$line"
		done
		rc=${PIPESTATUS[0]}
	else
		timeout -k 15 "$limit" "$python" "$1" --variant "$2" </dev/null >"$log" 2>&1 || rc=$?
	fi
	lines=$(grep -c '^skip: ' "$log" || true)
	case $rc in
	0)
		passed=$((passed + 1))
		skipped=$((skipped + lines))
		printf 'ok    %s (%d cases, %d s)\n' "$name" "$(grep -c '^ok: ' "$log" || true)" $((SECONDS - begun))
		;;
	77)
		[ "$lines" -gt 0 ] || lines=1
		skipped=$((skipped + lines))
		printf 'skip  %s\n' "$name"
		;;
	*)
		failed=$((failed + 1))
		skipped=$((skipped + lines))
		if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
			printf 'FAIL  %s: not done within %d s\n' "$name" "$limit"
		else
			printf 'FAIL  %s (exit %d)\n' "$name" "$rc"
		fi
		tail -n 60 "$log" | sed 's/^/      | /'
		return 0
		;;
	esac
	sed -nE 's/^(skip|note): /      \1: /p' "$log"
}

is_wanted() { # NAME
	local pattern
	for pattern in "${patterns[@]}"; do
		case $1 in
		*"$pattern"*) return 0 ;;
		esac
	done
	return 1
}

for test in "$here"/[0-9]*.py; do
	is_wanted "$(basename "$test")" || continue
	variants=$("$python" "$test" --variants 2>"$log") || {
		failed=$((failed + 1))
		printf 'FAIL  %s does not start\n' "$(basename "$test" .py)"
		sed 's/^/      | /' "$log"
		continue
	}
	while IFS= read -r variant; do
		run_one "$test" "$variant"
	done <<VARIANTS
$variants
VARIANTS
done
finish
