/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every system call of every command fails, once and for ever: the program is traced, and the
 * kernel is kept from doing what it is asked. Also those of the C library's inside and
 * of children until they run another program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faulted.h"
#include "torture.h"

#if defined(__x86_64__) && defined(__linux__)

#define VARIANTS 3
#define WATCHDOG 60 /* seconds */
#define TRACEES 64

/* What fails, and how; a call with fewer ways than VARIANTS has the first ones again. */
static const struct row {
	long number;
	const char *name;
	int errnos[VARIANTS];
	bool done; /* the kernel does it, and says that it did not */
} rows[] = {
	{ SYS_openat, "openat", { EIO, EMFILE, EACCES }, false },
	{ SYS_read, "read", { EIO, EINTR, ENOMEM }, false },
	{ SYS_pread64, "pread", { EIO, EINTR, ENOMEM }, false },
	{ SYS_write, "write", { EIO, ENOSPC, EINTR }, false },
	{ SYS_pwrite64, "pwrite", { EIO, ENOSPC, EINTR }, false },
	{ SYS_writev, "writev", { EIO, ENOSPC, EINTR }, false },
	{ SYS_pwritev, "pwritev", { EIO, ENOSPC, EINTR }, false },
	{ SYS_fsync, "fsync", { EIO, ENOSPC, EIO }, false },
	{ SYS_fdatasync, "fdatasync", { EIO, ENOSPC, EIO }, false },
	{ SYS_ftruncate, "ftruncate", { EIO, ENOSPC, EINTR }, false },
	{ SYS_fallocate, "fallocate", { EIO, ENOSPC, EOPNOTSUPP }, false },
	{ SYS_rename, "rename", { EIO, ENOSPC, EACCES }, false },
	{ SYS_renameat, "renameat", { EIO, ENOSPC, EACCES }, false },
	{ SYS_renameat2, "renameat2", { EIO, ENOSPC, EACCES }, false },
	{ SYS_link, "link", { EIO, ENOSPC, EACCES }, false },
	{ SYS_linkat, "linkat", { EIO, ENOSPC, EACCES }, false },
	{ SYS_symlink, "symlink", { EIO, ENOSPC, EACCES }, false },
	{ SYS_symlinkat, "symlinkat", { EIO, ENOSPC, EACCES }, false },
	{ SYS_unlink, "unlink", { EIO, EACCES, ENOMEM }, false },
	{ SYS_unlinkat, "unlinkat", { EIO, EACCES, ENOMEM }, false },
	{ SYS_rmdir, "rmdir", { EIO, EACCES, ENOMEM }, false },
	{ SYS_mkdir, "mkdir", { EIO, ENOSPC, EACCES }, false },
	{ SYS_mkdirat, "mkdirat", { EIO, ENOSPC, EACCES }, false },
	{ SYS_stat, "stat", { EIO, EACCES, ENOMEM }, false },
	{ SYS_lstat, "lstat", { EIO, EACCES, ENOMEM }, false },
	{ SYS_fstat, "fstat", { EIO, EIO, ENOMEM }, false },
	{ SYS_newfstatat, "fstatat", { EIO, EACCES, ENOMEM }, false },
	{ SYS_access, "access", { EIO, EACCES, ENOMEM }, false },
	{ SYS_faccessat, "faccessat", { EIO, EACCES, ENOMEM }, false },
	{ SYS_statfs, "statfs", { EIO, EACCES, ENOMEM }, false },
	{ SYS_fstatfs, "fstatfs", { EIO, EIO, ENOMEM }, false },
	{ SYS_readlink, "readlink", { EIO, EACCES, ENOMEM }, false },
	{ SYS_readlinkat, "readlinkat", { EIO, EACCES, ENOMEM }, false },
	{ SYS_getdents64, "getdents", { EIO, EIO, ENOMEM }, false },
	{ SYS_lseek, "lseek", { EIO, EINVAL, EIO }, false },
	{ SYS_mmap, "mmap", { ENOMEM, EAGAIN, ENOMEM }, false },
	{ SYS_mprotect, "mprotect", { ENOMEM, ENOMEM, ENOMEM }, false },
	{ SYS_msync, "msync", { EIO, ENOMEM, EIO }, false },
	{ SYS_madvise, "madvise", { EIO, ENOMEM, EINVAL }, false },
	{ SYS_fadvise64, "fadvise", { EIO, EINVAL, ENOMEM }, false },
	{ SYS_flock, "flock", { EIO, EINTR, ENOLCK }, false },
	{ SYS_fcntl, "fcntl", { EIO, EMFILE, ENOLCK }, false },
	{ SYS_close, "close", { EIO, EINTR, ENOSPC }, true },
	{ SYS_dup, "dup", { EMFILE, EIO, EMFILE }, false },
	{ SYS_dup2, "dup2", { EMFILE, EIO, EINTR }, false },
	{ SYS_pipe2, "pipe2", { EMFILE, ENFILE, EMFILE }, false },
	{ SYS_socketpair, "socketpair", { EMFILE, ENFILE, ENOMEM }, false },
	{ SYS_clone, "clone", { EAGAIN, ENOMEM, EAGAIN }, false },
	{ SYS_clone3, "clone3", { EAGAIN, ENOMEM, EAGAIN }, false },
	{ SYS_vfork, "vfork", { EAGAIN, ENOMEM, EAGAIN }, false },
	{ SYS_kill, "kill", { EPERM, EPERM, EPERM }, true },
	{ SYS_fchmod, "fchmod", { EIO, EPERM, EIO }, false },
	{ SYS_utimensat, "utimensat", { EIO, EACCES, EIO }, false },
	{ SYS_poll, "poll", { ENOMEM, EINTR, ENOMEM }, false },
	{ SYS_copy_file_range, "copy_file_range", { EIO, ENOSPC, EXDEV }, false },
	{ SYS_sendfile, "sendfile", { EIO, ENOSPC, EINVAL }, false }
};

