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
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"

#define TIMEOUT_NS 30000000000ULL /* thousands of sites take a third of a second */

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

static void close_range_but(unsigned int first, unsigned int last, unsigned int kept)
{
	if (kept >= first && kept <= last) {
		if (kept > first)
			close_range(first, kept - 1, 0);
		first = kept + 1;
	}
	if (first <= last)
		close_range(first, last, 0);
}

static int compare_fds(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

static void close_all_but(int *fds, size_t count, int socket)
{
	unsigned int next = 0;
	size_t i;

	qsort(fds, count, sizeof(*fds), compare_fds);
	for (i = 0; i < count; i++) {
		if ((unsigned int)fds[i] > next)
			close_range_but(next, (unsigned int)fds[i] - 1, (unsigned int)socket);
		next = (unsigned int)fds[i] + 1;
	}
	close_range_but(next, ~0U, (unsigned int)socket);
}

/* A result of make, with the descriptor if it is one. */
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

/* If we are gone the link goes as the child exits. */
static __attribute__((noreturn)) void run_attach(int socket, int (*make)(void *context),
						 void *context)
{
	int result = make(context);

	privilege_keep(0);
	close_all_but(&result, result >= 0, socket);
	reply_send(socket, result);
	_exit(0);
}

int link_child_attach(int (*make)(void *context), void *context)
{
	struct child child = { .pid = -1 };
	int result = child_fork(&child);

	if (result) {
		log_debug("attaching without a child: %s", strerror(-result));
		return make(context);
	}
	if (!child.pid)
		run_attach(child.socket, make, context);
	if (wait_readable(child.socket)) {
		result = reply_receive(child.socket);
		reap(child.pid);
	} else {
		result = -ETIMEDOUT;
	}
	close(child.socket);
	return result;
}

static void close_each(const int *fds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		close(fds[i]);
}

static __attribute__((noreturn)) void run_detach(int socket, int *fds, size_t count)
{
	char byte;

	privilege_keep(0); /* to close a link takes none */
	close_all_but(fds, count, socket);
	/* Ends when our parent has closed its own or exits, which closes them as well. */
	recv(socket, &byte, sizeof(byte), 0);
	close_each(fds, count);
	_exit(0);
}

void link_child_detach(int *fds, size_t count)
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
