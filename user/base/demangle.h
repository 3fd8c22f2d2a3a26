/* demangle.h - C++ names as people write them, by the C++ runtime's own demangler. */
#ifndef BASE_DEMANGLE_H
#define BASE_DEMANGLE_H

#include <stddef.h>

/* Of the result, its NUL included. */
#define DEMANGLED_BYTES_MAX ((size_t)32 * 1024)

/*
 * malloc'd, the caller's; NULL: it is no mangled name, or too long a one, or memory is out. Any
 * bytes will do: a name of 300 can stand for one of terabytes, so what is longer than
 * DEMANGLED_BYTES_MAX is given up when so much of it has been made.
 */
char *demangle(const char *mangled);

#endif /* BASE_DEMANGLE_H */
