"""A target in a container: its own mount and pid namespace, a root of its own that the host does not see."""
import contextlib
import os
import subprocess

import harness as h

OWN = ("unshare", "-m", "-p", "--fork", "--kill-child", "--propagation", "private")

# $1: where the new root is made; $2: a shell script that fills it, run with the root as its directory. The rest: the command
# in there. Of the host it keeps the directory of the gate. umount comes from the new root: the old one is gone.
ENTER = r"""
set -e
root=$1; fill=$2; shift 2
mount -t tmpfs tmpfs "$root"
cd "$root"
take() {
	for file in "$@" $(ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^\t\(\/[^ ]*\) (.*/\1/p'); do
		[ -e "$root$file" ] || { mkdir -p "$root$(dirname "$file")"; cp -L "$file" "$root$file"; }
	done
}
bind() { mkdir -p "$root$2"; mount --rbind "$1" "$root$2"; }
take "$(command -v umount)" /bin/sh
eval "$fill"
if [ "$LAYERS" ]; then # as container engines do it
	mkdir "$root.layers" && mount -t tmpfs tmpfs "$root.layers" && cd "$root.layers"
	mkdir upper work merged lower && mount --move "$root" lower
	mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged || exit 97
	root=$PWD/merged && cd "$root"
fi
for last; do :; done
bind "$(dirname "$last")" "$(dirname "$last")"
mkdir -p proc old dev
mount -t proc proc proc
mount --rbind /dev dev
pivot_root . old
cd /
"$(command -v umount)" -l old
exec "$@"
"""


class Container:
    """The target; pid is the host's, and its own one is 1."""

    def __init__(self, directory, fill, *command, env=None, layers=False):
        if subprocess.run([*OWN, "true"], stderr=subprocess.DEVNULL).returncode:
            h.skip("no pid and mount namespaces here")
        root = directory + "/root"
        os.mkdir(root)
        self.target = h.Target([*OWN, "sh", "-c", ENTER, "sh", root, fill, *map(str, command)], wait=False,
                               env={**(env or {}), "LAYERS": "1" if layers else ""})
        h.until(lambda: "ready 1" in self.target.lines() or not self.target.alive(), "the target in its container is ready", 180)
        if layers and self.target.process.poll() == 97:
            h.skip("no overlay file system here: %s" % self.target.errors())
        h.check(self.target.alive(), "the target in its container ended: %s" % self.target.errors())
        h.equal(os.listdir(root), [], "its root as the host sees it")
        with open("/proc/%d/task/%d/children" % (self.target.pid, self.target.pid)) as f:
            self.pid = int(f.read().split()[0])
        with open("/proc/%d/mountinfo" % self.pid) as f:
            mounts = f.read()
        h.check("/old" not in mounts, "the host's root is still mounted in the container")
        kind = next(line.split(" - ")[1].split()[0] for line in mounts.splitlines() if line.split()[4] == "/")
        h.equal(kind, "overlay" if layers else "tmpfs", "file system of its root")

    def stop(self):
        os.kill(self.pid, 15)
        return self.target.finish()


def thread_ids(pid):
    """Of its threads, as the container numbers them; one that ends meanwhile is none."""
    ids = set()
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open("/proc/%d/task/%s/status" % (pid, tid)) as f:
            ids.add(int(next(line for line in f if line.startswith("NSpid:")).split()[-1]))
    return ids


def check_listed(container, words):
    """`tpbpf list` shows both pids."""
    listed = h.tpbpf("list").exits(0).out
    lines = [line for line in listed.splitlines() if line.split()[:2] == [str(container.pid), "1"]]
    h.check(len(lines) == 1 and all(w in lines[0] for w in words), "pid %d with its own 1 and %s in: %s" % (container.pid, words, listed))


def check_pids(out, container):
    job = out.profile["job"]
    h.equal((job["pid"], job["namespace_pid"]), (container.pid, 1), "pids")
    h.equal({e["pid"] for e in out.events}, {1}, "pids in the trace")
