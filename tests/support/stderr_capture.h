/* stderr_capture.h - what was written to stderr meanwhile. */
#ifndef SUPPORT_STDERR_CAPTURE_H
#define SUPPORT_STDERR_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct stderr_capture {
	FILE *file;
	int saved_fd;
	char text[4096];
};

static inline void stderr_capture_begin(struct stderr_capture *capture)
{
	fflush(stderr);
	capture->file = tmpfile();
	capture->saved_fd = dup(STDERR_FILENO);
	if (!capture->file || capture->saved_fd < 0 ||
	    dup2(fileno(capture->file), STDERR_FILENO) < 0)
		abort();
}

/* The text, cut to what fits. */
static inline const char *stderr_capture_end(struct stderr_capture *capture)
{
	size_t got;

	fflush(stderr);
	if (dup2(capture->saved_fd, STDERR_FILENO) < 0)
		abort();
	close(capture->saved_fd);
	rewind(capture->file);
	got = fread(capture->text, 1, sizeof(capture->text) - 1, capture->file);
	capture->text[got] = 0;
	fclose(capture->file);
	return capture->text;
}

#endif /* SUPPORT_STDERR_CAPTURE_H */
