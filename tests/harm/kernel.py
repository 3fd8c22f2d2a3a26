"""What a tpbpf has in the kernel and in the process table, and whether any of it is left when it has ended. Other people's tpbpf may
run here at the same time: only what belongs to one's own tool and target is looked at."""
import contextlib
import ctypes
import errno
import glob
import os
import re
import struct

SYS_BPF = 321  # x86-64
BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID, BPF_OBJ_GET_INFO_BY_FD, BPF_LINK_GET_FD_BY_ID, BPF_LINK_GET_NEXT_ID = 13, 14, 15, 30, 31
BY_ID = {"link": BPF_LINK_GET_FD_BY_ID, "prog": BPF_PROG_GET_FD_BY_ID, "map": BPF_MAP_GET_FD_BY_ID}
LINK_TYPE_UPROBE_MULTI = 12
INFO_BYTES = 128
UPROBE_MULTI_PID_AT = 60  # struct bpf_link_info of linux/bpf.h: type, id, prog_id, 4 words of 64 bits from 16 on, path_size, count, flags, pid

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    """Returns (result, attributes as the kernel left them), or raises OSError."""
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    result = libc.syscall(SYS_BPF, command, buffer, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw


def exists(kind, number):
    try:
        fd, _ = bpf(BY_ID[kind], struct.pack("I", number))
    except OSError as e:
        if e.errno == errno.ENOENT:
            return False
        raise
    os.close(fd)
    return True


def link_info(fd):
    buffer = ctypes.create_string_buffer(INFO_BYTES)
    bpf(BPF_OBJ_GET_INFO_BY_FD, struct.pack("IIQ", fd, INFO_BYTES, ctypes.addressof(buffer)))
    return buffer.raw


def probe_links(pid):
    """Ids of the links that probe this process."""
    found, number = [], 0
    while True:
        try:
            number = struct.unpack_from("I", bpf(BPF_LINK_GET_NEXT_ID, struct.pack("I", number))[1], 4)[0]
        except OSError as e:
            if e.errno == errno.ENOENT:
                return found
            raise
        try:
            fd, _ = bpf(BPF_LINK_GET_FD_BY_ID, struct.pack("I", number))
        except OSError:
            continue  # somebody's, gone meanwhile
        try:
            info = link_info(fd)
        finally:
            os.close(fd)
        if struct.unpack_from("I", info)[0] == LINK_TYPE_UPROBE_MULTI and struct.unpack_from("I", info, UPROBE_MULTI_PID_AT)[0] == pid:
            found.append(number)


def processes_with(marker):
    """Those that were started with it in their environment, and their children; a zombie has no environment."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError):
            with open(path, "rb") as f:
                if marker.encode() in f.read().split(b"\0"):
                    found.append(int(path.split("/")[2]))
    return found


def objects_of(pids):
    """{(kind, id)} of the BPF objects behind the descriptors of these processes."""
    found = set()
    for pid in pids:
        for path in glob.glob("/proc/%d/fdinfo/*" % pid):
            with contextlib.suppress(OSError):
                with open(path) as f:
                    found |= {(kind, int(number)) for kind, number in re.findall(r"^(link|prog|map)_id:\s*(\d+)$", f.read(), re.M)}
    return found


def descriptors(pid):
    """What the process has open, as text, but for its own pipes and what PyTorch shares with the workers of a DataLoader."""
    found = []
    for path in glob.glob("/proc/%d/fd/*" % pid):
        with contextlib.suppress(OSError):
            found.append(os.readlink(path))
    return sorted(x for x in found if not x.startswith(("pipe:", "socket:", "/dev/shm/torch_")))


class Footprint:
    """Of one tpbpf: its processes, by a word in their environment, and its objects, as far as they were looked at."""

    count = 0

    def __init__(self):
        Footprint.count += 1
        self.word = "%d-%d" % (os.getpid(), Footprint.count)
        self.environment = {"TPBPF_HARM": self.word}
        self.objects = set()

    def look(self):
        self.objects |= objects_of(self.processes())
        return self.objects

    def processes(self):
        return processes_with("TPBPF_HARM=" + self.word)

    def busy(self, target_pid):
        """In words, the processes and links that there still are; "" if none."""
        words = ["process %d" % pid for pid in self.processes()]
        words += ["link %d to the target" % link for link in probe_links(target_pid)]
        words += ["link %d" % number for kind, number in sorted(self.objects) if kind == "link" and exists(kind, number)]
        return ", ".join(words)

    def left(self, target_pid):
        """The same, with programs and maps."""
        words = ["%s %d" % pair for pair in sorted(self.objects) if pair[0] != "link" and exists(*pair)]
        return ", ".join(filter(None, [self.busy(target_pid), *words]))
