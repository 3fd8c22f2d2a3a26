/*
 * Goes through the corpus of a fuzz target without libFuzzer: what once broke something is a unit
 * test, a test function for each file. The directories are given when it is built (FUZZ_CORPUS,
 * with blanks between them); with arguments, these files are run instead.
 */
#include <dirent.h>

#include "fuzz/fuzz.h"
#include "support/test.h"

#define PATH_BYTES 512

struct list {
	struct CMUnitTest *tests; /* initial_state: the path */
	size_t count;
};

static uint8_t *read_file(const char *path, size_t *size_bytes)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes;
	long size;

	FUZZ_CHECK(file && !fseek(file, 0, SEEK_END));
	size = ftell(file);
	rewind(file);
	/* just as large as it is, so that reading past the end is seen */
	bytes = malloc(size ? (size_t)size : 1);
	FUZZ_CHECK(size >= 0 && bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size);
	fclose(file);
	*size_bytes = (size_t)size;
	return bytes;
}

static void replay(void **state)
{
	size_t size_bytes;
	uint8_t *bytes = read_file(*state, &size_bytes);

	LLVMFuzzerTestOneInput(bytes, size_bytes);
	free(bytes);
}

static void add(struct list *list, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *own_path = strdup(path);

	list->tests = realloc(list->tests, (list->count + 1) * sizeof(*list->tests));
	FUZZ_CHECK(list->tests && own_path);
	list->tests[list->count++] = (struct CMUnitTest){
		.name = own_path + (slash ? slash + 1 - path : 0),
		.test_func = replay,
		.initial_state = own_path,
	};
}

static void add_directory(struct list *list, const char *directory)
{
	const struct dirent *entry;
	char path[PATH_BYTES];
	DIR *stream = opendir(directory);

	if (!stream) {
		fprintf(stderr, "%s: %s\n", directory, strerror(errno));
		exit(1);
	}
	while ((entry = readdir(stream))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (entry->d_name[0] != '.')
			add(list, path);
	}
	closedir(stream);
}

int main(int argc, char **argv)
{
	char directories[] = FUZZ_CORPUS, *rest = NULL, *directory;
	struct list list = { NULL, 0 };
	int failed, i;

	for (i = 1; i < argc; i++)
		add(&list, argv[i]);
	directory = argc > 1 ? NULL : strtok_r(directories, " ", &rest);
	for (; directory; directory = strtok_r(NULL, " ", &rest))
		add_directory(&list, directory);
	failed = _cmocka_run_group_tests("corpus", list.tests, list.count, NULL, NULL);
	while (list.count)
		free(list.tests[--list.count].initial_state);
	free(list.tests);
	return failed;
}
