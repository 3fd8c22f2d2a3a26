/*
 * log.c - the level is the one mutable global of the program. A message is formatted in memory,
 * made harmless for a terminal and written by one call, so that lines of two processes do not mix.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static enum log_level max_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_message(enum log_level level, const char *format, ...)
{
	static const char *const prefix[] = { "tpbpf: error: ", "tpbpf: warning: ", "tpbpf: ",
					      "tpbpf: " };
	char message[1024], clean[1024], line[1100];
	va_list args;

	if (level > max_level)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	text_printable(clean, sizeof(clean), message);
	/* A progress line may stand there. */
	snprintf(line, sizeof(line), "%s%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
		 prefix[level], clean);
	fputs(line, stderr);
}
