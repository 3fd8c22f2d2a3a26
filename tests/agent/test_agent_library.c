/* The agent as a file: one symbol, no dependency but libc, and what the collector looks for. */
#include "support/test.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "agent/objects.h"
#include "agent/elf_file.h"

/* The output of a command, static storage. */
static const char *output(const char *command)
{
	static char text[65536];
	FILE *pipe = popen(command, "r");
	size_t size;

	assert_non_null(pipe);
	size = fread(text, 1, sizeof(text) - 1, pipe);
	text[size] = '\0';
	assert_int_equal(pclose(pipe), 0);
	return text;
}

static void one_symbol_is_exported(void **state)
{
	(void)state;
	assert_string_equal(
		output("nm -D --defined-only " AGENT_PATH " | sed 's/^[0-9a-f]* //' | sort"),
		"T InitializeInjection\n");
}

static void nothing_but_libc_is_needed(void **state)
{
	(void)state;
	assert_string_equal(output("readelf -dW " AGENT_PATH " | sed -n 's/.*(NEEDED)[^[]*//p'"),
			    "[libc.so.6]\n");
	assert_string_equal(output("readelf -dW " AGENT_PATH " | grep -c TEXTREL || true"), "0\n");
	assert_string_equal(output("readelf -dW " AGENT_PATH " | grep -c NODELETE || true"), "1\n");
}

static void an_old_libc_will_do(void **state)
{
	(void)state;
	assert_string_equal(
		output("{ objdump -T " AGENT_PATH
		       " | grep -oE 'GLIBC_[0-9.]+'; echo GLIBC_2.17; } | sort -uV | tail -n 1"),
		"GLIBC_2.17\n");
}

static void nothing_that_ends_the_job_is_called(void **state)
{
	(void)state;
	assert_string_equal(
		output("objdump -T " AGENT_PATH " | grep -cE ' (abort|exit|_exit|raise|kill|printf|"
		       "fprintf|__assert_fail|__stack_chk_fail|signal|sigaction)$' || true"),
		"0\n");
}

static void the_notes_say_where_to_probe(void **state)
{
	const char *notes = output("readelf -n " AGENT_PATH " | grep -cE 'Provider: tpbpf_agent'");

	(void)state;
	assert_string_equal(notes, "3\n");
	assert_string_equal(output("readelf -SW " AGENT_PATH " | grep -cE "
				   "'\\.probes +PROGBITS .* WA '"),
			    "1\n");
	/* Each site is a nop. */
	assert_string_equal(output("for at in $(readelf -n " AGENT_PATH
				   " | sed -n 's/.*Location: 0x0*\\([0-9a-f]*\\),.*/\\1/p'); do "
				   "objdump -d --start-address=0x$at " AGENT_PATH
				   " | grep -m1 -E \"^ *$at:\" | sed 's/.*\\t//;s/ *$//'; done | "
				   "sort | uniq -c |"
				   " sed 's/^ *//'"),
			    "3 nop\n");
}

static void a_mapped_object_is_found_by_its_names(void **state)
{
	struct object object;

	(void)state;
	objects_find("libcupti", &object);
	assert_null(object.handle);
	assert_int_equal(object.count, 0);
	assert_non_null(dlopen(FAKES_PATH "/libcupti-1ab2c3d4.so.12", RTLD_NOW | RTLD_LOCAL));
	objects_find("libcupti", &object);
	assert_non_null(object.handle);
	assert_int_equal(object.count, 1);
	assert_string_equal(object.path, FAKES_PATH "/libcupti-1ab2c3d4.so.12");
	assert_non_null(dlsym(object.handle, "cuptiGetVersion"));
	/* A second one is counted, the first one is taken. */
	assert_non_null(dlopen(FAKES_PATH "/libcupti.so.11.8", RTLD_NOW | RTLD_LOCAL));
	objects_find("libcupti", &object);
	assert_int_equal(object.count, 2);
	assert_string_equal(object.path, FAKES_PATH "/libcupti-1ab2c3d4.so.12");
	/* libcudart is no libcuda, and a longer name is another library. */
	objects_find("libcud", &object);
	assert_null(object.handle);
	objects_find("libcuda", &object);
	assert_non_null(strstr(object.path, "libcuda.so.1"));
	objects_find("libcudart", &object);
	assert_non_null(strstr(object.path, "libcudart.so.12"));
}

