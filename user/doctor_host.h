/* doctor_host.h - the checks of the host: kernel, capabilities, limits, and a trial on a child. */
#ifndef DOCTOR_HOST_H
#define DOCTOR_HOST_H

#include "checkup.h"

void doctor_check_host(struct checkup *checkup);

#endif /* DOCTOR_HOST_H */
