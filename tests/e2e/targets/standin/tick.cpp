#include "tick.h"

asm(".text\n"
    ".globl standin_tick\n"
    ".type standin_tick, @function\n"
    "standin_tick:\n"
    "	.cfi_startproc\n"
    "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n" // nopl 0(%rax,%rax,1)
    "	ret\n"
    "	.cfi_endproc\n"
    ".size standin_tick, .-standin_tick\n");
