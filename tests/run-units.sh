#!/usr/bin/env bash
# Runs every unit test program of a directory. RUNNER: a command to run them under (valgrind ...).
# The last line is "N passed, N failed, N skipped"; the numbers are test functions.
set -eu
directory=$1
read -ra runner <<<"${RUNNER:-}"
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count() { # PATTERN: how many of cmocka's lines
	grep -c "$1" "$log" || true
}

for test in "$directory"/test_*; do
	if [ ! -x "$test" ] || [ -d "$test" ]; then continue; fi
	case $test in *.d) continue ;; esac
	rc=0
	"${runner[@]}" "$test" </dev/null >"$log" 2>&1 || rc=$?
	ok=$(count '^\[       OK \]')
	bad=$(sed -nE 's/^\[  FAILED  \] ([0-9]+) test.*/\1/p' "$log" | head -n 1)
	passed=$((passed + ok))
	# cmocka names a skipped test twice, and counts it once.
	skip=$(sed -nE 's/^\[  SKIPPED \] ([0-9]+) test.*/\1/p' "$log" | head -n 1)
	skipped=$((skipped + ${skip:-0}))
	if [ "$rc" -ne 0 ]; then
		# A crash ends the program before cmocka says anything.
		failed=$((failed + ${bad:-1}))
		printf 'FAIL  %s (exit %d)\n' "$(basename "$test")" "$rc"
		grep -v '^\[ *\(RUN\|OK\) *\]' "$log" | tail -n 40 | sed 's/^/      | /'
	elif [ "$ok" -eq 0 ]; then
		failed=$((failed + 1))
		printf 'FAIL  %s ran no test\n' "$(basename "$test")"
	else
		printf 'ok    %s (%d)\n' "$(basename "$test")" "$ok"
	fi
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
