/* The way to a directory, in a temporary one. What needs root is skipped without. */
#include "support/test.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "output/safe_path.h"
#include "support/stderr_capture.h"
#include "support/temporary_dir.h"

#define OTHER 12345
#define INVOKER 12346

/* Is what fd stands for the directory of this name? */
static bool is_directory(int fd, const char *parent, const char *name)
{
	char path[TEMPORARY_PATH_BYTES];
	struct stat found, wanted;

	return !fstat(fd, &found) && !stat(temporary_dir_path(path, parent, name), &wanted) &&
	       found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino;
}

static int setup(void **state)
{
	static const char *const directories[] = { "a", "a/b", "elsewhere", "elsewhere/deep" };
	static const char *const links[][2] = {
		{ "link", "elsewhere" },    { "a/up", "../elsewhere/deep" },
		{ "through", "link/deep" }, { "loop", "loop" },
		{ "dangling", "nowhere" },  { "slashes", "elsewhere//deep///" },
	};
	char path[TEMPORARY_PATH_BYTES];
	size_t i;

	if (temporary_dir_setup(state))
		return -1;
	for (i = 0; i < COUNT_OF(directories); i++)
		mkdir(temporary_dir_path(path, *state, directories[i]), 0755);
	for (i = 0; i < COUNT_OF(links); i++) {
		if (symlink(links[i][1], temporary_dir_path(path, *state, links[i][0])))
			return -1;
	}
	temporary_dir_write(*state, "file", "");
	return 0;
}

static void the_parent_and_the_last_part_are_found(void **state)
{
	static const struct {
		const char *path, *parent, *name;
	} rows[] = {
		{ "out", "", "out" },
		{ "a/out", "a", "out" },
		{ "a//b/out", "a/b", "out" },
		{ "./a/./out", "a", "out" },
		{ "a/b/../out", "a", "out" },
		{ "a/.", "a", "." },
		{ "a/..", "a", ".." },
		{ "link", "", "link" }, /* the last part is nobody's business here */
		{ "link/out", "elsewhere", "out" },
		{ "a/up/out", "elsewhere/deep", "out" },
		{ "a/up/../out", "elsewhere", "out" },
		{ "through/out", "elsewhere/deep", "out" },
		{ "slashes/out", "elsewhere/deep", "out" },
	};
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		char path[TEMPORARY_PATH_BYTES];
		const char *name = NULL;
		int fd = safe_path_parent(temporary_dir_path(path, *state, rows[i].path), &name);

		assert_row(i, fd >= 0);
		assert_row(i, is_directory(fd, *state, rows[i].parent));
		assert_row(i, !strcmp(name, rows[i].name));
		close(fd);
	}
}

static void the_root_is_its_own_parent(void **state)
{
	const char *name = NULL;
	int fd = safe_path_parent("/", &name);

	(void)state;
	assert_true(is_directory(fd, "", ""));
	assert_string_equal(name, ".");
	close(fd);
}

static void a_path_may_begin_where_we_stand(void **state)
{
	char before[PATH_MAX];
	const char *name = NULL;
	int fd;

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(*state), 0);
	fd = safe_path_parent("link/out", &name);
	assert_int_equal(chdir(before), 0);
	assert_true(is_directory(fd, *state, "elsewhere"));
	assert_string_equal(name, "out");
	close(fd);
}

/* What such a link says is no path from here. */
static void links_of_proc_lead_where_the_kernel_says(void **state)
{
	char path[TEMPORARY_PATH_BYTES], before[PATH_MAX];
	const char *name = NULL;
	int fd, held;

	held = open(temporary_dir_path(path, *state, "a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(rename(path, temporary_dir_path(before, *state, "moved")), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/b/out", held);
	fd = safe_path_parent(path, &name);
	assert_true(is_directory(fd, *state, "moved/b"));
	assert_string_equal(name, "out");
	close(fd);
	close(held);
}

static void what_leads_nowhere_is_an_error(void **state)
{
	static const struct {
		const char *path;
		int err;
	} rows[] = {
		{ "missing/out", -ENOENT }, { "dangling/out", -ENOENT },
		{ "file/out", -ENOTDIR },   { "a/b/../../file/out", -ENOTDIR },
		{ "loop/out", -ELOOP },
	};
	char path[TEMPORARY_PATH_BYTES];
	const char *name = NULL;
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, safe_path_parent(temporary_dir_path(path, *state, rows[i].path),
					       &name) == rows[i].err);
	assert_int_equal(safe_path_parent("", &name), -ENOENT);
}

static void what_is_too_long_is_an_error(void **state)
{
	char *path = calloc(1, PATH_MAX + 8);
	const char *name = NULL;

	(void)state;
	assert_non_null(path);
	memset(path, 'x', NAME_MAX + 1);
	strcpy(path + NAME_MAX + 1, "/out");
	assert_int_equal(safe_path_parent(path, &name), -ENAMETOOLONG);
	memset(path, 'x', PATH_MAX);
	assert_int_equal(safe_path_parent(path, &name), -ENAMETOOLONG);
	free(path);
}

static int try_link(const char *parent, const char **text)
{
	static struct stderr_capture capture;
	char path[TEMPORARY_PATH_BYTES];
	const char *name = NULL;
	int fd;

	stderr_capture_begin(&capture);
	fd = safe_path_parent(temporary_dir_path(path, parent, "link/out"), &name);
	*text = stderr_capture_end(&capture);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void root_follows_no_link_of_another_user(void **state)
{
	char path[TEMPORARY_PATH_BYTES];
	const char *text;

	if (geteuid())
		skip();
	unsetenv("SUDO_UID");
	assert_int_equal(lchown(temporary_dir_path(path, *state, "link"), OTHER, OTHER), 0);
	assert_int_equal(try_link(*state, &text), -EXDEV);
	assert_non_null(strstr(text, "link"));
	assert_non_null(strstr(text, "12345"));
}

static void root_follows_links_of_who_called_sudo(void **state)
{
	char path[TEMPORARY_PATH_BYTES];
	const char *text;

	if (geteuid())
		skip();
	assert_int_equal(lchown(temporary_dir_path(path, *state, "link"), INVOKER, INVOKER), 0);
	setenv("SUDO_UID", "12346", 1);
	setenv("SUDO_GID", "12346", 1);
	assert_int_equal(try_link(*state, &text), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_string_equal(text, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, temporary_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_parent_and_the_last_part_are_found),
		TEST(the_root_is_its_own_parent),
		TEST(a_path_may_begin_where_we_stand),
		TEST(links_of_proc_lead_where_the_kernel_says),
		TEST(what_leads_nowhere_is_an_error),
		TEST(what_is_too_long_is_an_error),
		TEST(root_follows_no_link_of_another_user),
		TEST(root_follows_links_of_who_called_sudo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
