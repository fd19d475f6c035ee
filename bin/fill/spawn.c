/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands as processes: without a fork of the caller's memory, and through a shell only
 * if needed. */
#include "fill/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "lmdbcache.h"

/* ---- is a shell needed? ------------------------------------------------------------ */

/* Words that are part of the shell, not names of programs. */
static const char *const own_words[] = { "!", ".", ":", "[[", "alias", "bg", "break",
	"builtin", "case", "cd", "command", "continue", "do", "done", "elif", "else",
	"esac", "eval", "exec", "exit", "export", "fg", "fi", "for", "function",
	"getopts", "hash", "if", "in", "jobs", "local", "read", "readonly", "return",
	"select", "set", "shift", "source", "then", "time", "times", "trap", "type",
	"ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}", NULL };

static bool
is_own(const char *word, size_t size)
{
	for (size_t i = 0; own_words[i] != NULL; i++)
		if (strlen(own_words[i]) == size && memcmp(own_words[i], word, size) == 0)
			return true;
	return false;
}

static bool
is_name(char c, bool first)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (!first && c >= '0' && c <= '9');
}

static bool
is_assignment(const char *word)
{
	size_t n = 0;

	while (is_name(word[n], n == 0))
		n++;
	return n > 0 && word[n] == '=';
}

/* The character after a quoted or escaped part; NULL if it is not terminated. */
static const char *
skip_quoted(const char *at)
{
	const char quote = *at++;

	if (quote == '\\')
		return *at != '\0' ? at + 1 : NULL;
	while (*at != '\0' && *at != quote)
		at += quote == '"' && *at == '\\' && at[1] != '\0' ? 2 : 1;
	return *at == quote ? at + 1 : NULL;
}

/* Does it end a command, or need more of the shell than words and redirections? */
static bool
is_operator(const char *command, const char *at)
{
	if (*at == '&')
		return at == command || (at[-1] != '>' && at[-1] != '<');
	return strchr(";|()`\n", *at) != NULL;
}

/* The end of the word; NULL if the command is not a single one. */
static const char *
end_of_word(const char *command, const char *at)
{
	while (at != NULL && *at != '\0' && *at != ' ' && *at != '\t') {
		if (is_operator(command, at))
			return NULL;
		at = strchr("'\"\\", *at) != NULL ? skip_quoted(at) : at + 1;
	}
	return at;
}

/* The position of the program in a single command, after assignments; NULL if there is
 * none. */
static const char *
find_program(const char *command)
{
	const char *program = NULL, *at = command, *end;

	for (; *at != '\0'; at = end + strspn(end, " \t")) {
		end = end_of_word(command, at);
		if (end == NULL)
			return NULL;
		if (program != NULL || end == at || is_assignment(at))
			continue;
		if (is_own(at, (size_t)(end - at)) || strchr("-<>#", *at) != NULL)
			return NULL;
		program = at;
	}
	return program;
}

void
lc__shell_script(const char *command, struct lc__buf *out)
{
	const char *program = find_program(command);

	if (program != NULL) {
		lc__buf_append(out, command, (size_t)(program - command));
		lc__buf_append(out, "exec ", 5);
		command = program;
	}
	lc__buf_append(out, command, strlen(command) + 1);
}

/* ---- the process ------------------------------------------------------------------- */

/* The size of a pipe, if the system allows it: a small frame is then written at once. */
#define PIPE_ROOM (1 << 20)

/* What the child needs, prepared before it exists. */
struct start {
	char *const *arguments;
	char *const *environment;
	pid_t group;
	pid_t parent;
	int ends[3]; /* its standard descriptors; all above 2 */
	int error;   /* written by the child: errno of the failure */
};

