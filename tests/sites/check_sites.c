/*
 * Runs the choice of probe sites over every at::_ops::*::call of a libtorch_cpu.so, without a job:
 *
 *   check_sites [-v] LIBRARY
 *   check_sites --cuda LIBRARY
 *
 * Prints `functions N entry-emulated N exit N`, then one line per function without an exit site:
 * `refused NAME: reason`, with `(ret at +N)` where its return can be probed instead. With -v, first
 * a line per function with the kind and place of its sites. With --cuda, of a libcudart or libcuda:
 * `calls N left-out N`, then a line `NAME CBID entry KIND OFFSET exit KIND OFFSET...` for each that
 * can be probed; offsets are those in the file. Exit 0 whatever the numbers are, 1 when
 * the file cannot be read, 2 for wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/cuda_calls.h"
#include "attach/elf_symbols.h"
#include "attach/probe_site.h"

struct function {
	struct elf_symbol symbol;
	const char *name; /* the operator's, not terminated */
	int name_length;
};

struct list {
	struct function *functions;
	size_t cnt;
	size_t max;
};

struct totals {
	size_t functions;
	size_t entries;
	size_t exits;
};

/* _ZN2at4_ops<length><name>4callE...: sets name, or returns false. */
static bool parse_operator(const char *mangled, struct function *function)
{
	static const char prefix[] = "_ZN2at4_ops";
	const char *digits = mangled + sizeof(prefix) - 1;
	char *end;
	long length;

	if (strncmp(mangled, prefix, sizeof(prefix) - 1) != 0 || strstr(mangled, ".cold"))
		return false;
	if (*digits < '1' || *digits > '9')
		return false;
	length = strtol(digits, &end, 10);
	if (length <= 0 || length > 4096 || strnlen(end, (size_t)length) < (size_t)length)
		return false;
	if (strncmp(end + length, "4callE", 6) != 0)
		return false;
	function->name = end;
	function->name_length = (int)length;
	return true;
}

