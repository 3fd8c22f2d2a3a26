/*
 * open_spans.h - what spans.c and calls.c share: the open spans of each thread, ranges and calls in
 * one list in order of beginning. A span's parent is the one before it in the list when it ends:
 * that one began earlier and is still open, so it encloses it whole. A span that ends before one
 * that began inside it leaves the list and is nobody's parent, as torch.profiler sees it.
 *
 * Calls know their frame by the stack pointer at their entry, which falls from each open call of a
 * thread to the next one inside it. Of a call that is over the end may not have come: it was not
 * probed, an exception left it, or the record was lost. What comes next on the thread tells.
 *
 * What begins outside of the window is hidden: it is listed, for its end must be told from others',
 * and learned from, but it is not pushed on and is no parent of what is.
 */
#ifndef ANALYZE_OPEN_SPANS_H
#define ANALYZE_OPEN_SPANS_H

#include "analyze/learned.h"
#include "analyze/spans.h"
#include "base/bound.h"
#include "base/hashmap.h"

#define OPEN_CALLS_MAX BOUND(1024, 12) /* of a thread */
#define OPEN_CALLS_TOTAL_MAX BOUND(262144, 30)
#define INNER_UNKNOWN UINT32_MAX

struct thread_spans;

/* What a call had at a moment by which it may have been over; see doubts.h. */
struct doubt {
	bool is_set;
	uint64_t since_ns;
	uint64_t last_seen_ns, last_child_end_ns, last_child_shown_ns, child_ns, children;
	uint64_t probe_self_ns, probe_total_ns;
	int64_t self_bytes[SPAN_DEVICE_CNT], total_bytes[SPAN_DEVICE_CNT];
};

struct open_span {
	struct open_span *outer, *inner; /* neighbours in the thread's list */
	struct open_span *outer_call;	 /* of a call: the open call before it */
	/* A child of this one's name that has ended, while it is not known whether it is the only
	 * one: off the list, not pushed on yet. */
	struct open_span *delayed;
	struct thread_spans *thread;
	struct span span; /* probe_total_ns: of its children, until it ends */
	union {
		uint64_t object; /* of a range */
		uint64_t sp;	 /* of a call */
	};
	uint64_t order;					 /* counts all beginnings */
	uint64_t child_ns;				 /* direct children, together */
	uint64_t last_child_end_ns, last_child_shown_ns; /* as it was, as the trace shows it */
	uint64_t next_event_ns; /* by which it was over, its end not having been seen; else 0 */
	uint64_t last_seen_ns;	/* the last event that came while it was open */
	uint64_t children;	/* that have ended */
	/* Net bytes of a node's inner row since its last child. What the engine does after the
	 * node's own work is the outer row's, and no probe tells where that begins. */
	int64_t pending_bytes[SPAN_DEVICE_CNT];
	/* Of a call. Its end is probed, or it is over after inner_expected events directly inside
	 * it, numbers taken aside, and took duration_ns. */
	uint64_t duration_ns;
	uint64_t numbered_duration_ns; /* the same if it took a sequence number */
	uint32_t frame_bytes;	       /* calls that it makes lie below sp by more; 0: not known */
	uint32_t subject;	       /* of an operator: its index */
	uint32_t inner_expected, inner_events;
	uint32_t inner_guards, inner_memory, inner_sequences; /* of inner_events */
	bool is_call, is_shown, is_begin_only, takes_numbers;
	bool needs_inside;    /* no row where nothing happened inside */
	bool is_cut;	      /* a call in which something may have been lost */
	uint64_t end_lost_ns; /* of a range: its end may have been lost after this; 0: no */
	struct doubt doubt;
	/* A row that begins and ends with it: its own guard is not probed. NULL: none. */
	const char *implied_name;
	struct wire_shapes *shapes; /* room for span.shapes, kept for the next user of this */
};

/* Until when records of a thread, or of any, are known to have been lost; see losses.h. */
struct lost_until {
	uint64_t calls_ns, ranges_ns; /* 0: none were */
};

struct thread_spans {
	struct thread_spans *next; /* all threads, for free */
	struct thread_spans *next_busy;
	struct open_span *outermost, *innermost, *innermost_call;
	uint64_t dropped_sp;  /* the outermost call that was dropped and may be open; 0: none */
	uint64_t seen_ns;     /* its last record */
	uint64_t last_end_ns; /* of its spans that have ended, as the trace shows them */
	struct lost_until lost_until;
	uint32_t tid, call_count;
	bool is_busy; /* in spans.busy */
};

