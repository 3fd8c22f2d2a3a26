/* pipeline_run.h - a pipeline into a directory, the records of a small job, and its files read
 * back. */
#ifndef SUPPORT_PIPELINE_RUN_H
#define SUPPORT_PIPELINE_RUN_H

#include <cjson/cJSON.h>
#include <dirent.h>
#include <zlib.h>

#include "pipeline.h"
#include "support/memory_sink.h"
#include "support/records.h"
#include "support/temporary_dir.h"
#include "support/test.h"

#define MAIN 42
#define OFFSET_NS 1000000000000000000LL

struct run {
	struct out_dir *dir;
	struct pipeline *pipeline;
	struct memory_sink terminal;
	const struct summary *summary;
	char path[TEMPORARY_PATH_BYTES];
	bool cancelled;
};

static inline bool is_cancelled(void *context)
{
	return *(const bool *)context;
}

static inline void run_begin(struct run *run, const char *parent, const char *name, bool keep_raw)
{
	const struct out_cancel cancel = { is_cancelled, &run->cancelled };

	memset(run, 0, sizeof(*run));
	memory_sink_init(&run->terminal);
	temporary_dir_path(run->path, parent, name);
	assert_int_equal(out_dir_open(&run->dir, run->path, cancel), 0);
	assert_int_equal(pipeline_new(&run->pipeline, run->dir, keep_raw, NULL), 0);
}

static inline int run_finish(struct run *run)
{
	return pipeline_finish(run->pipeline, &run->terminal.sink, &run->summary);
}

static inline void run_end(struct run *run)
{
	pipeline_free(run->pipeline);
	out_dir_free(run->dir);
	memory_sink_fini(&run->terminal);
}

/* header.size bytes, in a buffer of that size. */
static inline void push(struct run *run, const void *record)
{
	const struct wire_header *header = record;
	struct record_sink *sink = pipeline_sink(run->pipeline);
	void *copy = malloc(header->size);

	assert_non_null(copy);
	memcpy(copy, record, header->size);
	assert_int_equal(sink->record(sink, copy, header->size), 0);
	free(copy);
}

static inline void push_begin(struct run *run, uint64_t time_ns, uint64_t object, const char *name)
{
	struct wire_range_begin record = record_begin(time_ns, MAIN, object, name);

	push(run, &record);
}

static inline void push_end(struct run *run, uint64_t time_ns, uint64_t object)
{
	struct wire_range_end record = record_end(time_ns, MAIN, object);

	push(run, &record);
}

static inline void push_attempt(struct run *run, uint64_t time_ns, uint32_t index,
				enum wire_phase phase, enum wire_phase next_phase)
{
	struct wire_attempt record = record_attempt(time_ns, MAIN, index, phase, next_phase);

	push(run, &record);
}

static inline void push_stop(struct run *run, uint64_t time_ns, enum wire_stop reason)
{
	struct wire_stop_record record = record_stop(time_ns, reason);

	push(run, &record);
}

static inline void push_session(struct run *run)
{
	struct wire_session session = record_session(1000000);
	struct wire_clock clock = record_clock(1000000, OFFSET_NS);
	struct wire_thread thread = record_thread(1000000, MAIN, "python3");

	push(run, &session);
	push(run, &clock);
	push(run, &thread);
}

/* One attempt of wait, one of warmup, two active ones with a range each. */
static inline void push_window(struct run *run)
{
	push_attempt(run, 10000000, 0, PHASE_WAIT, PHASE_WARMUP);
	push_attempt(run, 20000000, 1, PHASE_WARMUP, PHASE_ACTIVE);
	push_begin(run, 21000000, 0xa, "forward");
	push_end(run, 24000000, 0xa);
	push_attempt(run, 30000000, 2, PHASE_ACTIVE, PHASE_ACTIVE);
	push_begin(run, 31000000, 0xa, "forward");
	push_end(run, 35000000, 0xa);
	push_attempt(run, 40000000, 3, PHASE_ACTIVE, PHASE_AFTER);
	push_attempt(run, 50000000, 4, PHASE_AFTER, PHASE_AFTER);
}

static inline void push_complete(struct run *run)
{
	push_session(run);
	push_window(run);
	push_stop(run, 55000000, STOP_WINDOW_FINISHED);
}

static inline cJSON *read_json(const struct run *run, const char *name)
{
	char *text = temporary_dir_read(run->path, name, NULL);
	cJSON *root;

	assert_non_null(text);
	root = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(root);
	free(text);
	return root;
}

static inline void assert_state(const struct run *run, const char *state, const char *reason)
{
	cJSON *root = read_json(run, "profile.json");
	const cJSON *window = cJSON_GetObjectItem(root, "window");

	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(window, "state")), state);
	if (reason)
		assert_string_equal(
			cJSON_GetStringValue(cJSON_GetObjectItem(window, "stop_reason")), reason);
	else
		assert_true(cJSON_IsNull(cJSON_GetObjectItem(window, "stop_reason")));
	cJSON_Delete(root);
}

/* The trace, unpacked and parsed. */
static inline cJSON *read_trace(const struct run *run)
{
	char path[TEMPORARY_PATH_BYTES];
	char *text = calloc(1, 1 << 20);
	gzFile file;
	cJSON *root;

	assert_non_null(text);
	temporary_dir_path(path, run->path, "trace.json.gz");
	file = gzopen(path, "r");
	assert_non_null(file);
	assert_true(gzread(file, text, (1 << 20) - 1) > 0);
	assert_int_equal(gzclose(file), Z_OK);
	root = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(root);
	free(text);
	return root;
}

static inline int count_events(const cJSON *trace, const char *name)
{
	const cJSON *event;
	int count = 0;

	cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
	{
		count += !strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(event, "name")), name);
	}
	return count;
}

static inline int count_temporary(const struct run *run)
{
	DIR *stream = opendir(run->path);
	const struct dirent *entry;
	int count = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		count += entry->d_name[0] == '.' && strcmp(entry->d_name, ".") &&
			 strcmp(entry->d_name, "..");
	closedir(stream);
	return count;
}

#endif /* SUPPORT_PIPELINE_RUN_H */
