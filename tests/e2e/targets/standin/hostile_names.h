// One range of every name that could hurt a JSON writer, a terminal or a table.

#ifndef STANDIN_HOSTILE_NAMES_H
#define STANDIN_HOSTILE_NAMES_H

#include "truth.h"

void hostile_ranges(Truth &truth);

#endif
