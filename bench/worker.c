/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"

#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

/* How often the memory of a working child is looked at, in ms. */
#define LOOK_MS 5

struct worker {
	pid_t pid;    /* of the child */
	int fd;       /* jobs to it, replies from it */
	double first; /* anonymous bytes at its start */
	double most;  /* most anonymous bytes seen */
};

/* The child's life: answer until the parent closes its end. */
static _Noreturn void
serve(int fd, worker_fn *fn, void *ctx)
{
	struct job job;

	while (read(fd, &job, sizeof(job)) == (ssize_t)sizeof(job)) {
		struct reply reply = { { 0 } };
		fn(ctx, &job, &reply);
		if (write(fd, &reply, sizeof(reply)) != (ssize_t)sizeof(reply))
			err(1, "worker: reply");
	}
	fflush(NULL);
	_exit(0);
}

struct worker *
worker_start(worker_fn *fn, void *ctx)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int fds[2];

	if (worker == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) != 0)
		err(1, "worker");
	fflush(NULL);
	worker->pid = fork();
	if (worker->pid < 0)
		err(1, "fork");
	if (worker->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		serve(fds[1], fn, ctx);
	}
	close(fds[1]);
	worker->fd = fds[0];
	worker->first = worker->most = memory_anonymous(worker->pid);
	return worker;
}

static void
look(struct worker *worker)
{
	const double now = memory_anonymous(worker->pid);

	if (now > worker->most)
		worker->most = now;
}

struct reply
worker_ask(struct worker *worker, int what, uint64_t a, uint64_t b)
{
	const struct job job = { what, a, b };
	struct pollfd ready = { worker->fd, POLLIN, 0 };
	struct reply reply;

	if (write(worker->fd, &job, sizeof(job)) != (ssize_t)sizeof(job))
		err(1, "worker: job");
	while (poll(&ready, 1, LOOK_MS) == 0)
		look(worker);
	if (read(worker->fd, &reply, sizeof(reply)) != (ssize_t)sizeof(reply))
		errx(1, "a measuring process ended early");
	look(worker);
	return reply;
}

double
worker_stop(struct worker *worker)
{
	const double grown = worker->most - worker->first;
	int status;

	/* Not only close(): children that were started later hold a copy of it. */
	shutdown(worker->fd, SHUT_RDWR);
	close(worker->fd);
	if (waitpid(worker->pid, &status, 0) != worker->pid || status != 0)
		errx(1, "a measuring process failed at its end");
	free(worker);
	return grown;
}
