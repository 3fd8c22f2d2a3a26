/* The decoder, fed with records that anybody may have written. */
#include "support/decode_fixture.h"

static void good_records_of_every_kind_pass(void **state)
{
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		union any_record record = good_record(kinds[i].kind);

		assert_accepted(fixture, &record, record.header.size);
		assert_int_equal(fixture->kind, kinds[i].kind);
		assert_memory_equal(&fixture->record, &record, record.header.size);
	}
	assert_int_equal(decoder_rejected(fixture->decoder), 0);
	assert_int_equal(decoder_unknown_kinds(fixture->decoder), 0);
}

static void truncated_records_are_rejected(void **state)
{
	size_t i, size_bytes;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		union any_record record = good_record(kinds[i].kind);

		for (size_bytes = 0; size_bytes < record.header.size; size_bytes++)
			assert_rejected((struct fixture *)*state, &record, size_bytes);
	}
}

static void a_size_of_its_own_that_is_wrong_is_rejected(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 23, 24, 31, 4096, UINT32_MAX };
	size_t i, j;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		for (j = 0; j < COUNT_OF(sizes); j++) {
			union any_record record = good_record(kinds[i].kind);

			record.header.size = sizes[j];
			assert_rejected((struct fixture *)*state, &record, kinds[i].size_bytes);
		}
	}
}

static void a_size_below_the_smallest_of_its_kind_is_rejected(void **state)
{
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		union any_record record = good_record(kinds[i].kind);

		record.header.size = (uint32_t)kinds[i].smallest_bytes - 1;
		assert_rejected((struct fixture *)*state, &record, sizeof(record));
	}
}

static void longer_records_of_a_later_version_pass(void **state)
{
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		unsigned char bytes[8192];
		union any_record record = good_record(kinds[i].kind);
		size_t own = kinds[i].size_bytes;

		record.header.size = sizeof(bytes);
		memset(bytes, 0xee, sizeof(bytes));
		memcpy(bytes, &record, own);
		assert_accepted(fixture, bytes, sizeof(bytes));
		assert_memory_equal(&fixture->record, &record, own);
	}
}

static void unknown_kinds_are_counted_and_dropped(void **state)
{
	static const uint16_t unknown[] = { 0, 16, 63, 200, 255, 0x4000, UINT16_MAX };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(unknown); i++) {
		struct wire_header header = record_header(WIRE_WAKE, sizeof(header), 0, 1);

		header.kind = unknown[i];
		assert_int_equal(feed(fixture, &header, sizeof(header)), 0);
		assert_int_equal(decoder_unknown_kinds(fixture->decoder), i + 1);
	}
	assert_int_equal(fixture->count, 0);
	assert_int_equal(decoder_rejected(fixture->decoder), 0);
}

static void a_wake_is_dropped_without_being_counted(void **state)
{
	struct fixture *fixture = *state;
	struct wire_header header = record_header(WIRE_WAKE, sizeof(header), 7, 1);

	assert_int_equal(feed(fixture, &header, sizeof(header)), 0);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(decoder_rejected(fixture->decoder), 0);
	assert_int_equal(decoder_unknown_kinds(fixture->decoder), 0);
}

#define assert_ended(array) assert_true(memchr(array, 0, sizeof(array)) != NULL)

