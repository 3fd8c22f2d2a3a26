/* doctor_job.h - the checks of a job: its build of PyTorch, and what of it can be probed. */
#ifndef DOCTOR_JOB_H
#define DOCTOR_JOB_H

#include "checkup.h"
#include "options.h"

/* 0, or why the job cannot be captured, which is logged: -ESRCH, -ENOEXEC, -EPERM and others. */
int doctor_check_job(struct checkup *checkup, const struct options *options);

#endif /* DOCTOR_JOB_H */
