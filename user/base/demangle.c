/*
 * demangle.c - see demangle.h. The demangler of libsupc++, in the form that hands the name on piece
 * by piece (its own use is for std::terminate, and no header declares it). It holds nothing while
 * it does, so it may be left from there: what it cannot be is told to stop.
 */
#include "base/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int __gcclibcxx_demangle_callback(const char *mangled,
				  void (*add)(const char *piece, size_t size_bytes, void *context),
				  void *context);

/* It recurses: names that nest deeper than compilers make them are left as they are. */
#define MANGLED_BYTES_MAX 4096

struct output {
	jmp_buf full;
	char *text;
	size_t used_bytes;
};

static void add(const char *piece, size_t size_bytes, void *context)
{
	struct output *output = context;

	if (size_bytes >= DEMANGLED_BYTES_MAX - output->used_bytes)
		longjmp(output->full, 1);
	memcpy(output->text + output->used_bytes, piece, size_bytes);
	output->used_bytes += size_bytes;
}

static bool run(struct output *output, const char *mangled)
{
	if (setjmp(output->full))
		return false;
	return !__gcclibcxx_demangle_callback(mangled, add, output);
}

char *demangle(const char *mangled)
{
	struct output output = { .text = NULL };

	if (strncmp(mangled, "_Z", 2) != 0 || strlen(mangled) > MANGLED_BYTES_MAX)
		return NULL;
	output.text = malloc(DEMANGLED_BYTES_MAX);
	if (!output.text)
		return NULL;
	if (!run(&output, mangled)) {
		free(output.text);
		return NULL;
	}
	output.text[output.used_bytes] = 0;
	return output.text;
}