static void unterminated_strings_are_ended(void **state)
{
	struct fixture *fixture = *state;
	const struct wire_session *session = &fixture->record.session;
	const struct wire_probe *probe = &fixture->record.probe;
	union any_record record;

	memset(&record, 'x', sizeof(record));
	record.header = record_header(WIRE_SESSION, sizeof(record.session), 0, 1);
	record.session.abi = WIRE_ABI;
	record.session.attached = ATTACHED_UNKNOWN;
	assert_accepted(fixture, &record, sizeof(record.session));
	assert_ended(session->session_id);
	assert_ended(session->tool_version);
	assert_ended(session->tool_command_line);
	assert_ended(session->plan.step_source);
	assert_ended(session->job.host);
	assert_ended(session->job.process_name);
	assert_ended(session->job.torch_version);
	assert_ended(session->job.python_version);
	assert_ended(session->job.cuda_version);
	assert_ended(session->job.command_line);

	record.header = record_header(WIRE_PROBE, sizeof(record.probe), 0, 1);
	assert_accepted(fixture, &record, sizeof(record.probe));
	assert_ended(probe->point);
	assert_ended(probe->library);
	assert_ended(probe->site);
	assert_ended(probe->cost);

	memset(&record, 'x', sizeof(record));
	record.header = record_header(WIRE_THREAD, sizeof(record.thread), 7, 1);
	assert_accepted(fixture, &record, sizeof(record.thread));
	assert_ended(fixture->record.thread.name);

	memset(&record, 'x', sizeof(record));
	record.header = record_header(WIRE_OPERATOR, sizeof(record.operator_), 0, 1);
	record.operator_.entry_site = 0;
	record.operator_.exit_site = COST_KINDS;
	record.operator_.domain = CALL_DRIVER;
	assert_accepted(fixture, &record, sizeof(record.operator_));
	assert_ended(fixture->record.operator_.name);
	assert_ended(fixture->record.operator_.overload);
}

static void a_name_ends_where_its_size_says(void **state)
{
	struct fixture *fixture = *state;
	struct wire_range_begin record = record_begin(1, 7, 1, "");

	memset(record.name, 'n', sizeof(record.name));
	record.header.size = sizeof(record);
	record.name_size = 5;
	assert_accepted(fixture, &record, sizeof(record));
	assert_string_equal(fixture->record.range_begin.name, "nnnnn");
	record.name_size = WIRE_NAME_BYTES - 1;
	assert_accepted(fixture, &record, sizeof(record));
	assert_int_equal(strlen(fixture->record.range_begin.name), WIRE_NAME_BYTES - 1);
}

static void a_name_size_out_of_range_is_rejected(void **state)
{
	static const uint16_t sizes[] = { WIRE_NAME_BYTES, WIRE_NAME_BYTES + 1, 0x8000,
					  UINT16_MAX };
	size_t i;

	for (i = 0; i < COUNT_OF(sizes); i++) {
		struct wire_range_begin record = record_begin(1, 7, 1, "name");
		struct wire_symbol symbol = record_symbol(SYMBOL_RTTI, 1, "name");

		record.header.size = sizeof(record);
		record.name_size = sizes[i];
		assert_rejected((struct fixture *)*state, &record, sizeof(record));
		symbol.header.size = sizeof(symbol);
		symbol.name_size = sizes[i];
		assert_rejected((struct fixture *)*state, &symbol, sizeof(symbol));
	}
}

/* A capture file holds header.size bytes: a live capture must not see more than a replay. */
static void bytes_past_the_size_of_a_record_are_not_used(void **state)
{
	struct fixture *fixture = *state;
	struct wire_range_begin record = record_begin(1, 7, 1, "abc");

	memset(record.name + 3, 'x', 20);
	record.name_size = 10;
	record.header.size = offsetof(struct wire_range_begin, name) + 3;
	assert_int_equal(feed(fixture, &record, sizeof(record)), 0);
	if (fixture->count)
		assert_string_equal(fixture->record.range_begin.name, "abc");
}

static void a_record_that_ends_inside_its_name_leaves_nothing_of_the_one_before(void **state)
{
	struct fixture *fixture = *state;
	struct wire_range_begin record = record_begin(1, 7, 1, "the name of another range");

	assert_accepted(fixture, &record, record.header.size);
	record.header.size = offsetof(struct wire_range_begin, name) + 3;
	assert_int_equal(feed(fixture, &record, record.header.size), 0);
	if (fixture->count == 2)
		assert_string_equal(fixture->record.range_begin.name, "the");
}

