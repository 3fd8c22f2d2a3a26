/*
 * session.c - wires the stages of a live capture and owns every handle. The programs in the kernel
 * count attempts and flip the phases; here probes are attached and detached as the phase asks, and
 * everything that can end a capture is watched.
 *
 * Ending, in this order: detach, drain the ring once more, read the losses, say why it ended,
 * write.
 */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "attach/probe.h"
#include "attach/target.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/signals.h"
#include "base/text.h"
#include "describe.h"
#include "file_sink.h"
#include "ingest/ring.h"
#include "pipeline.h"
#include "progress.h"
#include "session_record.h"
#include "thread_tap.h"

#define MS 1000000ULL
#define URGENT_NICE (-10)
#define POLL_MS 20
#define POLL_TAIL_MS 1
#define LIVENESS_INTERVAL_NS (100 * MS)
#define TAIL_NS (50 * MS)	 /* for ranges that are open when the window closes */
#define SHORT_WAIT_NS (250 * MS) /* taking probes off takes 30 to 100 ms */
#define AFTER_ATTEMPTS 3	 /* watched after the window, as an honest clock */
#define AFTER_MIN_NS (500 * MS)
#define AFTER_MAX_NS (30000 * MS)

struct session {
	const struct options *options;
	struct target *target;
	struct probe_plan plan;
	struct probes *probes;
	struct ring *ring;
	struct out_dir *directory;
	struct pipeline *pipeline;
	struct thread_tap *tap;
	struct progress *progress;
	int signal_fd;

	uint64_t started_ns;
	uint64_t liveness_ns;
	bool window_attached;
	uint32_t ready_cycle;	 /* cycles below it have their probes, as the programs know */
	uint64_t tail_until_ns;	 /* 0: no tail */
	uint64_t after_until_ns; /* 0: not yet in the after phase */
	uint32_t after_limit;	 /* attempts after which nothing is counted any more */
};

int session_exit_code(int err)
{
	switch (err) {
	case 0:
		return EXIT_COMPLETE;
	case -ESRCH:
	case -ENOEXEC:
		return EXIT_NO_TARGET;
	case -EPERM:
	case -EACCES:
	case -EBUSY:
	case -EOPNOTSUPP:
	case -ENOENT:
		return EXIT_NOT_PERMITTED;
	case -ECANCELED:
		return EXIT_CANCELLED;
	default:
		return EXIT_FAILED;
	}
}

static bool is_cancelled(void *context)
{
	const struct session *session = context;

	return signals_take(session->signal_fd);
}

/* The kernel keeps a device number otherwise than stat() tells it. */
static __u64 kernel_dev(dev_t dev)
{
	return (__u64)major(dev) << 20 | minor(dev);
}

static void configure(const struct session *session, struct probe_config *config)
{
	const struct options *options = session->options;
	const struct target *target = session->target;

	memset(config, 0, sizeof(*config));
	config->pid_namespace_dev = kernel_dev(target->pid_namespace_dev);
	config->pid_namespace_ino = target->pid_namespace_ino;
	config->namespace_pid = (__u32)target->status.namespace_pid;
	config->skip_first = options->skip_first;
	config->wait = options->wait;
	config->first_wait = options->skip_first_wait ? 0 : options->wait;
	config->warmup = options->warmup;
	config->active = options->active;
	config->repeat = options->repeat ? options->repeat : PLAN_REPEAT_MAX;
	probe_plan_configure(&session->plan, &options->step, config);
}

static int open_directory(struct session *session)
{
	const struct out_cancel cancel = { is_cancelled, session };
	time_t now = time(NULL);
	char stamp[32], path[80];
	struct tm utc;
	uid_t uid;
	gid_t gid;

	privilege_invoker(&uid, &gid);
	if (session->options->output)
		return out_dir_open(&session->directory, session->options->output, uid, gid,
				    cancel);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	snprintf(path, sizeof(path), "tpbpf-%d-%s", session->target->pid, stamp);
	return out_dir_open(&session->directory, path, uid, gid, cancel);
}

/* The records that come before any of the job's: who, what is planned, where time stands. */
static int introduce(struct session *session)
{
	struct record_sink *sink = pipeline_sink(session->pipeline);
	int err =
		session_record_begin(session->options, session->target, session->started_ns, sink);

	if (!err)
		err = session_record_clock(session->started_ns, sink);
	return err ? err : probe_plan_emit(&session->plan, session->started_ns, sink);
}

