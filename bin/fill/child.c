/* SPDX-License-Identifier: BSD-2-Clause */
/* A producer's process: its start, its pipes and its end. */
#include "fill/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "fill/items.h"
#include "fill/protocol.h"
#include "fill/produce.h"
#include "fill/spawn.h"

/* ---- the start --------------------------------------------------------------------- */

/* The variables that cachex sets, NULL-terminated. */
static const char *const variables[] = { "CACHEX_PROTOCOL=", "CACHEX_MODULE=",
	"CACHEX_WORKER=", "CACHEX_FRAME_MAX=", NULL };

static bool
is_ours(const char *entry)
{
	for (size_t i = 0; variables[i] != NULL; i++)
		if (strncmp(entry, variables[i], strlen(variables[i])) == 0)
			return true;
	return false;
}

/* These variables as strings, each followed by a NUL. */
static void
write_variables(const struct lc__child *child, struct lc__buf *out)
{
	lc__buf_printf(out, "%s%d%c", variables[0], LC__PROTOCOL, 0);
	if (child->how->module != NULL)
		lc__buf_printf(out, "%s%s%c", variables[1], child->how->module, 0);
	lc__buf_printf(out, "%s%u%c", variables[2], child->number, 0);
	lc__buf_printf(out, "%s%u%c", variables[3], lc__child_frame_max(child), 0);
}

/* The environment of cachex with those variables; free the array. */
static char **
make_environment(const struct lc__buf *text)
{
	char **out, *entry = (char *)text->data;
	size_t n = 0;

	while (environ != NULL && environ[n] != NULL)
		n++;
	out = calloc(n + sizeof(variables) / sizeof(variables[0]), sizeof(*out));
	if (out == NULL || text->failed) {
		free(out);
		return NULL;
	}
	n = 0;
	for (char **at = environ; at != NULL && *at != NULL; at++)
		if (!is_ours(*at))
			out[n++] = *at;
	for (; entry < (char *)text->data + text->size; entry += strlen(entry) + 1)
		out[n++] = entry;
	return out;
}

/* The system kills the producer's first process with cachex, but that is usually a shell
 * waiting for the process that computes. This one, in the same group, kills the whole
 * group when it sees the end of its pipe. */
static lc_status
set_guard(struct lc__child *child, char *const *environment)
{
	const struct lc__command guard = {
		.text = ": ends a producer when cachex is gone; read x; kill -KILL 0",
		.environment = environment,
		.group = child->process.pid,
	};

	return_if_error(lc__spawn(&guard, &child->guard));
	close(child->guard.out);
	close(child->guard.err);
	return LC_OK;
}

static lc_status
start(struct lc__child *child, char *const *environment)
{
	const struct lc__command command = {
		.text = child->how->command,
		.environment = environment,
	};

	return_if_error(lc__spawn(&command, &child->process));
	return set_guard(child, environment);
}

static void
begin(struct lc__child *child)
{
	child->status = -1;
	child->messages = (struct lc__messages){
		.line = child->how->line,
		.ctx = child->how->line_ctx,
		.child = child->number,
	};
	child->requests.size = child->sent = 0;
	child->sys = 0;
	child->broken = child->answered = child->retiring = child->leaving = false;
	lc__child_next_frame(child);
}

lc_status
lc__child_start(struct lc__child *child)
{
	struct lc__buf text = { 0 };
	char **environment;
	lc_status status;

	begin(child);
	write_variables(child, &text);
	environment = make_environment(&text);
	if (environment == NULL)
		status = lc__no_memory(NULL);
	else
		status = start(child, environment);
	free(environment);
	lc__buf_free(&text);
	return status == LC_OK
	    ? LC_OK
	    : lc__error_prefix("producer %s",
		  lc__quote_id(child->how->command, strlen(child->how->command)));
}

/* How much is read at once, and the largest initial buffer for an answer. */
#define PIECE 65536

