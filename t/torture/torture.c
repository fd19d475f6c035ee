/* SPDX-License-Identifier: BSD-2-Clause */
#include "torture.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More failing rounds than these tell nobody more. */
#define MOST_FAILURES 10

static _Atomic uint64_t *counts; /* shared with the rounds */
static const char *case_name;    /* in a round */
static char builddir[PATH_MAX];

/* ---- for rounds ------------------------------------------------------------------- */

void *
torture_shared(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	    -1, 0);

	need(at != MAP_FAILED);
	return at;
}

const char *
torture_built(const char *name)
{
	static char paths[8][PATH_MAX + 100];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", builddir, name);
	return path;
}

const char *
torture_case_name(void)
{
	return case_name;
}

void
torture_count(unsigned which, uint64_t n)
{
	need(which < TORTURE_COUNTS);
	atomic_fetch_add(&counts[which], n);
}

void
torture_sleep(uint64_t *random, unsigned most)
{
	usleep((useconds_t)(run_random(random) % (most + 1)));
}

bool
torture_kill(pid_t pid)
{
	int status;

	need(kill(pid, SIGKILL) == 0);
	status = child_wait(pid);
	need(status == 0 || status == 128 + SIGKILL);
	return status != 0;
}

static int
remove_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (type == FTW_DNR)
		chmod(path, 0700);
	return remove(path);
}

void
torture_remove(const char *dir)
{
	need(nftw(dir, remove_path, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT);
}

/* ---- one round -------------------------------------------------------------------- */

struct run {
	const struct torture *attack;
	const struct torture_case *wanted; /* TORTURE_CASE; NULL for all */
	char dir[4096];
	uint64_t seed; /* of the next round: that of the first is run_seed() */
	uint64_t random;
	unsigned rounds, failures;
	unsigned limit; /* seconds for a round */
	time_t end;     /* of TORTURE_SECONDS; 0 for a slice */
};

static time_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Wait for a round. Its exit status, 128 + signal, or -1 if it hangs. */
static int
wait_for(pid_t pid, unsigned limit)
{
	const time_t end = now() + limit;
	const struct timespec second = { 1, 0 };
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		info.si_pid = 0;
		need(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
		if (info.si_pid != 0)
			return info.si_code == CLD_EXITED ? info.si_status :
			    128 + info.si_status;
		if (now() >= end)
			return -1;
		sigtimedwait(&set, NULL, &second);
	}
}

/* In a child that leads a group of processes, none of which outlives the round. */
static int
run_round(const struct run *r, const struct torture_case *c, const char *dir)
{
	sigset_t none;
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	need(pid != -1);
	if (pid == 0) {
		setpgid(0, 0);
		case_name = c->name;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		c->round(r->seed, dir);
		fflush(NULL);
		_exit(0);
	}
	setpgid(pid, pid);
	status = wait_for(pid, r->limit);
	/* The group has this number as long as the child was not waited for. */
	kill(-pid, SIGKILL);
	child_wait(pid);
	return status;
}

static void
exec_mv(void *ctx)
{
	char *const *paths = ctx;

	execlp("mv", "mv", paths[0], paths[1], (char *)NULL);
	_exit(127);
}

/* The directory of a failing round goes to TORTURE_KEEP, if that is set. */
static void
keep(char dir[4200])
{
	const char *to = getenv("TORTURE_KEEP");
	char *paths[] = { dir, NULL };

	if (to == NULL)
		return;
	need(asprintf(&paths[1], "%s%s", to, strrchr(dir, '/')) > 0);
	if (child_run(exec_mv, paths) == 0)
		snprintf(dir, 4200, "%s", paths[1]);
	free(paths[1]);
}

/* True if all is well. */
static bool
do_round(struct run *r, const struct torture_case *c)
{
	char dir[4200];
	int status;

	snprintf(dir, sizeof(dir), "%s/%s-%u", r->dir, c->name, r->rounds++);
	need(mkdir(dir, 0700) == 0);
	status = run_round(r, c, dir);
	if (status == 0) {
		torture_remove(dir);
	} else {
		r->failures++;
		keep(dir);
		if (status == -1)
			printf("# the round hangs: not done after %u s\n", r->limit);
		else if (status > 128)
			printf("# the round was ended by signal %d\n", status - 128);
		printf("# failed; its files are in %s\n"
		    "# to repeat it: T_SEED=%llu TORTURE_CASE=%s t/torture/%s\n", dir,
		    (unsigned long long)r->seed, c->name, r->attack->name);
	}
	fflush(stdout);
	r->seed = run_random(&r->random) | 1;
	return status == 0;
}

/* ---- many ------------------------------------------------------------------------- */

static unsigned
number_of(const char *variable, unsigned without)
{
	const char *text = getenv(variable);

	return text != NULL && *text != '\0' ? (unsigned)strtoul(text, NULL, 10) : without;
}

static bool
skips(const struct run *r, const struct torture_case *c)
{
	return r->wanted != NULL && r->wanted != c;
}

static void
report(const struct torture_case *c, unsigned number, bool good)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", number, c->name);
	fflush(stdout);
}

