/* progress.c - see progress.h. */
#include "progress.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "model/attempt.h"

#define INTERVAL_NS 200000000ULL

struct progress {
	bool is_terminal, is_shown;
	uint64_t planned; /* attempts up to the end of the last window; 0: until stopped */
	uint64_t shown_ns;
};

int progress_new(struct progress **out, const struct options *options)
{
	struct progress *progress = calloc(1, sizeof(*progress));
	uint64_t cycle = (uint64_t)options->wait + options->warmup + options->active;

	if (!progress)
		return -ENOMEM;
	progress->is_terminal = isatty(STDERR_FILENO);
	progress->planned = options->skip_first + cycle * options->repeat;
	if (options->repeat && options->skip_first_wait)
		progress->planned -= options->wait;
	*out = progress;
	return 0;
}

void progress_free(struct progress *progress)
{
	free(progress);
}

void progress_clear(struct progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
	progress->is_shown = false;
}

void progress_update(struct progress *progress, uint32_t phase, size_t seen, uint64_t last_ns,
		     uint64_t now_ns)
{
	char planned[32] = "", duration[32], step[64] = "";

	if (!progress->is_terminal || now_ns - progress->shown_ns < INTERVAL_NS)
		return;
	progress->shown_ns = now_ns;
	progress->is_shown = true;
	if (phase == PHASE_AFTER) {
		fprintf(stderr, "\r\033[Kwindow finished, timing steps without probes");
		return;
	}
	if (progress->planned)
		snprintf(planned, sizeof(planned), " of %llu",
			 (unsigned long long)progress->planned);
	if (last_ns)
		snprintf(step, sizeof(step), ", step %s",
			 text_duration(duration, sizeof(duration), (int64_t)last_ns));
	fprintf(stderr, "\r\033[Kattempt %zu%s, %s%s", seen + 1, planned,
		attempt_phase_name((enum wire_phase)phase), step);
}
