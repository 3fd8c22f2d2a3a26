/*
 * agent_harness.h - the agent in a test process: all of it but its way in (agent.c) and its way out
 * (handover.c), which are the test's own here. Batches are checked as they come and kept.
 */
#ifndef AGENT_HARNESS_H
#define AGENT_HARNESS_H

#include "support/test.h"

#include "agent_wire.h"

/* What the kernel would do. */
extern _Atomic int harness_listening, harness_collecting, harness_sync;

/* A fresh libcupti of these knobs (fake_knobs.h), the device's truth empty, no batches. */
void harness_begin(const char *version, const char *clock, const char *faults);

/* Lets the agent look, until done() or for at most seconds; returns done(). */
bool harness_pump(bool (*done)(void), double seconds);

/* Asks for activity and waits until it is recorded; the job works; asks for no more, waits for
 * AGENT_END. */
void harness_open(bool with_sync);
void harness_work(unsigned int threads, unsigned int steps);
/* Waits for the first flush: its overhead is a record that harness_compare() wants. */
void harness_settle(void);
enum agent_end_reason harness_close(void);

bool harness_ended(void);

/* The n-th record of that kind, NULL: there are no more. In the order in which they came. */
const void *harness_record(enum agent_kind kind, size_t n);
size_t harness_count(enum agent_kind kind);
const struct agent_batch *harness_last_batch(void);
size_t harness_batches(void);

/* The first status of that code, or NULL. */
const struct agent_status *harness_status(enum agent_status_code code);
const struct agent_session *harness_session(void);

/* A name by its id, and the text of a status or a session as a C string; static storage. */
const char *harness_name(uint32_t id);
const char *harness_text(const char *text, uint16_t size);

/* Compares all that came with what the device did. slack_ns: how far times may be off. */
struct harness_expect {
	uint32_t version;
	uint64_t slack_ns;
	bool with_sync;
	bool pthread_ids;
};
void harness_compare(const struct harness_expect *expect);

/* One kernel, copy or set; the truth of it. */
struct fake_op;
void harness_compare_op(const struct harness_expect *expect, const struct fake_op *op);

/* Of the truth, what Kineto's lists leave. */
size_t harness_calls_wanted(void);

uint32_t fake_cupti_enabled(void);
uint32_t fake_cupti_calls(void);
uint32_t fake_cupti_thread_id_type(void);

#endif /* AGENT_HARNESS_H */
