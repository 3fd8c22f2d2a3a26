"""The columns of the matrix: what tpbpf does, or what is done to it, while a target is watched; and which pairs make no cell."""
import collections

PHASES = ("wait", "learn", "warmup", "active", "after")

Action = collections.namedtuple("Action", "name what phase kind")

ACTIONS = [
    *(Action("watch-" + p, "one window; the deed is done in %s" % p, p, "watch") for p in PHASES),
    *(Action("int-" + p, "Ctrl-C in %s" % p, p, "int") for p in PHASES),
    Action("term-active", "SIGTERM in active", "active", "term"),
    *(Action("kill-" + p, "SIGKILL in %s" % p, p, "kill") for p in PHASES),
    Action("nomem-wait", "no more memory from wait on (RLIMIT_AS)", "wait", "nomem"),
    Action("nomem-active", "no more memory from active on (RLIMIT_AS)", "active", "nomem"),
    Action("oomkill", "killed in active by the kernel, for its cgroup's memory", "active", "oomkill"),
    Action("full", "one window, and no room for its files", "active", "full"),
    Action("nostdout", "one window, with stdin and stdout closed", "active", "nostdout"),
    Action("two", "one window, while a second tpbpf tries the same job again and again", "active", "two"),
    Action("rounds", "attach and detach, again and again, ended in every way", "active", "rounds"),
]
BY_NAME = {a.name: a for a in ACTIONS}

TORCH = {
    "torch-errors": ("watch-active", "int-active", "kill-wait", "kill-learn", "kill-warmup", "kill-active", "kill-after", "rounds"),
    "torch-loader": ("watch-active", "int-active", "kill-learn", "kill-active"),
}
RACES = ("int-active", "int-learn", "kill-learn", "kill-warmup", "kill-active", "kill-after")

# in which of them a target in a namespace of its own, an ending one... has no cell: (does it hold, why)
EXCLUSIONS = [
    (lambda r, a: r.torch and a.name not in TORCH[r.name], "PyTorch itself takes long to start: a handful of cells"),
    (lambda r, a: not r.torch and not acts(r) and a.kind == "watch" and a.phase != "active", "does the same in every phase"),
    (lambda r, a: ends(r) and a.kind in ("int", "kill") and a.name not in RACES, "it is over by itself: of such races a few"),
    (lambda r, a: ends(r) and a.name in ("rounds", "two", "oomkill", "nomem-wait", "nomem-active", "term-active"),
     "the job must last for this"),
]


def acts(row):
    """It does a deed while it is watched."""
    return row.by in ("target", "us")


def ends(row):
    return row.status is not None


def excluded(row, action):
    """Why this pair is no cell, or None."""
    return next((why for holds, why in EXCLUSIONS if holds(row, action)), None)


SHORT = {
    "plain": ("watch-active", "int-wait", "kill-learn", "kill-active", "nomem-active", "full", "nostdout", "two"),
    "throws": ("watch-active", "int-active", "kill-warmup", "kill-active", "kill-after"),
    "errors": ("kill-active",),
    "retries": ("watch-active",),
    "threads": ("watch-active", "kill-learn"),
    "signals": ("kill-active",),
    "limits": ("watch-active",),
    "seccomp": ("watch-active",),
    "seccomp-nop": ("watch-active",),
    "chroot": ("watch-active", "kill-active"),
    "fork": ("watch-active", "kill-active"),
    "orphan": ("watch-active", "kill-active"),
    "exec": ("watch-active",),
    "exit": ("int-active",),
    "abort": ("watch-wait",),
    "segv": ("watch-active",),
    "stopped": ("int-active", "kill-active"),
    "deleted": ("watch-active",),
    "replaced": ("watch-wait", "kill-active"),
    "dlclose": ("watch-active", "kill-active"),
}
