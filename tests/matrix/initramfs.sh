#!/usr/bin/env bash
# Makes an initramfs that holds tpbpf, the stand-in targets, the end-to-end tests, and what these need of this machine: a Python with
# its library but no packages, and a few tools. For kernels without modules: all of it lies in memory.
#   tests/matrix/initramfs.sh BUILD FILE
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
file=$2
tree=$file.tree
PATH=$PATH:/usr/sbin:/sbin

die() {
	printf 'matrix: %s\n' "$*" >&2
	exit 1
}

# A library or program at the path where it is looked for; everything that leads there is made as here (/lib is /usr/lib).
put() { # PATH
	local path=$1 directory
	directory=$(realpath "$(dirname "$path")")
	mkdir -p "$tree$directory"
	[ -e "$tree$directory/$(basename "$path")" ] || cp -L "$path" "$tree$directory/"
}

libraries_of() { # FILES...: what the loader would load
	ldd "$@" 2>/dev/null | grep -oE '(=> )?/[^ ]+ \(0x' | sed -E 's/^=> //; s/ \(0x$//' | sort -u
}

put_program() { # PATH
	local library
	put "$1"
	for library in $(libraries_of "$1"); do
		put "$library"
	done
}

base() {
	local link
	rm -rf "$tree"
	mkdir -p "$tree"/{usr/bin,usr/sbin,usr/lib,usr/lib64,proc,sys,dev,tmp,run,root,etc,tpbpf}
	for link in bin sbin lib lib64; do
		ln -s "usr/$link" "$tree/$link"
	done
	printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$tree/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$tree/etc/group"
	cp "$root/tests/matrix/init" "$tree/init"
}

# What is not here the tests that need it say by themselves.
tools() {
	local name path
	cp "$(command -v busybox)" "$tree/usr/bin/busybox"
	for name in bash setpriv unshare mount umount setcap nm readelf strip strace ldd; do
		path=$(command -v "$name") || continue
		put_program "$(realpath "$(dirname "$path")")/$name"
	done
	ln -s bash "$tree/usr/bin/sh" # busybox's own prefers its applets to the programs that are here
	path=$build/bpftool
	[ -x "$path" ] || path=$(command -v bpftool)
	path=$(realpath "$path")
	put_program "$path"
	[ -e "$tree/usr/sbin/bpftool" ] || ln -s "$path" "$tree/usr/sbin/bpftool"
}

python() {
	local python=/usr/bin/python3 stdlib library
	[ -x "$python" ] || python=$(command -v python3)
	stdlib=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	python=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
	put_program "$python"
	[ "$python" = /usr/bin/python3 ] || ln -sf "$python" "$tree/usr/bin/python3"
	mkdir -p "$tree$stdlib"
	tar -C "$stdlib" -c --exclude=./test --exclude=./site-packages --exclude=./dist-packages --exclude=./idlelib --exclude=./tkinter \
		--exclude=./lib2to3 --exclude=./ensurepip --exclude='./config-*' --exclude=./pydoc_data --exclude='*.opt-?.pyc' . | tar -C "$tree$stdlib" -x
	for library in $(libraries_of "$stdlib"/lib-dynload/*.so); do
		put "$library"
	done
	# emulated, to compile a test takes longer than to run it
	"$python" -m compileall -q -s "$tree" -p / "$tree/tpbpf/tests" >/dev/null
}

project() {
	local part file
	mkdir -p "$tree/tpbpf/build"
	(cd "$root" && tar -c --exclude=__pycache__ tests/e2e tests/matrix) | tar -C "$tree/tpbpf" -x
	for part in tpbpf libtpbpf-agent.so standin standin-stripped standin-2.4 standin-1.13 fakes cuda_job cuda_job-static \
		inject tests/agent/capture tests/check_sites; do
		[ -e "$build/$part" ] || die "$part is not built"
		mkdir -p "$tree/tpbpf/build/$(dirname "$part")"
		cp -a "$build/$part" "$tree/tpbpf/build/$(dirname "$part")/"
	done
	for file in tpbpf standin/standin cuda_job tests/agent/capture tests/check_sites; do
		for library in $(libraries_of "$build/$file" | grep -v "^$build/"); do
			put "$library"
		done
	done
}

base
tools
project
python
(cd "$tree" && find . -print0 | cpio --null -o -H newc -R 0:0 --quiet) >"$file.tmp"
mv "$file.tmp" "$file"
rm -rf "$tree"
