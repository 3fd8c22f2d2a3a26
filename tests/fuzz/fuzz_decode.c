/*
 * Records as they come out of the rings, through merging, decoding, analysis and all outputs. The
 * input is a list of instructions, so that most records are whole and fit each other and the rest
 * is damaged in places that matter:
 *
 *   options (4 bytes), then records: kind and form, time, thread, subject, length, that many bytes
 *
 * How the bytes become the record is said at struct form.
 */
#include "fuzz/fuzz.h"
#include "fuzz/pipeline_files.h"
#include "ingest/merge.h"
#include "support/records.h"

#define RINGS 2
#define MAIN_TID 42

/* Upper bits of the first byte of a record. */
#define FORM_MASK 0xe0
#define FORM_FIELDS 0x00 /* fields that fit the kind, where it has a builder below */
#define FORM_WORDS 0x20	 /* each byte is one 8-byte word, with its sign: small numbers meet */
#define FORM_PATCH 0x40	 /* two bytes of offset, the rest overwrites the whole record from there */
#define FORM_CUT 0x60	 /* FIELDS, but the ring hands over less or more than header.size says */
#define FORM_RAW 0x80	 /* the bytes are the record, header and all */

union any_record {
	struct wire_header header;
	struct wire_attempt attempt;
	struct wire_range_begin range_begin;
	struct wire_symbol symbol;
	struct wire_memory memory;
	struct wire_shapes shapes;
	struct wire_session session;
	struct wire_clock clock;
	struct wire_operator operator_;
	struct wire_mode_record mode;
	struct wire_cost cost;
	struct wire_stop_record stop;
	struct wire_probe probe;
	struct wire_hole hole;
	uint8_t bytes[4096];
};

static const struct kind {
	uint16_t kind;
	uint16_t size_bytes; /* without a name or arguments, which are added */
} kinds[] = {
	{ WIRE_OP_BEGIN, sizeof(struct wire_op) },
	{ WIRE_OP_END, sizeof(struct wire_op) },
	{ WIRE_RANGE_BEGIN, offsetof(struct wire_range_begin, name) },
	{ WIRE_RANGE_END, sizeof(struct wire_range_end) },
	{ WIRE_ATTEMPT, sizeof(struct wire_attempt) },
	{ WIRE_NODE_BEGIN, sizeof(struct wire_node_begin) },
	{ WIRE_GUARD_END, sizeof(struct wire_guard_end) },
	{ WIRE_FUNCTION_BEGIN, sizeof(struct wire_function_begin) },
	{ WIRE_SYMBOL, offsetof(struct wire_symbol, name) },
	{ WIRE_SEQUENCE, sizeof(struct wire_sequence) },
	{ WIRE_MEMORY, sizeof(struct wire_memory) },
	{ WIRE_SHAPES, offsetof(struct wire_shapes, arguments) },
	{ WIRE_OPERATOR, sizeof(struct wire_operator) },
	{ WIRE_MODE, sizeof(struct wire_mode_record) },
	{ WIRE_COST, sizeof(struct wire_cost) },
	{ WIRE_PROBES, sizeof(struct wire_probes) },
	{ WIRE_THREAD, sizeof(struct wire_thread) },
	{ WIRE_CLOCK, sizeof(struct wire_clock) },
	{ WIRE_LOSS, sizeof(struct wire_loss) },
	{ WIRE_PROBE, sizeof(struct wire_probe) },
	{ WIRE_SESSION, sizeof(struct wire_session) },
	{ WIRE_STOP, sizeof(struct wire_stop_record) },
	{ WIRE_WAKE, sizeof(struct wire_header) },
	{ 63, sizeof(struct wire_header) }, /* not known */
	{ WIRE_RINGS, sizeof(struct wire_rings) },
	{ WIRE_HOLE, sizeof(struct wire_hole) },
};

struct feed {
	struct merge *merge;
	struct pipeline *pipeline;
	uint64_t now_ns;
	uint32_t next_attempt;
};

static void fill_attempt(union any_record *record, struct fuzz_input *body, struct feed *feed)
{
	uint8_t phases = fuzz_u8(body), other = fuzz_u8(body);

	feed->next_attempt += other >> 6; /* lost ones */
	record->attempt.index = feed->next_attempt++;
	record->attempt.phase = (phases & 7) % PHASE_CNT;
	record->attempt.next_phase = (phases >> 3 & 7) % PHASE_CNT;
	record->attempt.outcome = (other & 3) % OUTCOME_CNT;
	record->attempt.cycle = other >> 2 & 3;
}

