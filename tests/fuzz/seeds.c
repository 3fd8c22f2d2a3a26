/*
 * Makes the seeds that are too large to be kept, of which most bytes are zeroes or the same:
 * capture files of a small job that did a little of everything, and names of 64 KiB.
 *
 *   seeds DIRECTORY     writes DIRECTORY/capture_file/... and DIRECTORY/names/...
 */
#include <errno.h>
#include <sys/stat.h>
#include <stdlib.h>

#include "file_sink.h"
#include "ingest/capture_file.h"
#include "support/call_records.h"
#include "support/shapes.h"

#define MAIN 42
#define ENGINE 43

struct job {
	struct file_sink out;
	uint64_t now_ns;
	uint32_t attempts;
};

static void put(struct job *job, const void *record)
{
	const struct wire_header *header = record;

	if (capture_file_record(&job->out.sink, record, header->size))
		abort();
}

/* Each record a microsecond after the one before it. */
#define PUT(job, type, ...)                                \
	do {                                               \
		struct type put_record = __VA_ARGS__;      \
		(job)->now_ns += 1000;                     \
		put_record.header.time_ns = (job)->now_ns; \
		put(job, &put_record);                     \
	} while (0)

static void put_attempt(struct job *job, enum wire_phase phase, enum wire_phase next)
{
	PUT(job, wire_attempt, record_attempt(0, MAIN, job->attempts++, phase, next));
}

static void put_call(struct job *job, uint32_t index, uint64_t sp)
{
	PUT(job, wire_op, record_op(WIRE_OP_BEGIN, 0, MAIN, index, sp));
	PUT(job, wire_op, record_op(WIRE_OP_END, 0, MAIN, index, sp - 32));
}

static void put_head(struct job *job)
{
	struct wire_probe probe = {
		.header = record_header(WIRE_PROBE, sizeof(probe), 0, 1),
		.point = "range end",
		.cost = "the ends of ranges",
	};
	struct wire_cost cost = {
		.header = record_header(WIRE_COST, sizeof(cost), 0, 1),
		.hit_ns = { 700, 0, 900, 0, 800, 9000, 0 },
		.bound_permille = 1000,
	};

	PUT(job, wire_session, record_session(0));
	PUT(job, wire_clock, record_clock(0, 1700000000000000000LL));
	PUT(job, wire_thread, record_thread(0, MAIN, "python3"));
	put(job, &probe);
	PUT(job, wire_operator, record_operator(1, "aten::add", "Tensor"));
	PUT(job, wire_operator, record_operator(2, "aten::detach", ""));
	PUT(job, wire_operator, record_operator(3, "aten::mm", ""));
	PUT(job, wire_symbol,
	    record_symbol(SYMBOL_RTTI, 7, "N5torch8autograd9generated14AddmmBackward0E"));
	PUT(job, wire_symbol, record_symbol(SYMBOL_PYTHON, 8, "module.Function"));
	put(job, &cost);
}

static void put_warmup(struct job *job)
{
	int i;

	for (i = 0; i < 10; i++)
		put_call(job, 1, 0x7000);
	PUT(job, wire_sequence, record_sequence(0, MAIN, 1, 20, 0x7000));
	PUT(job, wire_mode_record, record_mode(1, MODE_BEGIN_ONLY, 1500, 0));
	PUT(job, wire_mode_record, record_mode(MODE_SUBJECT_MEMORY, MODE_OFF, 0, 0));
}

static void put_multiply(struct job *job)
{
	struct wire_shapes shapes = shapes_none();

	shapes_tensor(&shapes, 2, 3);
	shapes_tensor(&shapes, 3, 4);
	shapes.header.subject = 3;
	shapes.argument_count = 2;
	PUT(job, wire_op, record_op(WIRE_OP_BEGIN, 0, MAIN, 3, 0x7000));
	shapes.header.time_ns = job->now_ns;
	put(job, &shapes);
	PUT(job, wire_sequence, record_sequence(0, MAIN, 1, 21, 0x6f00));
	PUT(job, wire_memory, record_memory(0, MAIN, MEMORY_ALLOCATED, 0x6f00, 0x1000, 64));
	put_call(job, 2, 0x6e00);
	PUT(job, wire_op, record_op(WIRE_OP_END, 0, MAIN, 3, 0x6fe0));
	PUT(job, wire_memory, record_memory(0, MAIN, MEMORY_FREED, 0x7000, 0x1000, 0));
}

