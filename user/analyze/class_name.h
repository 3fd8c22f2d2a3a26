/*
 * class_name.h - the name of a C++ class from its run-time type information, as C++ writes it.
 * What a class may be called in full is a language of its own; here is the part that names classes:
 * namespaces, templates of types and of integers, anonymous namespaces.
 */
#ifndef ANALYZE_CLASS_NAME_H
#define ANALYZE_CLASS_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define CLASS_NAME_BYTES 1024 /* of the result, its NUL included */

/*
 * "N5torch8autograd14AccumulateGradE" -> "torch::autograd::AccumulateGrad". false: not understood,
 * or longer than CLASS_NAME_BYTES; what stands in out then is undefined. Any bytes will do.
 */
bool class_name_read(const char *mangled, char out[CLASS_NAME_BYTES]);

#endif /* ANALYZE_CLASS_NAME_H */