struct spans {
	struct name_table *names;
	struct span_sink *next;
	struct learned *learned; /* NULL: nothing is */
	struct hashmap *by_object;
	struct hashmap *by_tid;
	struct thread_spans *threads, *last_thread;
	struct thread_spans *busy; /* those to look at when the window is over: few of many */
	struct open_span *unused;
	size_t open_max;
	size_t open_calls; /* shown ones whose end is probed */
	size_t call_total; /* all that are open */
	uint64_t last_id, last_order;
	uint64_t hit_ns;	      /* what a hit costs that is no operator's; 0: not known */
	struct lost_until lost_until; /* of several threads, whichever */
	bool has_holes;
	uint64_t dropped, cut_names, nameless;
};

/* NULL: out of memory. Stays where it is while spans lives. */
struct thread_spans *open_spans_thread(struct spans *spans, uint32_t tid);

/* The next one outside that is shown if this one is, and hidden if not; NULL: there is none. */
struct open_span *open_spans_parent_of(const struct open_span *open);

/* The delayed child, if there is one, is not the only one. */
int open_spans_push_delayed(struct spans *spans, struct open_span *parent);

/* Something of the thread must be closed, or forgotten, when the window is over. */
void open_spans_make_busy(struct spans *spans, struct thread_spans *thread);

/*
 * A span that begins now on the thread, as the innermost one. The caller fills in what is known. An
 * error is that of the sink, which may have been given another one, or -ENOMEM: *out is then not to
 * be used.
 */
int open_spans_begin(struct spans *spans, struct thread_spans *thread, uint64_t time_ns,
		     bool is_shown, struct open_span **out);

/* So many more calls may be open on the thread. */
bool open_spans_has_room(const struct spans *spans, const struct thread_spans *thread,
			 uint32_t count);

/* The innermost span becomes a call whose frame was entered at sp. */
void open_spans_make_call(struct spans *spans, struct open_span *open, uint64_t sp);

/*
 * Takes it off the list, gives its parent what is the parent's and pushes it on, if it is shown.
 * Consumes it, whatever is returned. The flags of the span must be set.
 */
int open_spans_finish(struct spans *spans, struct open_span *open, uint64_t end_ns);

/* An end that was probed, at end_ns. Consumes it. */
int open_spans_end(struct spans *spans, struct open_span *open, uint64_t end_ns);

/* Of a call that is over at now_ns, its end not having been seen. Consumes it. */
int open_spans_leave(struct spans *spans, struct open_span *call, uint64_t now_ns);

/* Of a call in which, or behind which, something may have been lost. Consumes it. */
int open_spans_cut(struct spans *spans, struct open_span *call, uint64_t now_ns);

/*
 * A row inside the innermost span, from the end of its last child, or its own beginning, to end_ns.
 * Neither is charged here.
 */
int open_spans_row_inside(struct spans *spans, struct open_span *open, const char *name,
			  uint64_t end_ns, bool is_inferred);

/* Everything that happens directly inside such a call has happened, and its end is not probed. */
bool open_spans_is_complete(const struct open_span *call);

/* Leaves the innermost calls that are complete: first of all when anything comes on the thread. */
int open_spans_settle(struct spans *spans, struct thread_spans *thread, uint64_t now_ns);

/* What an event says of the frames that are still there. */
enum frame_event {
	FRAME_BEGIN,  /* of a call whose frame is at sp */
	FRAME_INSIDE, /* of something called from a frame that lies above sp */
	FRAME_END,    /* of a call: its stack pointer somewhere in its frame, or at its entry */
};

/* A range begins: what is begin-only is short, and calls no Python that would begin one. */
int open_spans_leave_short(struct spans *spans, struct thread_spans *thread, uint64_t now_ns);

/* Leaves the calls that cannot be there any more when something happens at sp. */
int open_spans_unwind(struct spans *spans, struct thread_spans *thread, uint64_t sp,
		      enum frame_event event, uint64_t now_ns);

/* What a part of a hit costs falls into the innermost span. */
void open_spans_charge(struct thread_spans *thread, uint64_t part_ns, uint64_t now_ns);

#endif /* ANALYZE_OPEN_SPANS_H */