static const struct row *
row_of(long number)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].number == number)
			return &rows[i];
	return NULL;
}

struct tracee {
	pid_t pid;
	bool inside;  /* of a system call */
	int error;    /* that it ends with, 0: as it does */
};

struct trace {
	const struct faulted_fault *fault;
	struct faulted_run *out;
	pid_t first;
	bool armed;               /* main() has begun */
	const struct row *hit;    /* what failed first */
	struct tracee tracees[TRACEES];
	size_t n;
};

static struct tracee *
tracee_of(struct trace *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tracees[i].pid == pid)
			return &t->tracees[i];
	need(t->n < TRACEES);
	t->tracees[t->n] = (struct tracee) { pid, false, 0 };
	return &t->tracees[t->n++];
}

static void
forget(struct trace *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tracees[i].pid == pid)
			t->tracees[i] = t->tracees[--t->n];
}

static int
error_of(struct trace *t, const struct row *row, const struct user_regs_struct *regs)
{
	const struct faulted_fault *fault = t->fault;
	int error;

	t->out->points++;
	if (fault->at == 0 || (t->hit == NULL && t->out->points != fault->at) ||
	    (t->hit != NULL && (!fault->and_on || row != t->hit)))
		return 0;
	error = row->errnos[fault->variant];
	/* For ever is a signal that never ends to arrive. */
	if (fault->and_on && error == EINTR)
		error = row->errnos[0];
	if (t->hit == NULL)
		snprintf(t->out->fault, sizeof(t->out->fault), "%s(%llx, %llx, %llx) = %s%s",
		    row->name, regs->rdi, regs->rsi, regs->rdx, strerrorname_np(error),
		    fault->and_on ? " for ever" : "");
	t->hit = row;
	return error;
}

