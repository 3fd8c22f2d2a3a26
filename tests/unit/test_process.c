/*
 * What /proc says: of the test itself, and of a copy of it that it starts with a name, arguments
 * and an environment that are hard to read.
 */
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/process.h"
#include "base/text.h"

#define CHILD_ARGUMENT "child-of-test"
#define ODD_NAME "a) S (b) R 1"
#define NO_SUCH_PID 0x3fffffff

/* The child: tells that it is ready, waits until its input ends. */
static int run_child(void)
{
	char byte = 0;

	prctl(PR_SET_NAME, ODD_NAME);
	if (write(STDOUT_FILENO, &byte, 1) != 1)
		return 1;
	return read(STDIN_FILENO, &byte, 1) != 0;
}

static const char *self_path(void)
{
	static char path[512];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		abort();
	return path;
}

struct child {
	pid_t pid;
	int to_child, from_child;
};

static void start_child(int in, int out)
{
	char argv0[] = "/odd dir/odd) (name", argument[] = CHILD_ARGUMENT, empty[] = "";
	char first[] = "TPBPF_TEST=one=two three", longer[] = "TPBPF_TEST_LONGER=longer";
	char bare[] = "TPBPF_BARE", none[] = "TPBPF_EMPTY=", last[] = "TPBPF_LAST=\x1b\xff";
	char *argv[] = { argv0, argument, empty, argument, NULL };
	char *envp[] = { bare, longer, first, none, last, NULL };

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execve(self_path(), argv, envp);
	_exit(127);
}

