/*
 * python_layout.h - where CPython keeps what the programs read of its frames. By offsetof against
 * the headers of 3.11.2, 3.11.7, 3.12.1 and 3.13.0 (Include/internal/pycore_frame.h, cpython/
 * pystate.h, cpython/code.h, cpython/unicodeobject.h); they do not change within a minor release.
 */
#ifndef ATTACH_PYTHON_LAYOUT_H
#define ATTACH_PYTHON_LAYOUT_H

#include <stdbool.h>

#include "probe_config.h"

/*
 * version: "3.11", and a "t" behind it where there is no interpreter lock. False, with config as it
 * is: the layout is not known. Before 3.11 every call of Python's enters the loop that is probed.
 */
bool python_layout_of(const char *version, struct probe_config *config);

#endif /* ATTACH_PYTHON_LAYOUT_H */
