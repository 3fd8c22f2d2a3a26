#!/usr/bin/env bash
# What `make lint` checks: layering, sizes, headers, format, clang-tidy, shell scripts. FILES: the C files.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=0

check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@"; then
		printf 'lint  %-12s ok\n' "$name"
	else
		printf 'lint  %-12s FAILED\n' "$name"
		failed=1
	fi
}

format() { clang-format --dry-run -Werror "$@"; }

run_tidy() { # CHECKS FILES...
	local checks=$1
	shift
	printf '%s\n' "$@" | xargs -P "$(nproc)" -n 6 sh -c 'checks=$1; shift; clang-tidy --quiet \
		--checks="$checks" "$@" -- -std=gnu11 -D_GNU_SOURCE -Iuser -Iinclude -Itests \
		-isystem build/generated 2>/dev/null' sh "$checks"
}

tidy() {
	local sources=() skeletons=()
	for file in "$@"; do
		case $file in
		user/attach/probe.c | user/attach/agent_probe.c) skeletons+=("$file") ;;
		user/*.c | tests/sites/*.c) sources+=("$file") ;;
		esac
	done
	# The generated skeletons have a leak on a path that cannot happen.
	run_tidy '' "${sources[@]}" && run_tidy '-clang-analyzer-unix.Malloc' "${skeletons[@]}"
}

never() {
	# A return probe on C++ code kills the job at the first exception that passes.
	! git grep -nE 'uretprobe|retprobe *= *true|BPF_URETPROBE' -- bpf user include
}

check layers tools/check-layers.sh
check sizes tools/check-sizes.sh
check headers tools/check-headers.sh
check never never
check format format "$@"
check tidy tidy "$@"
if command -v shellcheck >/dev/null; then
	check shell shellcheck tools/*.sh tests/*.sh tests/*/*.sh .ci/run
else
	printf 'lint  %-12s skipped: shellcheck is not installed\n' shell
fi
exit $failed
