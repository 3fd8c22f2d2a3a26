/* kernel_layout.c - see kernel_layout.h. */
#include "attach/kernel_layout.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"

#define BITS 8
#define DEPTH_MAX 4 /* task_struct has its members in a struct of its own on some kernels */

/* *bits grows by the member's offset in the struct type; *type becomes its own. */
static bool find_member(const struct btf *btf, const char *name, unsigned int depth, __u32 *type,
			__u32 *bits)
{
	const struct btf_type *description = btf__type_by_id(btf, *type);
	const struct btf_member *member;
	__u16 i;

	if (!description || !btf_is_composite(description) || depth == DEPTH_MAX)
		return false;
	member = btf_members(description);
	for (i = 0; i < btf_vlen(description); i++) {
		const char *own = btf__name_by_offset(btf, member[i].name_off);
		__u32 inner_type = member[i].type;
		__u32 inner_bits = *bits + btf_member_bit_offset(description, i);

		if (own && (*own ? !strcmp(own, name)
				 : find_member(btf, name, depth + 1, &inner_type, &inner_bits))) {
			*type = inner_type;
			*bits = inner_bits;
			return true;
		}
	}
	return false;
}

uint32_t kernel_layout_task_fsbase(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	__u32 type, bits = 0;
	__s32 id;
	bool is_found = false;

	if (!btf) {
		log_debug("the kernel does not describe its types (/sys/kernel/btf/vmlinux)");
		return 0;
	}
	id = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	type = (__u32)id;
	if (id > 0)
		is_found = find_member(btf, "thread", 0, &type, &bits) &&
			   find_member(btf, "fsbase", 0, &type, &bits);
	btf__free(btf);
	return is_found ? bits / BITS : 0;
}
