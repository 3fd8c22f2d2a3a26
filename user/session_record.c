/* session_record.c - see session_record.h. */
#include "session_record.h"

#include <stdio.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/text.h"
#include "version.h"

/* A random id in the form of a UUID. */
static void make_id(char *to, size_t size_bytes)
{
	unsigned char b[16] = { 0 };

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
		uint64_t now_ns = clock_monotonic_ns(); /* unique enough on one host */

		snprintf((char *)b, sizeof(b), "%llx", (unsigned long long)now_ns);
	}
	snprintf(to, size_bytes,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], (b[6] & 0x0f) | 0x40, b[7], (b[8] & 0x3f) | 0x80, b[9],
		 b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void fill_plan(const struct options *options, unsigned int activities,
		      struct wire_plan *plan)
{
	plan->skip_first = options->skip_first;
	plan->skip_first_wait = options->skip_first_wait;
	plan->wait = options->wait;
	plan->warmup = options->warmup;
	plan->active = options->active;
	plan->repeat = options->repeat;
	plan->timeout_s = options->timeout_s;
	plan->activities = activities;
	text_copy(plan->step_source, sizeof(plan->step_source), options->step.text);
}

int session_record_begin(const struct options *options, const struct target *target,
			 unsigned int activities, enum wire_attach attached, uint64_t time_ns,
			 struct record_sink *sink)
{
	struct wire_session record = {
		.header = { .size = sizeof(record), .kind = WIRE_SESSION, .time_ns = time_ns },
		.abi = WIRE_ABI,
		.attached = attached,
	};

	make_id(record.session_id, sizeof(record.session_id));
	text_copy(record.tool_version, sizeof(record.tool_version), TPBPF_VERSION);
	text_copy(record.tool_command_line, sizeof(record.tool_command_line),
		  options->command_line);
	fill_plan(options, activities, &record.plan);
	target_describe(target, &record.job);
	return sink->record(sink, &record, sizeof(record));
}

int session_record_clock(uint64_t time_ns, struct record_sink *sink)
{
	struct wire_clock record = {
		.header = { .size = sizeof(record), .kind = WIRE_CLOCK, .time_ns = time_ns },
		.real_offset_ns = clock_real_offset_ns(),
	};

	return sink->record(sink, &record, sizeof(record));
}

int session_record_losses(const uint64_t counts[LOSS_CAUSE_CNT], uint64_t time_ns,
			  struct record_sink *sink)
{
	struct wire_loss record = {
		.header = { .size = sizeof(record), .kind = WIRE_LOSS, .time_ns = time_ns },
	};
	unsigned int cause;

	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++)
		record.count[cause] = counts[cause];
	return sink->record(sink, &record, sizeof(record));
}

int session_record_rings(const struct ring_maps *rings, uint64_t time_ns, struct record_sink *sink)
{
	struct wire_rings record = {
		.header = { .size = sizeof(record), .kind = WIRE_RINGS, .time_ns = time_ns },
	};

	ring_maps_lost(rings, &record);
	return sink->record(sink, &record, sizeof(record));
}

int session_record_probes(enum probes_change change, uint64_t started_ns, struct record_sink *sink)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct wire_probes record = {
		.header = { .size = sizeof(record), .kind = WIRE_PROBES, .time_ns = now_ns },
		.duration_ns = now_ns - started_ns,
		.is_attached = change == PROBES_ON || change == PROBES_PART_ON,
		.is_part = change == PROBES_PART_ON || change == PROBES_PART_OFF,
	};

	return sink->record(sink, &record, sizeof(record));
}

int session_record_stop(enum wire_stop reason, uint64_t time_ns, uint64_t detach_ns,
			struct record_sink *sink)
{
	uint64_t detach_us = detach_ns / 1000;
	struct wire_stop_record record = {
		.header = { .size = sizeof(record), .kind = WIRE_STOP, .time_ns = time_ns },
		.reason = reason,
		.detach_us = detach_us < UINT32_MAX ? (__u32)detach_us : UINT32_MAX,
	};

	return sink->record(sink, &record, sizeof(record));
}
