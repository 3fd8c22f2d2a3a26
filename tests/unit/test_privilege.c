/*
 * Who called sudo, and which capabilities stay. What changes the process is done in a child of it;
 * where the test is not run by root, root's part is skipped.
 */
#include "support/test.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/privilege.h"

static void set_invoker(const char *uid, const char *gid)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (uid)
		setenv("SUDO_UID", uid, 1);
	if (gid)
		setenv("SUDO_GID", gid, 1);
}

static void assert_nobody(void)
{
	uid_t uid = 1;
	gid_t gid = 1;

	privilege_invoker(&uid, &gid);
	assert_int_equal(uid, (uid_t)-1);
	assert_int_equal(gid, (gid_t)-1);
}

static void root_takes_the_invoker_from_sudo(void **state)
{
	uid_t uid = 1;
	gid_t gid = 1;

	(void)state;
	if (geteuid())
		skip();
	set_invoker("1000", "100");
	privilege_invoker(&uid, &gid);
	assert_int_equal(uid, 1000);
	assert_int_equal(gid, 100);
}

static void what_is_no_id_is_nobody(void **state)
{
	static const struct {
		const char *uid, *gid;
	} rows[] = {
		{ NULL, NULL },		  { "1000", NULL },	 { NULL, "1000" },
		{ "", "1000" },		  { "1000", "" },	 { "-1", "1000" },
		{ "1000", "-1" },	  { "root", "root" },	 { "4294967295", "1000" },
		{ "1000", "4294967295" }, { "4294967296", "0" }, { "1000x", "1000" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		set_invoker(rows[i].uid, rows[i].gid);
		assert_nobody();
	}
	set_invoker(NULL, NULL);
}

/* Runs fn in a child and gives its exit status. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(fn());
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

static int ask_without_root(void)
{
	uid_t uid = 1;
	gid_t gid = 1;

	if (!geteuid() && seteuid(65534))
		return 2;
	privilege_invoker(&uid, &gid);
	return uid == (uid_t)-1 && gid == (gid_t)-1 ? 0 : 1;
}

static void without_root_nobody_is_believed(void **state)
{
	(void)state;
	set_invoker("1000", "1000");
	assert_int_equal(in_child(ask_without_root), 0);
	set_invoker(NULL, NULL);
}

/* Two that root has, also in a container. */
#define SOME (CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_FOWNER))

static bool is_held(capability_set in_force, capability_set held)
{
	capability_set found_in_force, found_held;

	return !privilege_capabilities(&found_in_force, &found_held) &&
	       found_in_force == in_force && found_held == held;
}

static int keep_and_look(void)
{
	capability_set in_force, held;

	if (privilege_capabilities(&in_force, &held))
		return 1;
	if (privilege_keep(SOME))
		return 2;
	if (!is_held(held & SOME, held & SOME))
		return 3;
	if (privilege_use(CAPABILITIES_ALL) || !is_held(held & SOME, held & SOME))
		return 4; /* gone for good */
	if (privilege_keep(0) || !is_held(0, 0))
		return 5;
	return 0;
}

static void what_is_kept_is_all_that_stays(void **state)
{
	(void)state;
	assert_int_equal(in_child(keep_and_look), 0);
}

static int use_and_look(void)
{
	capability_set in_force, held;

	if (privilege_capabilities(&in_force, &held))
		return 1;
	if (privilege_use(CAPABILITY(CAP_CHOWN)))
		return 2;
	if (!is_held(held & CAPABILITY(CAP_CHOWN), held))
		return 3;
	if (privilege_use(CAPABILITIES_ALL) || !is_held(held, held))
		return 4;
	return 0;
}

static void what_is_not_in_force_can_be_raised_again(void **state)
{
	(void)state;
	assert_int_equal(in_child(use_and_look), 0);
}

/* Ambient capabilities would come back with an exec: they go with the inheritable ones. */
static int become_ambient_and_look(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &header, data))
		return 1;
	data[0].inheritable |= 1U << CAP_CHOWN;
	if (syscall(SYS_capset, &header, data) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0))
		return 2;
	if (privilege_keep(CAPABILITY(CAP_CHOWN)))
		return 3;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0))
		return 4;
	if (syscall(SYS_capget, &header, data) || data[0].inheritable || data[1].inheritable)
		return 5;
	return 0;
}

static void nothing_is_handed_on_to_an_exec(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(in_child(become_ambient_and_look), 0);
}

#define OTHER 12345

static int make_a_file_as_another(void)
{
	char path[] = "/tmp/tpbpf-unit-XXXXXX", inside[64], closed[64];
	struct stat stat_buffer;
	gid_t groups[2];
	int fd, result = 0;

	if (!mkdtemp(path) || chmod(path, 0777))
		return 1;
	snprintf(inside, sizeof(inside), "%s/file", path);
	snprintf(closed, sizeof(closed), "%s/closed", path);
	if (open(closed, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0)
		result = 1;
	if (privilege_files_as(OTHER, OTHER + 1))
		result = 2;
	fd = open(inside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!result && (fd < 0 || fstat(fd, &stat_buffer)))
		result = 3;
	if (!result && (stat_buffer.st_uid != OTHER || stat_buffer.st_gid != OTHER + 1))
		result = 4;
	if (!result && (getgroups(2, groups) != 1 || groups[0] != OTHER + 1))
		result = 5;
	if (!result && (geteuid() || getuid())) /* to signals we are who we were */
		result = 6;
	if (!result && open(closed, O_RDONLY | O_CLOEXEC) >= 0)
		result = 7;
	if (!result && (privilege_files_as_self() || chown(inside, 0, 0)))
		result = 8;
	unlink(inside);
	unlink(closed);
	rmdir(path);
	return result;
}

static void files_are_made_as_another_user(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(in_child(make_a_file_as_another), 0);
}

static int try_without_the_right(void)
{
	if (!geteuid() && seteuid(65534))
		return 1;
	if (privilege_files_as(OTHER, OTHER) != -EPERM)
		return 2;
	return (uid_t)setfsuid((uid_t)-1) == geteuid() ? 0 : 3;
}

static void without_the_right_files_stay_ours(void **state)
{
	(void)state;
	assert_int_equal(in_child(try_without_the_right), 0);
}

static int lock_and_look(void)
{
	if (!geteuid() && seteuid(65534)) /* with all that root holds: more than that user has */
		return 1;
	privilege_lock();
	if (!prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
		return 2;
#ifndef __SANITIZE_ADDRESS__
	if (!getuid() && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))
		return 3;
#endif
	return 0;
}

static void locked_nothing_is_gained_or_looked_into(void **state)
{
	(void)state;
	assert_int_equal(in_child(lock_and_look), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_takes_the_invoker_from_sudo),
		cmocka_unit_test(what_is_no_id_is_nobody),
		cmocka_unit_test(without_root_nobody_is_believed),
		cmocka_unit_test(what_is_kept_is_all_that_stays),
		cmocka_unit_test(what_is_not_in_force_can_be_raised_again),
		cmocka_unit_test(nothing_is_handed_on_to_an_exec),
		cmocka_unit_test(files_are_made_as_another_user),
		cmocka_unit_test(without_the_right_files_stay_ours),
		cmocka_unit_test(locked_nothing_is_gained_or_looked_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
