#!/usr/bin/env bash
# Installs what is missing to build, test and show tpbpf: Debian 12 and 13, Ubuntu 24.04.
#   tools/setup.sh [--lint] [--fuzz] [--matrix] [--distro-torch] [--no-torch]
#     --lint          also what `make lint`, `make valgrind` need
#     --fuzz          also what `make fuzz` needs
#     --matrix        also what `make matrix` needs: QEMU for x86, busybox, cpio (the kernels it gets itself, and installs none)
#     --distro-torch  also the distribution's PyTorch, a second one for the tests
#     --no-torch      do not look for a PyTorch
# Needs root only where something is missing. Exit: 0 all there, 1 something could not be had, 2 usage.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
# shellcheck source=tools/apt_source.sh
. "$root/tools/apt_source.sh"
torch_version=2.13.0
lint='' fuzz='' matrix='' distro_torch='' want_torch=1
given="$*"

for option in "$@"; do
	case $option in
	--lint) lint=1 ;;
	--fuzz) fuzz=1 ;;
	--matrix) matrix=1 ;;
	--distro-torch) distro_torch=1 ;;
	--no-torch) want_torch='' ;;
	-h | --help)
		sed -n '2,9s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	*)
		printf 'setup: unknown option %s\n' "$option" >&2
		exit 2
		;;
	esac
done

