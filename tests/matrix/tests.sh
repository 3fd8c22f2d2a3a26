#!/usr/bin/env bash
# On the kernel that is running, as root: `tpbpf doctor`, and the end-to-end tests of the matrix. Ends as tests/e2e/run.sh does, with the
# doctor counted as one test.
#   MATRIX_TESTS      a comma-separated part of them: what their names contain
#   MATRIX_EMULATED   set where there is no hardware behind the processor: left out is what tests/matrix/selection says
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tpbpf=${TPBPF:-$root/build/tpbpf}
selection=$here/selection

# This kernel's number decides what the doctor has to say, not the doctor.
expected_multi() {
	local major minor
	IFS=.- read -r major minor _ < <(uname -r)
	if [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 6 ]; }; then
		printf 'ok'
	else
		printf 'note'
	fi
}

doctor() {
	local rc=0 multi
	multi=$(expected_multi)
	printf '== tpbpf doctor on Linux %s\n' "$(uname -r)"
	"$tpbpf" doctor >"$log" 2>&1 || rc=$?
	cat "$log"
	printf '== end of tpbpf doctor (exit %d)\n' "$rc"
	if [ "$rc" -eq 0 ] && grep -qE "^$multi +uprobe_multi " "$log" && grep -qE '^ok +attach one by one ' "$log"; then
		printf 'ok    doctor\n'
		passed=1
	else
		printf 'FAIL  doctor: exit code 0, "%s uprobe_multi" and "ok attach one by one" are expected\n' "$multi"
		failed=1
	fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0
doctor

mapfile -t tests < <(awk '$1 == "run" { for (i = 2; i <= NF; i++) print $i }' "$selection")
if [ -n "${MATRIX_TESTS:-}" ]; then
	IFS=, read -r -a tests <<<"$MATRIX_TESTS"
fi
if [ -n "${MATRIX_EMULATED:-}" ]; then
	TPBPF_TEST_LEAVE_OUT=$(sed -n 's/^emulated  *//p' "$selection")
	export TPBPF_TEST_LEAVE_OUT
fi
export TPBPF_TEST_INTERPRETERS=''
"$root/tests/e2e/run.sh" "${tests[@]}" | tee "$log"
sums=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
read -r p f s <<<"${sums:-0 1 0}"
printf '%d passed, %d failed, %d skipped\n' $((passed + p)) $((failed + f)) "$s"
[ $((failed + f)) -eq 0 ]
