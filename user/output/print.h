/* print.h - printf into a byte sink. */
#ifndef OUTPUT_PRINT_H
#define OUTPUT_PRINT_H

#include "base/byte_sink.h"

/* 0 or a negative errno. Lines up to 4 KiB; a longer one is cut. */
int print(struct byte_sink *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* OUTPUT_PRINT_H */
