/* summaries.h - a finished capture as the writers get it. */
#ifndef SUPPORT_SUMMARIES_H
#define SUPPORT_SUMMARIES_H

#include <string.h>

#include "model/summary.h"
#include "output/writer.h"
#include "support/memory_sink.h"
#include "support/records.h"

/* Bytes that steer a terminal, break JSON or are no UTF-8. */
#define HOSTILE_NAME                       \
	"\x1b]0;owned\x07\"},{\\ \xc2\x9b" \
	"2J\xff\xed\xa0\x80\r\n\t</script>\x7f"

struct capture {
	struct summary summary;
	struct wire_session session;
	struct attempt attempts[5];
	struct op_row rows[3];
	struct wire_probe probes[2];
	struct thread_name threads[1];
	struct mode_row modes[4];
};

static inline void capture_add_attempt(struct capture *capture, enum wire_phase phase,
				       uint64_t start_ns, uint64_t end_ns)
{
	capture->attempts[capture->summary.attempt_count++] = (struct attempt){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.tid = 42,
		.phase = (uint8_t)phase,
		.outcome = OUTCOME_APPLIED,
	};
}

static inline void capture_add_row(struct capture *capture, const char *name, uint64_t count,
				   uint64_t total_ns, uint64_t self_ns)
{
	capture->rows[capture->summary.row_count++] = (struct op_row){
		.name = name,
		.count = count,
		.total_ns = total_ns,
		.self_ns = self_ns,
	};
	capture->summary.self_total_ns += self_ns;
}

static inline void capture_add_file(struct capture *capture, const char *name, uint64_t size_bytes)
{
	struct output_file *file = &capture->summary.files[capture->summary.file_count++];

	strcpy(file->name, name);
	file->size_bytes = size_bytes;
}

/* A complete window of two attempts; real time is monotonic time plus a billion seconds. */
static inline void capture_init(struct capture *capture)
{
	struct summary *summary = &capture->summary;

	memset(capture, 0, sizeof(*capture));
	capture->session = record_session(1000000);
	summary->session = &capture->session;
	summary->rows = capture->rows;
	summary->probes = capture->probes;
	summary->threads = capture->threads;
	summary->state = WINDOW_COMPLETE;
	summary->stop = STOP_WINDOW_FINISHED;
	capture_add_attempt(capture, PHASE_WAIT, 0, 10000000);
	capture_add_attempt(capture, PHASE_WARMUP, 10000000, 22000000);
	capture_add_attempt(capture, PHASE_ACTIVE, 22000000, 32000000);
	capture_add_attempt(capture, PHASE_ACTIVE, 32000000, 47000000);
	capture_add_attempt(capture, PHASE_AFTER, 47000000, 57000000);
	summary->active_count = 2;
	summary->outcome_count[OUTCOME_APPLIED] = 5;
	summary->started_ns = 22000000;
	summary->ended_ns = 47000000;
	summary->window_ns = 25000000;
	summary->real_offset_ns = 1000000000000000000LL;
	summary->median_ns[PHASE_WAIT] = 10000000;
	summary->median_ns[PHASE_ACTIVE] = 12500000;
	summary->median_ns[PHASE_AFTER] = 10000000;
	capture_add_row(capture, "forward", 3, 30000000, 20000000);
	capture_add_row(capture, "ProfilerStep*", 3, 40000000, 10000000);
	capture_add_row(capture, "Optimizer.step#SGD.step", 3, 10001000, 10000000);
	capture_add_file(capture, "trace.json.gz", 1258291);
	capture_add_file(capture, "trace/node-1_42.1.pt.trace.json.gz", 1258291);
	capture_add_file(capture, "steps.csv", 300);
	strcpy(capture->probes[0].point, "range begin");
	strcpy(capture->probes[0].library, "libtorch_cpu.so");
	strcpy(capture->probes[0].site, "push");
	capture->probes[0].found = 1;
	capture->probes[0].emulated = 1;
	capture->probes[0].file_offset = 0x1234;
	strcpy(capture->probes[1].point, "range exit");
	strcpy(capture->probes[1].cost, "the cheap end of an attempt");
	summary->probe_count = 2;
	capture->threads[0] = (struct thread_name){ 42, "python3" };
	summary->thread_count = 1;
	summary->directory = "out";
}

/* Everything was asked for and nothing is said against it. */
static inline void capture_record_all(struct capture *capture)
{
	struct summary *summary = &capture->summary;

	capture->session.plan.activities = ACTIVITY_RANGES | ACTIVITY_OPERATORS |
					   ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY | ACTIVITY_SHAPES;
	capture->probes[1].optional = 1;
	summary->operators_found = 3000;
	summary->has_shapes = true;
	summary->cost.is_final = 1;
	summary->cost.bound_permille = 100;
	summary->cost.attempt_ns = 1000000;
	summary->cost.predicted_added_ns = 80000;
	summary->cost.exact_added_ns = 640000;
	summary->modes = capture->modes;
}

static inline void capture_add_mode(struct capture *capture, uint32_t subject, const char *name,
				    enum wire_mode mode)
{
	capture->modes[capture->summary.mode_count++] = (struct mode_row){
		.subject = subject,
		.name = name,
		.overload = subject < MODE_SUBJECT_NODES ? "Tensor" : NULL,
		.mode = (uint8_t)mode,
		.hits = 40,
		.duration_ns = 2500,
		.cost_ns = 7000,
		.cost_exact_ns = 1234567,
	};
}

/* Runs a writer of the final kind into memory; 0 or its error. */
static inline int capture_write(const struct capture *capture, struct memory_sink *memory,
				int (*writer_new)(struct writer **, struct byte_sink *))
{
	struct summary summary = capture->summary;
	struct attempt_log attempts = { 0 };
	struct writer *writer = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < summary.attempt_count && !err; i++)
		err = attempt_log_add(&attempts, &capture->attempts[i]);
	summary.attempts = &attempts;
	if (!err)
		err = writer_new(&writer, &memory->sink);
	if (!err)
		err = writer->ops->finish(writer, &summary);
	if (writer)
		writer->ops->free(writer);
	attempt_log_clear(&attempts);
	return err;
}

#endif /* SUPPORT_SUMMARIES_H */
