#!/usr/bin/env python3
"""A job in a container, captured from the host: its symbols come from its own files, its pids are its own beside the host's, and
what is written lies on the host."""
import os
import shutil

import container_support as c
import harness as h
import standin_support as s

PLAN = ("--wait", 2, "--warmup", 2, "--active", 5)
FILL = 'mkdir -p "$root%(home)s"; cp -r %(built)s/%(flavour)s/. "$root%(home)s"; take %(built)s/%(flavour)s/standin; rm -rf "$root%(built)s"'


def captured(d, home, flavour="standin", layers=False, prefix=()):
    fill = FILL % {"built": s.built(), "flavour": flavour, "home": home}
    t = c.Container(d, fill, home + "/standin", "--step-us", 3000, "--threads", 3, "--operators", 1, layers=layers)
    h.check(os.path.exists("/proc/%d/root%s/standin" % (t.pid, home)), "the job has no %s" % home)
    h.equal(h.libraries_mapped(t.pid), [home + "/torch/lib/libtorch_cpu.so"], "what the job has mapped")
    c.check_listed(t, ["2.13.0+standin" if flavour == "standin" else "1.13.1+standin", home])
    calls = (*s.ALL, "--exact") if h.has_bulk() else ()  # one by one, ranges are what there is
    run = h.Run("-p", t.pid, "-o", d + "/out", *PLAN, *calls, prefix=prefix).wait_attached()
    t.target.open_gate()
    run.wait().exits(0)
    h.check_unmodified(t.pid)
    out = h.Output(d + "/out")  # on the host
    h.check(not os.path.exists("/proc/%d/root%s/out" % (t.pid, d)), "the capture wrote into the container")
    own = c.thread_ids(t.pid)
    t.stop()
    h.check_output(out)
    truth = s.active_truth(out, t.target)
    s.check_counts(out, truth)
    if calls:
        s.check_calls(out, s.Calls(truth, flavour), exact=True)
    c.check_pids(out, t)
    tids = {e["tid"] for e in out.events}
    h.check(1 in tids and len(tids) >= 4 and tids <= own, "threads in the trace: %s, in the namespace: %s" % (sorted(tids), sorted(own)))
    return out


def paths_that_the_host_does_not_have():
    with h.scratch() as d:
        h.check(not os.path.exists("/job-in-a-container"), "/job-in-a-container is there: this test shows nothing")
        captured(d, "/job-in-a-container")


def paths_that_are_other_files_on_the_host():
    """Another build, with its functions elsewhere; and what is no library at all."""
    with h.scratch() as d:
        home = d + "/job"
        shutil.copytree(os.path.join(s.built(), "standin-1.13"), home)
        with open(home + "/torch/lib/libtorch_python.so", "wb") as f:
            f.write(b"\x7fELF" + os.urandom(5000))
        captured(d, home)


def another_build():
    with h.scratch() as d:
        captured(d, "/job-in-a-container", "standin-1.13")


def layers_of_an_image():
    """An overlay file system, as container engines make it: the file that is mapped is not the one that is seen."""
    with h.scratch() as d:
        captured(d, "/job-in-a-container", layers=True)


def without_opening_what_is_mapped():
    """By name, in the job's root, not in the host's."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        home = d + "/job"
        shutil.copytree(os.path.join(s.built(), "standin-1.13"), home)
        captured(d, home, prefix=("setpriv", "--bounding-set=-checkpoint_restore,-sys_admin"))


h.main(paths_that_the_host_does_not_have, paths_that_are_other_files_on_the_host, another_build, layers_of_an_image,
       without_opening_what_is_mapped)
