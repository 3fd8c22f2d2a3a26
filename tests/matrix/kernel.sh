#!/usr/bin/env bash
# Prints the path of Debian's kernel of a series (6.1 of Debian 12, 6.12 of Debian 13), after getting its package where CACHE does not hold it.
#   tests/matrix/kernel.sh SERIES CACHE
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)

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

get() {
	local package apt=$cache/apt-$release
	package=$("$root/tools/apt_package.sh" "$release" "$apt" "linux-image-${series//./\\.}\\.[0-9]+([-+][0-9a-z]+)?-amd64") ||
		die "there is no kernel to get; put one there: $cache/kernels/vmlinuz-$series.N"
	mkdir -p "$cache/kernels"
	dpkg-deb --fsys-tarfile "$package" | tar -x -C "$apt" --wildcards './boot/vmlinuz-*' './boot/config-*'
	mv "$apt"/boot/* "$cache/kernels/"
	rm -rf "$apt"
}

[ -n "$(cached)" ] || get
[ -n "$(cached)" ] || die "the package of Linux $series holds no vmlinuz"
cached
