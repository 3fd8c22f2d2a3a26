/* progress.h - one line on stderr that says where the window stands; nothing when that is no
 * terminal. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"

struct progress;

int progress_new(struct progress **out, const struct options *options);
void progress_free(struct progress *progress); /* NULL is legal */

/* last_ns: duration of the last attempt, 0 for not known. */
void progress_update(struct progress *progress, uint32_t phase, size_t seen, uint64_t last_ns,
		     uint64_t now_ns);

/* Takes the line away. */
void progress_clear(struct progress *progress);

#endif /* PROGRESS_H */