/* Returns the bytes of the name. */
static size_t fill_name(char *name, uint16_t *size, struct fuzz_input *body)
{
	size_t length = body->left_bytes < WIRE_NAME_BYTES ? body->left_bytes : WIRE_NAME_BYTES - 1;

	if (length)
		memcpy(name, body->at, length);
	*size = (uint16_t)length;
	return length + 1;
}

/* "name.overload" */
static void fill_operator(struct wire_operator *operator_, struct fuzz_input *body)
{
	uint8_t sites = fuzz_u8(body);
	char *text, *dot;

	operator_->entry_site = sites & 7;
	operator_->exit_site = sites >> 3 & 7;
	operator_->frame_bytes = fuzz_u8(body);
	text = fuzz_text(body);
	dot = strchr(text, '.');
	if (dot)
		*dot = 0;
	snprintf(operator_->name, sizeof(operator_->name), "%s", text);
	if (dot)
		snprintf(operator_->overload, sizeof(operator_->overload), "%s", dot + 1);
	free(text);
}

/* Returns the bytes of the arguments. */
static size_t fill_shapes(struct wire_shapes *shapes, struct fuzz_input *body)
{
	unsigned int i, j;

	shapes->argument_count = fuzz_u8(body);
	while (body->left_bytes && shapes->count < SHAPES_ARGUMENTS_MAX) {
		struct wire_argument *argument = &shapes->arguments[shapes->count++];
		uint8_t what = fuzz_u8(body);

		argument->kind = (what & 7) % ARGUMENT_CNT;
		argument->without_strides = what >> 3 & 1;
		argument->position = what >> 4;
		argument->type = fuzz_u8(body);
		argument->dimensions = fuzz_u8(body);
		for (i = 0; i < argument->dimensions && i < SHAPES_DIMENSIONS_MAX; i++)
			argument->sizes[i] = (int8_t)fuzz_u8(body);
		for (j = 0; j < i; j++)
			argument->strides[j] = argument->sizes[i - 1 - j];
	}
	return shapes->count * sizeof(shapes->arguments[0]);
}

static void fill_words(union any_record *record, size_t size_bytes, struct fuzz_input *body)
{
	size_t at = sizeof(record->header);

	for (; body->left_bytes && at + 8 <= size_bytes; at += 8) {
		int64_t word = (int8_t)fuzz_u8(body);

		memcpy(record->bytes + at, &word, sizeof(word));
	}
}

/* Returns the bytes of what kinds[] leaves out. */
static size_t fill_fields(union any_record *record, size_t size_bytes, struct fuzz_input *body,
			  struct feed *feed)
{
	switch (record->header.kind) {
	case WIRE_ATTEMPT:
		fill_attempt(record, body, feed);
		return 0;
	case WIRE_RANGE_BEGIN:
		record->range_begin.object = fuzz_u8(body);
		record->range_begin.range = record->range_begin.object & 1;
		return fill_name(record->range_begin.name, &record->range_begin.name_size, body);
	case WIRE_SYMBOL:
		record->symbol.type = fuzz_u8(body);
		return fill_name(record->symbol.name, &record->symbol.name_size, body);
	case WIRE_OPERATOR:
		fill_operator(&record->operator_, body);
		return 0;
	case WIRE_SHAPES:
		return fill_shapes(&record->shapes, body);
	case WIRE_SESSION:
		record->session = record_session(record->header.time_ns);
		return 0;
	case WIRE_HOLE:
		record->hole.last_ns = record->header.time_ns + fuzz_u8(body);
		record->hole.kinds = (uint32_t)fuzz_u8(body) << 3;
		record->hole.count = fuzz_u8(body);
		return 0;
	case WIRE_STOP:
		record->stop.reason = 1 + fuzz_u8(body) % (STOP_CNT - 1);
		return 0;
	default:
		fill_words(record, size_bytes, body);
		return 0;
	}
}

static void patch(union any_record *record, size_t at, const struct fuzz_input *body)
{
	if (at < sizeof(*record) && body->left_bytes <= sizeof(*record) - at && body->left_bytes)
		memcpy(record->bytes + at, body->at, body->left_bytes);
}

/* In a block of just that size, so that reading past its end is seen. */
static void push(struct feed *feed, const void *bytes, size_t size_bytes, unsigned int ring)
{
	void *copy = malloc(size_bytes + !size_bytes);
	int err;

	FUZZ_CHECK(copy);
	memcpy(copy, bytes, size_bytes);
	err = merge_add(feed->merge, ring, copy, size_bytes);
	FUZZ_CHECK(!err || (err == -EINVAL && size_bytes < sizeof(struct wire_header)));
	free(copy);
}

