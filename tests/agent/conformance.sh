#!/usr/bin/env bash
# The agent against real CUPTI: its table against the headers of each version, and itself against each library on
# this machine; and the numbers of calls that are seen without it. Headers and libraries come from the package index into BUILD/cupti, once; a version that cannot be
# had is skipped by name. The last line is "N passed, N failed, N skipped".
#   conformance.sh BUILD    BUILD has agent-test/*.o and fakes/ (make conformance)
#   ALL=1                   every version, not only one of each shape of records (140 MB instead of 70)
set -u
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$build/cupti
python=${PYTHON:-python3}
passed=0 failed=0 skipped=0
mkdir -p "$cache"

# label, package of CUPTI, package that has cuda.h
versions='11.8 nvidia-cuda-cupti-cu11==11.8.87 nvidia-cuda-runtime-cu11==11.8.89
12.1 nvidia-cuda-cupti-cu12==12.1.105 nvidia-cuda-runtime-cu12==12.8.90
12.4 nvidia-cuda-cupti-cu12==12.4.127 nvidia-cuda-runtime-cu12==12.8.90
12.6 nvidia-cuda-cupti-cu12==12.6.80 nvidia-cuda-runtime-cu12==12.8.90
12.8 nvidia-cuda-cupti-cu12==12.8.90 nvidia-cuda-runtime-cu12==12.8.90
13.0 nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.5.37
13.1 nvidia-cuda-cupti==13.1.115 nvidia-cuda-runtime==13.5.37
13.2 nvidia-cuda-cupti==13.2.86 nvidia-cuda-runtime==13.5.37
13.3 nvidia-cuda-cupti==13.3.75 nvidia-cuda-runtime==13.5.37
13.4 nvidia-cuda-cupti==13.4.92 nvidia-cuda-runtime==13.5.37
13.5 nvidia-cuda-cupti==13.5.25 nvidia-cuda-runtime==13.5.37'

ok() { passed=$((passed + 1)) && printf 'ok    %s\n' "$*"; }
fail() { failed=$((failed + 1)) && printf 'FAIL  %s\n' "$*"; }
skip() { skipped=$((skipped + 1)) && printf 'skip  %s\n' "$*"; }

