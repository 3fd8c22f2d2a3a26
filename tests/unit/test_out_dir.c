/* The output directory, in a temporary one. */
#include "support/test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log.h"
#include "output/out_dir.h"
#include "support/stderr_capture.h"
#include "support/temporary_dir.h"

static const struct out_cancel never = { NULL, NULL };

static int open_dir(struct out_dir **dir, const char *parent, const char *name)
{
	char path[TEMPORARY_PATH_BYTES];

	return out_dir_open(dir, temporary_dir_path(path, parent, name), never);
}

static int write_file(struct out_dir *dir, const char *name, const char *text)
{
	struct out_file *file = NULL;

	assert_int_equal(out_file_new(&file, dir, name), 0);
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), text, strlen(text)), 0);
	assert_int_equal(out_file_size_bytes(file), strlen(text));
	return out_file_commit(file);
}

#define assert_content(parent, name, text)                               \
	do {                                                             \
		char *content_ = temporary_dir_read(parent, name, NULL); \
		assert_non_null(content_);                               \
		assert_string_equal(content_, text);                     \
		free(content_);                                          \
	} while (0)

/* The entries of a directory, hidden ones too. */
static int count_entries(const char *parent, const char *name)
{
	char path[TEMPORARY_PATH_BYTES];
	DIR *stream = opendir(temporary_dir_path(path, parent, name));
	int count = 0;

	assert_non_null(stream);
	while (readdir(stream))
		count++;
	closedir(stream);
	return count - 2;
}

static void a_directory_is_made(void **state)
{
	struct out_dir *dir = NULL;
	struct stat stat_buffer;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	temporary_dir_path(path, *state, "out");
	assert_string_equal(out_dir_path(dir), path);
	assert_int_equal(stat(path, &stat_buffer), 0);
	assert_true(S_ISDIR(stat_buffer.st_mode));
	assert_int_equal(write_file(dir, "steps.csv", "a,b\n"), 0);
	out_dir_free(dir);
	assert_content(*state, "out/steps.csv", "a,b\n");
	assert_int_equal(count_entries(*state, "out"), 1);
}

static void an_empty_directory_is_taken(void **state)
{
	struct out_dir *dir = NULL;

	assert_int_equal(open_dir(&dir, *state, ""), 0);
	assert_int_equal(write_file(dir, "steps.csv", "a,b\n"), 0);
	out_dir_free(dir);
	assert_content(*state, "steps.csv", "a,b\n");
}

static void what_is_no_empty_directory_is_refused(void **state)
{
	static const struct {
		const char *name;
		int err;
	} rows[] = {
		{ "full", -ENOTEMPTY }, { "file", -ENOTDIR },	  { "link", 0 },
		{ "dangling", 0 },	{ "hidden", -ENOTEMPTY }, { "missing/out", -ENOENT },
	};
	struct stderr_capture capture;
	char path[TEMPORARY_PATH_BYTES];
	size_t i;

	mkdir(temporary_dir_path(path, *state, "full"), 0755);
	temporary_dir_write(*state, "full/other", "kept");
	mkdir(temporary_dir_path(path, *state, "hidden"), 0755);
	temporary_dir_write(*state, "hidden/.other", "kept");
	temporary_dir_write(*state, "file", "kept");
	mkdir(temporary_dir_path(path, *state, "empty"), 0755);
	assert_int_equal(symlink("empty", temporary_dir_path(path, *state, "link")), 0);
	assert_int_equal(symlink("nowhere", temporary_dir_path(path, *state, "dangling")), 0);
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct out_dir *dir = NULL;
		int err;

		stderr_capture_begin(&capture);
		err = open_dir(&dir, *state, rows[i].name);
		assert_row(i, strstr(stderr_capture_end(&capture), rows[i].name) != NULL);
		assert_row(i, rows[i].err ? err == rows[i].err : err < 0);
		assert_row(i, !dir);
	}
	assert_content(*state, "full/other", "kept");
	assert_int_equal(count_entries(*state, "full"), 1);
	assert_content(*state, "file", "kept");
	assert_int_equal(count_entries(*state, "empty"), 0);
	assert_false(temporary_dir_has(*state, "nowhere"));
}

