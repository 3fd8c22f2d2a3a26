#!/usr/bin/env bash
# Every tier of tests that can run here, and the names of those that cannot. The last line sums them up.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
passed=0 failed=0 skipped=0
log=$(mktemp)
failures=$(mktemp)
trap 'rm -f "$log" "$failures"' EXIT

tier() { # NAME COMMAND...: adds up the tier's last line; one that prints none has failed
	local name=$1 rc=0 sums
	shift
	printf '== %s\n' "$name"
	"$@" 2>&1 | tee "$log"
	rc=${PIPESTATUS[0]}
	grep -E '^FAIL|^ +\| FAIL' "$log" >>"$failures"
	sums=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
	if [ -z "$sums" ]; then
		printf 'FAIL  %s: no result (exit %d)\n' "$name" "$rc"
		failed=$((failed + 1))
		return
	fi
	# shellcheck disable=SC2086
	set -- $sums
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
	if [ "$rc" -ne 0 ] && [ "$2" -eq 0 ]; then
		printf 'FAIL  %s: exit %d\n' "$name" "$rc"
		failed=$((failed + 1))
	fi
}

tier 'unit tests' make --no-print-directory unit
if make --no-print-directory standin build/tests/check_sites; then
	tier 'end-to-end tests' tests/e2e/run.sh
	tier 'harm, a selection' tests/harm/harm.py --short --sums
else
	printf 'FAIL  the targets of the end-to-end tests do not build\n'
	failed=$((failed + 1))
fi
tier 'conformance with CUPTI' make --no-print-directory conformance
if [ -s "$failures" ]; then
	printf '== what failed\n'
	cat "$failures"
fi
printf '== all\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
