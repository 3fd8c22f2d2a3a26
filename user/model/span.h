/* span.h - what has both its ends and is ready for the tables and the trace. */
#ifndef MODEL_SPAN_H
#define MODEL_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

enum span_kind {
	SPAN_RANGE = RANGE_USER,
	SPAN_REGION = RANGE_REGION,
	SPAN_OPERATOR = 2,
	SPAN_NODE_OUTER = 3, /* autograd::engine::evaluate_function: X */
	SPAN_NODE = 4,	     /* X */
	SPAN_FUNCTION = 5,   /* RECORD_FUNCTION in C++, autograd.Function, torch.ops */
	SPAN_CUDA_CALL = 6,  /* a call of the CUDA runtime or driver that was probed */
	SPAN_KIND_CNT = 7,
};

/* Its beginning and its end are probed in its own function: what left it by an exception is told.
 */
static inline bool span_kind_has_own_end(uint8_t kind)
{
	return kind == SPAN_OPERATOR || kind == SPAN_CUDA_CALL;
}

enum span_device {
	SPAN_CPU,
	SPAN_GPU, /* whatever is not CPU */
	SPAN_DEVICE_CNT,
};

struct span {
	/* Of the name table: equal names are equal pointers. is_step: valid during the call alone
	 */
	const char *name;
	const char *overload; /* of an operator, likewise; else NULL */
	uint64_t id;	      /* from 1 in order of beginning; External id of the trace */
	uint64_t start_ns;
	uint64_t end_ns;
	/* What the trace shows the two edges later, so that rows that touch nest; some ns. */
	int64_t start_shift_ns, end_shift_ns;
	/* Less its direct children on the same thread; 0 for an asynchronous one. As measured. */
	uint64_t self_ns;
	/* What the probes cost inside it: in its own time, and in all of it. */
	uint64_t probe_self_ns;
	uint64_t probe_total_ns;
	/* Net bytes: what was allocated in it less what was freed, without and with its children.
	 */
	int64_t self_bytes[SPAN_DEVICE_CNT];
	int64_t total_bytes[SPAN_DEVICE_CNT];
	/* As PyTorch numbers them; WIRE_SEQUENCE_NONE: none. */
	uint64_t sequence;
	uint64_t forward_thread; /* of a node: PyTorch's number of the forward's thread; else 0 */
	const struct wire_shapes *shapes; /* NULL: not recorded. Valid during the call alone */
	uint32_t tid;			  /* of the beginning */
	uint8_t kind;			  /* enum span_kind */
	uint8_t domain;			  /* enum wire_call_domain */
	uint16_t callback_id;		  /* of a call of CUDA's; 0: not known */
	bool is_finished;   /* false: the end was not seen, end_ns is the end of the window */
	bool is_inferred;   /* its end was not probed: it is what such a call took in warmup */
	bool is_unwound;    /* an exception left it: end_ns is the last moment it was seen alive */
	bool is_start_told; /* no probe saw it begin: it does where the row before it ends */
	bool is_merged; /* the only child of a span of its name: the tables count it as that one */
	bool is_async;	/* ended on another thread: stands outside the nesting */
	bool is_top;	/* no span of this thread encloses it */
	bool is_step;	/* a ProfilerStep annotation made by us */
};

static inline uint64_t span_shown_start_ns(const struct span *span)
{
	return span->start_ns + (uint64_t)span->start_shift_ns;
}

static inline uint64_t span_shown_end_ns(const struct span *span)
{
	return span->end_ns + (uint64_t)span->end_shift_ns;
}

/* An arrow from a forward operator to the node of its backward. */
struct flow {
	uint64_t id;		 /* from 1 */
	uint64_t from_ns, to_ns; /* the starts of the two spans */
	uint32_t from_tid, to_tid;
};

/* A call of an nn.Module. Its end was not probed: it is that of the last thing seen inside. */
struct module_call {
	const char *name;   /* of the name table: "nn.Module: Linear_0" */
	uint64_t id;	    /* from 1 in order of beginning */
	uint64_t parent_id; /* the call that it lies in; 0: none of the window */
	uint64_t start_ns, end_ns;
	uint32_t tid;
	uint32_t module_id; /* of the instance, from 0 */
	bool is_finished;   /* false: it was open when the window ended */
};

/* An allocation, or a free, or one that failed. */
struct memory_event {
	uint64_t time_ns;
	uint64_t address;   /* 0: out of memory */
	int64_t size_bytes; /* negative: freed */
	uint64_t total_allocated_bytes;
	uint64_t total_reserved_bytes;
	uint32_t tid;
	uint8_t device_type;
	int8_t device_index;
	bool is_out_of_memory;
};

#endif /* MODEL_SPAN_H */
