/*
 * link_child.c - see link_child.h. The child lives for one call, in a process group of its own and
 * with all signals blocked, so that neither a terminal nor a kill of our group ends it; it outlives
 * us for as long as its work takes. Not in a session of its own: the scheduler's autogroups go by
 * session, and our priority would count for nothing there. It leaves by _exit: what stdio holds and
 * what runs at exit is ours.
 *
 * A link goes when its last descriptor is closed, and that must happen in the child or in a
 * process that exits. So the child closes links only after we have closed ours, and no other child
 * may have copies at that time: links are closed by an exec, each of our children is waited for by
 * the function that made it (the kernel's check, the measuring of costs, and here), and there is
 * no second thread to start one meanwhile.
 *
 * The child has copies of all other descriptors, too. It closes what it does not need, lest it
 * hold the job's lock or the other end of our output's pipe when we have been killed.
 */
#include "attach/link_child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"

#define TIMEOUT_NS 30000000000ULL /* thousands of sites take a tenth of a second */
#define CLOSERS_MAX 32		  /* threads that close links, ours the first */
#define CLOSER_STACK_BYTES (64UL * 1024)

struct child {
	pid_t pid; /* 0: this is the child */
	int socket;
};

static int child_fork(struct child *child)
{
	sigset_t all, before;
	int sockets[2], err = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child->pid = fork();
	if (!child->pid) {
		setpgid(0, 0);
		prctl(PR_SET_NAME, "tpbpf-links");
		close(sockets[0]);
		child->socket = sockets[1];
		return 0;
	}
	if (child->pid < 0)
		err = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	child->socket = sockets[0];
	if (err)
		close(sockets[0]);
	return err;
}

/* The lowest of these that is not below from; ~0U: none. They are few, and their order matters. */
static unsigned int next_kept(const int *fds, size_t count, int socket, unsigned int from)
{
	unsigned int next = (unsigned int)socket >= from ? (unsigned int)socket : ~0U;
	size_t i;

	for (i = 0; i < count; i++) {
		unsigned int fd = (unsigned int)fds[i];

		if (fd >= from && fd < next)
			next = fd;
	}
	return next;
}

static void close_all_but(const int *fds, size_t count, int socket)
{
	unsigned int from = 0, kept = next_kept(fds, count, socket, from);

	while (kept != ~0U) {
		if (kept > from)
			close_range(from, kept - 1, 0);
		from = kept + 1;
		kept = next_kept(fds, count, socket, from);
	}
	close_range(from, ~0U, 0);
}

/* A result of make, with the descriptor if it is one: a message each. */
struct reply {
	int result;
	struct iovec part;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message;
};

static void reply_init(struct reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	reply->part.iov_base = &reply->result;
	reply->part.iov_len = sizeof(reply->result);
	reply->message.msg_iov = &reply->part;
	reply->message.msg_iovlen = 1;
	reply->message.msg_control = reply->control.bytes;
	reply->message.msg_controllen = sizeof(reply->control.bytes);
}

static bool reply_send(int socket, int result)
{
	struct cmsghdr *header;
	struct reply reply;

	reply_init(&reply);
	reply.result = result;
	if (result < 0) {
		reply.message.msg_control = NULL;
		reply.message.msg_controllen = 0;
	} else {
		header = CMSG_FIRSTHDR(&reply.message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(result));
		memcpy(CMSG_DATA(header), &result, sizeof(result));
	}
	return sendmsg(socket, &reply.message, MSG_NOSIGNAL) == (ssize_t)sizeof(result);
}

