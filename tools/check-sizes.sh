#!/bin/sh
# Files of at most 600 lines, main.c of at most 60, functions of at most 60. Says how many pass 400 and 40.
cd "$(dirname "$0")/.." || exit 1
awk '
function file_done() {
	if (!file) return
	if (lines > 600) { printf "%s: %d lines, at most 600\n", file, lines; failed = 1 }
	if (file == "user/main.c" && lines > 60) { printf "%s: %d lines, at most 60\n", file, lines; failed = 1 }
	long_files += lines > 400
}
FNR == 1 { file_done(); file = FILENAME }
{ lines = FNR }
# A function body stands between a brace alone in the first column and its end.
/^{$/ { start = FNR }
/^}$/ && start {
	size = FNR - start - 1
	functions++
	long_functions += size > 40
	if (size > 60) { printf "%s:%d: a function of %d lines, at most 60\n", FILENAME, start, size; failed = 1 }
	start = 0
}
END {
	file_done()
	printf "sizes: %d functions, %d of them over 40 lines; %d files over 400 lines\n", functions, long_functions, long_files
	exit failed
}' user/*.[ch] user/*/*.[ch] include/*.h bpf/*.[ch]