static int collect(void *context, const struct elf_symbol *symbol)
{
	struct list *list = context;
	struct function function = { .symbol = *symbol };
	struct function *grown;

	if (!parse_operator(symbol->name, &function))
		return 0;
	if (list->cnt == list->max) {
		list->max = list->max ? list->max * 2 : 4096;
		grown = realloc(list->functions, list->max * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->functions = grown;
	}
	list->functions[list->cnt++] = function;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct function *left = a;
	const struct function *right = b;

	return strcmp(left->symbol.name, right->symbol.name);
}

static const char *const kinds[] = {
	[PROBE_SITE_PUSH] = "push",	  [PROBE_SITE_NOP] = "nop",
	[PROBE_SITE_CALL] = "call",	  [PROBE_SITE_JUMP] = "jump",
	[PROBE_SITE_BRANCH] = "branch",	  [PROBE_SITE_RET] = "ret",
	[PROBE_SITE_STEPPED] = "stepped",
};

static void print_site(const struct function *function, const char *what, const uint8_t *code,
		       const struct probe_site *site)
{
	uint64_t offset = site->address - function->symbol.address;
	unsigned int opcode = code[offset] == 0x0f ? code[offset + 1] & 0xfu : code[offset] & 0xfu;

	printf("%.*s %s %s", function->name_length, function->name, what, kinds[site->kind]);
	if (site->kind == PROBE_SITE_BRANCH)
		printf("-%x", opcode);
	printf(" +%" PRIu64 " sp -%" PRId32 "\n", offset, site->sp_below_entry);
}

static void print_refused(const struct function *function, const uint8_t *code,
			  enum probe_site_refusal refusal)
{
	uint64_t size_bytes = function->symbol.size_bytes;
	uint64_t address = function->symbol.address;
	struct probe_site site;

	printf("refused %.*s: %s", function->name_length, function->name,
	       probe_site_refusal_text(refusal));
	if (code && !probe_site_return(code, size_bytes, address, &site))
		printf(" (ret at +%" PRIu64 ")", site.address - address);
	printf("\n");
}

/* Chooses the sites of one function. Returns 0 or the refusal of its exit. */
static enum probe_site_refusal check(const struct function *function, const uint8_t *code,
				     bool verbose, struct totals *totals)
{
	enum probe_site_refusal refusal = PROBE_SITE_BAD_SIZE;
	uint64_t size_bytes = function->symbol.size_bytes;
	uint64_t address = function->symbol.address;
	struct probe_site site;

	totals->functions++;
	if (!code)
		return refusal;
	if (!probe_site_entry(code, size_bytes, address, PROBE_SITE_EVERYTHING, &site)) {
		totals->entries += site.emulated;
		if (verbose)
			print_site(function, "entry", code, &site);
	}
	if (probe_site_exit(code, size_bytes, address, &site, &refusal))
		return refusal;
	totals->exits++;
	if (verbose)
		print_site(function, "exit", code, &site);
	return PROBE_SITE_ACCEPTED;
}

static const uint8_t *code_of(const struct elf_image *image, const struct function *function)
{
	return elf_image_code(image, function->symbol.address, function->symbol.size_bytes);
}

static int report(const struct elf_image *image, const struct list *list, bool verbose)
{
	struct totals totals = { 0 };
	enum probe_site_refusal *refusals;
	const struct function *function;
	size_t i;

	refusals = calloc(list->cnt + 1, sizeof(*refusals));
	if (!refusals)
		return -ENOMEM;
	for (i = 0; i < list->cnt; i++) {
		function = &list->functions[i];
		/* an operator stands in both symbol tables */
		if (i && !by_name(function, function - 1))
			continue;
		refusals[i] = check(function, code_of(image, function), verbose, &totals);
	}

	printf("functions %zu entry-emulated %zu exit %zu\n", totals.functions, totals.entries,
	       totals.exits);
	for (i = 0; i < list->cnt; i++) {
		function = &list->functions[i];
		if (refusals[i] != PROBE_SITE_ACCEPTED)
			print_refused(function, code_of(image, function), refusals[i]);
	}
	free(refusals);
	return 0;
}

static int check_library(int fd, bool verbose)
{
	struct list list = { 0 };
	struct elf_image *image;
	int err;

	err = elf_image_open(&image, fd);
	if (err)
		return err;
	err = elf_image_each_function(image, collect, &list);
	if (!err) {
		qsort(list.functions, list.cnt, sizeof(*list.functions), by_name);
		err = report(image, &list, verbose);
	}
	free(list.functions);
	elf_image_free(image);
	return err;
}

static void print_call(const struct operator_entry *call)
{
	size_t i;

	printf("%s %u entry %s %#" PRIx64 " exit %s %#" PRIx64, call->name, call->callback_id,
	       kinds[call->entry_kind], call->entry_offset, kinds[call->exit_kind],
	       call->exit_offset);
	for (i = 0; i < call->more_exit_count; i++)
		printf(" %#" PRIx64, call->more_exit_offsets[i]);
	printf("\n");
}

static int check_calls(int fd, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool is_runtime = !strncmp(name, "libcudart", strlen("libcudart"));
	const struct cuda_library library = {
		.fd = fd,
		.role = is_runtime ? LIBRARY_CUDART : LIBRARY_CUDA,
		.domain = is_runtime ? CALL_RUNTIME : CALL_DRIVER,
	};
	struct operator_table *table;
	const struct operator_entry *calls;
	size_t count, left_out, i;
	int err = operator_table_new_empty(&table);

	if (!err)
		err = cuda_calls_add(table, &library, &left_out);
	if (!err) {
		calls = operator_table_entries(table, &count);
		printf("calls %zu left-out %zu\n", count, left_out);
		for (i = 0; i < count; i++)
			print_call(&calls[i]);
	}
	operator_table_free(table);
	return err;
}

int main(int argc, char **argv)
{
	bool verbose = argc == 3 && !strcmp(argv[1], "-v");
	bool is_cuda = argc == 3 && !strcmp(argv[1], "--cuda");
	const char *path = argv[argc - 1];
	int err;
	int fd;

	if (argc != 2 && !verbose && !is_cuda) {
		fprintf(stderr, "usage: check_sites [-v|--cuda] LIBRARY\n");
		return 2;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err = -errno;
	else
		err = is_cuda ? check_calls(fd, path) : check_library(fd, verbose);
	if (fd >= 0)
		close(fd);
	if (err)
		fprintf(stderr, "check_sites: %s: %s\n", path, strerror(-err));
	return err ? 1 : 0;
}
