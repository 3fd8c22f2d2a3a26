/* kinds.h - what CUPTI is asked to record. On the caller's thread. */
#ifndef AGENT_KINDS_H
#define AGENT_KINDS_H

struct session;

/*
 * Enables what Kineto does. 0, or the CUptiResult that makes it pointless; a kind that alone is
 * refused is said. Stops early when the session is abandoned.
 */
int kinds_enable(struct session *session);

/* What kinds_enable() enabled. */
void kinds_disable(struct session *session);

#endif /* AGENT_KINDS_H */