static uint64_t state_of(void *context)
{
	return probes_state(context);
}

static int open_stages(struct session *session)
{
	struct attempt_source attempts;
	int err = pipeline_new(&session->pipeline, session->directory, session->options->keep_raw);

	if (!err)
		err = introduce(session);
	if (!err)
		err = pipeline_output_error(session->pipeline);
	if (!err)
		err = thread_tap_new(&session->tap, session->target->pid,
				     session->target->status.namespace_pid,
				     pipeline_sink(session->pipeline));
	if (!err)
		err = progress_new(&session->progress, session->options);
	if (err)
		return err;
	attempts = (struct attempt_source){ state_of, probes_attempts(session->probes),
					    session->probes };
	return ring_new(&session->ring, probes_ring_fd(session->probes), attempts,
			thread_tap_sink(session->tap));
}

static int open_probes(struct session *session)
{
	struct probe_config config;
	int err = probe_plan_make(&session->plan, session->target, &session->options->step);

	if (err || session->options->describe)
		return err;
	configure(session, &config);
	return probes_open(&session->probes, &session->plan, &config, session->options->attach);
}

static void set_ready(struct session *session, uint32_t cycle_end)
{
	if (session->ready_cycle >= cycle_end)
		return;
	session->ready_cycle = cycle_end;
	probes_set_ready(session->probes, cycle_end);
}

/* Attaches the window's probes where the phase wants them, and tells the programs so. */
static int attach_window(struct session *session)
{
	uint64_t state = probes_state(session->probes), start_ns = clock_monotonic_ns();
	uint32_t phase = STATE_PHASE(state), cycle = STATE_CYCLE(state);
	bool is_new = !session->window_attached;
	int err;

	if (phase != PHASE_WARMUP && phase != PHASE_ACTIVE)
		return 0;
	err = is_new ? probes_attach(session->probes, PROBE_GROUP_WINDOW) : 0;
	if (err)
		return err;
	session->window_attached = true;
	session->tail_until_ns = 0;
	/* Without a wait the probes stay for all cycles. */
	set_ready(session, session->options->wait ? cycle + 1 : PLAN_REPEAT_MAX + 1);
	if (!is_new)
		return 0;
	log_debug("window probes attached");
	return session_record_probes(true, start_ns, pipeline_sink(session->pipeline));
}

static int session_open(struct session *session)
{
	const struct options *options = session->options;
	const char *library = options->step.library[0] ? options->step.library : NULL;
	int err = target_open(&session->target, (pid_t)options->pid, library);

	if (!err && !options->describe)
		err = target_lock(session->target);
	if (!err)
		err = open_probes(session);
	if (err || options->describe)
		return err;
	err = open_directory(session);
	if (err) /* logged; what the system says of a path is no verdict on the job */
		return -EIO;
	session->started_ns = clock_monotonic_ns();
	err = open_stages(session);
	/* Without a wait, warmup begins at once: nothing is counted before its probes are there. */
	if (!err)
		err = attach_window(session);
	if (!err)
		err = probes_attach(session->probes, PROBE_GROUP_STEP);
	if (err == -ESRCH)
		log_err("pid %d: the job has ended", session->target->pid);
	if (!err)
		log_info("attached to %d, waiting for attempts; Ctrl-C ends with what there is",
			 session->target->pid);
	return err;
}

static void session_close(struct session *session)
{
	progress_free(session->progress);
	ring_free(session->ring);
	probes_close(session->probes);
	thread_tap_free(session->tap);
	pipeline_free(session->pipeline);
	out_dir_free(session->directory);
	target_close(session->target);
	if (session->signal_fd >= 0)
		close(session->signal_fd);
}

/* Is the wait of the coming cycle over before the probes could be off and on again? */
static bool is_short_wait(const struct session *session, uint32_t phase)
{
	uint64_t last_ns;

	pipeline_attempts(session->pipeline, &last_ns);
	return phase == PHASE_WAIT && last_ns && session->options->wait * last_ns < SHORT_WAIT_NS;
}

