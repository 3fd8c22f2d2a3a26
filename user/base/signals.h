/* signals.h - SIGINT, SIGTERM and SIGHUP as a descriptor: no handler runs, nothing is interrupted.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <stdbool.h>

/* A descriptor for poll, or a negative errno. The signals are blocked from here on. */
int signals_open(void);

/* Takes one waiting signal, if there is one. */
bool signals_take(int fd);

#endif /* BASE_SIGNALS_H */
