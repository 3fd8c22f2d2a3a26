/* fake_knobs.c - see fake_knobs.h. An unknown knob is a mistake in a test, and ends it. */
#include "fake_knobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_flag(struct fake_knobs *k, const char *name)
{
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "err39", &k->err39 },
		{ "err999", &k->err999 },
		{ "err999all", &k->err999all },
		{ "privileges", &k->privileges },
		{ "nothreadids", &k->no_thread_ids },
		{ "shuffle", &k->shuffle },
		{ "smallbuffers", &k->small_buffers },
	};
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!strcmp(flags[i].name, name)) {
			*flags[i].flag = true;
			return;
		}
	}
	fprintf(stderr, "libcupti: unknown fault %s\n", name);
	abort();
}

static void set_number(struct fake_knobs *k, const char *name, uint32_t value)
{
	const struct {
		const char *name;
		uint32_t *number;
	} numbers[] = {
		{ "refuse", &k->refuse },	 { "droppedN", &k->dropped_nth },
		{ "untimedN", &k->untimed_nth }, { "brokenN", &k->broken_nth },
		{ "hang", &k->hang_ms },	 { "hangopen", &k->hang_open_ms },
		{ "steal", &k->steal_ms },	 { "tsc", &k->tsc_ms },
		{ "slow", &k->slow_us },	 { "onlyN", &k->only_n },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(numbers[i].name, name)) {
			*numbers[i].number = value;
			return;
		}
	}
	fprintf(stderr, "libcupti: unknown fault %s\n", name);
	abort();
}

void fake_knobs_read(struct fake_knobs *knobs)
{
	static const char *const clocks[] = { "real", "mono", "tsc", "none" };
	const char *version = getenv("FAKE_CUPTI_VERSION"), *clock = getenv("FAKE_CUPTI_CLOCK");
	const char *faults = getenv("FAKE_CUPTI_FAULTS");
	char text[512], *word, *rest = NULL, *value;
	int i;

	memset(knobs, 0, sizeof(*knobs));
	knobs->version = version ? (uint32_t)strtoul(version, NULL, 10) : 28;
	for (i = 0; clock && i < 4; i++)
		if (!strcmp(clock, clocks[i]))
			knobs->clock = i;
	snprintf(text, sizeof(text), "%s", faults ? faults : "");
	for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		value = strchr(word, '=');
		if (!value) {
			set_flag(knobs, word);
			continue;
		}
		*value++ = '\0';
		set_number(knobs, word, (uint32_t)strtoul(value, NULL, 10));
	}
}