static int setup_child(void **state)
{
	struct child *child = calloc(1, sizeof(*child));
	int down[2], up[2];
	char byte;

	if (!child || pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		return -1;
	child->pid = fork();
	if (!child->pid)
		start_child(down[0], up[1]);
	close(down[0]);
	close(up[1]);
	child->to_child = down[1];
	child->from_child = up[0];
	*state = child;
	return read(child->from_child, &byte, 1) == 1 ? 0 : -1;
}

static int teardown_child(void **state)
{
	struct child *child = *state;

	close(child->to_child);
	close(child->from_child);
	waitpid(child->pid, NULL, 0);
	free(child);
	return 0;
}

static pid_t child_pid(void **state)
{
	return ((const struct child *)*state)->pid;
}

struct found_mapping {
	uint64_t address;
	bool is_found, is_executable, is_deleted;
	uint64_t inode;
	char path[512];
	int count;
};

static int find_mapping(void *context, const struct process_mapping *mapping)
{
	struct found_mapping *found = context;

	assert_true(mapping->start < mapping->end);
	assert_int_equal(mapping->path[0], '/');
	found->count++;
	if (found->address < mapping->start || found->address >= mapping->end)
		return 0;
	found->is_found = true;
	found->is_executable = mapping->is_executable;
	found->is_deleted = mapping->is_deleted;
	found->inode = mapping->inode;
	text_copy(found->path, sizeof(found->path), mapping->path);
	return 0;
}

static void the_mapping_of_a_function_is_found(void **state)
{
	struct found_mapping found = { .address = (uintptr_t)run_child };
	struct stat stat_buffer;

	(void)state;
	assert_int_equal(stat(self_path(), &stat_buffer), 0);
	assert_int_equal(process_each_mapping(getpid(), find_mapping, &found), 0);
	assert_true(found.is_found);
	assert_true(found.is_executable);
	assert_false(found.is_deleted);
	assert_string_equal(found.path, self_path());
	assert_int_equal(found.inode, stat_buffer.st_ino);
	assert_true(found.count > 3);
}

static void a_deleted_file_with_blanks_is_found(void **state)
{
	char path[] = "/tmp/tpbpf unit (odd) XXXXXX";
	int fd = mkstemp(path);
	struct found_mapping found = { .address = 0 };
	void *memory;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(memory != MAP_FAILED);
	close(fd);
	found.address = (uintptr_t)memory;
	assert_int_equal(process_each_mapping(getpid(), find_mapping, &found), 0);
	assert_true(found.is_found);
	assert_false(found.is_deleted);
	unlink(path);
	assert_int_equal(process_each_mapping(getpid(), find_mapping, &found), 0);
	assert_true(found.is_deleted);
	assert_false(found.is_executable);
	assert_string_equal(found.path, path);
	munmap(memory, 4096);
}

static int stop_at_once(void *context, const struct process_mapping *mapping)
{
	(void)mapping;
	++*(int *)context;
	return 7;
}

static void a_caller_may_stop_the_walk(void **state)
{
	int calls = 0;

	(void)state;
	assert_int_equal(process_each_mapping(getpid(), stop_at_once, &calls), 7);
	assert_int_equal(calls, 1);
}

static int count_thread(void *context, pid_t tid)
{
	assert_true(tid > 0);
	++*(int *)context;
	return 0;
}

static void nobody_is_no_process(void **state)
{
	struct process_status status;
	char text[64];
	int count = 0;
	dev_t dev;
	ino_t ino;

	(void)state;
	assert_int_equal(process_each_mapping(NO_SUCH_PID, stop_at_once, &count), -ESRCH);
	assert_int_equal(process_each_thread(NO_SUCH_PID, count_thread, &count), -ESRCH);
	assert_int_equal(process_thread_count(NO_SUCH_PID), 0);
	assert_int_equal(process_status(NO_SUCH_PID, &status), -ESRCH);
	assert_int_equal(process_command_line(NO_SUCH_PID, text, sizeof(text)), -ESRCH);
	assert_int_equal(process_name(NO_SUCH_PID, text, sizeof(text)), -ESRCH);
	assert_int_equal(process_environment(NO_SUCH_PID, "PATH", text, sizeof(text)), -ESRCH);
	assert_true(process_namespace(NO_SUCH_PID, "pid", &dev, &ino) < 0);
	assert_true(process_open_in_root(NO_SUCH_PID, "/") < 0);
	assert_int_equal(process_image_id(NO_SUCH_PID), 0);
	assert_int_equal(count, 0);
}

static void the_status_of_the_test_is_read(void **state)
{
	struct process_status status;

	(void)state;
	assert_int_equal(process_status(getpid(), &status), 0);
	assert_int_equal(status.uid, getuid());
	assert_int_equal(status.namespace_pid, getpid());
	assert_int_equal(status.state, 'R');
}

static void an_odd_name_does_not_confuse_the_status(void **state)
{
	struct process_status status;
	char name[32] = "";
	pid_t tid = 0;

	assert_int_equal(process_status(child_pid(state), &status), 0);
	assert_true(status.state == 'S' || status.state == 'R');
	assert_int_equal(status.uid, getuid());
	assert_int_equal(
		process_thread(child_pid(state), child_pid(state), &tid, name, sizeof(name)), 0);
	assert_string_equal(name, ODD_NAME);
	assert_int_equal(tid, child_pid(state));
}

/* Field 28 of stat, counted from the end of the name by other means: sscanf behind the last ')'. */
static uint64_t start_of_stack(pid_t pid)
{
	char path[64], line[2048], *at, *save = NULL;
	FILE *file;
	int field;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	at = strtok_r(strstr(line, ODD_NAME ")") ? strstr(line, ODD_NAME ")") + strlen(ODD_NAME) + 2
						 : strrchr(line, ')') + 2,
		      " ", &save);
	for (field = 3; field < 28; field++)
		at = strtok_r(NULL, " ", &save);
	return strtoull(at, NULL, 10);
}

static void the_image_id_is_the_start_of_the_stack(void **state)
{
	uint64_t id = process_image_id(child_pid(state));

	assert_int_equal(id, start_of_stack(child_pid(state)));
	assert_int_equal(id, process_image_id(child_pid(state)));
	assert_int_not_equal(id, 0);
}

static void arguments_are_separated_by_blanks(void **state)
{
	char text[128], cut[8];

	assert_int_equal(process_command_line(child_pid(state), text, sizeof(text)), 0);
	assert_string_equal(text, "/odd dir/odd) (name " CHILD_ARGUMENT "  " CHILD_ARGUMENT);
	assert_int_equal(process_command_line(child_pid(state), cut, sizeof(cut)), 0);
	assert_string_equal(cut, "/odd di");
}

static void the_name_is_the_end_of_the_first_argument(void **state)
{
	char name[64], cut[4];

	assert_int_equal(process_name(child_pid(state), name, sizeof(name)), 0);
	assert_string_equal(name, "odd) (name");
	assert_int_equal(process_name(child_pid(state), cut, sizeof(cut)), 0);
	assert_string_equal(cut, "odd");
}

static void variables_are_found_by_their_whole_name(void **state)
{
	static const struct {
		const char *variable, *value; /* NULL: not set */
	} rows[] = {
		{ "TPBPF_TEST", "one=two three" },
		{ "TPBPF_TEST_LONGER", "longer" },
		{ "TPBPF_EMPTY", "" },
		{ "TPBPF_LAST", "\x1b\xff" },
		{ "TPBPF_BARE", NULL },
		{ "TPBPF_TES", NULL },
		{ "TPBPF_TEST=one", "two three" },
		{ "RANK", NULL },
	};
	char value[64];
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		int err = process_environment(child_pid(state), rows[i].variable, value,
					      sizeof(value));

		assert_row(i, err == (rows[i].value ? 0 : -ENOENT));
		if (rows[i].value)
			assert_string_equal(value, rows[i].value);
	}
	assert_int_equal(process_environment(child_pid(state), "TPBPF_TEST", value, 4), 0);
	assert_string_equal(value, "one");
}

