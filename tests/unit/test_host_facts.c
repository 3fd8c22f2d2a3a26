/* What the kernel's files say, and the table of capabilities. */
#include "support/test.h"

#include <linux/capability.h>

#include "host_facts.h"

static void releases_are_told_apart(void **state)
{
	static const struct {
		const char *text;
		unsigned int release;
	} rows[] = {
		{ "6.1.0-21-amd64", KERNEL_RELEASE(6, 1) },
		{ "6.18.44-fc-v857", KERNEL_RELEASE(6, 18) },
		{ "5.10", KERNEL_RELEASE(5, 10) },
		{ "7.0-rc1", KERNEL_RELEASE(7, 0) },
		{ "", 0 },
		{ "6", 0 },
		{ "6.", 0 },
		{ ".1", 0 },
		{ "linux", 0 },
		{ "6.99999", 0 },
		{ "99999999999999999999.1", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, host_kernel_release(rows[i].text) == rows[i].release);
	assert_true(KERNEL_RELEASE(6, 18) > KERNEL_RELEASE(6, 6));
	assert_true(KERNEL_RELEASE(5, 19) < KERNEL_RELEASE(6, 1));
}

static void the_lockdown_mode_stands_in_brackets(void **state)
{
	static const struct {
		const char *text, *mode; /* NULL: none is told */
	} rows[] = {
		{ "[none] integrity confidentiality", "none" },
		{ "none [integrity] confidentiality", "integrity" },
		{ "none integrity [confidentiality]\n", "confidentiality" },
		{ "", NULL },
		{ "none integrity", NULL },
		{ "[]", NULL },
		{ "[none", NULL },
		{ "none]", NULL },
		{ "[a word that is longer than the room for it]", NULL },
	};
	char mode[32];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		bool is_told = host_lockdown(rows[i].text, mode, sizeof(mode));

		assert_row(i, is_told == (rows[i].mode != NULL));
		assert_row(i, !is_told || !strcmp(mode, rows[i].mode));
	}
}

static void only_the_first_user_namespace_maps_all(void **state)
{
	static const struct {
		const char *map;
		bool maps_all;
	} rows[] = {
		{ "         0          0 4294967295\n", true },
		{ "0 0 4294967295", true },
		{ "0 1000 1\n", false },
		{ "0 100000 65536", false },
		{ "0 0 65536", false },
		{ "1 1 4294967295", false },
		{ "", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, host_maps_all_users(rows[i].map) == rows[i].maps_all);
}

static const struct host_capability *find(unsigned int number)
{
	const struct host_capability *rows;
	size_t count, i;

	rows = host_capabilities(&count);
	for (i = 0; i < count; i++) {
		if (rows[i].number == number)
			return &rows[i];
	}
	fail_msg("capability %u is not in the table", number);
	return NULL;
}

static void each_capability_says_what_it_is_for(void **state)
{
	const struct host_capability *rows;
	size_t count, i, k;

	(void)state;
	rows = host_capabilities(&count);
	for (i = 0; i < count; i++) {
		assert_row(i, rows[i].name && rows[i].purpose[0] && rows[i].without[0]);
		for (k = 0; k < i; k++)
			assert_row(i, rows[i].number != rows[k].number);
	}
	assert_true(find(CAP_BPF)->is_needed && find(CAP_PERFMON)->is_needed);
	assert_false(find(CAP_SYS_PTRACE)->is_needed || find(CAP_SYS_ADMIN)->is_needed);
}

static void one_capability_may_do_for_another(void **state)
{
	(void)state;
	assert_true(host_can(find(CAP_BPF), CAPABILITY(CAP_BPF)));
	assert_true(host_can(find(CAP_BPF), CAPABILITY(CAP_SYS_ADMIN)));
	assert_true(host_can(find(CAP_CHECKPOINT_RESTORE), CAPABILITY(CAP_SYS_ADMIN)));
	assert_false(host_can(find(CAP_BPF), CAPABILITY(CAP_PERFMON)));
	assert_false(host_can(find(CAP_SYS_PTRACE), CAPABILITY(CAP_SYS_ADMIN)));
	assert_false(host_can(find(CAP_PERFMON), 0));
	assert_true(host_can(find(CAP_CHECKPOINT_RESTORE), /* beyond 32 bits */
			     CAPABILITY(CAP_CHECKPOINT_RESTORE)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases_are_told_apart),
		cmocka_unit_test(the_lockdown_mode_stands_in_brackets),
		cmocka_unit_test(only_the_first_user_namespace_maps_all),
		cmocka_unit_test(each_capability_says_what_it_is_for),
		cmocka_unit_test(one_capability_may_do_for_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
