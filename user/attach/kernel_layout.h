/* kernel_layout.h - where the running kernel keeps what the programs read of it. */
#ifndef ATTACH_KERNEL_LAYOUT_H
#define ATTACH_KERNEL_LAYOUT_H

#include <stdint.h>

/*
 * Offset of thread.fsbase in struct task_struct, by the kernel's own description of its types. It
 * holds what a thread was given as its fs base when it was made. 0: the kernel has no description.
 */
uint32_t kernel_layout_task_fsbase(void);

#endif /* ATTACH_KERNEL_LAYOUT_H */