static void
close_pipe(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* ---- requests ---------------------------------------------------------------------- */

/* Memory of sent bytes is freed when they are the greater part. */
static void
forget_sent(struct lc__child *child)
{
	const size_t left = child->requests.size - child->sent;

	if (child->sent < left)
		return;
	if (left > 0)
		memmove(child->requests.data, child->requests.data + child->sent, left);
	child->requests.size = left;
	child->sent = 0;
}

lc_status
lc__child_ask(struct lc__child *child, struct lc__subbatch *subbatch, uint64_t number)
{
	size_t before;

	forget_sent(child);
	before = child->requests.size;
	return_if_error(lc__request_write(subbatch, number, &child->requests));
	subbatch->number = number;
	subbatch->bytes = child->requests.size - before;
	for (size_t i = 0; i < subbatch->count; i++)
		lc__subbatch_item(subbatch, i)->attempts++;
	lc__subbatches_append(&child->work, subbatch);
	return LC_OK;
}

/*
 * A producer that has exited must not end cachex. Standard input must be a pipe for
 * programs that open it by name or check its type; a pipe has no MSG_NOSIGNAL, and the
 * disposition of SIGPIPE belongs to the surrounding program: so the signal is blocked
 * here and consumed.
 */
static ssize_t
write_quietly(int fd, const void *data, size_t size)
{
	const struct timespec now = { 0, 0 };
	sigset_t broken, pending, old;
	ssize_t n;
	int sys;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken, &old);
	n = write(fd, data, size);
	sys = errno;
	if (n == -1 && sys == EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&broken, NULL, &now) == -1 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = sys;
	return n;
}

void
lc__child_send(struct lc__child *child)
{
	while (child->process.in != -1 && !child->broken &&
	    child->sent < child->requests.size) {
		const ssize_t n = write_quietly(child->process.in,
		    child->requests.data + child->sent,
		    child->requests.size - child->sent);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		if (n == -1) {
			if (errno != EPIPE)
				child->sys = errno;
			child->broken = true;
			return;
		}
		child->sent += (size_t)n;
		child->count->sent_bytes += (uint64_t)n;
	}
	if (child->retiring)
		close_pipe(&child->process.in);
}

void
lc__child_retire(struct lc__child *child)
{
	child->retiring = true;
	lc__child_send(child);
}

/* ---- answers ------------------------------------------------------------------------ */

void
lc__child_next_frame(struct lc__child *child)
{
	lc__buf_free(&child->frame);
	child->head_size = 0;
	child->frame_size = 0;
}

lc_status
lc__child_check(const struct lc__child *child)
{
	const char *command = child->how->command;

	return child->sys == 0 ? LC_OK
			       : lc__error_sys(child->sys, "producer %s: pipe",
				     lc__quote_id(command, strlen(command)));
}

/* read(2) without interruption by signals: -1 is EAGAIN, 0 the end or a failure. */
static ssize_t
read_some(struct lc__child *child, int fd, void *data, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, data, size);
	} while (n == -1 && errno == EINTR);
	if (n != -1 || errno == EAGAIN)
		return n;
	child->sys = errno;
	return 0;
}

/* Memory for an answer grows with the bytes received, not with the size that it
 * claims. */
static bool
grow_frame(struct lc__child *child)
{
	struct lc__buf *frame = &child->frame;
	size_t room = frame->room < PIECE / 2 ? PIECE : 2 * frame->room;
	unsigned char *data;

	if (room > child->frame_size)
		room = child->frame_size;
	data = realloc(frame->data, room);
	if (data == NULL)
		return false;
	frame->data = data;
	frame->room = room;
	return true;
}

static enum lc__received
receive_head(struct lc__child *child)
{
	const ssize_t n = read_some(child, child->process.out,
	    child->head + child->head_size, sizeof(child->head) - child->head_size);

	if (n <= 0)
		return n == 0 ? LC__END : LC__NOTHING;
	child->count->received_bytes += (uint64_t)n;
	child->head_size += (size_t)n;
	if (child->head_size < sizeof(child->head))
		return LC__NOTHING;
	child->frame_size = lc__get32(child->head);
	if (child->frame_size == 0 || child->frame_size > lc__child_frame_max(child))
		return LC__TOO_LONG;
	return LC__FRAME;
}

static enum lc__received
receive_rest(struct lc__child *child)
{
	struct lc__buf *frame = &child->frame;

	while (frame->size < child->frame_size) {
		ssize_t n;
		if (frame->size == frame->room && !grow_frame(child))
			return LC__NO_ROOM;
		n = read_some(child, child->process.out, frame->data + frame->size,
		    frame->room - frame->size);
		if (n <= 0)
			return n == 0 ? LC__END : LC__NOTHING;
		child->count->received_bytes += (uint64_t)n;
		frame->size += (size_t)n;
	}
	return LC__FRAME;
}

