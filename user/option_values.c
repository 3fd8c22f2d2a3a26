/*
 * option_values.c - see option_values.h. What torch.profiler takes is taken here under the same
 * names; what this version does not record is refused with the reason.
 */
#include "option_values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/torch_catalog.h"
#include "base/log.h"
#include "base/text.h"

static int set_range(struct step_spec *step, const char *pattern)
{
	size_t length = strlen(pattern);

	step->mode = STEP_RANGE;
	step->pattern_is_prefix = length && pattern[length - 1] == '*';
	if (step->pattern_is_prefix)
		length--;
	if (!length || length >= sizeof(step->pattern) || memchr(pattern, '*', length)) {
		log_err("--step range:NAME: 1 to %zu characters, a * only as the last one",
			sizeof(step->pattern) - 1);
		return -EINVAL;
	}
	memcpy(step->pattern, pattern, length);
	step->pattern[length] = 0;
	return 0;
}

static int set_symbol(struct step_spec *step, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t library_length = colon ? (size_t)(colon - text) : 0;

	step->mode = STEP_ENTRY;
	if (!library_length || library_length >= sizeof(step->library) || !colon[1] ||
	    text_copy(step->symbol, sizeof(step->symbol), colon + 1)) {
		log_err("--step symbol:LIBRARY:SYMBOL: a library's file name and a mangled "
			"function name");
		return -EINVAL;
	}
	memcpy(step->library, text, library_length);
	step->library[library_length] = 0;
	return 0;
}

static int set_operator(struct step_spec *step, const char *name)
{
	step->mode = STEP_ENTRY;
	step->symbol_is_prefix = true;
	if (!torch_catalog_operator(name, step->symbol, sizeof(step->symbol)))
		return 0;
	log_err("--step op:NAME: '%.60s' is no operator name; they look like add_ or "
		"aten::add.Tensor",
		name);
	return -EINVAL;
}

void option_step_auto(struct step_spec *step)
{
	*step = (struct step_spec){ .mode = STEP_AUTO, .pattern_is_prefix = true, .text = "auto" };
	text_copy(step->pattern, sizeof(step->pattern), "Optimizer.step#");
}

int option_step(struct options *options, const char *text)
{
	struct step_spec *step = &options->step;

	if (!strcmp(text, "auto")) {
		option_step_auto(step);
		return 0;
	}
	*step = (struct step_spec){ .text = text };
	if (text_has_prefix(text, "range:"))
		return set_range(step, text + strlen("range:"));
	if (text_has_prefix(text, "op:"))
		return set_operator(step, text + strlen("op:"));
	if (text_has_prefix(text, "symbol:"))
		return set_symbol(step, text + strlen("symbol:"));
	log_err("--step: '%.60s' is not auto, range:NAME, op:NAME or symbol:LIBRARY:SYMBOL", text);
	return -EINVAL;
}

int option_attach(struct options *options, const char *text)
{
	if (!strcmp(text, "auto"))
		options->probes.attach = ATTACH_AUTO;
	else if (!strcmp(text, "single"))
		options->probes.attach = ATTACH_SINGLE;
	else {
		log_err("--attach: '%.40s' is not auto or single", text);
		return -EINVAL;
	}
	return 0;
}

int option_ring_size(struct options *options, const char *text)
{
	uint64_t asked_bytes, size_bytes = RING_BYTES_MIN;
	char size[32];
	int err = text_parse_bytes(text, RING_BYTES_MAX, &asked_bytes);

	if (err || asked_bytes < RING_BYTES_MIN) {
		log_err("--ring-size: '%.40s' is not a size of 128K to 1G, as 64M", text);
		return -EINVAL;
	}
	while (size_bytes < asked_bytes)
		size_bytes *= 2;
	if (size_bytes != asked_bytes)
		log_info("--ring-size: the next power of two is taken, %s",
			 text_size(size, sizeof(size), size_bytes));
	options->probes.ring_bytes = size_bytes;
	return 0;
}

int option_gpu(struct options *options, const char *text)
{
	if (!strcmp(text, "auto"))
		options->gpu = GPU_AUTO;
	else if (!strcmp(text, "off"))
		options->gpu = GPU_OFF;
	else if (!strcmp(text, "inject"))
		options->gpu = GPU_INJECT;
	else {
		log_err("--gpu: '%.40s' is not auto, off or inject", text);
		return -EINVAL;
	}
	return 0;
}

/* A word of a table, and what it stands for. */
struct word {
	const char *name;
	unsigned int value;
};

static const struct word *find_word(const struct word *words, size_t count, const char *name,
				    size_t length)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (strlen(words[i].name) == length && !memcmp(words[i].name, name, length))
			return &words[i];
	}
	return NULL;
}

/*
 * The values of a list of words with commas between them, or'ed; 0: it is none, and *bad is what is
 * wrong with it.
 */
static unsigned int take_list(const struct word *words, size_t count, const char *text,
			      const char **bad)
{
	unsigned int values = 0;

	for (;;) {
		size_t length = strcspn(text, ",");
		const struct word *word = find_word(words, count, text, length);

		if (!word) {
			*bad = text;
			return 0;
		}
		values |= word->value;
		if (!text[length])
			return values;
		text += length + 1;
	}
}

