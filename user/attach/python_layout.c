/* python_layout.c - see python_layout.h. */
#include "attach/python_layout.h"

#include <stddef.h>
#include <string.h>

bool python_layout_of(const char *version, struct probe_config *config)
{
	static const struct {
		const char *version;
		__u32 frame_code, frame_previous, thread_frame, has_cframe, cframe_frame;
		__u32 text_characters;
	} layouts[] = {
		{ "3.11", 32, 48, 56, 1, 8, 48 },
		{ "3.12", 0, 8, 56, 1, 0, 40 },
		{ "3.13", 0, 8, 72, 0, 0, 40 },
	};
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (strcmp(version, layouts[i].version) != 0)
			continue;
		config->frame_code = layouts[i].frame_code;
		config->frame_previous = layouts[i].frame_previous;
		config->frame_locals = 72;
		config->thread_frame = layouts[i].thread_frame;
		config->has_cframe = layouts[i].has_cframe;
		config->cframe_frame = layouts[i].cframe_frame;
		config->code_file = 112;
		config->text_characters = layouts[i].text_characters;
		return true;
	}
	return false;
}