/* Each case as often as it says, until it fails. */
static void
run_slice(struct run *r)
{
	unsigned number = 0;

	for (const struct torture_case *c = r->attack->cases; c->name != NULL; c++) {
		unsigned left = getenv("T_SLOW") != NULL ? 1 : c->rounds;
		bool good = true;

		if (skips(r, c))
			continue;
		for (; left > 0 && good; left--)
			good = do_round(r, c);
		report(c, ++number, good);
	}
	printf("1..%u\n", number);
}

/* All cases in turn until the time is over. */
static void
run_long(struct run *r)
{
	unsigned number = 0, n = 0;
	bool *bad;

	while (r->attack->cases[n].name != NULL)
		n++;
	bad = calloc(n, sizeof(*bad));
	need(bad != NULL);
	while (now() < r->end && r->failures < MOST_FAILURES)
		for (const struct torture_case *c = r->attack->cases; c->name != NULL &&
		    now() < r->end && r->failures < MOST_FAILURES; c++)
			if (!skips(r, c) && !do_round(r, c))
				bad[c - r->attack->cases] = true;
	for (const struct torture_case *c = r->attack->cases; c->name != NULL; c++)
		if (!skips(r, c))
			report(c, ++number, !bad[c - r->attack->cases]);
	free(bad);
	printf("1..%u\n", number);
}

static const struct torture_case *
find_case(const struct torture *attack, const char *name)
{
	const struct torture_case *c = attack->cases;

	while (c->name != NULL && strcmp(c->name, name) != 0)
		c++;
	if (c->name != NULL)
		return c;
	fprintf(stderr, "%s: no case '%s'\n", attack->name, name);
	exit(99);
}

/* Many rounds sync often: in memory, if there is enough. */
static bool
has_memory(const char *dir)
{
	struct statvfs fs;

	return access(dir, W_OK) == 0 && statvfs(dir, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize >= (uint64_t)256 << 20;
}

static void
make_dir(struct run *r)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp == NULL || *tmp == '\0')
		tmp = has_memory("/dev/shm") ? "/dev/shm" : "/tmp";
	snprintf(r->dir, sizeof(r->dir), "%s/cachex-%s.XXXXXX", tmp, r->attack->name);
	if (mkdtemp(r->dir) == NULL) {
		perror(r->dir);
		exit(99);
	}
}

int
torture_run(const struct torture *attack)
{
	const unsigned seconds = number_of("TORTURE_SECONDS", 0);
	struct run r = { .attack = attack, .seed = run_seed() };
	const char *dir = getenv("builddir");
	sigset_t set;

	need(realpath(dir != NULL ? dir : ".", builddir) != NULL);
	if (getenv("TORTURE_CASE") != NULL)
		r.wanted = find_case(attack, getenv("TORTURE_CASE"));
	r.random = r.seed;
	r.limit = (attack->seconds != 0 ? attack->seconds : 60) *
	    number_of("CK_TIMEOUT_MULTIPLIER", 1);
	r.end = seconds == 0 ? 0 : now() + seconds;
	counts = torture_shared(TORTURE_COUNTS * sizeof(*counts));
	/* Waited for, see wait_for(). */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	make_dir(&r);
	if (seconds == 0)
		run_slice(&r);
	else
		run_long(&r);
	rmdir(r.dir);
	printf("# %s: %u rounds", attack->name, r.rounds);
	for (unsigned i = 0; i < TORTURE_COUNTS && attack->counts[i] != NULL; i++)
		printf(", %llu %s", (unsigned long long)counts[i], attack->counts[i]);
	printf(", %u failures\n", r.failures);
	return r.failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
