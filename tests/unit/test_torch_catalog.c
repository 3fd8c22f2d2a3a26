/* The table of probe points, operator names and the layout of tensors. */
#include "support/test.h"

#include "attach/torch_catalog.h"
#include "base/text.h"

static void operators_are_mangled(void **state)
{
	static const struct {
		const char *name, *prefix;
	} rows[] = {
		{ "add_", "_ZN2at4_ops4add_4callE" },
		{ "aten::add_", "_ZN2at4_ops4add_4callE" },
		{ "aten::add.Tensor", "_ZN2at4_ops10add_Tensor4callE" },
		{ "add_.Tensor", "_ZN2at4_ops11add__Tensor4callE" },
		{ "add_Tensor", "_ZN2at4_ops10add_Tensor4callE" },
		{ "_fused_adam_", "_ZN2at4_ops12_fused_adam_4callE" },
		{ "mm", "_ZN2at4_ops2mm4callE" },
	};
	char prefix[256];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(torch_catalog_operator(rows[i].name, prefix, sizeof(prefix)), 0);
		assert_string_equal(prefix, rows[i].prefix);
	}
}

static void what_is_no_operator_name_is_refused(void **state)
{
	static const char *const rows[] = {
		"",	 "aten::", "prims::add",  "add Tensor",
		"add-1", "add;x",  "at\xc3\xa9n", "aten::aten::add",
		"*",	 "add*",   "1add",	  "add\n",
	};
	char prefix[256], name[300];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, torch_catalog_operator(rows[i], prefix, sizeof(prefix)) == -EINVAL);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(torch_catalog_operator(name, prefix, sizeof(prefix)), -EINVAL);
}

static void a_prefix_that_does_not_fit_is_refused(void **state)
{
	char prefix[16];

	(void)state;
	assert_int_equal(torch_catalog_operator("add_", prefix, sizeof(prefix)), -EINVAL);
}

