/* agent_note.h - finds the agent in a job and its probe points (agent_wire.h, usdt_note.h). */
#ifndef ATTACH_AGENT_NOTE_H
#define ATTACH_AGENT_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum agent_point {
	AGENT_POINT_BATCH,
	AGENT_POINT_COLLECT,
	AGENT_POINT_SYNC,
	AGENT_POINT_CNT,
};

struct agent_site {
	uint64_t file_offset;
	uint64_t semaphore_offset; /* in the file; 0: it has none */
	bool is_found;
};

struct agent_image {
	int fd; /* of the library, as it is mapped */
	struct agent_site sites[AGENT_POINT_CNT];
};

/* -ENOENT: the job has no agent; -ENOEXEC: what is mapped by its name is none. */
int agent_image_open(struct agent_image *image, pid_t pid);
void agent_image_close(struct agent_image *image);

/* Is a library mapped whose file is called so, up to a dot or the end? */
bool agent_note_has_library(pid_t pid, const char *name);

#endif /* ATTACH_AGENT_NOTE_H */