static void
close_one(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* In the child. exec keeps ignored signals ignored: SIGPIPE and SIGXFSZ must have their
 * defaults, as every program expects; others may be ignored on purpose. No handler of
 * cachex may run there once signals are unblocked. */
static void
reset_signals(void)
{
	struct sigaction action, fresh;

	memset(&fresh, 0, sizeof(fresh));
	fresh.sa_handler = SIG_DFL;
	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &action) == 0 &&
		    (action.sa_handler != SIG_IGN || number == SIGPIPE ||
			number == SIGXFSZ))
			(void)sigaction(number, &fresh, NULL);
	sigemptyset(&fresh.sa_mask);
	sigprocmask(SIG_SETMASK, &fresh.sa_mask, NULL);
}

/* In the child. exec closes our descriptors; the surrounding program may have others. */
static void
close_others(void)
{
	struct rlimit limit;
	int end = 65536;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)end)
		end = (int)limit.rlim_cur;
	for (int fd = 3; fd < end; fd++)
		close(fd);
}

/* In the child; does not return. */
static void __attribute__((noreturn)) become(struct start *start)
{
	if (setpgid(0, start->group) != 0)
		goto failed;
	if (start->group == 0 &&
	    (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != start->parent))
		goto failed;
	for (int i = 0; i < 3; i++)
		if (dup2(start->ends[i], i) == -1)
			goto failed;
	close_others();
	reset_signals();
	execve("/bin/sh", start->arguments, start->environment);
failed:
	start->error = errno != 0 ? errno : ECHILD;
	_exit(127);
}

/* Not inlined: the child shares the stack, and would modify the caller's frame. */
static pid_t __attribute__((noinline)) run_start(struct start *start)
{
	pid_t pid = vfork();

	if (pid == 0)
		become(start);
	return pid;
}

static bool
make_pipes(int theirs[3], int ours[3])
{
	for (int i = 0; i < 3; i++) {
		int ends[2] = { -1, -1 };
		const bool made = lc__pipe(ends) == 0;
		theirs[i] = ends[i == 0 ? 0 : 1];
		ours[i] = ends[i == 0 ? 1 : 0];
		if (!made || fcntl(ours[i], F_SETFL, O_NONBLOCK) != 0)
			return false;
		if (i < 2)
			(void)fcntl(ours[i], F_SETPIPE_SZ, PIPE_ROOM);
	}
	return true;
}

/* No handler may run in the child between vfork and exec. */
static pid_t
run_masked(struct start *start)
{
	sigset_t all, old;
	pid_t pid;
	int sys;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = run_start(start);
	sys = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = sys;
	return pid;
}

/* The child ended before exec. */
static lc_status
give_up(pid_t pid, int sys)
{
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	/* A missing shell is not a failure of the system. */
	if (sys != ENOENT && sys != ENOTDIR && sys != EACCES)
		return lc__error_sys(sys, "cannot run /bin/sh");
	return lc__error(LC_FAILED, sys, "cannot run /bin/sh");
}

static lc_status
spawn(const struct lc__command *command, const char *script, struct lc__spawned *out)
{
	const char *arguments[] = { "sh", "-c", script, NULL };
	struct start start = {
		.arguments = (char *const *)arguments,
		.environment = command->environment,
		.group = command->group,
		.parent = getpid(),
		.ends = { -1, -1, -1 },
	};
	int ours[3] = { -1, -1, -1 };
	lc_status status = LC_OK;
	pid_t pid = -1;

	if (make_pipes(start.ends, ours))
		pid = run_masked(&start);
	if (pid == -1)
		status = lc__error_sys(errno, "cannot start a process");
	else if (start.error != 0)
		status = give_up(pid, start.error);
	for (int i = 0; i < 3; i++) {
		close_one(&start.ends[i]);
		if (status != LC_OK)
			close_one(&ours[i]);
	}
	if (status != LC_OK)
		return status;
	*out = (struct lc__spawned){ pid, ours[0], ours[1], ours[2] };
	return LC_OK;
}

lc_status
lc__spawn(const struct lc__command *command, struct lc__spawned *out)
{
	struct lc__buf script = { 0 };
	lc_status status;

	lc__shell_script(command->text, &script);
	status = script.failed ? lc__no_memory(NULL)
			       : spawn(command, (const char *)script.data, out);
	lc__buf_free(&script);
	return status;
}