say() { printf 'setup: %s\n' "$*"; }
die() {
	printf 'setup: %s\n' "$*" >&2
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# /usr/sbin is where bpftool lies, and not on every user's PATH
PATH=$PATH:/usr/sbin:/sbin

# ---- packages ----

os_release() { sed -n "s/^$1=//p" /etc/os-release 2>/dev/null | tr -d '"'; }
id=$(os_release ID)
codename=$(os_release VERSION_CODENAME)

# Ubuntu's bpftool is a wrapper that looks for the build of the running kernel and refuses to be any other;
# every build of the last years generates skeletons just as well.
find_bpftool() {
	local candidate
	for candidate in "$(command -v bpftool || true)" "$build/bpftool" /usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; do
		[ -x "$candidate" ] || continue
		if "$candidate" version >/dev/null 2>&1 && "$candidate" gen help 2>&1 | grep -q skeleton; then
			printf '%s\n' "$candidate"
			return 0
		fi
	done
	return 1
}

libbpf_is_new() { have pkg-config && pkg-config --atleast-version=1.3 libbpf 2>/dev/null; }

# python3 without venv is common on Debian and Ubuntu: the module is there, ensurepip is a package of its own
python_has_venv() { "$1" -c 'import venv, ensurepip' >/dev/null 2>&1; }
any_python_has_venv() {
	local python
	for python in python3 /usr/bin/python3; do
		python_has_venv "$python" && return 0
	done
	return 1
}

# Debian 12 has QEMU 7.2, whose emulated processors must take turns (tests/matrix/README.md).
wants_new_qemu() { [ "$id" = debian ] && [ "$codename" = bookworm ]; }
qemu_is_new() { qemu-system-x86_64 --version 2>/dev/null | grep -q '^QEMU emulator version [1-9][0-9]\.'; }

has_libfuzzer() { "$root/tests/fuzz/run.sh" runtime clang >/dev/null 2>&1; }

missing_packages() {
	local pair
	for pair in clang:clang llvm-strip:llvm gcc:gcc g++:g++ make:make pkg-config:pkg-config python3:python3; do
		have "${pair%%:*}" || printf '%s\n' "${pair##*:}"
	done
	for pair in libelf-dev libcapstone-dev zlib1g-dev libcjson-dev libcmocka-dev libc6-dev; do
		installed "$pair" || printf '%s\n' "$pair"
	done
	libbpf_is_new || printf 'libbpf-dev\n'
	find_bpftool >/dev/null || printf 'bpftool\n'
	any_python_has_venv || printf 'python3-venv\n'
	if [ -n "$lint" ]; then
		for pair in clang-format clang-tidy valgrind shellcheck; do
			have "$pair" || printf '%s\n' "$pair"
		done
	fi
	if [ -n "$fuzz" ]; then
		has_libfuzzer || printf 'libclang-rt-dev\n'
	fi
	if [ -n "$matrix" ]; then
		for pair in qemu-system-x86_64:qemu-system-x86 cpio:cpio dpkg-deb:dpkg; do
			have "${pair%%:*}" || printf '%s\n' "${pair##*:}"
		done
		installed busybox-static || printf 'busybox-static\n'
		if wants_new_qemu && ! qemu_is_new; then
			printf 'qemu-system-x86\n'
		fi
	fi
	if [ -n "$distro_torch" ]; then
		installed python3-torch || printf 'python3-torch\n'
	fi
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"; }

candidate_version() { apt-cache policy "$1" | sed -n 's/^ *Candidate: *//p'; }

# Debian 12 has libbpf 1.1; uprobe_multi came with 1.3.
use_backports() {
	local source
	if [ "$id" != debian ] || [ "$codename" != bookworm ]; then
		case $(candidate_version libbpf-dev) in
		'' | '(none)' | 0.* | 1:0.* | 1.[012].* | 1:1.[012].*)
			die "this release ($id $codename) has no libbpf 1.3 or later: Debian 12 or 13 or Ubuntu 24.04 is needed"
			;;
		esac
		return 0
	fi
	if ! apt-cache policy | grep -q "n=$codename-backports"; then
		source=$(apt_source_deb822 "$codename" "$codename-backports")
		if [ -n "$source" ]; then
			printf '%s\n' "$source" >/etc/apt/sources.list.d/tpbpf-backports.sources
		else
			source=$(apt_source_line "$codename" "$codename-backports")
			[ -n "$source" ] || die "no apt source of $codename found to derive $codename-backports from (libbpf 1.3 or QEMU 10 is needed)"
			printf '%s\n' "$source" >/etc/apt/sources.list.d/tpbpf-backports.list
		fi
		say "added $codename-backports to the apt sources ($(ls /etc/apt/sources.list.d/tpbpf-backports.*)): it has libbpf 1.3 or later and QEMU 10"
		apt_get update >/dev/null || die "apt-get update failed after adding $codename-backports"
	fi
	from_backports=1
}

install_packages() {
	local missing=$1 plain='' new='' package from_backports=''
	say "missing: $missing"
	if [ "$(id -u)" -ne 0 ]; then
		die "installing needs root; run: sudo $0${given:+ $given}"
	fi
	have apt-get || die "only Debian and Ubuntu are set up by this script; install these by hand: $missing"
	say "apt-get update"
	apt_get update >/dev/null || die "apt-get update failed: is the network there?"
	case " $missing " in
	*' libbpf-dev '* | *' bpftool '*) use_backports ;;
	*' qemu-system-x86 '*) ! wants_new_qemu || use_backports ;;
	esac
	for package in $missing; do
		case $package in
		libbpf-dev | bpftool)
			if [ -n "$from_backports" ]; then
				new="$new $package/$codename-backports"
			elif [ "$package" = bpftool ] && [ "$id" = ubuntu ]; then
				plain="$plain linux-tools-common linux-tools-generic"
			else
				plain="$plain $package"
			fi
			;;
		qemu-system-x86)
			if [ -n "$from_backports" ]; then
				new="$new $package/$codename-backports"
			else
				plain="$plain $package"
			fi
			;;
		*) plain="$plain $package" ;;
		esac
	done
	if [ -n "$new" ]; then
		# libbpf-dev of the backports wants its own libbpf1, which -t alone brings
		say "installing from $codename-backports:$new"
		# shellcheck disable=SC2086
		apt_get install --no-install-recommends -t "$codename-backports" $new || die "apt-get could not install$new"
	fi
	if [ -n "$plain" ]; then
		say "installing:$plain"
		# shellcheck disable=SC2086
		apt_get install --no-install-recommends $plain || die "apt-get could not install$plain"
	fi
}

missing=$(missing_packages | sort -u | tr '\n' ' ')
missing=${missing% }
if [ -n "$missing" ]; then
	install_packages "$missing"
	missing=$(missing_packages | sort -u | tr '\n' ' ')
	[ -z "${missing% }" ] || die "still missing after the installation: $missing"
fi

mkdir -p "$build"
bpftool=$(find_bpftool)
if [ "$bpftool" != "$(command -v bpftool || true)" ] && [ "$bpftool" != "$build/bpftool" ]; then
	ln -sf "$bpftool" "$build/bpftool"
	say "the bpftool on PATH is a wrapper that refuses this kernel; build/bpftool is $bpftool"
