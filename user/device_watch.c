/*
 * device_watch.c - see device_watch.h. A session of the agent lasts from warmup to the end of the
 * window: what waits is unwatched on the device as well.
 */
#include "device_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/agent_probe.h"
#include "base/log.h"
#include "ingest/agent_batch.h"
#include "ingest/agent_status.h"

#define MS 1000000ULL
#define BEGIN_NS (5000 * MS) /* it looks once a second, and CUPTI may be slow to start */
#define END_NS (5000 * MS)   /* for its last records */

enum watch_state {
	WATCH_NONE,   /* no agent, or none is wanted */
	WATCH_IDLE,   /* there is one */
	WATCH_ASKED,  /* it has been asked to begin */
	WATCH_ON,     /* it records */
	WATCH_FAILED, /* it says that it cannot */
	WATCH_ENDING, /* it has been asked to end */
};

struct device_watch {
	struct record_sink sink;
	struct record_sink *next;
	struct agent_image image;
	struct agent_probe *probe;
	enum watch_state state;
	uint64_t asked_ns, ending_ns;
	bool has_recorded; /* it has been at work in this capture */

	/* What the stream was last told, and what is to be. */
	enum wire_device_watch watch;
	char reason[WIRE_NAME_BYTES];
	bool is_reported;
};

static void say(struct device_watch *watch, enum wire_device_watch how, const char *reason)
{
	if (watch->watch == how && !strncmp(watch->reason, reason, sizeof(watch->reason) - 1))
		return;
	watch->watch = how;
	snprintf(watch->reason, sizeof(watch->reason), "%s", reason);
	watch->is_reported = false;
}

/* What an earlier cycle has recorded stays: then this is a remark on it. */
static void say_unavailable(struct device_watch *watch, const char *reason)
{
	char sentence[WIRE_NAME_BYTES];

	if (!watch->has_recorded) {
		say(watch, DEVICE_UNAVAILABLE, reason);
		return;
	}
	snprintf(sentence, sizeof(sentence), "a later window has nothing of the GPU: %.200s",
		 reason);
	say(watch, DEVICE_WATCHED, sentence);
}

static void on_status(struct device_watch *watch, const struct agent_item *item)
{
	char text[AGENT_TEXT_BYTES + 1], sentence[WIRE_NAME_BYTES];
	bool is_final = item->any.status.effect == AGENT_EFFECT_NOTHING;

	/* What was recorded before is there. */
	if (watch->state != WATCH_ASKED ||
	    (!is_final && item->any.status.code != AGENT_STATUS_HUNG))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)item->text_bytes, item->text);
	agent_status_text(sentence, sizeof(sentence), &item->any.status, text);
	/* What hangs may return in time; until then that is why there is no answer. */
	say_unavailable(watch, sentence);
	if (is_final)
		watch->state = WATCH_FAILED;
}

static void on_item(struct device_watch *watch, const struct agent_item *item)
{
	switch (item->any.record.kind) {
	case AGENT_SESSION:
		/* One that was given up has nothing to say any more. */
		if (!(item->any.session.kinds & 1U << AGENT_ACTIVITY_KERNEL) ||
		    watch->state == WATCH_NONE)
			return;
		if (watch->state == WATCH_ASKED || watch->state == WATCH_FAILED)
			watch->state = WATCH_ON;
		watch->has_recorded = true;
		say(watch, DEVICE_WATCHED, "");
		return;
	case AGENT_STATUS:
		on_status(watch, item);
		return;
	case AGENT_END:
		if (watch->state != WATCH_ENDING)
			return;
		watch->state = WATCH_IDLE;
		agent_probe_detach(watch->probe, AGENT_POINT_BATCH);
		return;
	default:
		return;
	}
}

static void look_at(struct device_watch *watch, const void *bytes, size_t size_bytes)
{
	struct agent_batch_walk walk;
	struct agent_item item;

	if (size_bytes < sizeof(struct wire_agent) ||
	    agent_batch_begin(&walk, (const char *)bytes + sizeof(struct wire_agent),
			      size_bytes - sizeof(struct wire_agent)))
		return;
	while (agent_batch_next(&walk, &item))
		on_item(watch, &item);
}

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct device_watch *watch = container_of(sink, struct device_watch, sink);
	struct wire_header header;

	if (size_bytes < sizeof(header))
		return watch->next->record(watch->next, bytes, size_bytes);
	memcpy(&header, bytes, sizeof(header));
	if (header.kind == WIRE_AGENT && header.size <= size_bytes)
		look_at(watch, bytes, header.size);
	return watch->next->record(watch->next, bytes, size_bytes);
}

bool device_watch_finds_agent(const struct target *target)
{
	struct agent_image image;
	int err = agent_image_open(&image, target->pid);

	agent_image_close(&image);
	return !err;
}

static void say_no_agent(struct device_watch *watch, const char *refusal)
{
	char sentence[WIRE_NAME_BYTES];

	if (refusal[0])
		snprintf(sentence, sizeof(sentence), "the agent could not be injected: %s",
			 refusal);
	else
		snprintf(sentence, sizeof(sentence),
			 "no agent in the job; start it with CUDA_INJECTION64_PATH=/path/to/"
			 "libtpbpf-agent.so, or use --gpu inject");
	say(watch, DEVICE_UNAVAILABLE, sentence);
}

