/*
 * doctor.h - `tpbpf doctor`: looks at what a capture needs of this host, and with -p of a job,
 * tries it on a child of its own, and says what works, what does not, and the mend. Leaves nothing
 * behind and does nothing to the job.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "options.h"

/* The exit code. */
int doctor_run(const struct options *options);

#endif /* DOCTOR_H */