static void namespaces_are_told(void **state)
{
	struct stat stat_buffer;
	dev_t dev = 0;
	ino_t ino = 0;

	assert_int_equal(stat("/proc/self/ns/pid", &stat_buffer), 0);
	assert_int_equal(process_namespace(child_pid(state), "pid", &dev, &ino), 0);
	assert_int_equal(dev, stat_buffer.st_dev);
	assert_int_equal(ino, stat_buffer.st_ino);
	assert_true(process_namespace(child_pid(state), "none", &dev, &ino) < 0);
}

static void *wait_for_lock(void *context)
{
	prctl(PR_SET_NAME, "second thread");
	pthread_barrier_wait(context);
	pthread_barrier_wait(context);
	return NULL;
}

struct named_thread {
	const char *name;
	int count;
};

static int look_for_name(void *context, pid_t tid)
{
	struct named_thread *thread = context;
	char name[32];
	pid_t namespace_tid = 0;

	assert_int_equal(process_thread(getpid(), tid, &namespace_tid, name, sizeof(name)), 0);
	assert_int_equal(namespace_tid, tid);
	thread->count += !strcmp(name, thread->name);
	return 0;
}

static void every_thread_is_seen_with_its_name(void **state)
{
	struct named_thread expected = { .name = "second thread" };
	pthread_barrier_t barrier;
	pthread_t thread;
	int count = 0;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(process_each_thread(getpid(), count_thread, &count), 0);
	assert_int_equal(process_thread_count(getpid()), count);
	assert_int_equal(process_each_thread(getpid(), look_for_name, &expected), 0);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	assert_true(count >= 2); /* checkers may have threads of their own */
	assert_int_equal(expected.count, 1);
}

static void a_thread_that_is_gone_has_no_name(void **state)
{
	char name[32] = "before";
	pid_t tid = 0;

	(void)state;
	assert_true(process_thread(getpid(), NO_SUCH_PID, &tid, name, sizeof(name)) < 0);
	assert_string_equal(name, "");
}

