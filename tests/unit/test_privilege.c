/*
 * Who called sudo, and which capabilities stay. What changes the process is done in a child of it;
 * where the test is not run by root, root's part is skipped.
 */
#include "support/test.h"

#include <linux/capability.h>
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

static int drop_and_look(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct before[2] = { { 0 } }, after[2] = { { 0 } };
	const __u32 files = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER;

	if (syscall(SYS_capget, &header, before))
		return 1;
	if (privilege_keep_files_only())
		return 2;
	if (syscall(SYS_capget, &header, after))
		return 3;
	if (after[0].effective != (before[0].effective & files) || after[1].effective)
		return 4;
	if (after[0].permitted != (before[0].permitted & files) || after[1].permitted)
		return 5;
	if (after[0].inheritable || after[1].inheritable)
		return 6;
	return 0;
}

static void only_the_capabilities_for_files_stay(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_and_look), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_takes_the_invoker_from_sudo),
		cmocka_unit_test(what_is_no_id_is_nobody),
		cmocka_unit_test(without_root_nobody_is_believed),
		cmocka_unit_test(only_the_capabilities_for_files_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
