/*
 * capture.c - attaches to the agent in a process, by its notes and the kernel's uprobes, and keeps
 * what it hands over. As root.
 *   capture PID AGENT-FILE OUT [--sync]
 * Says "listening"; then obeys lines on its input: "collect" asks for activity, "stop" asks for no
 * more, waits for AGENT_END and exits 0 (1: it did not come within ten seconds); at the end of its
 * input it exits 3 without a word. OUT: the batches, one behind the other. Says "open" when
 * activity is recorded, "status CODE VALUE EFFECT" for each status, and at the end how many batches
 * it lost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent_wire.h"
#include "attach/usdt_note.h"
#include "capture.skel.h"

struct capture {
	struct capture_bpf *skeleton;
	struct bpf_link *batch, *collect, *sync;
	const char *agent;
	int pid;
	FILE *out;
	bool open, ended;
};

static void look_at(struct capture *capture, const char *batch, size_t size)
{
	size_t at = sizeof(struct agent_batch);

	while (at + sizeof(struct agent_record) <= size) {
		const struct agent_record *record = (const void *)(batch + at);
		const struct agent_session *session = (const void *)record;
		const struct agent_status *status = (const void *)record;

		if (record->size < sizeof(*record) || record->size > size - at)
			return;
		if (record->kind == AGENT_SESSION && session->kinds && !capture->open) {
			capture->open = true;
			printf("open\n");
		} else if (record->kind == AGENT_STATUS) {
			printf("status %u %lld %u\n", status->code, (long long)status->value,
			       status->effect);
		} else if (record->kind == AGENT_END) {
			capture->ended = true;
		}
		at += record->size;
	}
}

static int on_batch(void *context, void *data, size_t size)
{
	struct capture *capture = context;
	__u32 bytes;

	(void)size;
	memcpy(&bytes, data, sizeof(bytes));
	fwrite((char *)data + 8, 1, bytes, capture->out);
	look_at(capture, (char *)data + 8, bytes);
	return 0;
}

static struct bpf_link *attach(struct capture *capture, struct bpf_program *program,
			       const char *name)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts);
	struct bpf_link *link = NULL;
	struct usdt_note note;
	int fd = open(capture->agent, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : usdt_note_find(fd, "tpbpf_agent", name, &note);

	if (!err) {
		opts.ref_ctr_offset = note.semaphore_offset;
		link = bpf_program__attach_uprobe_opts(program, capture->pid, capture->agent,
						       note.site_offset, &opts);
	}
	if (fd >= 0)
		close(fd);
	if (!link) {
		fprintf(stderr, "capture: %s of %s: %s\n", name, capture->agent,
			strerror(err ? -err : errno));
		exit(2);
	}
	return link;
}

static void wait_for_end(struct capture *capture, struct ring_buffer *ring)
{
	int i;

	bpf_link__destroy(capture->collect);
	capture->collect = NULL;
	for (i = 0; i < 100 && !capture->ended; i++)
		ring_buffer__poll(ring, 100);
	printf("lost %llu unreadable %llu\n", (unsigned long long)capture->skeleton->bss->lost,
	       (unsigned long long)capture->skeleton->bss->unreadable);
	bpf_link__destroy(capture->batch);
	if (capture->sync)
		bpf_link__destroy(capture->sync);
	fclose(capture->out);
	exit(capture->ended ? 0 : 1);
}

static void obey(struct capture *capture, struct ring_buffer *ring, bool sync)
{
	char line[64];

	if (!fgets(line, sizeof(line), stdin))
		_exit(3);
	if (!strcmp(line, "collect\n")) {
		if (sync)
			capture->sync = attach(capture, capture->skeleton->progs.on_switch, "sync");
		capture->collect = attach(capture, capture->skeleton->progs.on_switch, "collect");
		printf("collecting\n");
	} else if (!strcmp(line, "stop\n")) {
		wait_for_end(capture, ring);
	}
}

int main(int argc, char **argv)
{
	struct capture capture = { 0 };
	struct ring_buffer *ring;

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	if (argc < 4)
		return 2;
	capture.pid = atoi(argv[1]);
	capture.agent = argv[2];
	capture.out = fopen(argv[3], "wb");
	capture.skeleton = capture_bpf__open_and_load();
	if (!capture.out || !capture.skeleton) {
		fprintf(stderr, "capture: cannot begin: %s\n", strerror(errno));
		return 2;
	}
	ring = ring_buffer__new(bpf_map__fd(capture.skeleton->maps.batches), on_batch, &capture,
				NULL);
	capture.batch = attach(&capture, capture.skeleton->progs.on_batch, "batch");
	printf("listening\n");
	for (;;) {
		struct pollfd input = { 0, POLLIN, 0 };

		if (poll(&input, 1, 0) > 0)
			obey(&capture, ring, argc > 4);
		ring_buffer__poll(ring, 20);
		fflush(capture.out);
	}
}