static uint64_t next_time(struct feed *feed, struct fuzz_input *input)
{
	uint8_t step = fuzz_u8(input);

	if (step == 0xff)
		return fuzz_take(input, 8);
	feed->now_ns += step == 0xfe ? fuzz_u16(input) * 1000000ULL : step * 50ULL;
	return feed->now_ns;
}

static uint32_t next_subject(struct fuzz_input *input)
{
	uint8_t subject = fuzz_u8(input);

	if (subject == 0xff)
		return (uint32_t)fuzz_take(input, 4);
	return subject >= 0xf8 ? 0xffffff00U + (subject - 0xf8) : subject;
}

static void push_record(struct feed *feed, struct fuzz_input *input)
{
	uint8_t head = fuzz_u8(input), form = head & FORM_MASK, who;
	const struct kind *kind = &kinds[(head & ~FORM_MASK) % (sizeof(kinds) / sizeof(kinds[0]))];
	union any_record record = { .header = { .kind = kind->kind } };
	size_t size_bytes = kind->size_bytes, handed_bytes;
	struct fuzz_input body;

	record.header.time_ns = next_time(feed, input);
	who = fuzz_u8(input);
	record.header.tid = MAIN_TID + (who & 7);
	record.header.flags = who >> 4;
	record.header.subject = next_subject(input);
	body = fuzz_part(input, fuzz_u8(input));
	if (form == FORM_WORDS)
		fill_words(&record, size_bytes, &body);
	else if (form == FORM_PATCH || form == FORM_RAW)
		;
	else
		size_bytes += fill_fields(&record, size_bytes, &body, feed);
	record.header.size = (uint32_t)size_bytes;
	handed_bytes = size_bytes;
	if (form == FORM_PATCH) {
		size_t at = fuzz_u16(&body) % kind->size_bytes;

		if (kind->kind == WIRE_SESSION)
			record.session = record_session(record.header.time_ns);
		patch(&record, at, &body);
	} else if (form == FORM_CUT) {
		handed_bytes = (size_bytes + who) % sizeof(record);
	} else if (form >= FORM_RAW) {
		handed_bytes = body.left_bytes;
		patch(&record, 0, &body);
	}
	push(feed, &record, handed_bytes, who >> 3 & 1);
}

static void pass_on(struct feed *feed, uint64_t until_ns)
{
	FUZZ_CHECK(!merge_pass_on(feed->merge, until_ns, pipeline_sink(feed->pipeline)));
}

/* What a live capture asks while it runs. */
static void ask(struct pipeline *pipeline)
{
	struct learned *learned = pipeline_learned(pipeline);
	uint64_t last_ns;
	size_t count = 0;

	pipeline_open_spans(pipeline);
	pipeline_unwatched_ns(pipeline);
	pipeline_last_end_ns(pipeline);
	pipeline_attempts(pipeline, &last_ns);
	learned_rows(learned, &count);
	learned_span_ns(learned);
}

static void feed_all(struct feed *feed, struct fuzz_input *input, uint8_t live)
{
	unsigned int count = 0;

	while (input->left_bytes) {
		push_record(feed, input);
		if (++count % 4 == 0)
			pass_on(feed, feed->now_ns);
		if (live & 1 && count % 16 == 0)
			pipeline_defer(feed->pipeline, count % 32 == 0);
		if (live & 2 && count % 16 == 0)
			FUZZ_CHECK(!pipeline_work(feed->pipeline, UINT64_MAX));
		if (live & 4 && count % 32 == 0)
			ask(feed->pipeline);
		if (live & 8 && count % 64 == 0)
			pipeline_learn_anew(feed->pipeline);
	}
	pass_on(feed, UINT64_MAX);
}

static struct table_options table_of(struct fuzz_input *input)
{
	uint8_t groups = fuzz_u8(input);
	struct table_options table = {
		.group_by_shape = groups & 1,
		.group_by_overload = groups & 2,
		.with_flops = groups & 4,
	};

	table.sort_by = fuzz_u8(input) % SORT_KEY_CNT;
	table.row_limit = fuzz_u8(input) & 7;
	return table;
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz_input input = { bytes, size_bytes };
	struct table_options table = table_of(&input);
	uint8_t live = fuzz_u8(&input);
	struct pipeline_files files;
	struct feed feed = { .now_ns = 1000000 };

	pipeline_files_begin(&files, live & 32, &table);
	feed.pipeline = files.pipeline;
	FUZZ_CHECK(!merge_new(&feed.merge, RINGS));
	if (!(live & 16)) {
		struct wire_session session = record_session(feed.now_ns);

		push(&feed, &session, sizeof(session), 0);
	}
	feed_all(&feed, &input, live);
	pipeline_files_finish(&files);
	merge_free(feed.merge);
	pipeline_files_end(&files);
}
