/* op_stats.h - the rows of the operator table: calls, total and self time by name. */
#ifndef ANALYZE_OP_STATS_H
#define ANALYZE_OP_STATS_H

#include "model/sink.h"
#include "model/summary.h"

struct op_stats;

/* Spans bring names of one name table: equal names are equal pointers. */
int op_stats_new(struct op_stats **out);
void op_stats_free(struct op_stats *stats); /* NULL is legal */

/* ProfilerStep#N of any N is one row, ProfilerStep*, as torch.profiler has it. */
int op_stats_add(struct op_stats *stats, const struct span *span);

/* Sorts by self time and fills in rows and their sum. Valid while stats lives and nothing is added.
 */
int op_stats_summarize(struct op_stats *stats, struct summary *summary);

#endif /* ANALYZE_OP_STATS_H */
