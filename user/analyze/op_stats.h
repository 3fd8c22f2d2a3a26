/*
 * op_stats.h - the rows of the operator table: calls, times, bytes and FLOPs of the calls that
 * belong together, as torch.profiler's key_averages() puts them together.
 */
#ifndef ANALYZE_OP_STATS_H
#define ANALYZE_OP_STATS_H

#include "model/device.h"
#include "model/sink.h"
#include "model/summary.h"
#include "model/table_options.h"

struct op_stats;

/*
 * Spans bring names of one name table: equal names are equal pointers. table is copied; NULL: by
 * name alone. As torch.profiler does it, a row is a name, apart for ranges (user annotations),
 * whatever else it stands for; an overload and the shapes of the arguments come in when asked for.
 */
int op_stats_new(struct op_stats **out, const struct table_options *table);
void op_stats_free(struct op_stats *stats); /* NULL is legal */

/*
 * ProfilerStep#N of any N is one row, ProfilerStep*. Calls that key_averages() leaves out
 * (aten::is_leaf and a few more) and merged ones are not counted. *number, where asked for: the
 * number of its row, for the functions below; of a merged one it means nothing.
 */
int op_stats_add(struct op_stats *stats, const struct span *span, size_t *number);

/* What calls of the device's runtime take inside a row's calls is no self time of theirs. */
void op_stats_take_self(struct op_stats *stats, size_t row, uint64_t duration_ns);

/* What the device did for a row's calls: for them alone, and for those inside them too. */
void op_stats_add_device_time(struct op_stats *stats, size_t row, uint64_t self_ns,
			      uint64_t total_ns);

/* Rows of their own. inner_ns: of the call, in other calls. 0 or -ENOMEM. */
int op_stats_add_device_call(struct op_stats *stats, const struct device_call *call,
			     uint64_t inner_ns);
int op_stats_add_device_work(struct op_stats *stats, const struct device_work *work);
int op_stats_add_device_annotation(struct op_stats *stats,
				   const struct device_annotation *annotation);

/*
 * Sorts by self time and fills in the rows and what the summary says of them. Valid while stats
 * lives and nothing is added.
 */
int op_stats_summarize(struct op_stats *stats, struct summary *summary);

#endif /* ANALYZE_OP_STATS_H */