/* Ranges that were open when the window closed get a moment to end. */
static int detach_window(struct session *session, uint64_t now_ns)
{
	if (!session->window_attached)
		return 0;
	if (!session->tail_until_ns)
		session->tail_until_ns = now_ns + TAIL_NS;
	if (pipeline_open_ranges(session->pipeline) && now_ns < session->tail_until_ns)
		return 0;
	probes_detach(session->probes, PROBE_GROUP_WINDOW);
	session->window_attached = false;
	session->tail_until_ns = 0;
	log_debug("window probes detached");
	return session_record_probes(false, now_ns, pipeline_sink(session->pipeline));
}

/* From here on attempts are an honest clock, but for the one that is running. */
static void begin_after(struct session *session, uint32_t seen, uint64_t now_ns)
{
	uint64_t last_ns, budget_ns;

	pipeline_attempts(session->pipeline, &last_ns);
	budget_ns = AFTER_MIN_NS + 2 * AFTER_ATTEMPTS * last_ns;
	session->after_until_ns = now_ns + (budget_ns < AFTER_MAX_NS ? budget_ns : AFTER_MAX_NS);
	session->after_limit = seen + 1 + AFTER_ATTEMPTS;
	probes_set_limit(session->probes, session->after_limit);
}

static bool after_is_over(struct session *session, uint64_t now_ns)
{
	uint32_t seen = STATE_TOTAL(probes_state(session->probes));

	if (!session->after_until_ns)
		begin_after(session, seen, now_ns);
	return now_ns >= session->after_until_ns || seen >= session->after_limit;
}

/* Takes the probes off when the phase asks for it. *stop: the window is finished. */
static int follow_phase(struct session *session, uint64_t now_ns, enum wire_stop *stop)
{
	uint64_t state = probes_state(session->probes);
	uint32_t phase = STATE_PHASE(state);
	int err;

	if (phase == PHASE_WARMUP || phase == PHASE_ACTIVE)
		return 0;
	if (session->window_attached && is_short_wait(session, phase)) {
		set_ready(session, STATE_CYCLE(state) + 1);
		return 0;
	}
	err = detach_window(session, now_ns);
	if (err || phase != PHASE_AFTER || session->window_attached)
		return err;
	if (after_is_over(session, clock_monotonic_ns()))
		*stop = STOP_WINDOW_FINISHED;
	return 0;
}

static enum wire_stop check_liveness(struct session *session, uint64_t now_ns)
{
	if (target_has_exited(session->target))
		return STOP_TARGET_EXITED;
	if (probes_execed(session->probes))
		return STOP_TARGET_EXEC;
	if (now_ns < session->liveness_ns + LIVENESS_INTERVAL_NS)
		return STOP_NONE;
	session->liveness_ns = now_ns;
	if (target_has_execed(session->target))
		return STOP_TARGET_EXEC;
	if (probes_follow_threads(session->probes) == -EPERM)
		return STOP_ATTACH_FAILED;
	return STOP_NONE;
}

static bool is_window_over(const struct session *session)
{
	return STATE_PHASE(probes_state(session->probes)) == PHASE_AFTER;
}

static enum wire_stop check_ends(struct session *session, uint64_t now_ns)
{
	uint32_t timeout_s = session->options->timeout_s;
	enum wire_stop stop = check_liveness(session, now_ns);

	if (!stop && pipeline_output_error(session->pipeline))
		stop = STOP_OUTPUT_ERROR;
	if (!stop && signals_take(session->signal_fd))
		stop = STOP_INTERRUPTED;
	if (!stop && timeout_s && now_ns - session->started_ns >= timeout_s * 1000 * MS)
		stop = STOP_TIMEOUT;
	/* What comes after the window does not make it less complete. */
	if (stop && stop != STOP_OUTPUT_ERROR && is_window_over(session))
		return STOP_WINDOW_FINISHED;
	return stop;
}

static void wait_for_news(const struct session *session)
{
	struct pollfd fds[] = {
		{ .fd = ring_poll_fd(session->ring), .events = POLLIN },
		{ .fd = session->signal_fd, .events = POLLIN },
		{ .fd = session->target->pidfd, .events = POLLIN },
	};

	poll(fds, sizeof(fds) / sizeof(fds[0]), session->tail_until_ns ? POLL_TAIL_MS : POLL_MS);
}