static int reply_receive(int socket)
{
	const struct cmsghdr *header;
	struct reply reply;
	int fd;

	reply_init(&reply);
	if (recvmsg(socket, &reply.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(reply.result))
		return -EIO;
	if (reply.result < 0)
		return reply.result;
	header = CMSG_FIRSTHDR(&reply.message);
	if (!header || header->cmsg_len != CMSG_LEN(sizeof(fd))) /* no room in our table */
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* Until the child has answered or is gone. */
static bool wait_readable(int socket)
{
	uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + TIMEOUT_NS;
	struct pollfd fd = { .fd = socket, .events = POLLIN };

	while (now_ns < deadline_ns) {
		int ready = poll(&fd, 1, (int)((deadline_ns - now_ns) / 1000000 + 1));

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
		now_ns = clock_monotonic_ns();
	}
	return false;
}

/* It is about to leave: no deadline. */
static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void close_each(const int *fds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		close(fds[i]);
}

/* All of them, or none and the error of the one that failed. */
static int make_all(const struct link_maker *maker, int *fds)
{
	size_t made = 0;

	while (made < maker->count) {
		int fd = maker->make(maker->context, made);

		if (fd < 0) {
			close_each(fds, made);
			return fd;
		}
		fds[made++] = fd;
	}
	return 0;
}

/* If we are gone the links go as the child exits. */
static __attribute__((noreturn)) void run_attach(int socket, const struct link_maker *maker,
						 int *fds)
{
	int err = make_all(maker, fds);
	size_t made = err ? 0 : maker->count, sent = 0;

	privilege_keep(0);
	close_all_but(fds, made, socket);
	if (err)
		reply_send(socket, err);
	while (sent < made && reply_send(socket, fds[sent]))
		sent++;
	_exit(0);
}

static int receive_all(int socket, int *fds, size_t count, size_t *received)
{
	for (*received = 0; *received < count; (*received)++) {
		int fd = wait_readable(socket) ? reply_receive(socket) : -ETIMEDOUT;

		if (fd < 0)
			return fd;
		fds[*received] = fd;
	}
	return 0;
}

int link_child_attach(const struct link_maker *maker, int *fds)
{
	struct child child = { .pid = -1 };
	size_t received;
	int err;

	if (!maker->count)
		return 0;
	err = child_fork(&child);
	if (err) {
		log_debug("attaching without a child: %s", strerror(-err));
		return make_all(maker, fds);
	}
	if (!child.pid)
		run_attach(child.socket, maker, fds);
	err = receive_all(child.socket, fds, maker->count, &received);
	close(child.socket); /* what it has not said yet nobody waits for */
	if (err != -ETIMEDOUT)
		reap(child.pid);
	if (err)
		link_child_detach(fds, received);
	return err;
}

/* Links that several threads close. */
struct closing {
	const int *fds;
	size_t count;
	size_t next; /* shared */
};

static void *close_some(void *context)
{
	struct closing *closing = context;
	size_t i = __atomic_fetch_add(&closing->next, 1, __ATOMIC_RELAXED);

	while (i < closing->count) {
		close(closing->fds[i]);
		i = __atomic_fetch_add(&closing->next, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Each link's end waits for grace periods, 25 to 60 ms whatever it probes: those who wait at the
 * same time wait for the same ones. All threads are through before we go on: to leave kills them.
 */
static void close_together(const int *fds, size_t count)
{
	struct closing closing = { .fds = fds, .count = count };
	pthread_t threads[CLOSERS_MAX - 1];
	pthread_attr_t attributes;
	size_t started = 0, i;

	if (!pthread_attr_init(&attributes)) {
		pthread_attr_setstacksize(&attributes, CLOSER_STACK_BYTES);
		while (started + 1 < count && started < CLOSERS_MAX - 1 &&
		       !pthread_create(&threads[started], &attributes, close_some, &closing))
			started++;
		pthread_attr_destroy(&attributes);
	}
	close_some(&closing);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static __attribute__((noreturn)) void run_detach(int socket, const int *fds, size_t count)
{
	char byte;

	privilege_keep(0); /* to close a link takes none */
	close_all_but(fds, count, socket);
	/* Ends when our parent has closed its own or exits, which closes them as well. */
	recv(socket, &byte, sizeof(byte), 0);
	close_together(fds, count);
	_exit(0);
}

void link_child_detach(const int *fds, size_t count)
{
	struct child child = { .pid = -1 };
	int err;

	if (!count)
		return;
	err = child_fork(&child);
	if (err) {
		log_debug("detaching without a child: %s", strerror(-err));
		close_each(fds, count);
		return;
	}
	if (!child.pid)
		run_detach(child.socket, fds, count);
	close_each(fds, count); /* quick: the child has them */
	send(child.socket, "", 1, MSG_NOSIGNAL);
	/* It answers nothing; its end closes when it is through. */
	if (wait_readable(child.socket))
		reap(child.pid);
	else
		log_warn("the kernel is slow to remove probes: it goes on with it meanwhile");
	close(child.socket);
}