static void find_agent(struct device_watch *watch, const struct probe_plan *plan,
		       const char *refusal)
{
	const struct target *target = plan->target;
	int err = agent_image_open(&watch->image, target->pid);

	if (!err && plan->activities & ACTIVITY_CUDA_CALLS && !plan->calls_in_reserve) {
		agent_image_close(&watch->image);
		say(watch, DEVICE_UNAVAILABLE, "the agent came when the capture had begun");
		return;
	}
	if (!err)
		err = agent_probe_open(&watch->probe, &watch->image, target->pid);
	if (!err) {
		watch->state = WATCH_IDLE;
		say(watch, DEVICE_UNAVAILABLE, "the agent was not asked before the capture ended");
	} else if (err != -ENOENT) {
		say(watch, DEVICE_UNAVAILABLE, "the agent in the job cannot be used");
	} else if (agent_note_has_library(target->pid, "libcuda.so")) {
		say_no_agent(watch, refusal);
	} else {
		say(watch, DEVICE_NOT_USED, "the job does not use CUDA");
	}
}

int device_watch_new(struct device_watch **out, const struct options *options,
		     const struct probe_plan *plan, const char *refusal, struct record_sink *next)
{
	struct device_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->sink.record = on_record;
	watch->next = next;
	watch->image.fd = -1;
	if (options->gpu == GPU_OFF)
		say(watch, DEVICE_NOT_ASKED, "not asked for (--gpu off)");
	else
		find_agent(watch, plan, refusal);
	*out = watch;
	return 0;
}

void device_watch_free(struct device_watch *watch)
{
	if (!watch)
		return;
	agent_probe_close(watch->probe);
	agent_image_close(&watch->image);
	free(watch);
}

int device_watch_ring_fd(const struct device_watch *watch)
{
	return watch->probe ? agent_probe_ring_fd(watch->probe) : -1;
}

struct record_sink *device_watch_sink(struct device_watch *watch)
{
	return &watch->sink;
}

int device_watch_report(struct device_watch *watch, uint64_t now_ns)
{
	struct wire_device record = {
		.header = { .size = sizeof(record), .kind = WIRE_DEVICE, .time_ns = now_ns },
		.watch = (__u8)watch->watch,
	};

	if (watch->is_reported)
		return 0;
	watch->is_reported = true;
	memcpy(record.reason, watch->reason, sizeof(record.reason));
	return watch->next->record(watch->next, &record, sizeof(record));
}

static void ask(struct device_watch *watch, uint64_t now_ns)
{
	int err = agent_probe_attach(watch->probe, AGENT_POINT_BATCH);

	/* Waits of streams are wanted in the trace; an agent without them is an older one. */
	if (!err)
		agent_probe_attach(watch->probe, AGENT_POINT_SYNC);
	if (!err)
		err = agent_probe_attach(watch->probe, AGENT_POINT_COLLECT);
	if (err) {
		log_warn("the agent in the job cannot be asked: %s", strerror(-err));
		say_unavailable(watch, "the agent in the job cannot be asked");
		watch->state = WATCH_NONE;
		return;
	}
	watch->state = WATCH_ASKED;
	watch->asked_ns = now_ns;
	say_unavailable(watch, "the agent in the job did not answer");
}

static bool is_going_on(const struct device_watch *watch)
{
	return watch->state == WATCH_ASKED || watch->state == WATCH_ON ||
	       watch->state == WATCH_FAILED;
}

static void end(struct device_watch *watch, uint64_t now_ns)
{
	agent_probe_detach(watch->probe, AGENT_POINT_COLLECT);
	agent_probe_detach(watch->probe, AGENT_POINT_SYNC);
	watch->state = WATCH_ENDING;
	watch->ending_ns = now_ns;
}

static void check_end(struct device_watch *watch, uint64_t now_ns)
{
	if (watch->state != WATCH_ENDING || now_ns < watch->ending_ns + END_NS)
		return;
	log_warn("the agent in the job did not end in time: its last records are missing");
	agent_probe_detach(watch->probe, AGENT_POINT_BATCH);
	watch->state = WATCH_NONE; /* it may still be at it: it is not asked again */
}

void device_watch_follow(struct device_watch *watch, uint32_t phase, uint64_t now_ns)
{
	bool is_wanted = phase == PHASE_WARMUP || phase == PHASE_ACTIVE;

	if (is_wanted && watch->state == WATCH_IDLE)
		ask(watch, now_ns);
	else if (!is_wanted && is_going_on(watch))
		end(watch, now_ns);
	check_end(watch, now_ns);
}

bool device_watch_is_ready(const struct device_watch *watch, uint64_t now_ns)
{
	switch (watch->state) {
	case WATCH_IDLE:   /* it has yet to be asked */
	case WATCH_ENDING: /* and this session of it to end before */
		return false;
	case WATCH_ASKED:
		return now_ns >= watch->asked_ns + BEGIN_NS;
	default:
		return true;
	}
}

bool device_watch_has_recorded(const struct device_watch *watch)
{
	return watch->has_recorded;
}

bool device_watch_has_failed(const struct device_watch *watch, uint64_t now_ns)
{
	if (watch->has_recorded)
		return false;
	switch (watch->state) {
	case WATCH_NONE: /* it cannot be used, or not be asked */
		return watch->watch == DEVICE_UNAVAILABLE;
	case WATCH_ASKED:
		return device_watch_is_ready(watch, now_ns);
	default:
		return watch->state == WATCH_FAILED;
	}
}

void device_watch_give_up(struct device_watch *watch)
{
	int point;

	for (point = 0; point < AGENT_POINT_CNT && watch->probe; point++)
		agent_probe_detach(watch->probe, (enum agent_point)point);
	watch->state = WATCH_NONE;
}

bool device_watch_is_ending(struct device_watch *watch, uint64_t now_ns)
{
	if (is_going_on(watch))
		end(watch, now_ns);
	check_end(watch, now_ns);
	return watch->state == WATCH_ENDING;
}
