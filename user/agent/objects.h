/*
 * objects.h - the shared objects that are mapped into this process. Never maps another one: a
 * second copy of libcupti would break the first one's user.
 */
#ifndef AGENT_OBJECTS_H
#define AGENT_OBJECTS_H

#include <limits.h>
#include <stdbool.h>

struct object {
	void *handle; /* of dlopen(); kept for ever, NULL: none is mapped */
	int count;    /* how many of the kind are mapped */
	char path[PATH_MAX];
};

/*
 * The first mapped object whose name, or the name of the file behind it, begins with "STEM.so" or
 * "STEM-", as renamed by the tools that build wheels: "libcupti" finds libcupti.so.12,
 * libcupti.so.11.8 and libcupti-1ab2c3d4.so.12.
 */
void objects_find(const char *stem, struct object *object);

/*
 * The first mapped object that has a function of this name of its own, whether or not it can be
 * called from outside (static libraries are linked in with their symbols hidden). Reads the symbol
 * names of the program and of the libraries whose name begins with prefix. False: none.
 */
bool objects_contain(const char *prefix, const char *function, char path[PATH_MAX]);

#endif /* AGENT_OBJECTS_H */
