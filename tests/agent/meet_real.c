/*
 * meet_real.c - the agent and a real libcupti, in a process without a GPU.
 *   meet_real LIBCUPTI --alone: calls cuptiGetVersion() and nothing else
 *   meet_real LIBCUPTI [LIBCUDA]: prints the statuses and the end, "CODE VALUE TEXT" a line.
 * LIBCUDA is the stand-in under a name that the agent finds and CUPTI does not. Asks for activity
 * twice, for three seconds each. Ends in order, or not at all.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_wire.h"
#include "agent/handover.h"
#include "agent/session.h"
#include "agent/watcher.h"

static atomic_bool wanted;
static struct watcher watcher;

void tpbpf_agent_batch(const void *batch, size_t size)
{
	const struct agent_batch *head = batch;
	size_t at = head->header_size;

	while (at < size) {
		const struct agent_record *record = (const void *)((const char *)batch + at);

		if (record->kind == AGENT_STATUS) {
			const struct agent_status *status = (const void *)record;

			printf("status %u %lld %.*s\n", status->code, (long long)status->value,
			       status->text_size, status->text);
		} else if (record->kind == AGENT_SESSION) {
			const struct agent_session *session = (const void *)record;

			printf("session %u %x\n", session->cupti_version, session->kinds);
		} else if (record->kind == AGENT_END) {
			printf("end %u\n",
			       ((const struct agent_end *)(const void *)record)->reason);
		} else {
			printf("record %u\n", record->kind);
		}
		at += record->size;
	}
	fflush(stdout);
}

bool handover_listening(void)
{
	return true;
}

bool handover_collecting(void)
{
	return atomic_load(&wanted);
}

bool handover_wants_sync(void)
{
	return true;
}

static int call_alone(void *cupti)
{
	int (*get_version)(uint32_t *) = (int (*)(uint32_t *))dlsym(cupti, "cuptiGetVersion");
	uint32_t version = 0;

	return get_version ? printf("%d %u\n", get_version(&version), version) < 0 : 1;
}

int main(int argc, char **argv)
{
	void *cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	bool alone = argc > 2 && !strcmp(argv[2], "--alone");
	void *cuda = argc > 2 && !alone ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*init)(unsigned int) = cuda ? (int (*)(unsigned int))dlsym(cuda, "cuInit") : NULL;
	int i;

	if (!cupti) {
		fprintf(stderr, "meet_real: %s\n", argc < 2 ? "no libcupti" : dlerror());
		return 2;
	}
	if (alone)
		return call_alone(cupti);
	if (init)
		init(0);
	session_init(&agent_session);
	if (watcher_start(&watcher))
		return 1;
	for (i = 0; i < 2; i++) {
		atomic_store(&wanted, true);
		sleep(3);
		atomic_store(&wanted, false);
		sleep(2);
	}
	printf("still here\n");
	return 0;
}
