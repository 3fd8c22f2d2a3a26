/* lost_kinds.h - what was lost, as a list of names in JSON. */
#ifndef OUTPUT_LOST_KINDS_H
#define OUTPUT_LOST_KINDS_H

#include <stdint.h>

#include "base/json.h"

/* The member "kinds" of the object that is open; kinds: 1 << enum wire_kind. */
void lost_kinds_put(struct json *json, uint32_t kinds);

#endif /* OUTPUT_LOST_KINDS_H */