static void put_backward(struct job *job)
{
	PUT(job, wire_node_begin, record_node(0, ENGINE, 0x9000, 7, 21, 1));
	PUT(job, wire_op, record_op(WIRE_OP_BEGIN, 0, ENGINE, 1, 0x8800));
	PUT(job, wire_guard_end, record_guard(0, ENGINE, 0x8ff0, 0x8ff8));
	PUT(job, wire_function_begin, record_function(0, ENGINE, FUNCTION_APPLY, 0x8f00, 8));
}

static void put_step(struct job *job)
{
	PUT(job, wire_range_begin,
	    record_begin(0, MAIN, 0xa, "train \"step\" \x01\xff\xe2\x80\xae"));
	PUT(job, wire_module, record_module(0, MAIN, MODULE_BEGIN, 0, 0xb, 8));
	PUT(job, wire_module, record_module(0, MAIN, MODULE_BEGIN, 1, 0xc, 8));
	put_multiply(job);
	PUT(job, wire_module, record_module(0, MAIN, MODULE_END, 0, 0, 0));
	put_backward(job);
	PUT(job, wire_range_end, record_end(0, MAIN, 0xa));
	put_attempt(job, PHASE_ACTIVE, PHASE_ACTIVE);
}

static void put_job(struct job *job)
{
	put_head(job);
	put_attempt(job, PHASE_WAIT, PHASE_WARMUP);
	put_warmup(job);
	put_attempt(job, PHASE_WARMUP, PHASE_ACTIVE);
	put_step(job);
	put_step(job);
	put_attempt(job, PHASE_ACTIVE, PHASE_AFTER);
	PUT(job, wire_stop_record, record_stop(0, STOP_WINDOW_FINISHED));
}

static void put_session_alone(struct job *job)
{
	PUT(job, wire_session, record_session(0));
}

static FILE *create(const char *directory, const char *target, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, target);
	if (mkdir(path, 0777) && errno != EEXIST) {
		perror(path);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/%s/%s", directory, target, name);
	file = fopen(path, "we");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void write_capture(const char *directory, const char *name, void (*fill)(struct job *job))
{
	struct job job = { .now_ns = 1000000 };
	FILE *file = create(directory, "capture_file", name);

	file_sink_init(&job.out, file);
	if (capture_file_begin(&job.out.sink))
		abort();
	fill(&job);
	if (fclose(file))
		abort();
}

#define NAME_BYTES 65536

/* which: what fuzz_names takes it for. */
static void write_name(const char *directory, const char *name, uint8_t which, const char *before,
		       const char *again, const char *after)
{
	FILE *file = create(directory, "names", name);
	size_t used = strlen(before);

	fputc(which, file);
	fputs(before, file);
	for (; used < NAME_BYTES; used += strlen(again))
		fputs(again, file);
	fputs(after, file);
	if (fclose(file))
		abort();
}

static void write_names(const char *directory)
{
	write_name(directory, "long-class-parts", 0, "N", "1a", "E");
	write_name(directory, "long-class-pointers", 0, "1aI", "P", "iE");
	write_name(directory, "long-class-packs", 0, "1aI", "J", "E");
	write_name(directory, "long-class-digits", 0, "", "9", "a");
	write_name(directory, "long-class-again", 0, "1aI1bEI", "S0_", "E");
	write_name(directory, "long-mangled-parameters", 1, "_ZN2at4_ops3add4callE",
		   "RKNS_6TensorE", "");
	write_name(directory, "long-mangled-depth", 1, "_ZN2at4_ops3add4callE", "N1aI", "");
	write_name(directory, "long-mangled-long", 1, "_ZN2at4_ops4095", "a", "4callEv");
	write_name(directory, "long-schema-arguments", 2, "f(", "int a, ", "int b) -> ()");
	write_name(directory, "long-schema-default", 2, "f(int[] a=", "[", ") -> ()");
	write_name(directory, "long-json-bytes", 4, "", "\xff\x01", "");
	write_name(directory, "long-json-quotes", 4, "", "\"\\", "");
	write_name(directory, "long-text", 5, "", "\xe2\x80\xae\x1b", "");
	write_name(directory, "long-symbol", 6, "*N", "1a", "E");
	write_name(directory, "long-release", 7, "", "1", ".2");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	write_capture(argv[1], "job.raw", put_job);
	write_capture(argv[1], "session.raw", put_session_alone);
	write_names(argv[1]);
	return 0;
}