/* One round. Attaching comes first: until it is done, warmup waits. */
static int run_round(struct session *session, enum wire_stop *stop)
{
	uint64_t now_ns;
	int err;

	wait_for_news(session);
	err = attach_window(session);
	if (err && err != -ESRCH) { /* a job that is gone is seen by its descriptor */
		*stop = STOP_ATTACH_FAILED;
		return 0;
	}
	err = ring_drain(session->ring);
	now_ns = clock_monotonic_ns();
	if (!err)
		err = follow_phase(session, now_ns, stop);
	if (!err && *stop == STOP_NONE)
		*stop = check_ends(session, now_ns);
	return err;
}

static int run_loop(struct session *session, enum wire_stop *stop)
{
	int err = 0;

	*stop = STOP_NONE;
	while (!err && *stop == STOP_NONE) {
		uint64_t last_ns;
		size_t seen;

		err = run_round(session, stop);
		seen = pipeline_attempts(session->pipeline, &last_ns);
		progress_update(session->progress, STATE_PHASE(probes_state(session->probes)), seen,
				last_ns, clock_monotonic_ns());
	}
	return err;
}

/* Detaches, takes what is left in the kernel, and says how it ended. */
static int end_capture(struct session *session, enum wire_stop stop)
{
	struct record_sink *sink = pipeline_sink(session->pipeline);
	uint64_t counts[LOSS_CAUSE_CNT] = { 0 }, stop_ns = probes_stop(session->probes);
	int err;

	probes_detach(session->probes, PROBE_GROUP_WINDOW);
	probes_detach(session->probes, PROBE_GROUP_STEP);
	err = ring_drain(session->ring);
	if (!err)
		err = probes_losses(session->probes, counts);
	counts[LOSS_ATTEMPT_LOG] += ring_lost_attempts(session->ring);
	if (!err)
		err = session_record_losses(counts, stop_ns, sink);
	if (!err)
		err = session_record_clock(stop_ns, sink);
	if (!err)
		err = session_record_stop(stop, stop_ns, sink);
	return err;
}

static int exit_code_of(const struct session *session, const struct summary *summary)
{
	int err = pipeline_output_error(session->pipeline);

	if (err && summary->state == WINDOW_NO_CAPTURE)
		return EXIT_FAILED;
	if (summary->state != WINDOW_COMPLETE || err || summary_has_lost_data(summary))
		return EXIT_PARTIAL;
	return EXIT_COMPLETE;
}

static int finish(struct session *session)
{
	const struct summary *summary;
	struct file_sink terminal;
	int err;

	/* From here on only files are written. */
	err = privilege_keep_files_only();
	if (err)
		log_debug("capabilities cannot be dropped: %s", strerror(-err));
	file_sink_init(&terminal, stdout);
	err = pipeline_finish(session->pipeline, &terminal.sink, &summary);
	return err ? session_exit_code(err) : exit_code_of(session, summary);
}

/*
 * While attempts go by, a late wake-up costs the job more than a prompt one: probes stay longer,
 * warmup lasts. It is a few milliseconds of work in all; what is written afterwards has no hurry.
 */
static void set_priority(int nice_value)
{
	if (setpriority(PRIO_PROCESS, 0, nice_value))
		log_debug("the priority cannot be changed: %s", strerror(errno));
}

static int capture(struct session *session)
{
	int nice_before = getpriority(PRIO_PROCESS, 0), err, code;
	enum wire_stop stop;

	set_priority(URGENT_NICE);
	err = run_loop(session, &stop);
	progress_clear(session->progress);
	if (!err)
		err = end_capture(session, stop);
	set_priority(nice_before);
	if (err)
		log_err("the capture has failed: %s", strerror(-err));
	code = err ? session_exit_code(err) : finish(session);
	if (code == EXIT_CANCELLED) {
		log_info("cancelled: nothing was written");
		out_dir_remove(session->directory);
	}
	return code;
}

int session_run(const struct options *options)
{
	struct session session = { .options = options, .signal_fd = signals_open() };
	int err = session.signal_fd < 0 ? session.signal_fd : session_open(&session), code;

	if (err)
		code = session_exit_code(err);
	else if (options->describe)
		code = describe_plan(options, session.target, &session.plan) ? EXIT_FAILED
									     : EXIT_COMPLETE;
	else
		code = capture(&session);
	/* A capture that did not begin leaves no directory behind. */
	if (err && session.directory) {
		pipeline_free(session.pipeline);
		session.pipeline = NULL;
		out_dir_remove(session.directory);
	}
	session_close(&session);
	return code;
}
