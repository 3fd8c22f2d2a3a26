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
#include "base/signals.h"
#include "base/text.h"
#include "capture_plan.h"
#include "describe.h"
#include "device_fallback.h"
#include "device_inject.h"
#include "device_watch.h"
#include "file_sink.h"
#include "ingest/ring.h"
#include "pipeline.h"
#include "progress.h"
#include "rights.h"
#include "ring_intake.h"
#include "session_record.h"
#include "thread_tap.h"
#include "wait_probes.h"
#include "window_probes.h"

#define MS 1000000ULL
#define URGENT_NICE (-10)
#define POLL_MS 20
#define POLL_TAIL_MS 1
#define WORK_NS (10 * MS) /* between two looks at the rings */
#define LIVENESS_INTERVAL_NS (100 * MS)
#define CATCH_UP_MAX_NS (1000 * MS)
#define AFTER_MIN_NS (500 * MS)
#define AFTER_MAX_NS (30000 * MS)
#define FIRST_PID_NAMESPACE 0xeffffffcUL /* PROC_PID_INIT_INO of the kernel's proc_ns.h */

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
	struct wait_probes wait;
	struct window_probes *window;
	struct device_watch *devices;
	struct device_fallback fallback;
	char refusal[DEVICE_REFUSAL_BYTES]; /* why the agent was not put into the job */
	struct rights rights;
	int signal_fd;
	uint64_t started_ns;
	uint64_t liveness_ns;
	unsigned int interrupts; /* Ctrl-C so far */
	bool is_urgent;
	uint64_t catch_up_until_ns; /* 0: nothing has been learned yet */
	int nice_before;
	uint64_t after_until_ns; /* 0: not yet in the after phase */
};

static uint32_t phase_of(const struct session *session)
{
	return STATE_PHASE(probes_state(session->probes));
}

static bool take_interrupt(struct session *session)
{
	bool is_there = signals_take(session->signal_fd);

	session->interrupts += is_there;
	return is_there;
}

/* By the second Ctrl-C: the first one may come when the capture ends already. */
static bool is_cancelled(void *context)
{
	struct session *session = context;

	return take_interrupt(session) && session->interrupts > 1;
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
	config->global_ids = target->pid_namespace_ino == FIRST_PID_NAMESPACE;
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
	const char *path = session->options->output;
	time_t now = time(NULL);
	char stamp[32], named[80];
	struct tm utc;

	if (!path) {
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
		snprintf(named, sizeof(named), "tpbpf-%d-%s", session->target->pid, stamp);
		path = named;
	}
	return rights_open_directory(&session->rights, &session->directory, path, cancel);
}

/* The records that come before any of the job's: who, what is planned, where time stands. */
static int introduce(struct session *session)
{
	struct record_sink *sink = pipeline_sink(session->pipeline);
	int err = session_record_begin(session->options, session->target, session->plan.activities,
				       capture_plan_attached(session->probes), session->started_ns,
				       sink);

	if (!err)
		err = session_record_clock(session->started_ns, sink);
	if (!err)
		err = session_record_rings(probes_rings(session->probes), session->started_ns,
					   sink);
	return err ? err : probe_plan_emit(&session->plan, session->started_ns, sink);
}

static int open_stages(struct session *session)
{
	struct table_options table;
	int err;

	options_table(session->options, &table);
	err = pipeline_new(&session->pipeline, session->directory, session->options->keep_raw,
			   &table);
	if (!err)
		err = introduce(session);
	if (!err)
		err = pipeline_output_error(session->pipeline);
	if (err) /* logged; as with the directory */
		return -EIO;
	err = thread_tap_new(&session->tap, session->target->pid,
			     session->target->status.namespace_pid,
			     pipeline_sink(session->pipeline));
	if (!err)
		err = progress_new(&session->progress, session->options);
	if (err)
		return err;
	err = device_watch_new(&session->devices, session->options, &session->plan,
			       session->refusal, thread_tap_sink(session->tap));
	if (!err)
		err = device_watch_report(session->devices, session->started_ns);
	if (!err)
		err = ring_intake_open(&session->ring, session->probes,
				       device_watch_ring_fd(session->devices),
				       device_watch_sink(session->devices));
	if (err)
		return err;
	wait_probes_init(&session->wait, session->options, &session->plan, session->probes);
	err = window_probes_new(&session->window, session->options, &session->plan, session->probes,
				session->pipeline);
	session->fallback =
		(struct device_fallback){ &session->plan, session->devices, session->window,
					  pipeline_sink(session->pipeline) };
	return err;
}