static void files_are_opened_inside_the_root_of_the_process(void **state)
{
	int fd = process_open_in_root(child_pid(state), "/proc/self/../../proc/version");

	if (fd == -ENOSYS)
		skip(); /* before Linux 5.6 */
	assert_true(fd >= 0);
	close(fd);
	assert_true(process_open_in_root(child_pid(state), "/no/such/file") < 0);
	/* Links of /proc that lead out of every root are not followed. */
	assert_int_equal(process_open_in_root(child_pid(state), "/proc/self/exe"), -ELOOP);
}

static void a_function_lies_in_its_file(void **state)
{
	uint64_t at = (uint64_t)(uintptr_t)setup_child, file_offset = 0;
	unsigned char of_file[16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(process_file_offset(getpid(), at, &file_offset), 0);
	assert_int_equal(pread(fd, of_file, sizeof(of_file), (off_t)file_offset), sizeof(of_file));
	assert_memory_equal(of_file, (const void *)(uintptr_t)at, sizeof(of_file));
	close(fd);
}

static void what_is_no_file_has_no_place(void **state)
{
	uint64_t file_offset = 7;
	int local = 0;

	(void)state;
	assert_int_equal(process_file_offset(getpid(), (uint64_t)(uintptr_t)&local, &file_offset),
			 -ENOENT);
	assert_int_equal(process_file_offset(NO_SUCH_PID, 0, &file_offset), -ESRCH);
	assert_int_equal(file_offset, 7);
}

/* In a root of its own, if it may; exit status 77: it may not. */
static void live_in(const char *root, int in, int out)
{
	char byte = 0;

	if (chroot(root) && (unshare(CLONE_NEWUSER) || chroot(root)))
		_exit(77);
	if (write(out, &byte, 1) == 1 && read(in, &byte, 1) >= 0)
		_exit(0);
	_exit(1);
}

static void a_file_of_a_chroot_is_found_by_the_name_of_its_mapping(void **state)
{
	char root[] = "/tmp/tpbpf-test-XXXXXX", path[64], byte;
	int down[2], up[2], status, fd;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/file", root);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(pipe2(down, O_CLOEXEC) | pipe2(up, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(down[1]);
		live_in(root, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	if (read(up[0], &byte, 1) == 1) {
		fd = process_open_in_root(pid, path); /* as its maps would name it */
		close(down[1]);
		assert_true(fd >= 0 || fd == -ENOSYS);
		if (fd >= 0)
			close(fd);
	} else {
		close(down[1]);
	}
	close(up[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	rmdir(root);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, setup_child, teardown_child)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mapping_of_a_function_is_found),
		cmocka_unit_test(a_deleted_file_with_blanks_is_found),
		cmocka_unit_test(a_caller_may_stop_the_walk),
		cmocka_unit_test(nobody_is_no_process),
		cmocka_unit_test(the_status_of_the_test_is_read),
		CHILD_TEST(an_odd_name_does_not_confuse_the_status),
		CHILD_TEST(the_image_id_is_the_start_of_the_stack),
		CHILD_TEST(arguments_are_separated_by_blanks),
		CHILD_TEST(the_name_is_the_end_of_the_first_argument),
		CHILD_TEST(variables_are_found_by_their_whole_name),
		CHILD_TEST(namespaces_are_told),
		cmocka_unit_test(every_thread_is_seen_with_its_name),
		cmocka_unit_test(a_thread_that_is_gone_has_no_name),
		CHILD_TEST(files_are_opened_inside_the_root_of_the_process),
		cmocka_unit_test(a_function_lies_in_its_file),
		cmocka_unit_test(what_is_no_file_has_no_place),
		cmocka_unit_test(a_file_of_a_chroot_is_found_by_the_name_of_its_mapping),
	};

	if (argc > 1 && !strcmp(argv[1], CHILD_ARGUMENT))
		return run_child();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