static void enums_out_of_range_are_rejected(void **state)
{
	struct fixture *fixture = *state;
	struct wire_attempt attempt = record_attempt(1, 7, 0, PHASE_CNT, PHASE_WAIT);
	struct wire_range_begin begin = record_begin(1, 7, 1, "name");
	struct wire_stop_record stop = record_stop(1, STOP_CNT);
	struct wire_session session = record_session(1);

	assert_rejected(fixture, &attempt, sizeof(attempt));
	attempt = record_attempt(1, 7, 0, PHASE_WAIT, PHASE_CNT);
	assert_rejected(fixture, &attempt, sizeof(attempt));
	attempt = record_attempt(1, 7, 0, PHASE_WAIT, PHASE_WAIT);
	attempt.outcome = OUTCOME_CNT;
	assert_rejected(fixture, &attempt, sizeof(attempt));
	attempt.outcome = OUTCOME_APPLIED;
	attempt.boundary = BOUNDARY_CNT;
	assert_rejected(fixture, &attempt, sizeof(attempt));
	attempt = record_attempt(0, 7, 0, PHASE_WAIT, PHASE_WAIT);
	assert_rejected(fixture, &attempt, sizeof(attempt));
	begin.range = RANGE_REGION + 1;
	assert_rejected(fixture, &begin, begin.header.size);
	assert_rejected(fixture, &stop, sizeof(stop));
	stop.reason = STOP_NONE;
	assert_rejected(fixture, &stop, sizeof(stop));
	stop.reason = UINT32_MAX;
	assert_rejected(fixture, &stop, sizeof(stop));
	session.abi = WIRE_ABI + 1;
	assert_rejected(fixture, &session, sizeof(session));
	session.abi = WIRE_ABI;
	session.attached = ATTACHED_CNT;
	assert_rejected(fixture, &session, sizeof(session));
}

static void times_out_of_range_are_rejected(void **state)
{
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		union any_record record = good_record(kinds[i].kind);

		record.header.time_ns = (1ULL << 62) + 1;
		assert_rejected((struct fixture *)*state, &record, record.header.size);
		record.header.time_ns = UINT64_MAX;
		assert_rejected((struct fixture *)*state, &record, record.header.size);
	}
}

/* Added to a time it must not overflow. */
static bool is_sane_offset(int64_t offset_ns)
{
	return offset_ns >= -(1LL << 62) && offset_ns < 1LL << 62;
}

static void clock_offsets_that_overflow_are_rejected(void **state)
{
	static const int64_t offsets[] = { INT64_MAX, INT64_MIN, 1LL << 62 };
	size_t i;

	for (i = 0; i < COUNT_OF(offsets); i++) {
		struct wire_clock record = record_clock(1, offsets[i]);

		assert_rejected((struct fixture *)*state, &record, sizeof(record));
	}
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct wire_range_end record = record_end(1, 7, 1);

	fixture->err = -ENOMEM;
	assert_int_equal(feed(fixture, &record, sizeof(record)), -ENOMEM);
	assert_int_equal(decoder_rejected(fixture->decoder), 0);
}

static bool has_end(const char *text, size_t size_bytes)
{
	return memchr(text, 0, size_bytes) != NULL;
}

static bool are_shapes_in_range(const struct wire_shapes *shapes)
{
	size_t i;

	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		if (shapes->arguments[i].kind >= ARGUMENT_CNT)
			return false;
	}
	return shapes->count <= SHAPES_ARGUMENTS_MAX;
}

static bool is_call_in_range(enum wire_kind kind, const union any_record *record)
{
	uint32_t subject = record->header.subject;

	switch (kind) {
	case WIRE_FUNCTION_BEGIN:
		return subject < FUNCTION_CNT;
	case WIRE_SYMBOL:
		return subject < SYMBOL_CNT && record->symbol.name_size < WIRE_NAME_BYTES &&
		       !record->symbol.name[record->symbol.name_size];
	case WIRE_SEQUENCE:
		return subject < SEQUENCE_CNT;
	case WIRE_MODULE:
		return subject < MODULE_CNT;
	case WIRE_MEMORY:
		return subject < MEMORY_CNT;
	case WIRE_SHAPES:
		return are_shapes_in_range(&record->shapes);
	case WIRE_OPERATOR:
		return record->operator_.name[0] &&
		       has_end(record->operator_.name, sizeof(record->operator_.name)) &&
		       has_end(record->operator_.overload, sizeof(record->operator_.overload)) &&
		       record->operator_.entry_site <= COST_KINDS &&
		       record->operator_.exit_site <= COST_KINDS;
	case WIRE_MODE:
		return record->mode.mode < MODE_CNT;
	case WIRE_COST:
		return record->cost.hit_ns[0] <= 1000000000;
	default:
		return size_of_kind(kind) != 0; /* the size is all */
	}
}