/* Messages must come through: standard error is not attacked. */
static void
enter(struct trace *t, struct tracee *tracee)
{
	struct user_regs_struct regs;
	const struct row *row;

	if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &regs) != 0)
		return;
	if (regs.orig_rax == SYS_rt_sigaction)
		t->armed = true;
	row = t->armed ? row_of((long)regs.orig_rax) : NULL;
	if (row == NULL || ((regs.orig_rax == SYS_write || regs.orig_rax == SYS_writev ||
	    regs.orig_rax == SYS_fstat) && regs.rdi == 2))
		return;
	if (regs.orig_rax == SYS_newfstatat && regs.rdi == 2)
		return;
	tracee->error = error_of(t, row, &regs);
	if (tracee->error == 0 || row->done)
		return;
	regs.orig_rax = (unsigned long long)-1;
	need(ptrace(PTRACE_SETREGS, tracee->pid, NULL, &regs) == 0);
}

static void
leave(struct tracee *tracee)
{
	struct user_regs_struct regs;

	if (tracee->error == 0 || ptrace(PTRACE_GETREGS, tracee->pid, NULL, &regs) != 0)
		return;
	regs.rax = (unsigned long long)-tracee->error;
	tracee->error = 0;
	need(ptrace(PTRACE_SETREGS, tracee->pid, NULL, &regs) == 0);
}

static volatile sig_atomic_t late;
static pid_t watched;

static void
on_alarm(int number)
{
	(void)number;
	late = 1;
	kill(watched, SIGKILL);
}

/* One stop of a tracee; what it goes on with. */
static void
take_stop(struct trace *t, pid_t pid, int status)
{
	struct tracee *tracee = tracee_of(t, pid);
	const int sig = WSTOPSIG(status), event = status >> 16;
	int pass = 0;

	if (sig == (SIGTRAP | 0x80)) {
		tracee->inside = !tracee->inside;
		if (tracee->inside)
			enter(t, tracee);
		else
			leave(tracee);
	} else if (event == PTRACE_EVENT_EXEC && pid != t->first) {
		forget(t, pid);
		ptrace(PTRACE_DETACH, pid, NULL, 0);
		return;
	} else if (event == 0 && sig != SIGSTOP && sig != SIGTRAP) {
		pass = sig;
	}
	ptrace(PTRACE_SYSCALL, pid, NULL, pass);
}

static void
run_program(char *const *argv, const char *const streams[3], const struct faulted_fault *fault,
    struct faulted_run *out)
{
	struct trace t = { .fault = fault, .out = out };
	int status;
	pid_t pid = fork();

	need(pid != -1);
	if (pid == 0) {
		faulted_streams(streams);
		setenv("LD_BIND_NOW", "1", 1);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(125);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(126);
	}
	t.first = watched = pid;
	late = 0;
	need(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
	need(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
	    PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
	    PTRACE_O_EXITKILL) == 0);
	signal(SIGALRM, on_alarm);
	alarm(WATCHDOG);
	ptrace(PTRACE_SYSCALL, pid, NULL, 0);
	for (;;) {
		const pid_t got = waitpid(-1, &status, __WALL);
		if (got == -1 && errno == EINTR)
			continue;
		need(got != -1);
		if (WIFSTOPPED(status)) {
			take_stop(&t, got, status);
			continue;
		}
		forget(&t, got);
		if (got == pid)
			break;
	}
	alarm(0);
	out->status = late ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
	/* What is left are children of the program's that it did not wait for. */
	while (t.n > 0) {
		const pid_t left = t.tracees[t.n - 1].pid;
		kill(left, SIGKILL);
		waitpid(left, &status, __WALL);
		forget(&t, left);
	}
}

static const struct faulted_engine engine = {
	.name = "syscalls", .variants = VARIANTS, .run = run_program
};
#include "faulted_main.h"

#else

#include <stdio.h>

int
main(void)
{
	puts("1..0 # SKIP system calls are known for x86-64 Linux alone");
	return 0;
}

#endif
