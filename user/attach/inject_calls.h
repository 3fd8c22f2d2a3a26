/* inject_calls.h - has a thread of the job make calls: finds one, takes it, lets it go. */
#ifndef ATTACH_INJECT_CALLS_H
#define ATTACH_INJECT_CALLS_H

#include "attach/inject.h"
#include "attach/inject_image.h"

enum inject_work {
	INJECT_LOAD,   /* dlopen(text), and then close(descriptor) if it is one */
	INJECT_MEMORY, /* memfd_create(text) */
};

struct inject_order {
	enum inject_work work;
	const char *text;
	int descriptor; /* -1: none */
	pid_t tid;	/* the thread that is to do it; 0: whichever is best */
};

/* 0: a thread is about to do it, or has done it. Else as inject_library(). */
int inject_calls_make(struct inject_result *result, pid_t pid, const struct inject_image *image,
		      const struct inject_order *order);

#endif /* ATTACH_INJECT_CALLS_H */
