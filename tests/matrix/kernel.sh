#!/usr/bin/env bash
# Prints the path of Debian's kernel of a series (6.1 of Debian 12, 6.12 of Debian 13), after getting its package where CACHE does not hold it.
# Nothing is installed, and the machine's own apt lists are left alone: the source of packages is the machine's own with the release
# exchanged, in an apt configuration of its own.
#   tests/matrix/kernel.sh SERIES CACHE
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tools/apt_source.sh
. "$root/tools/apt_source.sh"

die() {
	printf 'matrix: %s\n' "$*" >&2
	exit 1
}

[ $# -eq 2 ] || die "usage: kernel.sh SERIES CACHE"
series=$1
mkdir -p "$2"
cache=$(cd "$2" && pwd)

case $series in
6.1) release=bookworm ;;
6.12) release=trixie ;;
*) die "no Debian release known for Linux $series: 6.1 and 6.12 are" ;;
esac

cached() { find "$cache/kernels" -name "vmlinuz-$series.*" 2>/dev/null | sort -V | tail -n 1; }

# The machine's release has the first word; a machine of another release may still name the wanted one.
write_source() {
	local own text
	own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | tr -d '"')
	text=$(apt_source_deb822 "$own" "$release")
	if [ -n "$text" ]; then
		printf '%s\n' "$text" >"$apt/only.sources"
		return
	fi
	text=$(apt_source_line "$own" "$release")
	[ -n "$text" ] || return 1
	printf '%s\n' "$text" >"$apt/only.list"
}

with_apt() { # PROGRAM ARGUMENTS...
	local program=$1 source
	shift
	source=$(ls "$apt"/only.*)
	"$program" -o "Dir::Etc::sourcelist=$source" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists" \
		-o "Dir::Cache=$apt/cache" -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "$@"
}

newest() {
	with_apt apt-cache search --names-only "^linux-image-$series\\.[0-9]" | sed 's/ .*//' |
		grep -E "^linux-image-${series//./\\.}\\.[0-9]+([-+][0-9a-z]+)?-amd64\$" | sort -V | tail -n 1
}

get() {
	local package
	apt=$cache/apt-$release
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$cache/kernels"
	rm -f "$apt"/only.*
	write_source || die "no Debian source among this machine's apt sources that kernels could be had from; put a kernel there: $cache/kernels/vmlinuz-$series.N"
	printf 'matrix: looking for Linux %s in %s\n' "$series" "$release" >&2
	with_apt apt-get -q update >"$apt/log" 2>&1 || die "apt-get update of $release failed: $(tail -n 2 "$apt/log")"
	package=$(newest)
	[ -n "$package" ] || die "$release has no linux-image-$series.*-amd64"
	printf 'matrix: getting %s\n' "$package" >&2
	(cd "$apt" && rm -f ./*.deb && with_apt apt-get -q download "$package" >"$apt/log" 2>&1) || die "$package cannot be had: $(tail -n 2 "$apt/log")"
	dpkg-deb --fsys-tarfile "$apt"/linux-image-*.deb | tar -x -C "$apt" --wildcards './boot/vmlinuz-*' './boot/config-*'
	mv "$apt"/boot/* "$cache/kernels/"
	rm -rf "$apt"
}

[ -n "$(cached)" ] || get
[ -n "$(cached)" ] || die "the package of Linux $series holds no vmlinuz"
cached