static bool is_in_range(enum wire_kind kind, const union any_record *record)
{
	const struct wire_attempt *attempt = &record->attempt;

	if (record->header.time_ns > 1ULL << 62 || record->header.kind != kind)
		return false;
	switch (kind) {
	case WIRE_ATTEMPT:
		return attempt->phase < PHASE_CNT && attempt->next_phase < PHASE_CNT &&
		       attempt->outcome < OUTCOME_CNT && attempt->boundary < BOUNDARY_CNT;
	case WIRE_RANGE_BEGIN:
		return record->range_begin.name_size < WIRE_NAME_BYTES &&
		       !record->range_begin.name[record->range_begin.name_size] &&
		       record->range_begin.range <= RANGE_REGION;
	case WIRE_SESSION:
		return record->session.abi == WIRE_ABI && record->session.attached < ATTACHED_CNT &&
		       has_end(record->session.job.command_line, WIRE_TEXT_BYTES);
	case WIRE_THREAD:
		return has_end(record->thread.name, sizeof(record->thread.name));
	case WIRE_PROBE:
		return has_end(record->probe.cost, sizeof(record->probe.cost));
	case WIRE_CLOCK:
		return is_sane_offset(record->clock.real_offset_ns);
	case WIRE_STOP:
		return record->stop.reason > STOP_NONE && record->stop.reason < STOP_CNT;
	case WIRE_HOLE:
		return record->hole.last_ns >= record->header.time_ns &&
		       record->hole.last_ns <= 1ULL << 62;
	case WIRE_AGENT: /* who reads the batch checks it */
		return true;
	case WIRE_DEVICE:
		return record->device.watch < DEVICE_WATCH_CNT &&
		       has_end(record->device.reason, sizeof(record->device.reason));
	default:
		return is_call_in_range(kind, record);
	}
}

/* One to eight bytes, most of them near the beginning, where the checks look. */
static size_t mutate(union any_record *record, uint64_t *random)
{
	unsigned char *bytes = (unsigned char *)record;
	size_t changes = 1 + random_next(random) % 8;
	size_t size_bytes = record->header.size;

	while (changes--) {
		uint64_t draw = random_next(random);
		size_t range = draw & 1 ? 48 : size_bytes;

		bytes[(draw >> 8) % range] = (unsigned char)(draw >> 32);
	}
	if (!(random_next(random) & 3))
		size_bytes = random_next(random) % (size_bytes + 1);
	return size_bytes;
}

static void no_mutation_passes_what_is_out_of_range(void **state)
{
	struct fixture *fixture = *state;
	uint64_t random = 20240229;
	int round;

	for (round = 0; round < 100000; round++) {
		union any_record record = good_record(kinds[round % COUNT_OF(kinds)].kind);
		size_t before = fixture->count;
		size_t size_bytes = mutate(&record, &random);

		assert_int_equal(feed(fixture, &record, size_bytes), 0);
		if (fixture->count != before)
			assert_row(round, is_in_range(fixture->kind, &fixture->record));
	}
	assert_true(fixture->count > 0);
	assert_true(decoder_rejected(fixture->decoder) > 0);
	assert_true(decoder_unknown_kinds(fixture->decoder) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, decode_setup, decode_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_records_of_every_kind_pass),
		TEST(truncated_records_are_rejected),
		TEST(a_size_of_its_own_that_is_wrong_is_rejected),
		TEST(a_size_below_the_smallest_of_its_kind_is_rejected),
		TEST(longer_records_of_a_later_version_pass),
		TEST(unknown_kinds_are_counted_and_dropped),
		TEST(a_wake_is_dropped_without_being_counted),
		TEST(unterminated_strings_are_ended),
		TEST(a_name_ends_where_its_size_says),
		TEST(a_name_size_out_of_range_is_rejected),
		TEST(bytes_past_the_size_of_a_record_are_not_used),
		TEST(a_record_that_ends_inside_its_name_leaves_nothing_of_the_one_before),
		TEST(enums_out_of_range_are_rejected),
		TEST(times_out_of_range_are_rejected),
		TEST(clock_offsets_that_overflow_are_rejected),
		TEST(the_error_of_the_sink_comes_back),
		TEST(no_mutation_passes_what_is_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
