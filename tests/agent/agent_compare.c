/* agent_compare.c - what came from the agent against what the device did; see agent_harness.h. */
#include "agent/agent_harness.h"

#include <unistd.h>

#include "fakes/cuda_names.h"
#include "fakes/fake_cuda.h"

static void near(const struct harness_expect *expect, uint64_t got, uint64_t want)
{
	uint64_t off = got > want ? got - want : want - got;

	if (off > expect->slack_ns)
		fail_msg("a time is off by %llu ns, at most %llu", (unsigned long long)off,
			 (unsigned long long)expect->slack_ns);
}

static bool same_flag(uint32_t flags, uint32_t flag, bool wanted)
{
	return !!(flags & flag) == wanted;
}

static const struct agent_kernel *find_kernel(const struct fake_op *op)
{
	const struct agent_kernel *kernel;
	size_t n = 0;

	while ((kernel = harness_record(AGENT_KERNEL, n++)))
		if (kernel->correlation == op->correlation &&
		    kernel->graph_node_id == op->graph_node)
			return kernel;
	return NULL;
}

static void compare_kernel(const struct harness_expect *expect, const struct fake_op *op)
{
	const struct agent_kernel *k = find_kernel(op);
	bool with_priority = expect->version >= 130100;
	int i;

	assert_non_null(k);
	near(expect, k->start_ns, op->start_ns);
	near(expect, k->end_ns, op->end_ns);
	assert_string_equal(harness_name(k->name), op->name);
	assert_int_equal(k->device, op->device);
	assert_int_equal(k->context, op->context);
	assert_int_equal(k->stream, op->stream);
	for (i = 0; i < 3; i++) {
		assert_int_equal(k->grid[i], op->grid[i]);
		assert_int_equal(k->block[i], op->block[i]);
	}
	assert_int_equal(k->registers_per_thread, op->registers);
	assert_int_equal(k->static_shared_bytes, op->static_shared);
	assert_int_equal(k->dynamic_shared_bytes, op->dynamic_shared);
	assert_int_equal(k->graph_id, op->graph_id);
	assert_int_equal(k->cluster[0], 2);
	assert_int_equal(k->channel, 5);
	assert_int_equal(k->channel_type, 1);
	assert_true(same_flag(k->record.flags, AGENT_HAS_PRIORITY, with_priority));
	assert_int_equal(k->priority, with_priority ? op->priority : 0);
	assert_true(k->record.flags & AGENT_HAS_GRAPH);
	assert_true(k->record.flags & AGENT_HAS_CLUSTER);
	assert_int_equal(k->record.flags & 7, 0);
}

static void compare_copy(const struct harness_expect *expect, const struct fake_op *op)
{
	const struct agent_memcpy *c;
	bool peer = op->kind == FAKE_PEER, counted = !peer && expect->version >= 26;
	size_t n = 0;

	while ((c = harness_record(AGENT_MEMCPY, n++)))
		if (c->correlation == op->correlation)
			break;
	assert_non_null(c);
	near(expect, c->start_ns, op->start_ns);
	near(expect, c->end_ns, op->end_ns);
	assert_int_equal(c->size_bytes, op->bytes);
	assert_int_equal(c->copy_kind, op->copy_kind);
	assert_int_equal(c->source_kind, op->source_kind);
	assert_int_equal(c->target_kind, op->target_kind);
	assert_int_equal(c->copy_flags, 1);
	assert_int_equal(c->device, op->device);
	assert_int_equal(c->context, op->context);
	assert_int_equal(c->stream, op->stream);
	assert_int_equal(c->channel, peer ? 7 : 6);
	assert_int_equal(c->channel_type, 2);
	assert_true(same_flag(c->record.flags, AGENT_HAS_PEER, peer));
	assert_true(same_flag(c->record.flags, AGENT_HAS_COPY_COUNT, counted));
	assert_int_equal(c->copy_count, counted ? 1 : 0);
	assert_int_equal(c->source_device, op->source_device);
	assert_int_equal(c->target_device, op->target_device);
	assert_int_equal(c->target_context, peer ? op->target_device + 1 : 0);
}

static void compare_memset(const struct harness_expect *expect, const struct fake_op *op)
{
	const struct agent_memset *m;
	size_t n = 0;

	while ((m = harness_record(AGENT_MEMSET, n++)))
		if (m->correlation == op->correlation)
			break;
	assert_non_null(m);
	near(expect, m->start_ns, op->start_ns);
	near(expect, m->end_ns, op->end_ns);
	assert_int_equal(m->size_bytes, op->bytes);
	assert_int_equal(m->value, op->value);
	assert_int_equal(m->memory_kind, 3);
	assert_int_equal(m->memset_flags, 1);
	assert_int_equal(m->device, op->device);
	assert_int_equal(m->context, op->context);
	assert_int_equal(m->stream, op->stream);
	assert_int_equal(m->channel, 8);
}

void harness_compare_op(const struct harness_expect *expect, const struct fake_op *op)
{
	switch (op->kind) {
	case FAKE_KERNEL:
		compare_kernel(expect, op);
		break;
	case FAKE_MEMSET:
		compare_memset(expect, op);
		break;
	default:
		compare_copy(expect, op);
		break;
	}
}

