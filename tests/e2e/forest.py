"""Calls as trees, and the rows of key_averages() that they stand for. Knows nothing of where the calls come from."""
import collections

# key_averages() leaves these out
HIDDEN = {"profiler::_record_function_enter", "profiler::_record_function_enter_new", "profiler::_record_function_exit",
          "aten::is_leaf", "aten::output_nr", "aten::_version"}

Row = collections.namedtuple("Row", "name count self_bytes total_bytes self_ns total_ns")


class Node:
    """A call with what it called; allocations are leaves named [memory], with their size."""

    def __init__(self, name, start, end, tid, **more):
        self.name, self.start, self.end, self.tid = name, start, end, tid
        self.size = self.event = self.parent = None
        self.children = []
        self.__dict__.update(more)

    @property
    def is_call(self):
        return not self.name.startswith("[")

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()


def grow(events, start, end):
    """One tree for each outermost of the events of one thread; who lies within whom is told by time, at one moment by order of id."""
    roots, stack = [], []
    for e in sorted(events, key=lambda e: (start(e), -end(e), e["args"].get("External id", 0))):
        n = Node(e["name"], start(e), end(e), e["tid"], event=e)
        while stack and (stack[-1].end <= n.start or stack[-1].end < n.end):
            stack.pop()
        if stack:
            n.parent = stack[-1]
            stack[-1].children.append(n)
        else:
            roots.append(n)
        stack.append(n)
    return roots


def hide(nodes):
    """Without the calls that key_averages() leaves out; what they call counts as their caller's."""
    out = []
    for n in nodes:
        n.children = hide(n.children)
        out += n.children if n.name in HIDDEN else [n]
    return out


def merge(node):
    """An only child of its parent's name is not counted apart."""
    while True:
        calls = [c for c in node.children if c.is_call]
        if len(calls) != 1 or calls[0].name != node.name:
            break
        node.children = [c for c in node.children if not c.is_call] + calls[0].children
    for c in calls:
        merge(c)


def rows_of(roots, key=lambda node: node.name):
    """The rows of the table that a forest stands for, by key."""
    count, self_bytes, total_bytes, self_ns, total_ns = (collections.Counter() for _ in range(5))

    def add(node):
        own = sum(c.size for c in node.children if c.name == "[memory]")
        calls = [c for c in node.children if c.is_call]
        total = own + sum(add(c) for c in calls)
        k = key(node)
        count[k] += 1
        self_bytes[k] += own
        total_bytes[k] += total
        total_ns[k] += node.end - node.start
        self_ns[k] += node.end - node.start - sum(c.end - c.start for c in calls)
        return total

    for root in roots:
        if root.is_call:
            merge(root)
            add(root)
    return {k: Row(k, count[k], self_bytes[k], total_bytes[k], self_ns[k], total_ns[k]) for k in count}
