/* checkup.c - see checkup.h. */
#include "checkup.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

static const char *const words[VERDICT_CNT] = {
	[VERDICT_OK] = "ok",
	[VERDICT_NOTE] = "note",
	[VERDICT_MISSING] = "missing",
	[VERDICT_UNKNOWN] = "unknown",
};

void checkup_init(struct checkup *checkup, FILE *out)
{
	memset(checkup, 0, sizeof(*checkup));
	checkup->out = out;
}

static void remember(struct checkup *checkup, const char *name)
{
	size_t used = strlen(checkup->missing);

	snprintf(checkup->missing + used, sizeof(checkup->missing) - used, "%s%s", used ? ", " : "",
		 name);
}

void checkup_line(struct checkup *checkup, enum verdict verdict, const char *name, const char *mend,
		  const char *format, ...)
{
	char text[1024], clean[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_printable(clean, sizeof(clean), text);
	fprintf(checkup->out, "%-8s %-26s %s%s%s\n", words[verdict], name, clean, mend ? "; " : "",
		mend ? mend : "");
	checkup->count[verdict]++;
	if (verdict == VERDICT_MISSING)
		remember(checkup, name);
}

bool checkup_end(struct checkup *checkup, const char *mend)
{
	unsigned int missing = checkup->count[VERDICT_MISSING];

	fputc('\n', checkup->out);
	if (missing)
		fprintf(checkup->out, "a capture cannot work here without: %s", checkup->missing);
	else
		fputs("everything that a capture needs works here", checkup->out);
	if (checkup->count[VERDICT_NOTE])
		fprintf(checkup->out, "; %u %s", checkup->count[VERDICT_NOTE],
			checkup->count[VERDICT_NOTE] == 1 ? "note says what is less"
							  : "notes say what is less");
	if (checkup->count[VERDICT_UNKNOWN])
		fprintf(checkup->out, "; %u could not be looked at",
			checkup->count[VERDICT_UNKNOWN]);
	fprintf(checkup->out, "\n");
	if (mend)
		fprintf(checkup->out, "%s\n", mend);
	return !missing;
}
