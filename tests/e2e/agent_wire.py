"""Reads what the agent hands over, from include/agent_wire.h alone; and the words of its enums."""
import collections
import struct

MAGIC, VERSION, BATCH_BYTES = 0x47415054, 1, 65536
KINDS = {1: "session", 2: "device", 3: "name", 4: "kernel", 5: "memcpy", 6: "memset", 7: "api", 8: "sync", 9: "event", 10: "overhead",
         11: "status", 12: "end"}
STATUS = {1: "no_cuda", 2: "no_cupti", 3: "static_cupti", 4: "incomplete", 5: "too_old", 6: "newer", 7: "several", 8: "busy", 9: "unknown",
          10: "privileges", 11: "refused", 12: "kind", 13: "taken", 14: "hung", 15: "returned", 16: "clock", 17: "clock_changed",
          18: "clock_step", 19: "untimed", 20: "lost", 21: "outstanding", 22: "no_memory", 23: "thread_ids"}
END = {1: "asked", 2: "hung", 3: "nothing", 4: "taken"}
DOMAINS = ["unknown", "realtime", "monotonic", "tsc"]
COUNTS = {0: "records", 1: "muted", 2: "untimed", 3: "guessed", 4: "names_cut", 8: "cupti_lost", 9: "no_buffer", 10: "unknown_kind",
          11: "broken", 12: "late", 13: "no_name"}
TIME_NONE, TIME_GUESSED, TIME_RAW, NAME_CUT = 1, 2, 4, 8
HAS_GRAPH, HAS_CHANNEL, HAS_CLUSTER, HAS_PRIORITY, HAS_PEER, HAS_COPY_COUNT = (1 << n for n in range(8, 14))

# name, struct format and fields after the eight bytes that begin every record; a trailing text is what is left
FORMS = {
    "session": ("QIIIIIHH", "begin_ns cupti_version driver_version kinds thread_ids poll_ms text_size _"),
    "device": ("Q" + 12 * "I" + "4H", "memory id major minor threads_per_block threads_per_sm registers_per_block registers_per_sm warp_size "
               "shared_per_block shared_optin shared_per_sm sms text_size _ _1 _2"),
    "name": ("IHH", "id text_size _"),
    "kernel": ("QQ" + 5 * "I" + 9 * "I" + 4 * "I" + "IIiIQ", "start_ns end_ns correlation name device context stream gx gy gz bx by bz cx cy cz "
               "registers static_shared dynamic_shared local channel channel_type priority graph_id graph_node"),
    "memcpy": ("QQQIIIIBBBB" + 5 * "I" + "QQII", "start_ns end_ns bytes correlation device context stream copy_kind source_kind target_kind "
               "copy_flags source_device source_context target_device target_context graph_id graph_node copy_count channel channel_type"),
    "memset": ("QQQIIIIIHHQIIII", "start_ns end_ns bytes correlation device context stream value memory_kind memset_flags graph_node graph_id "
               "channel channel_type _"),
    "api": ("QQIIIIII", "start_ns end_ns correlation thread domain callback name result"),
    "sync": ("QQIIIIIIQ", "start_ns end_ns correlation type context stream event result event_sync"),
    "event": ("IIIIIIQ", "correlation context stream event device _ event_sync"),
    "overhead": ("QQIIIIII", "start_ns end_ns overhead object id0 id1 id2 correlation"),
    "status": ("QqIIHHHH", "time_ns value code effect text_size _ _1 _2"),
    "end": ("QII", "time_ns reason _"),
}


class Bad(Exception):
    pass


def need(condition, message):
    if not condition:
        raise Bad(message)


class Session:
    """All batches of one session."""

    def __init__(self, number):
        self.number = number
        self.rows = collections.defaultdict(list)
        self.names = {}
        self.batches = 0
        self.counts = {}
        self.domain = None

    def __getattr__(self, kind):
        if kind in FORMS:
            return self.rows[kind]
        raise AttributeError(kind)

    @property
    def end(self):
        return END[self.rows["end"][0]["reason"]] if self.rows["end"] else None

    def statuses(self):
        return [STATUS[s["code"]] for s in self.rows["status"]]

    def status(self, word):
        return next((s for s in self.rows["status"] if STATUS[s["code"]] == word), None)


def _record(kind, flags, body):
    form, fields = FORMS[kind]
    size = struct.calcsize("<" + form)
    need(len(body) >= size, "a %s of %d bytes" % (kind, len(body)))
    row = dict(zip(fields.split(), struct.unpack_from("<" + form, body)))
    row["flags"] = flags
    if "text_size" in row:
        need(size + row["text_size"] <= len(body), "a text beyond its %s" % kind)
        row["text"] = body[size : size + row["text_size"]].decode("utf-8", "replace")
    return row


def _batch(data, at, sessions, pid):
    magic, version, header, size, count, number, sequence, its_pid, _, time_ns = struct.unpack_from("<IHHIIQQIIQ", data, at)
    domain, _, _, _, _, _ = struct.unpack_from("<IIqQQQ", data, at + 48)
    counts = struct.unpack_from("<16Q", data, at + 88)
    need(magic == MAGIC and version == VERSION and header == 216, "head of a batch at %d" % at)
    need(header <= size <= BATCH_BYTES and at + size <= len(data), "size of a batch")
    need(its_pid == pid, "pid of a batch: %d, want %d" % (its_pid, pid))
    session = sessions.setdefault(number, Session(number))
    need(session.batches == sequence, "batch %d of session %d is missing" % (session.batches, number))
    need(session.end is None, "something after the end")
    session.batches += 1
    session.counts = {COUNTS[i]: n for i, n in enumerate(counts) if i in COUNTS}
    session.domain = DOMAINS[domain]
    offset = at + header
    for _ in range(count):
        kind, length, flags = struct.unpack_from("<HHI", data, offset)
        need(length >= 8 and length % 8 == 0 and offset + length <= at + size, "size of a record")
        row = _record(KINDS[kind], flags, data[offset + 8 : offset + length])
        if KINDS[kind] == "name":
            need(session.names.setdefault(row["id"], row["text"]) == row["text"], "one id, two names")
        if "name" in row:
            need(row["name"] == 0 or row["name"] in session.names, "a name that was not said")
            row["name"] = session.names.get(row["name"], "")
        session.rows[KINDS[kind]].append(row)
        offset += length
    need(offset == at + size, "records do not fill the batch")
    return size


def read(path, pid):
    """The sessions of a file of batches, in order."""
    with open(path, "rb") as f:
        data = f.read()
    sessions, at = {}, 0
    while at < len(data):
        at += _batch(data, at, sessions, pid)
    for session in sessions.values():
        total = sum(len(rows) for rows in session.rows.values())
        need(session.counts["records"] == total, "records: %d came, %d were sent" % (total, session.counts["records"]))
    return list(sessions.values())
