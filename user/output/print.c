/* print.c - see print.h. */
#include "output/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int print(struct byte_sink *out, const char *format, ...)
{
	char line[4096];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (length < 0)
		return -EINVAL;
	if ((size_t)length >= sizeof(line))
		length = sizeof(line) - 1;
	return out->write(out, line, (size_t)length);
}
