/* devices.h - what the driver says of its devices. */
#ifndef AGENT_DEVICES_H
#define AGENT_DEVICES_H

struct session;

/* A record for each; what the driver does not tell is 0. On the caller's thread. */
void devices_say(struct session *session, int count);

#endif /* AGENT_DEVICES_H */
