/*
 * What /proc says of a process, which the process may write itself. The first byte says which file
 * the rest is. Linked with --wrap=fopen: files of a process that cannot be are the input.
 */
#include <errno.h>

#include "attach/process.h"
#include "attach/target.h"
#include "attach/torch_version.h"
#include "base/text.h"
#include "fuzz/output_checks.h"

#define PID 2000000000 /* above any kernel's pid_max */
#define PID_PATH "/proc/2000000000/"

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

static struct {
	const char *name; /* of the file that is there, below PID_PATH */
	const struct fuzz_input *contents;
} proc;

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!text_has_prefix(path, PID_PATH))
		return __real_fopen(path, mode);
	if (!proc.name || strcmp(path + strlen(PID_PATH), proc.name) != 0) {
		errno = ENOENT;
		return NULL;
	}
	if (!proc.contents->left_bytes)
		return __real_fopen("/dev/null", mode);
	return fmemopen((void *)proc.contents->at, proc.contents->left_bytes, "r");
}

static void check_printable(const char *raw)
{
	char text[256], again[256];

	text_printable(text, sizeof(text), raw);
	check_lines(text, strlen(text));
	FUZZ_CHECK(!strchr(text, '\n'));
	text_printable(again, sizeof(again), text);
	FUZZ_CHECK(!strcmp(text, again));
}

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	size_t *left_bytes = context;

	FUZZ_CHECK(mapping->path[0] == '/' && strlen(mapping->path) < *left_bytes);
	FUZZ_CHECK(!strchr(mapping->path, '\n'));
	return 0;
}

static void check_version(const struct torch_version *version)
{
	check_lines(version->torch, strnlen(version->torch, sizeof(version->torch)));
	check_lines(version->cuda, strnlen(version->cuda, sizeof(version->cuda)));
	check_lines(version->python, strnlen(version->python, sizeof(version->python)));
}

static void read_maps(const struct fuzz_input *input)
{
	size_t left_bytes = input->left_bytes;
	struct torch_version version;
	bool is_torch = false;

	FUZZ_CHECK(!process_each_mapping(PID, on_mapping, &left_bytes));
	FUZZ_CHECK(!target_probe_torch(PID, &version, &is_torch));
	check_version(&version);
}

static void read_status(const struct fuzz_input *input)
{
	struct process_status status;
	pid_t tid = 0;
	char name[16];

	(void)input;
	process_status(PID, &status);
	proc.name = "task/7/status";
	if (!process_thread(PID, 7, &tid, name, sizeof(name)))
		FUZZ_CHECK(strnlen(name, sizeof(name)) < sizeof(name));
}

static void read_environment(const struct fuzz_input *input)
{
	char small[4], large[512];
	int rank;

	(void)input;
	process_environment(PID, "PATH", small, sizeof(small));
	if (!process_environment(PID, "RANK", large, sizeof(large)))
		check_printable(large);
	rank = target_rank(PID, target_rank_variables);
	FUZZ_CHECK(rank >= 0 || rank == WIRE_RANK_UNKNOWN);
	target_rank(PID, target_local_rank_variables);
	target_rank(PID, target_world_size_variables);
}

static void read_command_line(const struct fuzz_input *input)
{
	char small[5], large[1024];

	(void)input;
	FUZZ_CHECK(!process_command_line(PID, small, sizeof(small)));
	FUZZ_CHECK(!process_command_line(PID, large, sizeof(large)));
	check_printable(large);
	FUZZ_CHECK(!process_name(PID, small, sizeof(small)));
	FUZZ_CHECK(!process_name(PID, large, sizeof(large)));
	FUZZ_CHECK(!strchr(large, '/'));
}

static void read_stat(const struct fuzz_input *input)
{
	(void)input;
	process_image_id(PID);
}

static void read_version(const struct fuzz_input *input)
{
	struct torch_version version = { .torch = "" };
	FILE *file;

	proc.name = "version";
	file = fopen(PID_PATH "version", "re");
	FUZZ_CHECK(file && input);
	torch_version_parse(file, &version);
	fclose(file);
	check_version(&version);
	torch_version_release(version.torch);
}

/* Every file of a session, as list and the session's first record take it. */
static void describe(const struct fuzz_input *input)
{
	struct target target = { .pid = PID };
	struct wire_job job;

	(void)input;
	memset(&job, 0, sizeof(job));
	target_describe(&target, &job);
	check_lines(job.command_line, strnlen(job.command_line, sizeof(job.command_line)));
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	static const struct {
		const char *name;
		void (*read)(const struct fuzz_input *input);
	} files[] = {
		{ "maps", read_maps },		 { "status", read_status },
		{ "environ", read_environment }, { "cmdline", read_command_line },
		{ "stat", read_stat },		 { NULL, read_version },
		{ "cmdline", describe },	 { "environ", describe },
	};
	struct fuzz_input input = { bytes, size_bytes };
	size_t which = fuzz_u8(&input) % (sizeof(files) / sizeof(files[0]));

	proc.name = files[which].name;
	proc.contents = &input;
	files[which].read(&input);
}