static bool is_wanted(const struct fake_call *call)
{
	if (call->domain == FAKE_DRIVER)
		return call->cbid == CBID_cuLaunchKernel;
	switch (call->cbid) {
	case CBID_cudaGetDevice:
	case CBID_cudaSetDevice:
	case CBID_cudaGetLastError:
	case CBID_cudaEventCreateWithFlags:
	case CBID_cudaEventDestroy:
		return false;
	default:
		return true;
	}
}

size_t harness_calls_wanted(void)
{
	const struct fake_call *calls;
	size_t count = fake_truth(FAKE_TRUTH_CALLS, (const void **)&calls), wanted = 0, i;

	for (i = 0; i < count; i++)
		wanted += is_wanted(&calls[i]);
	return wanted;
}

static void compare_call(const struct harness_expect *expect, const struct fake_call *call)
{
	const struct agent_api *a;
	size_t n = 0;

	while ((a = harness_record(AGENT_API, n++)))
		if (a->correlation == call->correlation)
			break;
	if (!is_wanted(call)) {
		assert_null(a);
		return;
	}
	assert_non_null(a);
	near(expect, a->start_ns, call->start_ns);
	near(expect, a->end_ns, call->end_ns);
	assert_string_equal(harness_name(a->name), call->name);
	assert_int_equal(a->domain, call->domain);
	assert_int_equal(a->callback, call->cbid);
	assert_int_equal(a->thread, expect->pthread_ids ? call->pthread : call->thread);
	assert_int_equal(a->result, call->result);
}

static void compare_sync(const struct harness_expect *expect, const struct fake_sync *sync)
{
	bool newer = expect->version >= 26;
	const struct agent_sync *s;
	size_t n = 0;

	while ((s = harness_record(AGENT_SYNC, n++)))
		if (s->correlation == sync->correlation)
			break;
	assert_non_null(s);
	near(expect, s->start_ns, sync->start_ns);
	near(expect, s->end_ns, sync->end_ns);
	assert_int_equal(s->type, sync->type);
	assert_int_equal(s->context, sync->context);
	assert_int_equal(s->stream, sync->stream);
	assert_int_equal(s->event, sync->event);
	assert_true(same_flag(s->record.flags, AGENT_HAS_EVENT_SYNC, newer));
	assert_int_equal(s->event_sync, newer ? sync->event_sync : 0);
}

static void compare_event(const struct harness_expect *expect, const struct fake_event *event)
{
	const struct agent_event *e;
	bool newer = expect->version >= 26;
	size_t n = 0;

	while ((e = harness_record(AGENT_EVENT, n++)))
		if (e->correlation == event->correlation)
			break;
	assert_non_null(e);
	assert_int_equal(e->stream, event->stream);
	assert_int_equal(e->context, event->context);
	assert_int_equal(e->event, event->event);
	assert_true(same_flag(e->record.flags, AGENT_HAS_DEVICE, newer));
	assert_int_equal(e->device, newer ? event->device : 0);
	assert_int_equal(e->event_sync, newer ? event->event_sync : 0);
}

static void compare_overhead(const struct harness_expect *expect)
{
	const struct agent_overhead *o;
	size_t n = 0;

	while ((o = harness_record(AGENT_OVERHEAD, n++))) {
		assert_int_equal(o->overhead, 1 << 16);
		assert_int_equal(o->object, 2);
		assert_int_equal(o->ids[0], getpid());
		assert_true(o->end_ns >= o->start_ns && o->start_ns);
		assert_true(
			same_flag(o->record.flags, AGENT_HAS_CORRELATION, expect->version >= 22));
	}
	assert_true(n > 1);
}

void harness_compare(const struct harness_expect *expect)
{
	const struct fake_call *calls;
	const struct fake_op *ops;
	const struct fake_sync *syncs;
	const struct fake_event *events;
	size_t call_count = fake_truth(FAKE_TRUTH_CALLS, (const void **)&calls);
	size_t op_count = fake_truth(FAKE_TRUTH_OPS, (const void **)&ops);
	size_t sync_count = fake_truth(FAKE_TRUTH_SYNCS, (const void **)&syncs);
	size_t event_count = fake_truth(FAKE_TRUTH_EVENTS, (const void **)&events);
	size_t i;

	assert_true(op_count > 0);
	assert_int_equal(harness_count(AGENT_KERNEL) + harness_count(AGENT_MEMCPY) +
				 harness_count(AGENT_MEMSET),
			 op_count);
	assert_int_equal(harness_count(AGENT_API), harness_calls_wanted());
	for (i = 0; i < op_count; i++)
		harness_compare_op(expect, &ops[i]);
	for (i = 0; i < call_count; i++)
		compare_call(expect, &calls[i]);
	assert_int_equal(harness_count(AGENT_SYNC), expect->with_sync ? sync_count : 0);
	assert_int_equal(harness_count(AGENT_EVENT), expect->with_sync ? event_count : 0);
	for (i = 0; expect->with_sync && i < sync_count; i++)
		compare_sync(expect, &syncs[i]);
	for (i = 0; expect->with_sync && i < event_count; i++)
		compare_event(expect, &events[i]);
	compare_overhead(expect);
}