/* A slash behind its name makes the system follow a link. */
static void a_link_with_a_slash_is_refused_as_well(void **state)
{
	struct stderr_capture capture;
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];
	int err;

	mkdir(temporary_dir_path(path, *state, "empty"), 0755);
	assert_int_equal(symlink("empty", temporary_dir_path(path, *state, "link")), 0);
	stderr_capture_begin(&capture);
	err = open_dir(&dir, *state, "link/");
	stderr_capture_end(&capture);
	out_dir_free(dir);
	assert_true(err < 0);
}

static void a_file_appears_when_it_is_whole(void **state)
{
	struct out_dir *dir = NULL;
	struct out_file *file = NULL;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(out_file_new(&file, dir, "profile.json"), 0);
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), "{}", 2), 0);
	assert_false(temporary_dir_has(*state, "out/profile.json"));
	assert_int_equal(out_file_commit(file), 0);
	assert_content(*state, "out/profile.json", "{}");
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 1);
}

static void a_commit_replaces_the_file_before(void **state)
{
	struct out_dir *dir = NULL;
	struct stat before, after;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	temporary_dir_path(path, *state, "out/profile.json");
	assert_int_equal(write_file(dir, "profile.json", "pending and long"), 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(write_file(dir, "profile.json", "done"), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_content(*state, "out/profile.json", "done");
	assert_true(before.st_ino != after.st_ino); /* renamed over, not written into */
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 1);
}

static void an_abandoned_file_leaves_the_earlier_one(void **state)
{
	struct out_dir *dir = NULL;
	struct out_file *file = NULL;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "profile.json", "earlier"), 0);
	assert_int_equal(out_file_new(&file, dir, "profile.json"), 0);
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), "half", 4), 0);
	out_file_abandon(file);
	out_file_abandon(NULL);
	assert_content(*state, "out/profile.json", "earlier");
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 1);
}

static void a_large_file_is_whole(void **state)
{
	const size_t size_bytes = 300001;
	struct out_dir *dir = NULL;
	struct out_file *file = NULL;
	char *bytes = malloc(size_bytes), *read_back;
	size_t i, got = 0;

	assert_non_null(bytes);
	for (i = 0; i < size_bytes; i++)
		bytes[i] = (char)(i % 251);
	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(out_file_new(&file, dir, "trace"), 0);
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), bytes, 1), 0);
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), bytes + 1, 199999), 0);
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), bytes + 200000, 100001),
			 0);
	assert_int_equal(out_file_size_bytes(file), size_bytes);
	assert_int_equal(out_file_commit(file), 0);
	read_back = temporary_dir_read(*state, "out/trace", &got);
	assert_int_equal(got, size_bytes);
	assert_memory_equal(read_back, bytes, size_bytes);
	free(read_back);
	free(bytes);
	out_dir_free(dir);
}

static void a_name_that_is_taken_by_a_directory_is_an_error(void **state)
{
	struct stderr_capture capture;
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];
	int err;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	mkdir(temporary_dir_path(path, *state, "out/steps.csv"), 0755);
	stderr_capture_begin(&capture);
	err = write_file(dir, "steps.csv", "a");
	assert_non_null(strstr(stderr_capture_end(&capture), "steps.csv"));
	assert_int_equal(err, -EISDIR);
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 1); /* the directory; no temporary file */
}

static void a_temporary_name_that_is_taken_is_not_followed(void **state)
{
	struct stderr_capture capture;
	struct out_dir *dir = NULL;
	struct out_file *file = NULL;
	char path[TEMPORARY_PATH_BYTES];
	int err;

	temporary_dir_write(*state, "victim", "kept");
	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(
		symlink("../victim", temporary_dir_path(path, *state, "out/.steps.csv.tmp")), 0);
	stderr_capture_begin(&capture);
	err = out_file_new(&file, dir, "steps.csv");
	stderr_capture_end(&capture);
	assert_true(err < 0);
	assert_null(file);
	out_dir_free(dir);
	assert_content(*state, "victim", "kept");
	assert_true(temporary_dir_has(*state, "out/.steps.csv.tmp")); /* not ours to remove */
}

static void a_temporary_name_that_is_taken_is_not_written_over(void **state)
{
	struct stderr_capture capture;
	struct out_dir *dir = NULL;
	struct out_file *file = NULL;
	int err;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	temporary_dir_write(*state, "out/.steps.csv.tmp", "kept");
	stderr_capture_begin(&capture);
	err = out_file_new(&file, dir, "steps.csv");
	stderr_capture_end(&capture);
	assert_int_equal(err, -EEXIST);
	out_dir_free(dir);
	assert_content(*state, "out/.steps.csv.tmp", "kept");
}

