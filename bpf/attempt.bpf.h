/*
 * attempt.bpf.h - counts optimizer attempts and moves through the plan. The phase changes here, at
 * the boundary itself, so the edges of the window are exact; the collector only attaches and
 * detaches.
 *
 * The position is one word moved by compare-and-swap: tracing programs may not take spin locks.
 * Warmup waits until the window's probes are in place; nothing else waits for the collector.
 */
#ifndef ATTEMPT_BPF_H
#define ATTEMPT_BPF_H

#include "emit.bpf.h"

#define SWAP_TRIES 64

static __always_inline __u32 phase_now(void)
{
	return STATE_PHASE(*(volatile __u64 *)&attempt_state);
}

/* The probes of ends may be gone: an attempt is counted as it begins. */
static __always_inline bool begins_suffice(void)
{
	return *(volatile __u32 *)&begin_watch.is_alone;
}

/* The first phase of a cycle whose wait has this many attempts. */
static __always_inline __u32 cycle_first_phase(__u32 wait)
{
	return wait ? PHASE_WAIT : PHASE_WARMUP;
}

static __always_inline __u64 state_next(__u64 state)
{
	__u32 phase = STATE_PHASE(state);
	__u32 cycle = STATE_CYCLE(state);
	__u32 count = STATE_COUNT(state) + 1;
	__u32 next = phase;

	if (phase == PHASE_SKIP_FIRST && count >= config.skip_first) {
		next = cycle_first_phase(config.first_wait);
	} else if (phase == PHASE_WAIT && count >= (cycle ? config.wait : config.first_wait)) {
		next = PHASE_WARMUP;
	} else if (phase == PHASE_WARMUP) {
		/* The edges of the window are ends. */
		if (*(volatile __u32 *)&ready_cycle <= cycle || begins_suffice())
			count = 0;
		else if (count >= config.warmup)
			next = PHASE_ACTIVE;
	} else if (phase == PHASE_ACTIVE && count >= config.active) {
		cycle++;
		next = cycle < config.repeat ? cycle_first_phase(config.wait) : PHASE_AFTER;
	} else if (phase == PHASE_AFTER) {
		count = 0;
	}
	if (next != phase)
		count = 0;
	return STATE_PACK(next, cycle, count, STATE_TOTAL(state) + 1);
}

/*
 * Whether the optimizer ran, from what was seen since the last attempt ended. A skipped step runs
 * no Optimizer.step range, unless the optimizer is fused: then only the scaler's tensor knows.
 * Where neither tells, it is unknown, not guessed.
 */
static __always_inline __u8 attempt_outcome(__u32 ranges, __u32 unscales, __u32 fused, __u32 tensor)
{
	if (ranges && !fused)
		return OUTCOME_APPLIED;
	/* In the first attempt seen, the scaler's call may have come before the probes. */
	if (ranges && !unscales && !scaler_seen && STATE_TOTAL(attempt_state))
		return OUTCOME_APPLIED;
	if (tensor != OUTCOME_UNKNOWN)
		return tensor;
	if (!ranges && unscales && optimizer_ranges_ever)
		return OUTCOME_SKIPPED;
	return OUTCOME_UNKNOWN;
}

static __always_inline void attempt_log(__u64 before, __u64 after, __u8 outcome, __u8 boundary,
					__u32 tid, __u64 now_ns)
{
	__u32 index = STATE_TOTAL(before);
	struct attempt_slot *slot = &attempts[index % ATTEMPT_SLOTS];

	slot->time_ns = now_ns;
	slot->tid = tid;
	slot->index = index;
	slot->cycle = STATE_CYCLE(before);
	slot->phase = STATE_PHASE(before);
	slot->next_phase = STATE_PHASE(after);
	slot->outcome = outcome;
	slot->boundary = boundary;
	/* Atomic, so that it is ordered after the fields above. */
	__sync_lock_test_and_set(&slot->sequence, index + 1);
}

static __always_inline void attempt_count(__u32 tid, __u64 now_ns, __u8 boundary)
{
	__u8 outcome = attempt_outcome(__sync_lock_test_and_set(&optimizer_ranges, 0),
				       __sync_lock_test_and_set(&unscale_calls, 0),
				       __sync_lock_test_and_set(&fused_calls, 0),
				       __sync_lock_test_and_set(&found_inf, OUTCOME_UNKNOWN));
	int i;

	for (i = 0; i < SWAP_TRIES; i++) {
		__u64 before = *(volatile __u64 *)&attempt_state;
		__u64 after = state_next(before);
		__u32 limit = *(volatile __u32 *)&attempt_limit;

		if (limit && STATE_TOTAL(before) >= limit)
			return;
		if (__sync_val_compare_and_swap(&attempt_state, before, after) != before)
			continue;
		attempt_log(before, after, outcome, boundary, tid, now_ns);
		if (STATE_PHASE(before) != STATE_PHASE(after))
			emit_wake(tid, now_ns);
		return;
	}
	loss_count(LOSS_ATTEMPT_LOG);
}

