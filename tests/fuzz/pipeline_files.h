/*
 * pipeline_files.h - a pipeline into a directory of its own, and what must hold of the files that
 * it leaves. The directory lies in TMPDIR, best one that is kept in memory, and is gone again after
 * each input: what the pipeline does not clear away itself is a finding.
 */
#ifndef FUZZ_PIPELINE_FILES_H
#define FUZZ_PIPELINE_FILES_H

#include <errno.h>
#include <zlib.h>

#include "fuzz/output_checks.h"
#include "pipeline.h"
#include "support/memory_sink.h"
#include "support/temporary_dir.h"

struct pipeline_files {
	struct out_dir *directory;
	struct pipeline *pipeline;
	struct memory_sink terminal;
	const struct summary *summary; /* once finished */
	char path[TEMPORARY_PATH_BYTES];
};

static inline bool files_not_cancelled(void *context)
{
	(void)context;
	return false;
}

/* A directory for as long as the program runs. */
static char pipeline_files_parent[TEMPORARY_PATH_BYTES];

static inline void pipeline_files_remove_parent(void)
{
	rmdir(pipeline_files_parent);
}

static inline void pipeline_files_make_parent(void)
{
	const char *where = getenv("TMPDIR");

	if (pipeline_files_parent[0])
		return;
	snprintf(pipeline_files_parent, sizeof(pipeline_files_parent), "%s/tpbpf-fuzz-XXXXXX",
		 where && *where ? where : "/tmp");
	FUZZ_CHECK(mkdtemp(pipeline_files_parent));
	atexit(pipeline_files_remove_parent);
}

static inline void pipeline_files_begin(struct pipeline_files *files, bool keep_raw,
					const struct table_options *table)
{
	const struct out_cancel cancel = { files_not_cancelled, NULL };

	memset(files, 0, sizeof(*files));
	pipeline_files_make_parent();
	memory_sink_init(&files->terminal);
	temporary_dir_path(files->path, pipeline_files_parent, "out");
	FUZZ_CHECK(!out_dir_open(&files->directory, files->path, cancel));
	FUZZ_CHECK(!pipeline_new(&files->pipeline, files->directory, keep_raw, table));
}

/* The trace as text; the caller frees it. */
static inline char *unpack_trace(const struct pipeline_files *files, size_t *size_bytes)
{
	char path[TEMPORARY_PATH_BYTES], *text = NULL;
	size_t capacity = 0, used = 0;
	gzFile file = gzopen(temporary_dir_path(path, files->path, "trace.json.gz"), "r");
	int got;

	FUZZ_CHECK(file);
	do {
		if (capacity - used < 65536) {
			capacity = capacity * 2 + 131072;
			text = realloc(text, capacity);
			FUZZ_CHECK(text);
		}
		got = gzread(file, text + used, (unsigned int)(capacity - used - 1));
		FUZZ_CHECK(got >= 0);
		used += (size_t)got;
	} while (got);
	FUZZ_CHECK(gzclose(file) == Z_OK);
	text[used] = 0;
	*size_bytes = used;
	return text;
}

static inline double number_in(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItem(object, key);

	FUZZ_CHECK(cJSON_IsNumber(item));
	return item->valuedouble;
}

/* Where a trace has no time or no length a viewer refuses the whole of it. */
static inline void check_event(const cJSON *event)
{
	const char *phase = cJSON_GetStringValue(cJSON_GetObjectItem(event, "ph"));

	FUZZ_CHECK(phase);
	FUZZ_CHECK(cJSON_GetStringValue(cJSON_GetObjectItem(event, "name")));
	FUZZ_CHECK(number_in(event, "ts") >= 0);
	if (*phase == 'X')
		FUZZ_CHECK(number_in(event, "dur") >= 0);
}

static inline void check_trace(const struct pipeline_files *files)
{
	const cJSON *event, *events;
	size_t size_bytes, spans = 0, kind;
	char *text = unpack_trace(files, &size_bytes);
	cJSON *root = check_json(text, size_bytes);

	events = cJSON_GetObjectItem(root, "traceEvents");
	FUZZ_CHECK(cJSON_IsArray(events));
	cJSON_ArrayForEach(event, events)
	{
		check_event(event);
		spans += *cJSON_GetStringValue(cJSON_GetObjectItem(event, "ph")) == 'X';
	}
	spans -= files->summary->module_calls;
	for (kind = 0; kind < SPAN_KIND_CNT; kind++)
		spans -= files->summary->spans_of_kind[kind];
	FUZZ_CHECK(!spans);
	cJSON_Delete(root);
	free(text);
}

static inline void check_profile(const struct pipeline_files *files)
{
	size_t size_bytes;
	char *text = temporary_dir_read(files->path, "profile.json", &size_bytes);
	cJSON *root;
	const cJSON *window;

	FUZZ_CHECK(text);
	root = check_json(text, size_bytes);
	window = cJSON_GetObjectItem(root, "window");
	FUZZ_CHECK(!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(window, "state")),
			   summary_state_name(files->summary->state)));
	FUZZ_CHECK((size_t)number_in(window, "attempts_seen") == files->summary->attempt_count);
	cJSON_Delete(root);
	free(text);
}

static inline void check_steps(const struct pipeline_files *files)
{
	size_t size_bytes, lines = 0;
	char *text = temporary_dir_read(files->path, "steps.csv", &size_bytes);
	const char *at;

	FUZZ_CHECK(text);
	check_lines(text, size_bytes);
	for (at = text; *at; at = strchr(at, '\n') + 1) {
		const char *comma = at;
		int commas = 0;

		FUZZ_CHECK(strchr(at, '\n'));
		for (; *comma != '\n'; comma++)
			commas += *comma == ',';
		FUZZ_CHECK(commas == 4);
		lines++;
	}
	FUZZ_CHECK(lines == 1 + files->summary->attempt_count);
	free(text);
}

static inline void check_table(const struct pipeline_files *files, const char *name)
{
	size_t size_bytes;
	char *text = temporary_dir_read(files->path, name, &size_bytes);

	if (!text)
		return;
	check_lines(text, size_bytes);
	free(text);
}

static inline void check_files(const struct pipeline_files *files)
{
	check_profile(files);
	check_steps(files);
	check_table(files, "cpu_ops.txt");
	check_table(files, "cpu_memory.txt");
	check_table(files, "cuda_memory.txt");
	if (files->summary->state != WINDOW_NO_CAPTURE)
		check_trace(files);
	check_lines(memory_sink_text(&files->terminal), files->terminal.size_bytes);
}

/* After the last record. False: there was no session, so there is nothing to look at. */
static inline bool pipeline_files_finish(struct pipeline_files *files)
{
	int err = pipeline_finish(files->pipeline, &files->terminal.sink, &files->summary);

	FUZZ_CHECK(!err || err == -ENOEXEC);
	if (err)
		return false;
	FUZZ_CHECK(!pipeline_output_error(files->pipeline));
	check_files(files);
	return true;
}

static inline void pipeline_files_end(struct pipeline_files *files)
{
	pipeline_free(files->pipeline);
	out_dir_remove(files->directory);
	out_dir_free(files->directory);
	FUZZ_CHECK(access(files->path, F_OK) && errno == ENOENT);
	memory_sink_fini(&files->terminal);
}

#endif /* FUZZ_PIPELINE_FILES_H */
