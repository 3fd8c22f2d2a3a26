#!/usr/bin/env bash
# The same end-to-end tests on several kernels: Debian's 6.1 and 6.12 booted under QEMU, and the one that is running. Prints what each
# says, a table, and a last line "N passed, N failed, N skipped"; exit 0 unless something failed.
#   tests/matrix/run.sh [6.1] [6.12] [running]
#   BUILD                where everything is built, and what is fetched and made is kept: BUILD/matrix (default: build)
#   MATRIX_TESTS         a comma-separated part of the tests: what their names contain
#   TPBPF_MATRIX_ACCEL   kvm or tcg; by default KVM where a guest really runs on it, else emulation
#   TPBPF_MATRIX_CPUS    processors of a guest (2)
#   TPBPF_MATRIX_LIMIT   seconds that a guest may take (7200)
#   TPBPF_TEST_LIVE      set: each case is shown as it ends
#   TPBPF_MATRIX_SLOW    what a test's patience is multiplied by under emulation (10)
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root" || exit 1
build=${BUILD:-build}
cache=$build/matrix
cpus=${TPBPF_MATRIX_CPUS:-2}
limit=${TPBPF_MATRIX_LIMIT:-7200}
slow=${TPBPF_MATRIX_SLOW:-10}
[ $# -gt 0 ] || set -- 6.1 6.12 running
mkdir -p "$cache"
table=$(mktemp)
qemu=''
# only what was started here
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null; rm -f "$table"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0

row() { # KERNEL HOW DOCTOR PASSED FAILED SKIPPED SECONDS
	printf '%-26s %-10s %-7s %6s %6s %7s %6s s\n' "$@" >>"$table"
}

no_row() { # ok|FAIL|skip KERNEL REASON
	printf '%-5s %s: %s\n' "$1" "$2" "$3"
	row "$2" - "$1" - - - -
	if [ "$1" = skip ]; then
		skipped=$((skipped + 1))
	else
		failed=$((failed + 1))
	fi
}

# Adds up what tests.sh has printed; a kernel that has not come to its last line has failed.
add_up() { # NAME HOW FILE SECONDS SERIES
	local sums release doctor
	release=$(sed -n 's/^== tpbpf doctor on Linux //p' "$3" | head -n 1)
	sums=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$3" | tail -n 1)
	if [ -z "$sums" ] || ! grep -q '^matrix: end ' "$3"; then
		no_row FAIL "$1" "came to no result within $4 s"
		return
	fi
	if [ -n "$5" ] && [ "${release#"$5".}" = "$release" ]; then
		no_row FAIL "$1" "the kernel that ran was $release"
		return
	fi
	doctor=$(grep -qE '^ok +doctor$' "$3" && echo ok || echo FAIL)
	# shellcheck disable=SC2086
	set -- "$release" "$2" "$doctor" $sums "$4"
	row "$@"
	passed=$((passed + $4)) failed=$((failed + $5)) skipped=$((skipped + $6))
}

boot() { # ACCELERATOR SECONDS FILE WORDS...: the guest's two serial lines become FILE.console and FILE.results
	local accelerator=$1 seconds=$2 file=$3 kernel=$4 cpu=max
	shift 4
	[ "$accelerator" != kvm ] || cpu=host
	rm -f "$file.console" "$file.results"
	touch "$file.results"
	timeout -k 10 "$seconds" qemu-system-x86_64 -accel "$accelerator" -cpu "$cpu" -smp "$cpus" -m 2048 -nodefaults -no-user-config \
		-display none -no-reboot -serial "file:$file.console" -serial "file:$file.results" -kernel "$kernel" -initrd "$cache/initramfs" \
		-append "console=ttyS0 panic=-1 loglevel=4 $*" </dev/null >"$file.qemu" 2>&1 &
	qemu=$!
}

booted() {
	wait "$qemu" 2>/dev/null
	qemu=''
}

# That /dev/kvm is there says little: some virtual machines have one on which no kernel but their own gets anywhere.
kvm_works() { # KERNEL
	[ -w /dev/kvm ] || return 1
	boot kvm 30 "$cache/trial" "$1" MATRIX_TRIAL=1
	booted
	grep -q '^matrix: alive' "$cache/trial.results"
}

# Up to 7.2 QEMU reads the code that it translates before it keeps other processors from writing there, so a kernel that patches itself
# panics (README.md has the trial); 10.0 has been seen to do without. In between: not tried.
emulation() {
	local major
	major=$(qemu-system-x86_64 --version | sed -n 's/^QEMU emulator version \([0-9]*\)\..*/\1/p')
	if [ "${major:-0}" -ge 10 ]; then
		printf 'tcg,thread=multi\n'
	else
		printf 'tcg,thread=single\n'
	fi
}

accelerator() { # KERNEL
	case ${TPBPF_MATRIX_ACCEL:-} in
	kvm) accel=kvm ;;
	tcg) accel=$(emulation) ;;
	*)
		if [ -z "$accel" ]; then
			accel=$(emulation)
			kvm_works "$1" && accel=kvm
			printf 'matrix: guests run %s\n' "$([ "$accel" = kvm ] && echo 'on KVM' || echo 'emulated: none comes up on KVM here')"
		fi
		;;
	esac
}

