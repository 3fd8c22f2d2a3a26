/*
 * holes.h - when records found a ring full, as a WIRE_HOLE for each stretch of time, in its place
 * in the stream: before every record that a thread made after one that was lost.
 */
#ifndef INGEST_HOLES_H
#define INGEST_HOLES_H

#include <stddef.h>
#include <stdint.h>

#include "model/sink.h"
#include "probe_config.h"

struct holes;

/* What the programs keep of losses; written while it is read. losses NULL: nothing is ever lost. */
struct loss_source {
	const volatile struct ring_loss *losses; /* of each ring */
	size_t count;
	volatile uint32_t *epoch; /* loss_epoch of the programs */
};

int holes_new(struct holes **out, struct loss_source source);
void holes_free(struct holes *holes); /* NULL is legal */

/* There is about to be room in the rings, or there has been made some: what is lost from now on is
 * another hole. */
void holes_next_epoch(struct holes *holes);

/*
 * Looks for new holes. Called when the rings have been read: a record that was read comes after all
 * that its thread lost before, and that is seen here. 0 or -ENOMEM.
 */
int holes_collect(struct holes *holes);

/* Passes on those that began by until_ns, in order. Returns 0 or what the sink returned. */
int holes_pass_on(struct holes *holes, uint64_t until_ns, struct record_sink *sink);

#endif /* INGEST_HOLES_H */
