/* step_stats.h - medians of the step times of each phase. */
#ifndef ANALYZE_STEP_STATS_H
#define ANALYZE_STEP_STATS_H

#include "model/summary.h"

/*
 * Fills in median_ns and median_of from the attempts of the summary, which has its log. An attempt
 * whose start was not seen has no duration; attempts during which the probes of a window were taken
 * off are left out where others are there.
 */
void step_stats_summarize(struct summary *summary);

#endif /* ANALYZE_STEP_STATS_H */
