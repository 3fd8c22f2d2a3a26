#!/bin/sh
# Includes go one way: base <- model <- attach, ingest, analyze, output <- the files of user/ itself. Stages
# do not see each other; the kernel and its library are seen by few files alone.
cd "$(dirname "$0")/.." || exit 1
grep -nE '^#include ["<]' user/*.[ch] user/*/*.[ch] include/*.h | awk -F: '
function stage(path,  parts, count) {
	count = split(path, parts, "/")
	if (parts[1] == "include") return "include"
	return count == 3 ? parts[2] : "top"
}
BEGIN {
	allowed["base"] = " base "
	allowed["model"] = " base model include "
	n = split("attach ingest analyze output", names, " ")
	for (i = 1; i <= n; i++)
		allowed[names[i]] = " base model include " names[i] " "
	allowed["agent"] = " agent include "
	allowed["include"] = " include "
	allowed["top"] = " base model include attach ingest analyze output top "
	libbpf["user/attach/probe.c"] = libbpf["user/attach/agent_probe.c"] = libbpf["user/ingest/ring.c"] = 1
	libbpf["user/attach/kernel_layout.c"] = libbpf["user/attach/ring_maps.c"] = libbpf["user/attach/multi_link.c"] = 1
	capstone["user/attach/insn_decoder.c"] = 1
}
{
	line = $0
	sub(/^[^:]*:[^:]*:/, "", line)
	match(line, /["<][^">]*[">]/)
	name = substr(line, RSTART + 1, RLENGTH - 2)
	if (name ~ /^bpf\// && !libbpf[$1]) bad($1, $2, name)
	if (name ~ /^capstone/ && !capstone[$1]) bad($1, $2, name)
	if (line !~ /"/) next
	if (name == "wire.h" || name == "agent_wire.h" || name == "probe_config.h" || name == "trace.skel.h" || name == "agent.skel.h") to = "include"
	else if (split(name, parts, "/") == 2) to = parts[1]
	else to = "top"
	if (!index(allowed[stage($1)], " " to " ")) bad($1, $2, name)
}
function bad(file, number, name) { printf "%s:%s: %s is not visible from here\n", file, number, name; failed = 1 }
END { exit failed }'
