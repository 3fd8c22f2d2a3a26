#!/usr/bin/env python3
"""A PyTorch job in a container, captured from the host; its PyTorch lies where the host has nothing."""
import os
import subprocess

import container_support as c
import harness as h

# /usr is the host's; PyTorch, Python if it is no distribution's, and the job are elsewhere
FILL = """
for d in /usr /etc; do bind $d $d; done
for l in bin sbin lib lib64 lib32; do [ -L /$l ] && ln -sfn "$(readlink /$l)" $l || { [ -d /$l ] && bind /$l /$l; } || true; done
bind %(site)s /container-site
bind %(prefix)s /container-python
bind %(targets)s /container-targets
mkdir -p tmp
"""
ASK = """
import os, sys, torch
home = os.path.dirname(torch.__file__)
print(os.path.dirname(home), sys.base_prefix, os.path.realpath(sys.executable), os.path.realpath(home + "/lib/libtorch_cpu.so"), sep="\\n")
"""


def from_the_host(python):
    asked = subprocess.run([python.path, "-c", ASK], stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout.split("\n")
    site, prefix, program, library = asked[:4]
    if not library.startswith(site + "/"):
        h.skip("this PyTorch has its libraries apart from itself, in %s" % os.path.dirname(library))
    if prefix != "/usr":
        program = "/container-python" + program[len(os.path.realpath(prefix)):]
    with h.scratch() as d:
        fill = FILL % {"site": site, "prefix": prefix, "targets": h.TARGETS}
        t = c.Container(d, fill, program, "/container-targets/lesson.py", env={"PYTHONPATH": "/container-site", "HOME": "/tmp"})
        mapped = h.libraries_mapped(t.pid)
        h.check(mapped and mapped[0].startswith("/container-site/"), "libraries of the job: %s" % mapped)
        h.check(not os.path.exists("/container-site"), "the host has a /container-site: this test shows nothing")
        c.check_listed(t, [python.version, "/container-targets/lesson.py"])
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1, "--warmup", 1, "--active", 3).wait_attached()
        t.target.open_gate()
        run.wait().exits(0)
        h.check_unmodified(t.pid)
        t.stop()
        out = h.Output(d + "/out")
        h.check_output(out)
        h.match_attempts(out, t.target)
        c.check_pids(out, t)
        h.check(any(e["name"] == "aten::addmm" for e in out.events), "no aten::addmm among the operators")
        h.equal(out.profile["job"]["torch_version"], python.version, "PyTorch version")


h.main(from_the_host, torch=True)