static int open_probes(struct session *session)
{
	struct probe_config config;
	int err;

	if (!session->options->describe)
		device_inject(session->options, session->target, session->refusal);
	err = capture_plan_make(&session->plan, session->options, session->target);
	if (err || session->options->describe)
		return err;
	configure(session, &config);
	err = probes_open(&session->probes, &session->plan, &config, &session->options->probes);
	if (!err)
		capture_plan_check(&session->plan, session->probes);
	return err;
}

/*
 * While attempts go by, a late wake-up costs the job more than a prompt one: probes stay longer,
 * warmup lasts. It is a few milliseconds of work in all; what is written afterwards has no hurry.
 */
static void be_urgent(struct session *session, bool is_urgent)
{
	if (session->is_urgent == is_urgent)
		return;
	session->is_urgent = is_urgent;
	if (is_urgent)
		session->nice_before = getpriority(PRIO_PROCESS, 0);
	if (setpriority(PRIO_PROCESS, 0, is_urgent ? URGENT_NICE : session->nice_before))
		log_debug("the priority cannot be changed: %s", strerror(errno));
}

/* From here on records of the job are read: without what was needed to get at them. */
static void lower(struct session *session)
{
	be_urgent(session, true);
	rights_after_open(&session->rights, session->target, session->probes,
			  device_watch_ring_fd(session->devices) >= 0);
}

static int attach_first(struct session *session)
{
	uint64_t start_ns = clock_monotonic_ns();
	int err = rights_attach_first(&session->rights, session->probes);

	return err ? err
		   : session_record_probes(PROBES_PART_ON, start_ns,
					   pipeline_sink(session->pipeline));
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
	if (!err)
		err = device_fallback_follow(&session->fallback, phase_of(session),
					     session->started_ns);
	/* Without a wait, warmup begins at once: nothing is counted before its probes are there. */
	if (!err)
		err = device_fallback_attach(&session->fallback);
	if (!err)
		err = attach_first(session);
	if (err == -ESRCH)
		log_err("pid %d: the job has ended", session->target->pid);
	if (err)
		return err;
	lower(session);
	log_info("attached to %d, waiting for attempts; Ctrl-C ends with what there is",
		 session->target->pid);
	return 0;
}

static void session_close(struct session *session)
{
	progress_free(session->progress);
	window_probes_free(session->window);
	ring_free(session->ring);
	device_watch_free(session->devices);
	probes_close(session->probes);
	thread_tap_free(session->tap);
	pipeline_free(session->pipeline);
	out_dir_free(session->directory);
	probe_plan_free(&session->plan);
	target_close(session->target);
	if (session->signal_fd >= 0)
		close(session->signal_fd);
}

/* From here on attempts are an honest clock, but for the one that is running. */
static void begin_after(struct session *session, uint64_t now_ns)
{
	uint64_t last_ns, budget_ns;

	pipeline_attempts(session->pipeline, &last_ns);
	budget_ns = AFTER_MIN_NS + 2 * AFTER_ATTEMPTS * last_ns;
	session->after_until_ns = now_ns + (budget_ns < AFTER_MAX_NS ? budget_ns : AFTER_MAX_NS);
	rights_after_detach(&session->rights);
}

static bool after_is_over(struct session *session, uint64_t now_ns)
{
	uint32_t seen = STATE_TOTAL(probes_state(session->probes));

	if (!session->after_until_ns)
		begin_after(session, now_ns);
	return now_ns >= session->after_until_ns ||
	       seen >= window_probes_after_limit(session->window);
}

/* Attaches and detaches as the phase asks. *stop: the window is finished. */
static int follow_phase(struct session *session, uint64_t now_ns, enum wire_stop *stop)
{
	uint32_t phase = phase_of(session);
	int err = window_probes_follow(session->window, now_ns);

	if (err || phase != PHASE_AFTER || window_probes_attached(session->window))
		return err;
	be_urgent(session, false);
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
	return phase_of(session) == PHASE_AFTER;
}

static enum wire_stop check_ends(struct session *session, uint64_t now_ns)
{
	uint32_t timeout_s = session->options->timeout_s;
	enum wire_stop stop = check_liveness(session, now_ns);

	if (!stop && pipeline_output_error(session->pipeline))
		stop = STOP_OUTPUT_ERROR;
	if (!stop && (take_interrupt(session) || session->interrupts))
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

	poll(fds, sizeof(fds) / sizeof(fds[0]),
	     window_probes_in_tail(session->window) ? POLL_TAIL_MS : POLL_MS);
}

/* While the window records nothing is done with what comes but keeping it. */
static int read_rings(struct session *session)
{
	bool is_recording = phase_of(session) == PHASE_ACTIVE;
	int err;

	pipeline_defer(session->pipeline, is_recording);
	err = ring_drain(session->ring);
	if (err || is_recording)
		return err;
	return pipeline_work(session->pipeline, clock_monotonic_ns() + WORK_NS);
}