static void rows_apply_between_their_bounds(void **state)
{
	static const struct {
		torch_release since, until, release;
		bool applies;
	} rows[] = {
		{ 0, 0, TORCH_RELEASE(1, 13), true },
		{ 0, 0, 0, true },
		{ TORCH_RELEASE(2, 0), 0, TORCH_RELEASE(1, 13), false },
		{ TORCH_RELEASE(2, 0), 0, TORCH_RELEASE(2, 0), true },
		{ TORCH_RELEASE(2, 0), 0, TORCH_RELEASE(2, 13), true },
		{ TORCH_RELEASE(2, 0), 0, 0, true },
		{ 0, TORCH_RELEASE(1, 13), TORCH_RELEASE(1, 13), true },
		{ 0, TORCH_RELEASE(1, 13), TORCH_RELEASE(2, 0), false },
		{ 0, TORCH_RELEASE(1, 13), 0, false },
		{ TORCH_RELEASE(2, 2), TORCH_RELEASE(2, 8), TORCH_RELEASE(2, 1), false },
		{ TORCH_RELEASE(2, 2), TORCH_RELEASE(2, 8), TORCH_RELEASE(2, 8), true },
		{ TORCH_RELEASE(2, 2), TORCH_RELEASE(2, 8), TORCH_RELEASE(2, 10), false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		const struct catalog_row row = { .since = rows[i].since, .until = rows[i].until };

		assert_row(i, torch_catalog_applies(&row, rows[i].release) == rows[i].applies);
	}
}

/* The rows that give a release its kind of probe; RANGE_EXIT is the only one that may be missing.
 */
static size_t count_kind(enum probe_kind kind, torch_release release)
{
	size_t count, i, found = 0;
	const struct catalog_row *rows = torch_catalog(&count);

	for (i = 0; i < count; i++)
		found += rows[i].kind == kind && torch_catalog_applies(&rows[i], release);
	return found;
}

static void every_release_has_what_ranges_need(void **state)
{
	static const torch_release releases[] = {
		TORCH_RELEASE(1, 13),
		TORCH_RELEASE(2, 0),
		TORCH_RELEASE(2, 4),
		TORCH_RELEASE(2, 8),
		TORCH_RELEASE(2, 9),
		TORCH_RELEASE(2, 14),
		0,
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(releases); i++) {
		bool is_old = releases[i] == TORCH_RELEASE(1, 13);

		assert_row(i, count_kind(PROBE_RANGE_NAME, releases[i]) == 1);
		assert_row(i, count_kind(PROBE_RANGE_NAME_RESET, releases[i]) == is_old);
		assert_row(i, count_kind(PROBE_RANGE_BEGIN, releases[i]) == 1);
		assert_row(i, count_kind(PROBE_RANGE_END, releases[i]) == 1);
		assert_row(i, count_kind(PROBE_SCALE_UPDATE, releases[i]) == 1);
		assert_row(i, count_kind(PROBE_UNSCALE, releases[i]) == 1);
		assert_row(i, count_kind(PROBE_REGION_CSTRING, releases[i]) +
					      count_kind(PROBE_REGION_VIEW, releases[i]) <=
				      1);
	}
}

static void every_row_is_complete(void **state)
{
	size_t count, i;
	const struct catalog_row *rows = torch_catalog(&count);

	(void)state;
	assert_true(count > 0);
	for (i = 0; i < count; i++) {
		assert_row(i, rows[i].kind > 0 && rows[i].kind < PROBE_KIND_CNT);
		assert_row(i, rows[i].library < LIBRARY_NAMED || rows[i].library == LIBRARY_PYTHON);
		assert_row(i, rows[i].point && *rows[i].point);
		assert_row(i, rows[i].hits && *rows[i].hits);
		assert_row(i, rows[i].cost && *rows[i].cost);
		assert_row(i,
			   rows[i].prefixes[0] && (text_has_prefix(rows[i].prefixes[0], "_Z") ||
						   text_has_prefix(rows[i].prefixes[0],
								   "_pytorch_record_function_") ||
						   text_has_prefix(rows[i].prefixes[0], "_Py")));
		assert_row(i, !rows[i].until || rows[i].since <= rows[i].until);
		/* They travel in a wire_probe. */
		assert_row(i, strlen(rows[i].point) < 48 && strlen(rows[i].cost) < 160);
	}
}

static void node_layouts_follow_the_release(void **state)
{
	static const struct {
		torch_release release;
		__u32 sequence, object;
	} rows[] = {
		{ TORCH_RELEASE(1, 13), 24, 392 }, { TORCH_RELEASE(2, 1), 24, 392 },
		{ TORCH_RELEASE(2, 2), 24, 472 },  { TORCH_RELEASE(2, 12), 24, 472 },
		{ TORCH_RELEASE(2, 13), 16, 112 }, { TORCH_RELEASE(2, 14), 16, 112 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct probe_config config = { 0 };

		assert_row(i, torch_catalog_node_layout(rows[i].release, &config));
		assert_row(i, config.node_sequence == rows[i].sequence);
		assert_row(i, config.node_object == rows[i].object);
	}
	assert_false(torch_catalog_node_layout(0, &(struct probe_config){ 0 }));
}

static void layouts_follow_the_release(void **state)
{
	static const struct {
		torch_release release;
		__u32 sizes, storage, data;
	} rows[] = {
		{ TORCH_RELEASE(1, 13), 72, 24, 24 }, { TORCH_RELEASE(2, 0), 72, 24, 24 },
		{ TORCH_RELEASE(2, 2), 72, 24, 24 },  { TORCH_RELEASE(2, 3), 64, 16, 16 },
		{ TORCH_RELEASE(2, 12), 64, 16, 16 }, { TORCH_RELEASE(2, 13), 56, 16, 16 },
		{ TORCH_RELEASE(2, 14), 56, 16, 16 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct probe_config config = { .tensor_sizes = 1 };

		assert_row(i, torch_catalog_tensor_layout(rows[i].release, &config));
		assert_row(i, config.tensor_sizes == rows[i].sizes);
		assert_row(i, config.tensor_storage == rows[i].storage);
		assert_row(i, config.storage_data == rows[i].data);
	}
}

static void unknown_releases_have_no_layout(void **state)
{
	static const torch_release releases[] = { 0, TORCH_RELEASE(0, 4), TORCH_RELEASE(1, 12) };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(releases); i++) {
		struct probe_config config = { .tensor_sizes = 0 };

		assert_row(i, !torch_catalog_tensor_layout(releases[i], &config));
		assert_row(i, !config.tensor_sizes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_are_mangled),
		cmocka_unit_test(what_is_no_operator_name_is_refused),
		cmocka_unit_test(a_prefix_that_does_not_fit_is_refused),
		cmocka_unit_test(rows_apply_between_their_bounds),
		cmocka_unit_test(every_release_has_what_ranges_need),
		cmocka_unit_test(every_row_is_complete),
		cmocka_unit_test(layouts_follow_the_release),
		cmocka_unit_test(node_layouts_follow_the_release),
		cmocka_unit_test(unknown_releases_have_no_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
