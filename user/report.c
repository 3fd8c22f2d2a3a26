/* report.c - the outputs of a capture file, by the same pipeline as a live capture. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "file_sink.h"
#include "ingest/capture_file.h"
#include "pipeline.h"
#include "rights.h"
#include "session.h"

static int replay(const struct options *options, struct pipeline *pipeline)
{
	FILE *file = fopen(options->raw_path, "re");
	bool truncated = false;
	int err;

	if (!file) {
		err = -errno;
		log_err("%s: %s", options->raw_path, strerror(-err));
		return err;
	}
	err = capture_file_replay(file, pipeline_sink(pipeline), &truncated);
	fclose(file);
	if (err == -ENOEXEC)
		log_err("%s: not a capture file of this version; captures are made with --keep-raw",
			options->raw_path);
	if (truncated) {
		pipeline_set_truncated(pipeline);
		log_warn("%s: ends inside a record; what comes before it is reported",
			 options->raw_path);
	}
	return err;
}

static int finish(struct pipeline *pipeline)
{
	const struct summary *summary;
	struct file_sink terminal;
	int err;

	file_sink_init(&terminal, stdout);
	err = pipeline_finish(pipeline, &terminal.sink, &summary);
	if (err)
		return err == -ECANCELED ? EXIT_CANCELLED : EXIT_FAILED;
	if (pipeline_output_error(pipeline))
		return summary->state == WINDOW_NO_CAPTURE ? EXIT_FAILED : EXIT_PARTIAL;
	if (summary->state != WINDOW_COMPLETE || summary_has_lost_data(summary))
		return EXIT_PARTIAL;
	return EXIT_COMPLETE;
}

static bool is_cancelled(void *context)
{
	return signals_take(*(const int *)context);
}

int report_run(const struct options *options)
{
	int signal_fd = signals_open(), code = EXIT_FAILED;
	const struct out_cancel cancel = { is_cancelled, &signal_fd };
	struct out_dir *directory = NULL;
	struct pipeline *pipeline = NULL;
	struct rights rights = { 0 };
	struct table_options table;
	int err;

	options_table(options, &table);
	if (signal_fd < 0)
		return EXIT_FAILED;
	err = rights_open_directory(&rights, &directory, options->output, cancel);
	if (!err)
		err = pipeline_new(&pipeline, directory, options->keep_raw, &table);
	if (!err)
		err = replay(options, pipeline);
	if (!err)
		code = finish(pipeline);
	pipeline_free(pipeline);
	if ((err || code == EXIT_CANCELLED || code == EXIT_FAILED) && directory)
		out_dir_remove(directory);
	out_dir_free(directory);
	close(signal_fd);
	return code;
}