static void a_link_is_followed_to_the_name_behind_it(void **state)
{
	char directory[] = "/tmp/tpbpf-agent-XXXXXX", link[PATH_MAX];
	struct object object;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(link, sizeof(link), "%s/profiler.so", directory);
	assert_int_equal(symlink(FAKES_PATH "/libfakeclock.so", link), 0);
	assert_non_null(dlopen(link, RTLD_NOW | RTLD_LOCAL));
	objects_find("libfakeclock", &object);
	assert_non_null(object.handle);
	assert_string_equal(object.path, link);
	unlink(link);
	rmdir(directory);
}

static void a_function_is_looked_for_in_files(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_true(elf_file_defines(FAKES_PATH "/libcupti.so.12", "cuptiActivityEnable"));
	/* Hidden, in .symtab alone. */
	assert_true(elf_file_defines(AGENT_PATH, "tpbpf_agent_batch"));
	assert_true(elf_file_defines(AGENT_PATH, "session_open"));
	/* Called, not defined. */
	assert_false(elf_file_defines(AGENT_PATH, "pthread_create"));
	assert_false(elf_file_defines(FAKES_PATH "/libcupti.so.12", "cuptiActivityEnabl"));
	assert_false(elf_file_defines("/nonexistent", "main"));
	assert_false(elf_file_defines("/etc/passwd", "main"));
	assert_false(elf_file_defines("/dev/null", "main"));
	assert_false(elf_file_defines("/tmp", "main"));
	assert_true(objects_contain("libtorch", "a_function_is_looked_for_in_files", path));
	assert_string_equal(path, "/proc/self/exe");
	assert_true(objects_contain("libcuda", "cuDeviceGetCount", path));
	assert_non_null(strstr(path, "libcuda.so.1"));
	assert_false(objects_contain("libtorch", "cuDeviceGetCount", path));
}

/* Files that lie about themselves. */
static void a_broken_file_is_survived(void **state)
{
	char path[] = "/tmp/tpbpf-agent-XXXXXX";
	uint64_t random = 88172645463325252ULL;
	static char whole[1 << 20];
	FILE *in = fopen(FAKES_PATH "/libcupti.so.12", "rb");
	size_t size = fread(whole, 1, sizeof(whole), in);
	int fd = mkstemp(path), i;

	(void)state;
	fclose(in);
	assert_true(size > 4096 && fd >= 0);
	for (i = 0; i < 300; i++) {
		size_t head = i % 3 ? size : random_next(&random) % size, k;
		char saved[8];
		size_t at[8];

		/* The head, and the section table behind everything, are where it hurts. */
		for (k = 0; k < 8; k++) {
			at[k] = k & 1 ? random_next(&random) % 64
				      : size - 1 - random_next(&random) % 2600;
			saved[k] = whole[at[k]];
			whole[at[k]] = (char)random_next(&random);
		}
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, whole, head, 0), (ssize_t)head);
		elf_file_defines(path, "cuptiActivityEnable");
		for (k = 8; k--;)
			whole[at[k]] = saved[k];
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_symbol_is_exported),
		cmocka_unit_test(nothing_but_libc_is_needed),
		cmocka_unit_test(an_old_libc_will_do),
		cmocka_unit_test(nothing_that_ends_the_job_is_called),
		cmocka_unit_test(the_notes_say_where_to_probe),
		cmocka_unit_test(a_mapped_object_is_found_by_its_names),
		cmocka_unit_test(a_link_is_followed_to_the_name_behind_it),
		cmocka_unit_test(a_function_is_looked_for_in_files),
		cmocka_unit_test(a_broken_file_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
