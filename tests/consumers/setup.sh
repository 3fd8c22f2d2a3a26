#!/usr/bin/env bash
# Makes the two environments of the trace readers: build/consumers/tb (torch-tb-profiler) and build/consumers/hta (HTA).
# Exit: 0 both are there, 77 one cannot be had here (one line says why), 1 anything else.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
base=$root/build/consumers

say() { printf 'consumers: %s\n' "$*" >&2; }
skip() {
	printf 'skip: %s\n' "$*"
	exit 77
}

# The pins want Python 3.11 or later. A name on PATH may be a version manager's stub: only running it tells.
find_python() {
	local name
	for name in "${PYTHON:-}" python3 python3.11 python3.12 python3.13 python3.14; do
		[ -n "$name" ] || continue
		if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
			printf '%s\n' "$name"
			return 0
		fi
	done
	return 1
}

pip_failed() { # NAME LOG
	if grep -qiE 'name resolution|max retries|connection (refused|reset|timed out|broken)|newconnectionerror|network is unreachable|read timed out' "$2"; then
		skip "$1: the package index cannot be reached"
	fi
	if grep -qiE 'no matching distribution' "$2"; then
		skip "$1: no package of the pinned version for $("$python" -V 2>&1) ($(grep -im1 'no matching distribution' "$2"))"
	fi
	tail -n 20 "$2" >&2
	say "$1: pip failed, see $2"
	exit 1
}

# The stamp holds the pins that the environment was made from, so that changed pins make it anew.
make_env() { # NAME REQUIREMENTS PROBE [PACKAGE WITHOUT DEPENDENCIES]
	local name=$1 reqs=$2 probe=$3 extra=${4:-}
	local dir=$base/$name log=$base/$name.log want
	want=$(cat "$reqs" && printf '%s\n' "$extra")
	if [ -f "$dir/stamp" ] && [ "$(cat "$dir/stamp")" = "$want" ] && "$dir/bin/python" -c "$probe" >/dev/null 2>&1; then
		say "$name: there already"
		return 0
	fi
	say "$name: making $dir"
	rm -rf "$dir"
	"$python" -m venv "$dir" >"$log" 2>&1 || {
		cat "$log" >&2
		exit 1
	}
	"$dir/bin/python" -m pip install -q --retries 1 --timeout 30 -r "$reqs" >"$log" 2>&1 || pip_failed "$name" "$log"
	if [ -n "$extra" ]; then
		"$dir/bin/python" -m pip install -q --retries 1 --timeout 30 --no-deps "$extra" >>"$log" 2>&1 || pip_failed "$name" "$log"
	fi
	"$dir/bin/python" -c "$probe" >>"$log" 2>&1 || {
		tail -n 5 "$log" >&2
		say "$name: installed, but does not import"
		exit 1
	}
	printf '%s\n' "$want" >"$dir/stamp"
}

python=$(find_python) || skip "trace readers: no Python 3.11 or later with venv (Debian, Ubuntu: apt-get install python3-venv)"
mkdir -p "$base"
make_env tb "$here/requirements-tb.txt" 'import torch_tb_profiler.profiler.data'
# HTA asks for jupyterlab and pytest, which no analysis uses, and not for psutil and PyYAML, which it imports.
make_env hta "$here/requirements-hta.txt" 'import hta.trace_analysis' 'HolisticTraceAnalysis==0.5.0'
