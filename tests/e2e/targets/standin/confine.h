// What a process may be forbidden.

#ifndef STANDIN_CONFINE_H
#define STANDIN_CONFINE_H

// Every limit that a running process can do with at 0 is 0: descriptors, files, memory beyond what
// it has. Standard output then goes through another process, made before.
void confine_limits();

// A filter that kills the process at any system call that it does not make by itself.
void confine_system_calls();

// Waits until the other process has written everything.
void confine_finish();

#endif
