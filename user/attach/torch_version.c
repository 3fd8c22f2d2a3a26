/* torch_version.c - see torch_version.h. version.py is the job's: it is parsed as text, never run.
 */
#include "attach/torch_version.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LINES_MAX 200

torch_release torch_version_release(const char *text)
{
	char *end;
	unsigned long major = strtoul(text, &end, 10), minor;

	if (end == text || *end != '.' || major > 99)
		return 0;
	text = end + 1;
	minor = strtoul(text, &end, 10);
	if (end == text || minor > 999)
		return 0;
	return TORCH_RELEASE((unsigned int)major, (unsigned int)minor);
}

/* The text between the first pair of quotes behind the equals sign. */
static void quoted_value(const char *line, char *to, size_t size_bytes)
{
	const char *equals = strchr(line, '='), *open, *close;
	char value[128];

	open = equals ? strpbrk(equals, "'\"") : NULL;
	close = open ? strchr(open + 1, *open) : NULL;
	if (!close || (size_t)(close - open) > sizeof(value) || close == open + 1)
		return;
	memcpy(value, open + 1, (size_t)(close - open - 1));
	value[close - open - 1] = 0;
	text_printable(to, size_bytes, value);
}

void torch_version_parse(FILE *file, struct torch_version *version)
{
	bool begins_line = true;
	char line[512];
	int i;

	for (i = 0; i < LINES_MAX && fgets(line, sizeof(line), file); i++) {
		if (begins_line && text_has_prefix(line, "__version__"))
			quoted_value(line, version->torch, sizeof(version->torch));
		else if (begins_line &&
			 (text_has_prefix(line, "cuda:") || text_has_prefix(line, "cuda =")))
			quoted_value(line, version->cuda, sizeof(version->cuda));
		/* What follows a part without an end is no line of its own. */
		begins_line = strchr(line, '\n') != NULL;
	}
}

void torch_version_python_of(const char *extension_name, struct torch_version *version)
{
	const char *tag = strstr(extension_name, "cpython-");
	size_t digits;

	if (!tag)
		return;
	tag += strlen("cpython-");
	digits = strspn(tag, "0123456789");
	if (digits < 2 || digits > 4)
		return;
	snprintf(version->python, sizeof(version->python), "%c.%.*s%s", tag[0], (int)digits - 1,
		 tag + 1, tag[digits] == 't' ? "t" : "");
}
