/*
 * json.h - writes JSON as a stream: nothing is kept but the nesting and a buffer. It owns commas,
 * quotes and escapes, so that whatever a name holds the result parses. Errors are kept and returned
 * by json_finish(); after one nothing more is written.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byte_sink.h"

#define JSON_DEPTH_MAX 16
#define JSON_BUFFER_BYTES 8192

struct json {
	struct byte_sink *sink;
	size_t used; /* bytes of the buffer that the sink has not been given */
	int err;
	unsigned int depth;
	unsigned int inline_depth; /* containers opened at this depth or deeper stay on one line */
	bool is_array[JSON_DEPTH_MAX];
	bool has_members[JSON_DEPTH_MAX];
	char buffer[JSON_BUFFER_BYTES];
};

/* sink stays the caller's and must outlive the writer. */
void json_init(struct json *json, struct byte_sink *sink, unsigned int inline_depth);

/* The kept error, or -EINVAL when a container is still open. Ends the text with a newline. */
int json_finish(struct json *json);

/* Hands on what has been written so far; the kept error. */
int json_flush(struct json *json);

/* key is NULL inside an array and for the outermost value. */
void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);

/* Bytes that are no UTF-8 become U+FFFD. A NULL text is null. */
void json_string(struct json *json, const char *key, const char *text);
void json_int(struct json *json, const char *key, int64_t value);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* With three decimals; not a number and infinities are null. */
void json_decimal(struct json *json, const char *key, double value);

/* The same with nine digits that count, however small it is. */
void json_number(struct json *json, const char *key, double value);

/* Nanoseconds as microseconds with exactly three decimals, as trace viewers want them. */
void json_us(struct json *json, const char *key, int64_t value_ns);

#endif /* BASE_JSON_H */