/* What warmup learned from may have filled the rings: the window begins with room in them. */
static bool is_catching_up(struct session *session, uint64_t now_ns)
{
	if (!window_probes_settled(session->window))
		return true;
	if (!session->catch_up_until_ns)
		session->catch_up_until_ns = now_ns + CATCH_UP_MAX_NS;
	return now_ns < session->catch_up_until_ns &&
	       ring_fullest_bytes(session->ring) > probes_rings(session->probes)->size_bytes / 4;
}

static int follow_devices(struct session *session, uint64_t now_ns)
{
	int err = device_fallback_follow(&session->fallback, phase_of(session), now_ns);

	if (err)
		return err;
	if (is_catching_up(session, now_ns))
		window_probes_hold(session->window, true);
	return device_watch_report(session->devices, now_ns);
}

/* The edges of the window are ends of attempts: those come first. */
static int attach_as_asked(struct session *session)
{
	uint64_t attempt_ns;
	int err;

	pipeline_attempts(session->pipeline, &attempt_ns);
	err = wait_probes_follow(&session->wait, attempt_ns);
	return err ? err : device_fallback_attach(&session->fallback);
}

/* One round. Attaching comes first: until it is done, warmup waits. */
static int run_round(struct session *session, enum wire_stop *stop)
{
	uint64_t now_ns;
	int err;

	wait_for_news(session);
	err = attach_as_asked(session);
	if (err && err != -ESRCH) { /* a job that is gone is seen by its descriptor */
		*stop = STOP_ATTACH_FAILED;
		return 0;
	}
	err = read_rings(session);
	now_ns = clock_monotonic_ns();
	if (!err)
		err = follow_devices(session, now_ns);
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
		progress_update(session->progress, phase_of(session), seen, last_ns,
				clock_monotonic_ns());
	}
	return err;
}

/* What the agent still has, for a bounded time; a job that is gone has nothing. */
static int drain_devices(struct session *session)
{
	int err = 0;

	while (!err && !target_has_exited(session->target) && !probes_execed(session->probes) &&
	       device_watch_is_ending(session->devices, clock_monotonic_ns())) {
		struct pollfd fd = { .fd = ring_poll_fd(session->ring), .events = POLLIN };

		poll(&fd, 1, POLL_MS);
		err = is_cancelled(session) ? -ECANCELED : ring_drain(session->ring);
	}
	return err ? err : device_watch_report(session->devices, clock_monotonic_ns());
}

/* Detaches, takes what is left in the kernel, and says how it ended. */
static int end_capture(struct session *session, enum wire_stop stop)
{
	struct record_sink *sink = pipeline_sink(session->pipeline);
	uint64_t counts[LOSS_CAUSE_CNT] = { 0 }, stop_ns = probes_stop(session->probes), detach_ns;
	int err;

	probes_detach_groups(session->probes, PROBE_GROUPS_ALL);
	detach_ns = clock_monotonic_ns() - stop_ns;
	pipeline_defer(session->pipeline, false);
	err = pipeline_work(session->pipeline, UINT64_MAX);
	if (!err)
		err = drain_devices(session);
	if (!err)
		err = ring_drain_all(session->ring);
	if (!err)
		err = probes_losses(session->probes, counts);
	counts[LOSS_ATTEMPT_LOG] += ring_lost_attempts(session->ring);
	if (!err)
		err = session_record_losses(counts, stop_ns, sink);
	if (!err)
		err = session_record_rings(probes_rings(session->probes), stop_ns, sink);
	if (!err)
		err = session_record_clock(stop_ns, sink);
	if (!err)
		err = session_record_stop(stop, stop_ns, detach_ns, sink);
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

/* Writes everything. An error: nothing was finished, and what there is says "pending". */
static int finish(struct session *session, int *code)
{
	const struct summary *summary;
	struct file_sink terminal;
	int err;

	rights_for_files(&session->rights);
	file_sink_init(&terminal, stdout);
	err = pipeline_finish(session->pipeline, &terminal.sink, &summary);
	if (!err)
		*code = exit_code_of(session, summary);
	return err;
}

static int capture(struct session *session)
{
	int err, code = EXIT_FAILED;
	enum wire_stop stop;

	err = run_loop(session, &stop);
	progress_clear(session->progress);
	if (!err)
		err = end_capture(session, stop);
	be_urgent(session, false);
	if (!err)
		err = finish(session, &code);
	if (!err)
		return code;
	if (err == -ECANCELED)
		log_info("cancelled: nothing was written");
	else
		log_err("the capture has failed: %s; nothing was written", strerror(-err));
	out_dir_remove(session->directory);
	return session_exit_code(err);
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