static bool is_cancelled(void *context)
{
	return *(const bool *)context;
}

static void a_cancelled_file_is_not_there(void **state)
{
	static const char zeros[100000];
	bool cancelled = false;
	const struct out_cancel cancel = { is_cancelled, &cancelled };
	struct out_dir *dir = NULL;
	struct out_file *large = NULL, *small = NULL;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(out_dir_open(&dir, temporary_dir_path(path, *state, "out"), cancel), 0);
	assert_int_equal(write_file(dir, "steps.csv", "earlier"), 0);
	assert_int_equal(out_file_new(&large, dir, "trace"), 0);
	assert_int_equal(out_file_new(&small, dir, "steps.csv"), 0);
	assert_int_equal(out_file_sink(small)->write(out_file_sink(small), "x", 1), 0);
	cancelled = true;
	assert_int_equal(out_file_sink(large)->write(out_file_sink(large), zeros, sizeof(zeros)),
			 -ECANCELED);
	assert_int_equal(out_file_sink(large)->write(out_file_sink(large), "x", 1), -ECANCELED);
	assert_int_equal(out_file_commit(large), -ECANCELED);
	assert_int_equal(out_file_commit(small), -ECANCELED);
	assert_content(*state, "out/steps.csv", "earlier");
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 1);
}

static off_t reserved_bytes(const char *parent)
{
	char path[TEMPORARY_PATH_BYTES];
	struct stat stat_buffer;

	temporary_dir_path(path, parent, "out/.tpbpf-reserve");
	return stat(path, &stat_buffer) ? 0 : stat_buffer.st_size;
}

static void space_is_set_aside_and_given_back(void **state)
{
	struct out_dir *dir = NULL;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_true(reserved_bytes(*state) >= 65536);
	out_dir_use_reserve(dir);
	assert_int_equal(count_entries(*state, "out"), 0);
	out_dir_use_reserve(dir);
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 0);
}

static void a_second_name_is_the_same_file(void **state)
{
	struct out_dir *dir = NULL;
	struct stat first, second;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "trace.json.gz", "packed"), 0);
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "host_1.pt.trace.json.gz"), 0);
	assert_int_equal(stat(temporary_dir_path(path, *state, "out/trace.json.gz"), &first), 0);
	assert_int_equal(stat(temporary_dir_path(path, *state, "out/trace/host_1.pt.trace.json.gz"),
			      &second),
			 0);
	assert_true(first.st_ino == second.st_ino);
	assert_true(out_dir_link(dir, "missing", "trace", "other") < 0);
	out_dir_free(dir);
}

static void a_link_in_place_of_the_subdirectory_is_not_followed(void **state)
{
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];

	mkdir(temporary_dir_path(path, *state, "elsewhere"), 0755);
	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "trace.json.gz", "packed"), 0);
	assert_int_equal(symlink("../elsewhere", temporary_dir_path(path, *state, "out/trace")), 0);
	assert_true(out_dir_link(dir, "trace.json.gz", "trace", "name") < 0);
	assert_int_equal(count_entries(*state, "elsewhere"), 0);
	out_dir_free(dir);
}

static void removing_takes_all_that_is_ours(void **state)
{
	struct out_dir *dir = NULL;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "trace.json.gz", "packed"), 0);
	assert_int_equal(write_file(dir, "profile.json", "{}"), 0);
	assert_int_equal(write_file(dir, "profile.json", "{}"), 0);
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "name"), 0);
	out_dir_remove(dir);
	out_dir_free(dir);
	assert_false(temporary_dir_has(*state, "out"));
}

static void removing_leaves_what_is_not_ours(void **state)
{
	struct out_dir *dir = NULL;

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "steps.csv", "a"), 0);
	temporary_dir_write(*state, "out/notes.txt", "kept");
	out_dir_remove(dir);
	out_dir_free(dir);
	assert_content(*state, "out/notes.txt", "kept");
	assert_int_equal(count_entries(*state, "out"), 1);
}

static void removing_leaves_a_directory_that_was_there(void **state)
{
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];

	mkdir(temporary_dir_path(path, *state, "out"), 0755);
	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "steps.csv", "a"), 0);
	out_dir_remove(dir);
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "out"), 0);
}

/* What follows is done by who owns the directory, while we write. */