static __always_inline void attempt_end(__u32 tid, __u64 now_ns)
{
	attempt_count(tid, now_ns, BOUNDARY_END);
}

#define PLAIN_BEGINS 8

/*
 * Without its end, what tells that the last attempt's range is over? Two ranges that are open at a
 * time lie at different addresses: once a range has begun where that one stood, it is gone, and
 * what begins now is not inside of it. Allocators give the same place again and again, so that this
 * tells nearly every attempt of nearly every job; where it does not, ends stay watched.
 */
static __always_inline bool last_attempt_is_gone(__u64 object)
{
	return last_object && (last_is_gone || last_object == object);
}

/* A range begins; one of an attempt calls attempt_range_begins() afterwards. */
static __always_inline void begin_seen(__u64 object)
{
	if (object == last_object)
		last_is_gone = 1;
}

/* The range of an attempt begins. True: surely not inside of the one before it. */
static __always_inline bool attempt_range_begins(__u64 object)
{
	bool is_plain = last_attempt_is_gone(object);

	plain_begins = is_plain ? plain_begins + 1 : 0;
	last_object = object;
	last_is_gone = 0;
	return is_plain;
}

static __always_inline void attempt_told_by_begin(__u32 tid, __u64 now_ns, __u64 object)
{
	bool is_plain = attempt_range_begins(object);

	if (scaler_seen) /* its update is the beat */
		return;
	/* Behind a doubtful one it is not known whose range the last one was, until ends are back.
	 */
	if (*(volatile __u32 *)&begin_watch.doubts)
		is_plain = false;
	if (!is_plain)
		__sync_fetch_and_add(&begin_watch.doubts, 1);
	attempt_count(tid, now_ns, is_plain ? BOUNDARY_BEGIN : BOUNDARY_DOUBTFUL);
}

/* An attempt's range has ended: no attempt is open. */
static __always_inline void change_over_to_begins(void)
{
	if (*(volatile __u32 *)&begin_watch.is_wanted && !scaler_seen &&
	    plain_begins >= PLAIN_BEGINS)
		*(volatile __u32 *)&begin_watch.is_alone = 1;
}

/* FNV-1a over the part of a name that patterns see. */
static __always_inline __u64 name_hash(const char *name)
{
	__u64 hash = 14695981039346656037ULL;
	int i;

	for (i = 0; i < STEP_PATTERN_BYTES && name[i]; i++)
		hash = (hash ^ (__u8)name[i]) * 1099511628211ULL;
	return hash | 1; /* 0 stands for none */
}

/* name: STEP_PATTERN_BYTES with a NUL. */
static __always_inline bool name_matches(const char *name)
{
	__u32 i;

	for (i = 0; i < STEP_PATTERN_BYTES && i < config.pattern_size; i++) {
		if (name[i] != config.pattern[i])
			return false;
	}
	return config.pattern_is_prefix || (i < STEP_PATTERN_BYTES && !name[i]);
}

/*
 * Is a range of this name an attempt? In auto mode the pattern is Optimizer.step# and the first
 * name seen sets the beat; the other optimizers of the job only tell that a step was applied.
 */
static __always_inline bool attempt_is_named(const char *name)
{
	__u64 hash;

	if (config.step_mode == STEP_ENTRY || !name_matches(name))
		return false;
	if (config.step_mode == STEP_RANGE)
		return true;
	hash = name_hash(name);
	__sync_val_compare_and_swap(&beat_hash, 0, hash);
	return beat_hash == hash;
}

/* A range named Optimizer.step# begins: the optimizer is not skipped. */
static __always_inline void optimizer_range_seen(void)
{
	optimizer_ranges_ever = 1;
	__sync_fetch_and_add(&optimizer_ranges, 1);
}

static __always_inline bool name_is_optimizer_step(const char *name)
{
	static const char prefix[15] = { 'O', 'p', 't', 'i', 'm', 'i', 'z', 'e',
					 'r', '.', 's', 't', 'e', 'p', '#' };
	__u32 i;

	for (i = 0; i < sizeof(prefix); i++) {
		if (name[i] != prefix[i])
			return false;
	}
	return true;
}

/* The end of a range for which attempt_is_named() was true. */
static __always_inline void attempt_range_ended(__u32 tid, __u64 now_ns)
{
	/* With a gradient scaler its update is the beat: a skipped attempt has no range. */
	if (config.step_mode == STEP_AUTO && scaler_seen)
		return;
	attempt_end(tid, now_ns);
	change_over_to_begins();
}

#endif /* ATTEMPT_BPF_H */