guest() { # SERIES
	local kernel begun=$SECONDS words=() how=kvm
	kernel=$("$here/kernel.sh" "$1" "$cache") || {
		no_row FAIL "$1" 'no kernel to boot'
		return
	}
	accelerator "$kernel"
	if [ "$accel" != kvm ]; then
		how=emulated
		[ "$accel" != tcg,thread=single ] || printf 'matrix: this QEMU is older than 10, its processors take turns: it takes longer\n'
		words=("TPBPF_TEST_SLOW=$slow" "TPBPF_TEST_TIMEOUT=$((600 * slow))" MATRIX_EMULATED=1)
	fi
	printf '== Linux %s (%s)\n' "$1" "$(basename "$kernel")"
	begun=$SECONDS
	boot "$accel" "$limit" "$cache/$1" "$kernel" TPBPF_TEST_BUILT=1 "${words[@]}" ${MATRIX_TESTS:+"MATRIX_TESTS=$MATRIX_TESTS"} \
		${TPBPF_TEST_LIVE:+TPBPF_TEST_LIVE=1}
	tail -n +1 -f --pid="$qemu" "$cache/$1.results"
	booted
	add_up "$1" "$how" "$cache/$1.results" $((SECONDS - begun)) "$1"
	grep -q '^matrix: end ' "$cache/$1.results" || tail -n 20 "$cache/$1.console" "$cache/$1.qemu"
}

guests() { # SERIES...
	local series missing=''
	for program in qemu-system-x86_64 busybox cpio dpkg-deb apt-get; do
		command -v "$program" >/dev/null || missing="$missing $program"
	done
	if [ -n "$missing" ]; then
		for series in "$@"; do
			no_row skip "$series" "needs$missing (tools/setup.sh --matrix)"
		done
		return
	fi
	"$here/initramfs.sh" "$build" "$cache/initramfs" || {
		no_row FAIL initramfs 'cannot be made'
		return
	}
	for series in "$@"; do
		guest "$series"
	done
}

running() {
	local begun=$SECONDS file=$cache/running.results
	if [ "$(id -u)" -ne 0 ]; then
		no_row skip running "needs root to attach probes (sudo make matrix)"
		return
	fi
	printf '== the running kernel\n'
	{
		"$here/tests.sh" 2>&1
		printf 'matrix: end %d\n' $?
	} | tee "$file"
	add_up running as\ is "$file" $((SECONDS - begun)) ''
}

accel=''
row_head() { row kernel how doctor passed failed skipped '' && sed -i 's/ s$//' "$table"; }
row_head
series=() native=''
for kernel in "$@"; do
	if [ "$kernel" = running ]; then
		native=1
	else
		series+=("$kernel")
	fi
done
[ ${#series[@]} -eq 0 ] || guests "${series[@]}"
[ -z "$native" ] || running
printf '== the matrix\n'
cat "$table"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
