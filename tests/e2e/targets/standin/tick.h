// A function that a user may name as the step (--step symbol:), for its first instruction: the
// 5-byte nop, which some kernels turn into a call and a system call when it is probed.

#ifndef STANDIN_TICK_H
#define STANDIN_TICK_H

extern "C" __attribute__((visibility("default"))) void standin_tick();

#endif
