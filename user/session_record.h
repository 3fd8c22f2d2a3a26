/* session_record.h - the records that the collector itself writes into the stream. */
#ifndef SESSION_RECORD_H
#define SESSION_RECORD_H

#include "attach/ring_maps.h"
#include "attach/target.h"
#include "model/sink.h"
#include "options.h"

/* The first record: the job, the plan, the tool. activities: ACTIVITY_*, what is recorded. */
int session_record_begin(const struct options *options, const struct target *target,
			 unsigned int activities, enum wire_attach attached, uint64_t time_ns,
			 struct record_sink *sink);
int session_record_clock(uint64_t time_ns, struct record_sink *sink);
int session_record_losses(const uint64_t counts[LOSS_CAUSE_CNT], uint64_t time_ns,
			  struct record_sink *sink);
/* What did not fit into them so far. */
int session_record_rings(const struct ring_maps *rings, uint64_t time_ns, struct record_sink *sink);

/* The window's probes; a part of them, or those that count attempts. Done, since started_ns. */
enum probes_change {
	PROBES_ON,
	PROBES_OFF,
	PROBES_PART_ON,
	PROBES_PART_OFF,
};
int session_record_probes(enum probes_change change, uint64_t started_ns, struct record_sink *sink);

/* detach_ns: what taking off the last probes took. */
int session_record_stop(enum wire_stop reason, uint64_t time_ns, uint64_t detach_ns,
			struct record_sink *sink);

#endif /* SESSION_RECORD_H */
