/*
 * Names that the job makes: mangled names, schemas, whatever stands in a record's text. The first
 * byte says what the rest is taken for. A name may be of any length.
 */
#include <errno.h>

#include "analyze/class_name.h"
#include "analyze/symbols.h"
#include "attach/mangled_types.h"
#include "attach/operator_arguments.h"
#include "attach/operator_schema.h"
#include "attach/operator_signature.h"
#include "attach/torch_catalog.h"
#include "attach/torch_version.h"
#include "base/json.h"
#include "base/name_table.h"
#include "base/text.h"
#include "fuzz/output_checks.h"
#include "support/memory_sink.h"

static void read_class(char *text)
{
	char name[CLASS_NAME_BYTES];

	if (class_name_read(text, name))
		FUZZ_CHECK(strnlen(name, sizeof(name)) < sizeof(name));
}

static void read_mangled(char *text)
{
	struct operator_signature signature;
	struct mangled_types types;
	const char *name;
	size_t length, i;

	if (operator_signature_class(text, &name, &length))
		FUZZ_CHECK(name > text && length <= strlen(name));
	if (!operator_signature_parse(&signature, text))
		FUZZ_CHECK(signature.count <= OPERANDS_MAX);
	if (mangled_types_read(&types, text))
		return;
	FUZZ_CHECK(types.count <= MANGLED_TYPES_MAX);
	for (i = 0; i < types.count; i++)
		FUZZ_CHECK(types.types[i].text >= types.text &&
			   types.types[i].text + types.types[i].length <=
				   types.text + sizeof(types.text));
}

/* "schema\nmangled name" */
static void read_schema(char *text)
{
	char *mangled = strchr(text, '\n');
	struct operator_schema schema;
	struct operator_places places;
	unsigned int release;

	if (mangled)
		*mangled++ = 0;
	if (!operator_schema_parse(&schema, text))
		FUZZ_CHECK(schema.argument_count <= OPERANDS_MAX && schema.name_length &&
			   schema.name + schema.name_length <= text + strlen(text));
	for (release = 0; mangled && release < 2; release++) {
		if (!operator_arguments(text, mangled, release ? TORCH_RELEASE(1, 13) : 0, &places))
			FUZZ_CHECK(places.count <= SHAPES_ARGUMENTS_MAX);
	}
}

static void read_operator(char *text)
{
	char prefix[256];

	if (!torch_catalog_operator(text, prefix, sizeof(prefix)))
		FUZZ_CHECK(text_has_prefix(prefix, "_ZN2at4_ops") &&
			   text_has_suffix(prefix, "4callE"));
}

/* Into JSON, as key and as value, across the edge of the writer's buffer too. */
static void write_json(char *text)
{
	struct memory_sink memory;
	struct json json;
	cJSON *root;
	size_t i;

	memory_sink_init(&memory);
	json_init(&json, &memory.sink, 1);
	json_object_begin(&json, NULL);
	json_string(&json, text, text);
	json_array_begin(&json, "again");
	for (i = 0; i < 3; i++)
		json_string(&json, NULL, text);
	json_array_end(&json);
	json_object_end(&json);
	FUZZ_CHECK(!json_finish(&json));
	root = check_json(memory_sink_text(&memory), memory.size_bytes);
	FUZZ_CHECK(cJSON_GetArraySize(root) == 2);
	cJSON_Delete(root);
	memory_sink_fini(&memory);
}

static void print_text(char *text)
{
	static const size_t sizes[] = { 1, 2, 5, 64, 1024 };
	char printable[1024], copy[1024];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		text_printable(printable, sizes[i], text);
		FUZZ_CHECK(strlen(printable) < sizes[i]);
		check_lines(printable, strlen(printable));
		FUZZ_CHECK(text_copy(copy, sizes[i], text) == (strlen(text) >= sizes[i]));
	}
}

/* As records bring them: cut to their field, then looked up by type. */
static void name_symbols(char *text)
{
	struct wire_symbol record = {
		.header = { .size = sizeof(record), .kind = WIRE_SYMBOL },
	};
	struct event event = { .kind = WIRE_SYMBOL, .header = &record.header, .symbol = &record };
	struct name_table *names;
	struct symbols *symbols;

	FUZZ_CHECK(!name_table_new(&names, 16) && !symbols_new(&symbols, names));
	snprintf(record.name, sizeof(record.name), "%s", text);
	record.name_size = (uint16_t)strlen(record.name);
	for (; record.header.subject < SYMBOL_CNT; record.header.subject++) {
		record.type = record.header.subject;
		FUZZ_CHECK(!symbols_symbol(symbols, &event));
		FUZZ_CHECK(symbols_node(symbols, record.type));
		FUZZ_CHECK(symbols_node_outer(symbols, record.type));
		FUZZ_CHECK(symbols_function(symbols, record.type));
	}
	symbols_free(symbols);
	name_table_free(names);
}

static void read_release(char *text)
{
	struct torch_version version = { .torch = "" };

	torch_version_release(text);
	torch_version_python_of(text, &version);
	FUZZ_CHECK(strnlen(version.python, sizeof(version.python)) < sizeof(version.python));
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	static void (*const readers[])(char *text) = {
		read_class, read_mangled, read_schema,	read_operator,
		write_json, print_text,	  name_symbols, read_release,
	};
	struct fuzz_input input = { bytes, size_bytes };
	size_t which = fuzz_u8(&input) % (sizeof(readers) / sizeof(readers[0]));
	char *text = fuzz_text(&input);

	readers[which](text);
	free(text);
}