fetch() { # PACKAGE: its files in $cache/PACKAGE
	local directory=$cache/$1 download
	[ -d "$directory" ] && return 0
	download=$(mktemp -d "$cache/download-XXXXXX")
	if "$python" -m pip download -q --no-deps --only-binary :all: --timeout 30 --retries 1 -d "$download" "$1" >"$cache/pip.log" 2>&1 &&
		"$python" -m zipfile -e "$download"/*.whl "$download/files"; then
		mv "$download/files" "$directory"
		rm -rf "$download"
		return 0
	fi
	rm -rf "$download"
	return 1
}

newest() { # HEADER-DIRECTORY STEM: the newest structure CUpti_ActivityStemN
	grep -ohE "^\} CUpti_Activity$2[0-9]*;" "$1"/cupti_activity*.h | tr -d '};' | tr -d ' ' | sort -V | tail -n 1
}

check_headers() { # LABEL CUPTI-PACKAGE CUDA-PACKAGE
	local include cuda stem name program=$cache/conformance-$1 defines=()
	include=$(dirname "$(find "$cache/$2" -name cupti_activity.h | head -n 1)")
	cuda=$(dirname "$(find "$cache/$3" -name cuda.h | head -n 1)")
	for stem in KERNEL:Kernel MEMCPY:Memcpy PEER:MemcpyPtoP MEMSET:Memset SYNC:Synchronization EVENT:CudaEvent OVERHEAD:Overhead; do
		name=$(newest "$include" "${stem#*:}")
		[ -n "$name" ] || name=CUpti_Activity${stem#*:}
		defines+=("-D${stem%%:*}=$name")
	done
	if ! "${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -w -pthread "${defines[@]}" -I"$root/user" -I"$root/include" -I"$root/tests" \
		-isystem "$include" -isystem "$cuda" -isystem "$root/tests/agent/stubs" -o "$program" "$root/tests/agent/conformance.c" \
		"$build"/agent-test/{recorder,batch,names,cupti_clock}.o -Wl,--defsym=tpbpf_agent_batch=0 >"$cache/log" 2>&1; then
		fail "headers of $1: $(grep -m 3 -oE 'static assertion failed: .*|error: .*' "$cache/log" | paste -sd';')"
	elif ! "$program" >"$cache/log" 2>&1; then
		fail "headers of $1: $(paste -sd';' "$cache/log")"
	else
		ok "headers of $1: $(printf '%s ' "${defines[@]#-D}")($(tail -n 1 "$cache/log"))"
	fi
}

check_occupancy() { # LABEL CUDA-PACKAGE
	local include program=$cache/occupancy-$1 log=$cache/log
	include=$(dirname "$(find "$cache/$2" -name cuda_occupancy.h | head -n 1)")
	if ! "${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -w -I"$root/user" -I"$root/include" -isystem "$include" -o "$program" \
		"$root/tests/agent/occupancy_conformance.c" "$root/user/model/occupancy.c" >"$log" 2>&1 || ! "$program" >"$log" 2>&1; then
		fail "occupancy by the header of $1: $(grep -m 3 -E 'error|theirs' "$log" | paste -sd';')"
	else
		ok "occupancy by the header of $1: $(tail -n 1 "$log")"
	fi
}

# The numbers that calls have where they are seen by probes: each that the header knows by that name is one of its own.
check_numbers() { # LABEL CUPTI-PACKAGE
	local include
	include=$(dirname "$(find "$cache/$2" -name cupti_runtime_cbid.h | head -n 1)")
	if awk '
		match($0, /CUPTI_(RUNTIME|DRIVER)_TRACE_CBID_[A-Za-z0-9_]+ *= *[0-9]+/) {
			split(substr($0, RSTART, RLENGTH), part, / *= */)
			sub(/^CUPTI_(RUNTIME|DRIVER)_TRACE_CBID_/, "", part[1])
			if (part[1] ~ /^cuda/) sub(/_v[0-9]+$/, "", part[1])
			known[part[1]]; id[part[1], part[2]]
		}
		/^\t\{ "cu/ {
			split($0, row, /[",{} ]+/)
			if (!(row[2] in known)) next
			rows++
			if (!((row[2], row[3]) in id)) { printf "%s is not %s\n", row[2], row[3]; wrong++ }
		}
		END { printf "%d numbers\n", rows; exit wrong || rows < 300 }
	' "$include"/cupti_{runtime,driver}_cbid.h "$root/user/attach/cuda_names.c" >"$cache/log"; then
		ok "numbers of calls of $1: $(tail -n 1 "$cache/log")"
	else
		fail "numbers of calls of $1: $(paste -sd';' "$cache/log")"
	fi
}

# Without a driver nothing can be recorded: said by a status that means so, twice, and the process lives on.
check_library() { # LABEL PACKAGE
	local library log=$cache/log
	library=$(find "$cache/$2" -name 'libcupti.so*' | head -n 1)
	if ! timeout 60 "$cache/meet_real" "$library" >"$log" 2>&1 || ! grep -q '^still here$' "$log"; then
		fail "library of $1, no libcuda: $(paste -sd';' "$log")"
	elif [ "$(grep -c '^status 1 0 $' "$log")" -ne 2 ] || [ "$(grep -c '^end 3$' "$log")" -ne 2 ]; then
		fail "library of $1, no libcuda: $(paste -sd';' "$log")"
	else
		ok "library of $1, no libcuda: said, and left alone"
	fi
	# 13.2 calls itself without end there, whoever asks.
	if ! timeout 60 "$cache/meet_real" "$library" --alone >"$log" 2>&1; then
		skip "library of $1, no driver: it crashes in cuptiGetVersion by itself"
		return
	fi
	if ! timeout 60 "$cache/meet_real" "$library" "$cache/libcuda.so.standin" >"$log" 2>&1 || ! grep -q '^still here$' "$log"; then
		fail "library of $1, no driver: $(paste -sd';' "$log")"
	elif [ "$(grep -cE '^status (8|9|11) ' "$log")" -ne 2 ] || [ "$(grep -c '^end 3$' "$log")" -ne 2 ]; then
		fail "library of $1, no driver: $(paste -sd';' "$log")"
	else
		ok "library of $1, no driver: $(grep -m 1 -E '^status (8|9|11)' "$log")"
	fi
}

if [ -e /dev/nvidiactl ]; then
	skip 'real libraries without a driver: this machine has a GPU'
else
	"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -Wall -pthread -I"$root/user" -I"$root/include" -o "$cache/meet_real" \
		"$root/tests/agent/meet_real.c" "$build"/agent-test/*.o -ldl || fail 'meet_real does not build'
	# Its own soname, so that CUPTI does not take it for the driver.
	"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -w -fPIC -fvisibility=hidden -pthread -shared -Wl,-soname,libcuda.so.standin \
		-o "$cache/libcuda.so.standin" "$root"/tests/fakes/{libcuda,fake_device,fake_truth}.c -ldl || fail 'libcuda.so.standin does not build'
fi

while read -r label cupti cuda; do
	case $label in
	11.8 | 12.1 | 12.8 | 13.0 | 13.5) ;;
	*) [ -n "${ALL:-}" ] || continue ;;
	esac
	if ! fetch "$cupti" || ! fetch "$cuda"; then
		skip "CUPTI $label: the package index does not give $cupti or $cuda"
		continue
	fi
	check_headers "$label" "$cupti" "$cuda"
	check_numbers "$label" "$cupti"
	case $label in
	12.8 | 13.5) check_occupancy "$label" "$cuda" ;;
	esac
	[ -e /dev/nvidiactl ] || check_library "$label" "$cupti"
done <<<"$versions"

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