#define WORDS(words) (words), sizeof(words) / sizeof((words)[0])

/* torch.profiler has one key for every kind of device, and takes the device's name in it. */
static const char *const devices[] = { "cuda", "xpu", "privateuse1", "device" };

/* "self_cuda_time_total" -> "self_device_time_total"; too long a key is none of ours. */
static bool name_device(char *to, size_t size_bytes, const char *key)
{
	size_t i;

	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		const char *at = strstr(key, devices[i]);

		if (at)
			return (size_t)snprintf(to, size_bytes, "%.*sdevice%s", (int)(at - key),
						key, at + strlen(devices[i])) < size_bytes;
	}
	return !text_copy(to, size_bytes, key);
}

int option_sort_by(struct options *options, const char *text)
{
	static const struct word keys[] = {
		{ "cpu_time", SORT_CPU_TIME },
		{ "cpu_time_total", SORT_CPU_TIME_TOTAL },
		{ "self_cpu_time_total", SORT_SELF_CPU_TIME },
		{ "device_time", SORT_DEVICE_TIME },
		{ "device_time_total", SORT_DEVICE_TIME_TOTAL },
		{ "self_device_time_total", SORT_SELF_DEVICE_TIME },
		{ "cpu_memory_usage", SORT_CPU_MEMORY },
		{ "self_cpu_memory_usage", SORT_SELF_CPU_MEMORY },
		{ "device_memory_usage", SORT_DEVICE_MEMORY },
		{ "self_device_memory_usage", SORT_SELF_DEVICE_MEMORY },
		{ "count", SORT_COUNT },
		{ "flops", SORT_FLOPS },
	};
	const struct word *word = NULL;
	char key[64];

	if (name_device(key, sizeof(key), text))
		word = find_word(WORDS(keys), key, strlen(key));
	if (!word) {
		log_err("--sort-by: '%.40s' is not a key of key_averages().table(): "
			"self_cpu_time_total, cpu_time_total, cpu_time, the same of cuda, "
			"self_cpu_memory_usage, cpu_memory_usage, the same of cuda, count, flops",
			text);
		return -EINVAL;
	}
	options->sort_by = (enum sort_key)word->value;
	return 0;
}

int option_row_limit(struct options *options, const char *text)
{
	if (!strcmp(text, "-1")) {
		options->row_limit = 0;
		return 0;
	}
	if (!text_parse_u32(text, INT32_MAX, &options->row_limit) && options->row_limit)
		return 0;
	log_err("--row-limit: '%.40s' is not a positive whole number, nor -1 for all rows", text);
	return -EINVAL;
}

#define GROUP_SHAPE 1U
#define GROUP_OVERLOAD 2U
#define GROUP_STACK 4U

int option_group_by(struct options *options, const char *text)
{
	static const struct word groups[] = {
		{ "shape", GROUP_SHAPE },
		{ "overload", GROUP_OVERLOAD },
		{ "stack", GROUP_STACK },
	};
	const char *bad = text;
	unsigned int values = take_list(WORDS(groups), text, &bad);

	if (!values) {
		log_err("--group-by: '%.40s' is not shape, overload or shape,overload", bad);
		return -EINVAL;
	}
	if (values & GROUP_STACK) {
		log_err("--group-by stack: stacks are not recorded in this version; shape and "
			"overload are what rows can be grouped by");
		return -EINVAL;
	}
	options->group_by_shape = values & GROUP_SHAPE;
	options->group_by_overload = values & GROUP_OVERLOAD;
	return 0;
}

#define OVERHEAD_PERCENT_MAX 10000

int option_max_overhead(struct options *options, const char *text)
{
	char number[16];
	size_t length = strlen(text);
	uint32_t percent;

	if (length && text[length - 1] == '%')
		length--;
	if (length < sizeof(number)) {
		memcpy(number, text, length);
		number[length] = 0;
		if (!text_parse_u32(number, OVERHEAD_PERCENT_MAX, &percent) && percent) {
			options->max_overhead_permille = percent * 10;
			return 0;
		}
	}
	log_err("--max-overhead: '%.40s' is not a whole percentage of 1 to %d, as 10%%", text,
		OVERHEAD_PERCENT_MAX);
	return -EINVAL;
}

int option_activities(struct options *options, const char *text)
{
	static const struct word activities[] = {
		{ "ranges", ACTIVITY_RANGES },
		{ "operators", ACTIVITY_OPERATORS },
		{ "autograd", ACTIVITY_AUTOGRAD },
		{ "memory", ACTIVITY_MEMORY },
	};
	const char *bad = text;
	unsigned int values = take_list(WORDS(activities), text, &bad);

	if (!values) {
		log_err("--activities: '%.40s' is not a list of ranges, operators, autograd and "
			"memory, with commas between them",
			bad);
		return -EINVAL;
	}
	options->activities = values;
	options->activities_named = true;
	return 0;
}
