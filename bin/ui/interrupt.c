/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/newfile.h"
#include "ui/progress.h"
#include "ui/report.h"

static volatile sig_atomic_t noted, deferred;
static const char *volatile temporary, *volatile resume;

int
interrupt_tell(int status)
{
	const char *how = resume;

	if (noted == 0 || status != 128 + noted || how == NULL)
		return status;
	resume = NULL;
	report_stopped(status, progress_reached(), how);
	return status;
}

static void
on_signal(int number)
{
	const char *path = temporary;

	if (deferred && noted == 0) {
		noted = number;
		return;
	}
	if (path != NULL)
		unlink(path);
	noted = number;
	interrupt_tell(128 + number);
	_exit(128 + number);
}

void
interrupt_install(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	/* Some parents ignore it for themselves; a closed pipe should end a filter. */
	signal(SIGPIPE, SIG_DFL);
	/* A limit on the size of files is reported like a full disk, with the same cleanup. */
	signal(SIGXFSZ, SIG_IGN);

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action = { .sa_handler = on_signal }, old;
		sigemptyset(&action.sa_mask);
		action.sa_flags = SA_RESTART;
		/* nohup and shells' background jobs ignore them on purpose. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void
interrupt_resume(const char *how)
{
	resume = how;
}

void
interrupt_defer(bool defer)
{
	deferred = defer;
}

int
interrupt_pending(void)
{
	return noted;
}

/* No signal may arrive between the creation of the file and its registration. */
int
interrupt_create(char *path, mode_t mode)
{
	sigset_t all, old;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	fd = lc__make_temporary(path, mode);
	if (fd != -1)
		temporary = path;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return fd;
}

void
interrupt_keep(void)
{
	temporary = NULL;
}

int
interrupt_status(void)
{
	return 128 + (noted ? noted : SIGINT);
}
