/*
 * single_check.h - may a uprobe be made as a perf event, one by one? That is how kernels before 6.6
 * attach, and it takes CAP_SYS_ADMIN since commit ba677dbe77af (6.16, and in stable kernels).
 */
#ifndef ATTACH_SINGLE_CHECK_H
#define ATTACH_SINGLE_CHECK_H

/*
 * Makes one for this process, on an instruction that is never run, and removes it. 0; -EACCES or
 * -EPERM: not permitted; -ENOENT: this kernel has no uprobes as perf events; other negative errnos.
 */
int single_check_uprobe(void);

#endif /* ATTACH_SINGLE_CHECK_H */
