/*
 * What is read of a thread before it is taken: its line of /proc, the words of its stack and of its
 * struct pthread, its seccomp filter, the loader's data, a function's code. The first byte says
 * which.
 */
#include "attach/inject_filter.h"
#include "attach/inject_image.h"
#include "attach/inject_wait.h"
#include "fuzz/fuzz.h"

/* In a block of just its size. */
static void *copy(const struct fuzz_input *input, size_t unit, size_t *count)
{
	char *bytes;

	*count = input->left_bytes / unit;
	bytes = malloc(*count * unit + !*count);
	FUZZ_CHECK(bytes);
	if (*count)
		memcpy(bytes, input->at, *count * unit);
	return bytes;
}

static void read_line(struct fuzz_input *input)
{
	struct wait_question question;
	char *line = fuzz_text(input);
	struct thread_wait wait;

	if (thread_wait_parse(&wait, line)) {
		enum wait_rank rank = thread_wait_rank(&wait, &question);

		FUZZ_CHECK(wait.number >= 0 && rank <= WAIT_UNFIT);
		FUZZ_CHECK(rank == WAIT_UNFIT || question.descriptor >= -1);
	}
	free(line);
}

static void read_stack(struct fuzz_input *input)
{
	const struct inject_image image = {
		.loader = { 0x1000, 0x2000 },
		.libc = { 0x10000, 0x20000 },
		.waits = { { 0x11000, 0x11400 } },
		.wait_count = 1,
		.locks = { { 0x12000, 0x12400 } },
		.lock_count = 1,
	};
	struct thread_wait futex = { .place = 0x16000, .arguments = { 0, 0, fuzz_u8(input) } };
	uint64_t thread = fuzz_take(input, 8), pointer = fuzz_take(input, 8);
	struct thread_stack stack;
	size_t count, i;
	uint64_t *words = copy(input, sizeof(*words), &count);
	const char *reason = thread_stack_check(&image, words, count, &futex);

	for (i = 0; i < count; i++)
		FUZZ_CHECK(reason || !code_range_has(&image.loader, words[i]));
	if (thread_stack_find(&stack, words, count, thread, pointer))
		FUZZ_CHECK(stack.begin <= pointer && pointer < stack.end && stack.end == thread);
	free(words);
}

static void read_filter(struct fuzz_input *input)
{
	const struct seccomp_data data = { .nr = fuzz_u8(input) };
	size_t count;
	struct sock_filter *filter = copy(input, sizeof(*filter), &count);

	inject_filter_run(filter, count, &data);
	inject_filter_check(filter, count, 0x7f0000000000ULL);
	free(filter);
}

static void read_loader(struct fuzz_input *input)
{
	size_t size, offset = 0, found;
	uint8_t *bytes = copy(input, 1, &size);

	found = inject_loader_locks(bytes, size, &offset);
	FUZZ_CHECK(found <= 3 && (!found || offset + found * 40 <= size));
	free(bytes);
}

static void read_code(struct fuzz_input *input)
{
	size_t size;
	uint8_t *bytes = copy(input, 1, &size);
	int64_t offset;
	uint64_t slot;

	inject_errno_code(bytes, size, 0x1000, &slot, &offset);
	free(bytes);
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	static void (*const reads[])(struct fuzz_input * input) = {
		read_line, read_stack, read_filter, read_loader, read_code,
	};
	struct fuzz_input input = { bytes, size_bytes };

	reads[fuzz_u8(&input) % (sizeof(reads) / sizeof(reads[0]))](&input);
}
