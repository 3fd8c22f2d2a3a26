/*
 * decode.h - bytes to events. The bytes come from the ring, or from a capture file that anybody may
 * have written: nothing in them is believed before it is checked.
 */
#ifndef INGEST_DECODE_H
#define INGEST_DECODE_H

#include <stdint.h>

#include "model/sink.h"

struct decoder;

int decoder_new(struct decoder **out, struct event_sink *next);
void decoder_free(struct decoder *decoder); /* NULL is legal */

/* Takes one record. A record that fails a check is counted and dropped; that is no error. */
struct record_sink *decoder_sink(struct decoder *decoder);

uint64_t decoder_rejected(const struct decoder *decoder);
uint64_t decoder_unknown_kinds(const struct decoder *decoder);

#endif /* INGEST_DECODE_H */
