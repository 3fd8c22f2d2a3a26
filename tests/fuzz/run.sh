#!/usr/bin/env bash
# Runs the fuzz targets that tests/fuzz/fuzz.mk has built, one line of result each.
#   tests/fuzz/run.sh runtime CLANG    is libFuzzer there?
#   tests/fuzz/run.sh fuzz TARGETS     FUZZ_SECONDS each, FUZZ_JOBS at a time; 1: something was found
#   tests/fuzz/run.sh fuzz-merge TARGETS  adds to the corpus what was found beyond it
set -u
cd "$(dirname "$0")/../.." || exit 1
mode=$1
shift
here=${BUILD:-build}/fuzz
# In real time, for what hangs: what is slow is told by the processor's time (one_input.c).
timeout_s=60 memory_mb=2048
# Less is kept of what is freed and of where it was allocated: twice as many runs.
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=16:malloc_context_size=10}

longest() { # TARGET: bytes of an input
	case $1 in
	decode | options) echo 4096 ;;
	elf | capture_file) echo 32768 ;;
	*) echo 70000 ;;
	esac
}

check_runtime() { # CLANG
	local log
	if ! log=$(printf 'int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long size) { return size && !*bytes; }\n' |
		"$1" -fsanitize=fuzzer,address,undefined -x c -o /dev/null - 2>&1); then
		printf 'fuzz: %s cannot link libFuzzer; tools/setup.sh --fuzz installs its runtime (libclang-rt-dev). It says:\n%s\n' \
			"$1" "$(tail -n 1 <<<"$log")" >&2
		return 1
	fi
}

corpora() { # TARGET: where seeds lie
	printf '%s\n' "tests/fuzz/corpus/$1"
	if [ -d "${BUILD:-build}/fuzz-seeds/$1" ]; then
		printf '%s\n' "${BUILD:-build}/fuzz-seeds/$1"
	fi
}

fuzz_one() { # TARGET
	local target=$1 log=$here/$1.log found=$here/findings/$1 seeds rc=0 arguments=()
	mapfile -t seeds < <(corpora "$target")
	mkdir -p "$here/corpus/$target" "$found" "${seeds[0]}"
	[ -r "tests/fuzz/dict/$target.dict" ] && arguments+=("-dict=tests/fuzz/dict/$target.dict")
	"$here/fuzz_$target" -max_total_time="${FUZZ_SECONDS:-1800}" -timeout=$timeout_s -rss_limit_mb=$memory_mb \
		-max_len="$(longest "$target")" -artifact_prefix="$found/" -print_final_stats=1 "${arguments[@]}" \
		"$here/corpus/$target" "${seeds[@]}" >"$log" 2>&1 || rc=$?
	summarize "$target" "$log" "$found" "$rc"
}

summarize() { # TARGET LOG FINDINGS RC
	local runs edges all files
	runs=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+).*/\1/p' "$2" | tail -n 1)
	edges=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$2" | tail -n 1)
	all=$(sed -nE 's/.*Loaded 1 modules +\(([0-9]+) inline.*/\1/p' "$2" | head -n 1)
	files=$(find "$3" -type f | wc -l)
	printf 'fuzz  %-14s %s executions, %s of %s edges, %s findings\n' "$1" "${runs:-no}" "${edges:-0}" "${all:-?}" "$files"
	if [ "$4" -ne 0 ] || [ "$files" -ne 0 ]; then
		printf 'FAIL  %s: exit %s; log: %s\n' "$1" "$4" "$2"
		grep -E 'ERROR: |SUMMARY: |not so: |runtime error: ' "$2" | head -n 4 | sed 's/^/      | /'
		find "$3" -type f | sed "s|^|      reproduce: $here/fuzz_$1 |"
		return 1
	fi
}

# Only short inputs are kept, and of these as few as will do: all together must stay small.
merge_one() { # TARGET
	local target=$1 all seeds limit=1000 found
	mapfile -t seeds < <(corpora "$target")
	[ "$target" = capture_file ] && limit=3000
	all=$(mktemp -d "$TMPDIR/merge-XXXXXX") || return 1
	mkdir -p "$all/kept" "$all/found" "${seeds[0]}"
	find "${seeds[@]}" -type f -exec cp -t "$all/kept" {} +
	find "$here/corpus/$target" -type f -size "-$((limit + 1))c" -exec cp -t "$all/found" {} +
	# Edges alone: how often each is passed says little and takes many files.
	"$here/fuzz_$target" -merge=1 -use_counters=0 -set_cover_merge=1 -timeout=$timeout_s -max_len=70000 \
		"$all/kept" "$all/found" >"$here/$target.merge.log" 2>&1 || return 1
	for found in "$all"/kept/*; do
		[ -e "$all/found/${found##*/}" ] && cp "$found" "${seeds[0]}"
	done
	rm -rf "$all"
	printf 'merge %-14s %s files, %s bytes\n' "$target" "$(find "${seeds[0]}" -type f | wc -l)" \
		"$(find "${seeds[0]}" -type f -exec cat {} + | wc -c)"
}

# Outputs are written and read again at each run: in memory, if there is a place for that.
make_room() {
	local place=${TMPDIR:-/tmp}
	[ -d /dev/shm ] && [ -w /dev/shm ] && place=/dev/shm
	TMPDIR=$(mktemp -d "$place/tpbpf-fuzz-XXXXXX") || exit 1
	export TMPDIR
	trap 'rm -rf "$TMPDIR"' EXIT
}

in_turn() { # COMMAND TARGETS: FUZZ_JOBS at a time
	local command=$1 target failed=0 running=0
	shift
	for target in "$@"; do
		"$command" "$target" &
		running=$((running + 1))
		if [ "$running" -ge "${FUZZ_JOBS:-1}" ]; then
			wait -n || failed=1
			running=$((running - 1))
		fi
	done
	while [ "$running" -gt 0 ]; do
		wait -n || failed=1
		running=$((running - 1))
	done
	return $failed
}

case $mode in
runtime) check_runtime "$1" ;;
fuzz) make_room && in_turn fuzz_one "$@" ;;
fuzz-merge) make_room && in_turn merge_one "$@" ;;
*) exit 2 ;;
esac
