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
	summary->attempts = capture->attempts;
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

/* Runs a writer of the final kind into memory; 0 or its error. */
static inline int capture_write(const struct capture *capture, struct memory_sink *memory,
				int (*writer_new)(struct writer **, struct byte_sink *))
{
	struct writer *writer = NULL;
	int err = writer_new(&writer, &memory->sink);

	if (!err)
		err = writer->ops->finish(writer, &capture->summary);
	if (writer)
		writer->ops->free(writer);
	return err;
}

#endif /* SUPPORT_SUMMARIES_H */