enum lc__received
lc__child_receive(struct lc__child *child)
{
	enum lc__received got = LC__FRAME;

	if (child->process.out == -1)
		return LC__END;
	if (child->head_size < sizeof(child->head))
		got = receive_head(child);
	if (got == LC__FRAME)
		got = receive_rest(child);
	if (got == LC__END)
		close_pipe(&child->process.out);
	return got;
}

void
lc__child_listen(struct lc__child *child)
{
	/* A producer that writes without end must not keep cachex from serving the
	 * others. */
	for (int pieces = 0; pieces < 32 && child->process.err != -1; pieces++) {
		char piece[PIECE];
		const ssize_t n = read_some(child, child->process.err, piece,
		    sizeof(piece));
		if (n < 0)
			return;
		if (n > 0)
			lc__messages_add(&child->messages, piece, (size_t)n);
		else
			close_pipe(&child->process.err);
	}
}

/* ---- the end -------------------------------------------------------------------------- */

/* A pipe without a reader always polls as an error, but its content can still be queried.
 * Small requests are completely in the pipe before the producer closes it, so no write
 * would fail. */
bool
lc__child_closed_input(const struct lc__child *child)
{
	struct pollfd in = { .fd = child->process.in };
	int unread;

	return in.fd != -1 && poll(&in, 1, 0) == 1 && (in.revents & POLLERR) != 0 &&
	    ioctl(in.fd, FIONREAD, &unread) == 0 && unread > 0;
}

/* The content of a pipe can be queried after its reader is gone. */
bool
lc__child_untouched(const struct lc__child *child)
{
	const struct lc__subbatch *subbatch;
	size_t asked = 0;
	int unread;

	if (child->process.in == -1 || ioctl(child->process.in, FIONREAD, &unread) != 0)
		return false;
	for (subbatch = child->work.first; subbatch != NULL; subbatch = subbatch->next)
		asked += subbatch->bytes;
	return asked > 0 && (size_t)unread + child->requests.size - child->sent >= asked;
}

bool
lc__child_ended(const struct lc__child *child)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)child->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
	    0)
		return errno == ECHILD;
	return info.si_pid != 0;
}

/* Wait for a process to end; returns its status, or -1 if another part of the program has
 * waited for it. */
static int
reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

/* Until the process has been waited for, its pid and its group's cannot be reused. */
void
lc__child_stop(struct lc__child *child)
{
	const pid_t pid = child->process.pid;
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		kill(-pid, SIGKILL);
	if (child->guard.pid != 0) {
		close_pipe(&child->guard.in);
		(void)reap(child->guard.pid);
	}
	child->status = reap(pid);
	lc__child_listen(child);
	lc__messages_end(&child->messages);
	close_pipe(&child->process.in);
	close_pipe(&child->process.out);
	close_pipe(&child->process.err);
	child->process.pid = child->guard.pid = 0;
}

void
lc__child_describe_end(const struct lc__child *child, char *out, size_t room)
{
	const int status = child->status;

	if (status == -1)
		snprintf(out, room, "ended");
	else if (WIFSIGNALED(status))
		snprintf(out, room, "was ended by signal %d, %s", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	else
		snprintf(out, room, "ended with status %d", WEXITSTATUS(status));
}

lc_status
lc__child_error(const struct lc__child *child, const char *what)
{
	const char *command = child->how->command;
	char line[400];

	lc__messages_last_line(&child->messages, line, sizeof(line));
	return lc__error(LC_FAILED, 0, "producer %s %s%s%s",
	    lc__quote_id(command, strlen(command)), what, *line != '\0' ? ": " : "",
	    line);
}

void
lc__child_tell(const struct lc__child *child, const char *what)
{
	if (child->how->line != NULL)
		child->how->line(child->how->line_ctx, child->number, what);
}

void
lc__child_free(struct lc__child *child)
{
	if (lc__child_runs(child))
		lc__child_stop(child);
	lc__subbatches_free(&child->work);
	lc__buf_free(&child->requests);
	lc__buf_free(&child->frame);
}