/* An output directory that others may write to. */
static struct out_dir *open_shared(const char *parent)
{
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(mkdir(temporary_dir_path(path, parent, "out"), 0755), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(open_dir(&dir, parent, "out"), 0);
	return dir;
}

static nlink_t count_names(const char *parent, const char *name)
{
	char path[TEMPORARY_PATH_BYTES];
	struct stat stat_buffer;

	assert_int_equal(lstat(temporary_dir_path(path, parent, name), &stat_buffer), 0);
	return stat_buffer.st_nlink;
}

static void move(const char *parent, const char *from, const char *to)
{
	char from_path[TEMPORARY_PATH_BYTES], to_path[TEMPORARY_PATH_BYTES];

	assert_int_equal(rename(temporary_dir_path(from_path, parent, from),
				temporary_dir_path(to_path, parent, to)),
			 0);
}

static void put_link(const char *parent, const char *name, const char *target)
{
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(symlink(target, temporary_dir_path(path, parent, name)), 0);
}

static void files_go_where_the_directory_went(void **state)
{
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	mkdir(temporary_dir_path(path, *state, "elsewhere"), 0755);
	move(*state, "out", "moved");
	put_link(*state, "out", "elsewhere");
	assert_int_equal(write_file(dir, "trace.json.gz", "packed"), 0);
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "name"), 0);
	assert_content(*state, "moved/trace.json.gz", "packed");
	assert_content(*state, "moved/trace/name", "packed");
	assert_int_equal(count_entries(*state, "elsewhere"), 0);
	out_dir_remove(dir);
	out_dir_free(dir);
	assert_int_equal(count_entries(*state, "moved"), 0);
	assert_true(temporary_dir_has(*state, "out")); /* neither the link nor where it leads */
}

static void another_directory_in_its_place_is_left(void **state)
{
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	move(*state, "out", "moved");
	mkdir(temporary_dir_path(path, *state, "out"), 0755);
	out_dir_remove(dir);
	out_dir_free(dir);
	assert_true(temporary_dir_has(*state, "out"));
}

static void removing_goes_through_no_link(void **state)
{
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];

	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(write_file(dir, "trace.json.gz", "packed"), 0);
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "name"), 0);
	mkdir(temporary_dir_path(path, *state, "elsewhere"), 0755);
	temporary_dir_write(*state, "elsewhere/name", "kept");
	move(*state, "out/trace", "out/moved");
	put_link(*state, "out/trace", "../elsewhere");
	out_dir_remove(dir);
	out_dir_free(dir);
	assert_content(*state, "elsewhere/name", "kept");
}

/* A second name for a file of ours must not become one for a file of somebody else. */
static void a_file_in_place_of_the_trace_gets_no_second_name(void **state)
{
	char victim[TEMPORARY_PATH_BYTES], path[TEMPORARY_PATH_BYTES];
	struct out_dir *dir = open_shared(*state);

	temporary_dir_write(*state, "victim", "secret");
	assert_int_equal(write_file(dir, "trace.json.gz", "packed"), 0);
	temporary_dir_path(path, *state, "out/trace.json.gz");
	unlink(path);
	assert_int_equal(link(temporary_dir_path(victim, *state, "victim"), path), 0);
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "name"), -ESTALE);
	assert_int_equal(count_names(*state, "victim"), 2);
	unlink(path);
	put_link(*state, "out/trace.json.gz", "../victim");
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "name"), -ESTALE);
	unlink(path);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(out_dir_link(dir, "trace.json.gz", "trace", "name"), -ESTALE);
	assert_int_equal(count_entries(*state, "out/trace"), 0);
	out_dir_free(dir);
}

static void a_file_that_was_swapped_is_not_said_to_be_written(void **state)
{
	struct out_dir *dir = open_shared(*state);
	struct stderr_capture capture;
	struct out_file *file = NULL;
	int err;

	temporary_dir_write(*state, "victim", "kept");
	assert_int_equal(out_file_new(&file, dir, "steps.csv"), 0);
	move(*state, "out/.steps.csv.tmp", "out/moved");
	put_link(*state, "out/.steps.csv.tmp", "../victim");
	assert_int_equal(out_file_sink(file)->write(out_file_sink(file), "a,b", 3), 0);
	stderr_capture_begin(&capture);
	err = out_file_commit(file);
	assert_non_null(strstr(stderr_capture_end(&capture), "steps.csv"));
	assert_int_equal(err, -ESTALE);
	assert_content(*state, "victim", "kept");
	assert_content(*state, "out/moved", "a,b");
	out_dir_free(dir);
}

