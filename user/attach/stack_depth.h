/*
 * How far the stack pointer is below its value at the function's entry, at every instruction.
 */
#ifndef ATTACH_STACK_DEPTH_H
#define ATTACH_STACK_DEPTH_H

struct control_flow;

/*
 * Fills sp_below_entry of every instruction: push, pop, add, sub, lea, leave and the frame pointer
 * are followed, all else that writes rsp makes it CONTROL_FLOW_SP_UNKNOWN, as do paths that meet
 * with different values. Returns 0 or -ENOMEM.
 */
int stack_depth_track(struct control_flow *flow);

#endif
