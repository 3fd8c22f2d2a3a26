/* list.c - the PyTorch processes of this host, and how many could not be looked into. */
#include "list.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/target.h"
#include "base/log.h"
#include "base/text.h"
#include "session.h"

struct listing {
	unsigned int shown, refused;
};

static const char *known(const char *text)
{
	return text[0] ? text : "-";
}

static void user_name(uid_t uid, char *to, size_t size_bytes)
{
	const struct passwd *entry = getpwuid(uid);

	if (entry)
		text_printable(to, size_bytes, entry->pw_name);
	else
		snprintf(to, size_bytes, "%u", uid);
}

static const char *rank_text(pid_t pid, const char *const *variables, char *to, size_t size_bytes)
{
	int rank = target_rank(pid, variables);

	if (rank == WIRE_RANK_UNKNOWN)
		return "-";
	snprintf(to, size_bytes, "%d", rank);
	return to;
}

static void show(struct listing *listing, pid_t pid, const struct torch_version *version)
{
	char user[64], rank[16], world_size[16], raw[1024], command_line[1024];
	struct process_status status;

	if (process_status(pid, &status) || process_command_line(pid, raw, sizeof(raw)))
		return; /* it has ended meanwhile */
	if (!listing->shown++)
		printf("%8s %8s %-12s %5s %6s %-14s %-7s %-6s %s\n", "PID", "NSPID", "USER", "RANK",
		       "WORLD", "PYTORCH", "PYTHON", "CUDA", "COMMAND");
	user_name(status.uid, user, sizeof(user));
	printf("%8d %8d %-12s %5s %6s %-14s %-7s %-6s %s\n", pid, status.namespace_pid, user,
	       rank_text(pid, target_rank_variables, rank, sizeof(rank)),
	       rank_text(pid, target_world_size_variables, world_size, sizeof(world_size)),
	       known(version->torch), known(version->python), known(version->cuda),
	       text_printable(command_line, sizeof(command_line), raw));
}

static void look_at(struct listing *listing, pid_t pid)
{
	struct torch_version version;
	bool is_torch = false;
	int err = target_probe_torch(pid, &version, &is_torch);

	if (err == -EACCES || err == -EPERM)
		listing->refused++;
	else if (!err && is_torch)
		show(listing, pid, &version);
}

int list_run(void)
{
	struct listing listing = { 0, 0 };
	const struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc) {
		log_err("/proc cannot be read: %s", strerror(errno));
		return EXIT_FAILED;
	}
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			look_at(&listing, pid);
	}
	closedir(proc);
	if (!listing.shown)
		log_info("no PyTorch process was found");
	if (listing.refused)
		log_info("%u process%s may not be looked into%s", listing.refused,
			 listing.refused == 1 ? "" : "es",
			 geteuid() ? "; run as root to see all" : ", not even by root here");
	return EXIT_COMPLETE;
}
