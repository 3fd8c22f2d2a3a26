#!/bin/sh
# valgrind with these arguments: this machine's where it knows the system calls of a capture, else Debian 13's, unpacked below build/.
#   VALGRIND_CACHE    where that is kept
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${VALGRIND_CACHE:-$root/build/valgrind}
libraries=$cache/tree/usr/libexec/valgrind

# 3.19 knows neither pidfd_open() nor openat2(), 3.24 knows both.
knows_all() {
	version=$(valgrind --version 2>/dev/null) || return 1
	[ "$(printf 'valgrind-3.24\n%s\n' "$version" | sort -V | head -n 1)" = valgrind-3.24 ]
}

if knows_all; then
	[ $# -gt 0 ] || exit 0
	exec valgrind "$@"
fi
if [ ! -x "$libraries/memcheck-amd64-linux" ]; then
	package=$("$root/tools/apt_package.sh" trixie "$cache/apt" valgrind)
	mkdir -p "$cache/tree"
	dpkg-deb -x "$package" "$cache/tree"
	rm -rf "$cache/apt"
fi
[ $# -gt 0 ] || exit 0
VALGRIND_LIB=$libraries exec "$cache/tree/usr/bin/valgrind.bin" "$@"
