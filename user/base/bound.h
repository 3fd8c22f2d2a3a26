/*
 * bound.h - how much a table holds. A build with SMALL_BOUNDS, as the fuzzers', has tables that a
 * short input fills: what happens beyond a bound is then as well tried as what happens below it.
 */
#ifndef BASE_BOUND_H
#define BASE_BOUND_H

#ifdef SMALL_BOUNDS
#define BOUND(full, small) (small)
#else
#define BOUND(full, small) (full)
#endif

#endif /* BASE_BOUND_H */
