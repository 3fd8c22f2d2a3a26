/* multi_link.c - see multi_link.h. */
#include "attach/multi_link.h"

#include <bpf/bpf.h>

int multi_link_make(int program_fd, pid_t pid, const char *path, const struct site_list *sites)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);

	opts.uprobe_multi.path = path;
	opts.uprobe_multi.offsets = sites->offsets;
	opts.uprobe_multi.cookies = sites->cookies;
	opts.uprobe_multi.cnt = (__u32)sites->count;
	opts.uprobe_multi.pid = (__u32)pid;
	return bpf_link_create(program_fd, 0, BPF_TRACE_UPROBE_MULTI, &opts);
}
