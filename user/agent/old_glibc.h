/*
 * old_glibc.h - included in front of every file of the agent when it is built for a job: the job's
 * libc may be older than the one of the machine that builds. These functions are the same under
 * both versions; before 2.34 they are in libpthread and libdl, which every PyTorch process has
 * mapped.
 */
#ifndef AGENT_OLD_GLIBC_H
#define AGENT_OLD_GLIBC_H

__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstacksize, pthread_attr_setstacksize@GLIBC_2.2.5");
__asm__(".symver pthread_condattr_setclock, pthread_condattr_setclock@GLIBC_2.3.3");
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_mutex_timedlock, pthread_mutex_timedlock@GLIBC_2.2.5");
__asm__(".symver pthread_mutex_trylock, pthread_mutex_trylock@GLIBC_2.2.5");
__asm__(".symver pthread_setname_np, pthread_setname_np@GLIBC_2.12");

#endif /* AGENT_OLD_GLIBC_H */
