/* elf_file.h - does a file define a function? */
#ifndef AGENT_ELF_FILE_H
#define AGENT_ELF_FILE_H

#include <stdbool.h>

/*
 * True if a symbol table of path, the one for the debugger included, defines function. Reads in
 * pieces, and does not map: a file that shrinks meanwhile must not bring a SIGBUS to the job.
 */
bool elf_file_defines(const char *path, const char *function);

#endif /* AGENT_ELF_FILE_H */
