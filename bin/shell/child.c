/* SPDX-License-Identifier: BSD-2-Clause */
#include "shell/child.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/interrupt.h"
#include "ui/report.h"

static volatile pid_t running;
static volatile sig_atomic_t noted;

static void
on_signal(int number)
{
	if (number == SIGTERM && running > 0)
		kill(running, number);
	if (number != SIGINT)
		noted = number;
}

/* What signals do in the shell, kept while a child runs. */
static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define CAUGHT (sizeof(caught) / sizeof(caught[0]))

static void
catch_signals(struct sigaction *before)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], NULL, &before[i]);
		if (caught[i] == SIGQUIT)
			action.sa_handler = SIG_IGN;
		if (before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
}

static void
restore_signals(const struct sigaction *before)
{
	for (size_t i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &before[i], NULL);
}

static void __attribute__((noreturn)) run_child(const struct shell_child *child,
    const struct sigaction *before, const sigset_t *mask)
{
	restore_signals(before);
	/* At a terminal the shell has a handler of its own. */
	interrupt_install();
	sigprocmask(SIG_SETMASK, mask, NULL);
	/* The line editor needs the user's locale; commands never have it. */
	setlocale(LC_CTYPE, "C");
	report_command(NULL);
	report_place(child->place);
	if ((child->input != -1 && dup2(child->input, STDIN_FILENO) == -1) ||
	    (child->output != -1 && dup2(child->output, STDOUT_FILENO) == -1) ||
	    (child->errors != -1 && dup2(child->errors, STDERR_FILENO) == -1))
		exit(report_errno("standard descriptors"));
	exit(child->run(child->argc, child->argv));
}

int
shell_child_run(const struct shell_child *child)
{
	struct sigaction before[CAUGHT];
	sigset_t all, mask;
	int status = 0;
	pid_t pid, ended;

	fflush(stdout);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	catch_signals(before);
	pid = fork();
	if (pid == 0)
		run_child(child, before, &mask);
	running = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (pid == -1) {
		restore_signals(before);
		return report_errno("fork");
	}
	do
		ended = waitpid(pid, &status, 0);
	while (ended == -1 && errno == EINTR);
	running = 0;
	restore_signals(before);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGPIPE && WTERMSIG(status) != SIGINT)
		report_error(128 + WTERMSIG(status), "%s: ended by signal %d, %s",
		    child->argv[1], WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}

int
shell_child_signal(void)
{
	return noted;
}
