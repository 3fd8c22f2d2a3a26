/* python_layout.c - see python_layout.h. */
#include "attach/python_layout.h"

#include <stddef.h>
#include <string.h>

bool python_layout_of(const char *version, struct probe_config *config)
{
	static const struct {
		const char *version;
		__u32 frame_code, frame_locals, thread_chunk, code_file, text_characters;
	} layouts[] = {
		{ "3.11", 32, 72, 296, 112, 48 },
		{ "3.12", 0, 72, 232, 112, 40 },
		{ "3.13", 0, 72, 232, 112, 40 },
	};
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (strcmp(version, layouts[i].version) != 0)
			continue;
		config->frame_code = layouts[i].frame_code;
		config->frame_locals = layouts[i].frame_locals;
		config->thread_chunk = layouts[i].thread_chunk;
		config->code_file = layouts[i].code_file;
		config->text_characters = layouts[i].text_characters;
		return true;
	}
	return false;
}