static void a_file_that_was_taken_away_is_an_error(void **state)
{
	struct out_dir *dir = open_shared(*state);
	struct stderr_capture capture;
	struct out_file *file = NULL;
	char path[TEMPORARY_PATH_BYTES];
	int err;

	assert_int_equal(out_file_new(&file, dir, "steps.csv"), 0);
	unlink(temporary_dir_path(path, *state, "out/.steps.csv.tmp"));
	stderr_capture_begin(&capture);
	err = out_file_commit(file);
	stderr_capture_end(&capture);
	assert_int_equal(err, -ENOENT);
	out_dir_free(dir);
}

/* Opening one would wait for who reads it; writing over a file's own name replaces it. */
static void a_pipe_is_neither_opened_nor_waited_for(void **state)
{
	struct stderr_capture capture;
	struct out_dir *dir = NULL;
	struct out_file *file = NULL;
	char path[TEMPORARY_PATH_BYTES];
	struct stat stat_buffer;
	int err;

	assert_int_equal(mkfifo(temporary_dir_path(path, *state, "pipe"), 0666), 0);
	stderr_capture_begin(&capture);
	err = open_dir(&dir, *state, "pipe");
	stderr_capture_end(&capture);
	assert_int_equal(err, -ENOTDIR);
	assert_int_equal(open_dir(&dir, *state, "out"), 0);
	assert_int_equal(mkfifo(temporary_dir_path(path, *state, "out/.steps.csv.tmp"), 0666), 0);
	stderr_capture_begin(&capture);
	err = out_file_new(&file, dir, "steps.csv");
	stderr_capture_end(&capture);
	assert_int_equal(err, -EEXIST);
	assert_int_equal(mkfifo(temporary_dir_path(path, *state, "out/profile.json"), 0666), 0);
	assert_int_equal(write_file(dir, "profile.json", "{}"), 0);
	assert_int_equal(stat(path, &stat_buffer), 0);
	assert_true(S_ISREG(stat_buffer.st_mode));
	out_dir_free(dir);
}

/* In a child: it gives up root. The caller may have another user to try, and so logs it itself. */
static void a_refusal_is_returned_and_not_logged(void **state)
{
	struct stderr_capture capture;
	struct out_dir *dir = NULL;
	char path[TEMPORARY_PATH_BYTES];
	int status = -1;
	pid_t pid;

	assert_int_equal(chmod(*state, 0755), 0);
	assert_int_equal(mkdir(temporary_dir_path(path, *state, "closed"), 0555), 0);
	stderr_capture_begin(&capture);
	pid = fork();
	if (!pid) {
		if (!geteuid() && seteuid(65534))
			_exit(2);
		_exit(open_dir(&dir, *state, "closed") == -EACCES &&
				      open_dir(&dir, *state, "closed/out") == -EACCES
			      ? 0
			      : 1);
	}
	waitpid(pid, &status, 0);
	assert_string_equal(stderr_capture_end(&capture), "");
	assert_int_equal(status, 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, temporary_dir_setup, temporary_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_directory_is_made),
		TEST(an_empty_directory_is_taken),
		TEST(what_is_no_empty_directory_is_refused),
		TEST(a_link_with_a_slash_is_refused_as_well),
		TEST(a_file_appears_when_it_is_whole),
		TEST(a_commit_replaces_the_file_before),
		TEST(an_abandoned_file_leaves_the_earlier_one),
		TEST(a_large_file_is_whole),
		TEST(a_name_that_is_taken_by_a_directory_is_an_error),
		TEST(a_temporary_name_that_is_taken_is_not_followed),
		TEST(a_temporary_name_that_is_taken_is_not_written_over),
		TEST(a_cancelled_file_is_not_there),
		TEST(space_is_set_aside_and_given_back),
		TEST(a_second_name_is_the_same_file),
		TEST(a_link_in_place_of_the_subdirectory_is_not_followed),
		TEST(removing_takes_all_that_is_ours),
		TEST(removing_leaves_what_is_not_ours),
		TEST(removing_leaves_a_directory_that_was_there),
		TEST(files_go_where_the_directory_went),
		TEST(another_directory_in_its_place_is_left),
		TEST(removing_goes_through_no_link),
		TEST(a_file_in_place_of_the_trace_gets_no_second_name),
		TEST(a_file_that_was_swapped_is_not_said_to_be_written),
		TEST(a_file_that_was_taken_away_is_an_error),
		TEST(a_pipe_is_neither_opened_nor_waited_for),
		TEST(a_refusal_is_returned_and_not_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