fi
say "tools and libraries are there (libbpf $(pkg-config --modversion libbpf), clang $(clang -dumpversion), $("$bpftool" version | head -n 1))"

# ---- PyTorch ----

torch_of() { # PYTHON: prints "PATH VERSION" where it imports torch
	"$1" -c 'import os, sys, torch; print(os.path.abspath(sys.executable), torch.__version__)' 2>/dev/null
}

use_python() { # "PATH VERSION" WHOSE
	printf '%s\n' "${1% *}" >"$build/python"
	say "PyTorch ${1##* } of $2: ${1% *} (noted in build/python)"
	exit 0
}

# Under sudo the PATH is root's: ask the login shell of who called.
user_python() {
	if [ "$(id -u)" -eq 0 ] && [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
		su -l "$SUDO_USER" -c 'python3 -c "import os, sys; print(os.path.abspath(sys.executable))"' </dev/null 2>/dev/null | tail -n 1
	else
		command -v python3 || true
	fi
}

make_venv() {
	local python minor log=$build/venv.log tried='' why=''
	for minor in 14 13 12 11 10 ''; do
		python=$(command -v "python3${minor:+.$minor}" || true)
		[ -n "$python" ] || continue
		python_has_venv "$python" || continue
		tried="$tried $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
		say "making build/venv with $python and torch==$torch_version, numpy (log: build/venv.log); where the package index has only the CUDA build this loads several GB"
		rm -rf "$build/venv"
		if ! "$python" -m venv "$build/venv" >"$log" 2>&1; then
			why="$python cannot make a virtual environment: $(tail -n 1 "$log")"
			continue
		fi
		if "$build/venv/bin/python" -m pip install -q --retries 2 --timeout 60 "torch==$torch_version" numpy >"$log" 2>&1; then
			if torch_of "$build/venv/bin/python" >/dev/null; then
				return 0
			fi
			why="torch $torch_version is installed for $python but does not import: $("$build/venv/bin/python" -c 'import torch' 2>&1 | tail -n 1)"
		elif grep -qiE 'name resolution|max retries exceeded|newconnectionerror|connection (refused|reset|timed out)|network is unreachable|read timed out' "$log"; then
			why='the package index cannot be reached'
			break
		elif grep -qi 'no space left' "$log"; then
			why='no space left on the disk'
			break
		elif grep -qi 'no matching distribution' "$log"; then
			why="no wheel of torch $torch_version for this machine and Python$tried"
		else
			why="pip failed: $(grep -v '^ *$' "$log" | tail -n 1)"
		fi
	done
	rm -rf "$build/venv"
	[ -n "$tried" ] || why='no python3 here has the modules venv and ensurepip'
	say "no virtual environment with PyTorch: $why"
	return 1
}

[ -n "$want_torch" ] || exit 0

if [ -r "$build/python" ]; then
	python=$(cat "$build/python")
	if [ -x "$python" ] && found=$(torch_of "$python"); then
		say "PyTorch ${found##* }: $python (build/python; remove that file to choose anew)"
		exit 0
	fi
	say "the interpreter noted in build/python no longer imports torch: choosing anew"
	rm -f "$build/python"
fi

python=$(user_python)
if [ -n "$python" ] && found=$(torch_of "$python"); then
	use_python "$found" "the user's own python3"
fi
say "the user's own python3 (${python:-none found}) has no PyTorch"

if found=$(torch_of "$build/venv/bin/python") || { make_venv && found=$(torch_of "$build/venv/bin/python"); }; then
	use_python "$found" 'the virtual environment build/venv'
fi

if ! found=$(torch_of /usr/bin/python3); then
	if [ "$(id -u)" -ne 0 ]; then
		die "no PyTorch; the distribution's needs root: run: sudo $0 --distro-torch"
	fi
	have apt-get || die "no PyTorch: neither the user's python3, nor a virtual environment, and this is not Debian or Ubuntu"
	say "installing the distribution's python3-torch"
	apt_get update >/dev/null || die "no PyTorch: apt-get update failed too: is the network there?"
	apt_get install --no-install-recommends python3-torch ||
		die "no PyTorch: the distribution has no python3-torch that can be installed (build and unit tests need none; use --no-torch)"
	found=$(torch_of /usr/bin/python3) || die "python3-torch is installed but does not import: $(/usr/bin/python3 -c 'import torch' 2>&1 | tail -n 1)"
fi
use_python "$found" "the distribution"
