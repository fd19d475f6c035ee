/* SPDX-License-Identifier: BSD-2-Clause */
/* Backup and copy beside a reader and a writer, killed at any moment. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "run.h"
#include "sample.h"

#define KEYS 150
#define MOST_BACKUPS 1000

static const struct sample_range sizes = { 8, 3000 };

/* Each commit of the writer puts all keys with one version. */
static lc_cache *
open_module(const char *root, const char *module)
{
	lc_options options = sample_options();

	options.flush_every = 100000;
	options.chunk_bytes = (uint64_t)64 << 20;
	return sample_open(root, module, &options);
}

static void
put_version(lc_cache *cache, uint64_t version)
{
	char id[SAMPLE_ID_ROOM];

	for (uint64_t i = 0; i < KEYS; i++) {
		const size_t size = sample_id(id, i);

		need_ok(sample_put(cache, id, size, version, sizes));
	}
	need_ok(lc_flush(cache));
}

/* The version of all keys; 0 if they have several. Each must be whole. */
static uint64_t
read_version(lc_cache *cache)
{
	uint64_t first = 0;
	bool mixed = false;
	lc_iter *iter;
	lc_item item;
	lc_status status;

	need_ok(lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		const uint64_t version = sample_version(&item.tensor);

		need(sample_is(&item.tensor, item.id.data, item.id.size, version,
		    sizes));
		mixed |= first != 0 && version != first;
		first = version;
	}
	need(status == LC_END);
	lc_iter_close(iter);
	return mixed ? 0 : first;
}

/* ---- the processes -------------------------------------------------------- */

struct job {
	const char *root;
	uint64_t first; /* version to write, or number of the next backup */
};

static void
write_on(const struct job *job)
{
	lc_cache *cache = open_module(job->root, "m");

	for (uint64_t version = job->first;; version++)
		put_version(cache, version);
}

static void
read_on(const struct job *job)
{
	lc_cache *cache = open_module(job->root, "m");

	for (;;)
		need(read_version(cache) != 0);
}

static void
backup_root(char out[600], const char *root, uint64_t number)
{
	need(snprintf(out, 600, "%s/backup-%u", root, (unsigned)number) < 600);
}

static void
copy_on(const struct job *job)
{
	lc_cache *from = open_module(job->root, "m");
	lc_cache *to = open_module(job->root, "copy");
	lc_copy_options options;
	lc_copy_result result;
	char root[600];

	lc_copy_options_init(&options);
	options.conflict = LC_REPLACE;
	for (uint64_t number = job->first; number < MOST_BACKUPS; number++) {
		need_ok(lc_copy(from, to, &options, &result));
		need(result.copied + result.replaced == KEYS);
		backup_root(root, job->root, number);
		need_ok(lc_backup(from, root,
		    number % 2 ? LC_BACKUP_COMPACT : 0));
	}
	for (;;)
		pause();
}

static pid_t
start(void (*body)(const struct job *job), const struct job *job)
{
	const pid_t pid = fork();

	need(pid != -1);
	if (pid == 0) {
		body(job);
		_exit(0);
	}
	return pid;
}

static void
end(pid_t pid)
{
	int status;

	need(kill(pid, SIGKILL) == 0);
	need(waitpid(pid, &status, 0) == pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	    "a process ended by itself: status 0x%x", (unsigned)status);
}

/* Wait until a backup is whole: the next one has begun. */
static void
await_backup(const char *root, uint64_t number)
{
	char next[600];

	backup_root(next, root, number + 1);
	while (access(next, F_OK) == -1)
		usleep(1000);
}

/* ---- what they leave ------------------------------------------------------ */

/* A backup is there as a whole, or not at all. Returns the number of the one that
 * is not, and counts the others. */
static uint64_t
check_backups(const char *root, uint64_t number, unsigned *good)
{
	lc_verify_result result;
	lc_options options = sample_options();
	char path[600];
	lc_cache *cache;
	lc_status status;

	options.flags = LC_RDONLY;
	for (;; number++) {
		backup_root(path, root, number);
		status = lc_open(path, "m", &options, &cache);
		if (status != LC_OK)
			break;
		need_ok(lc_verify(cache, NULL, &result));
		ck_assert_uint_eq(result.live, KEYS);
		ck_assert_uint_ne(read_version(cache), 0);
		need_ok(lc_close(cache));
		++*good;
	}
	ck_assert_msg(status == LC_NO_FILE || status == LC_NOT_MODULE, "%s",
	    lc_last_error()->text);
	return number + 1;
}

/* All of it is whole; another copy makes both the same. */
static uint64_t
check_modules(const char *root)
{
	lc_cache *from = open_module(root, "m");
	lc_cache *to = open_module(root, "copy");
	lc_verify_result result;
	lc_copy_options options;
	uint64_t version;

	need_ok(lc_verify(from, NULL, &result));
	need_ok(lc_verify(to, NULL, &result));
	version = read_version(from);
	ck_assert_uint_ne(version, 0);
	(void)read_version(to);
	lc_copy_options_init(&options);
	options.conflict = LC_REPLACE;
	need_ok(lc_copy(from, to, &options, NULL));
	ck_assert_uint_eq(read_version(to), version);
	need_ok(lc_verify(to, NULL, &result));
	need_ok(lc_close(to));
	need_ok(lc_close(from));
	return version;
}

START_TEST(nothing_is_half_there)
{
	const unsigned rounds = sample_times(15);
	const char *root = run_scratch();
	uint64_t random = run_seed();
	struct job writing = { root, 2 }, copying = { root, 0 };
	lc_cache *cache = open_module(root, "m");
	unsigned good = 0;

	put_version(cache, 1);
	need_ok(lc_close(cache));
	need_ok(lc_close(open_module(root, "copy")));
	for (unsigned i = 0; i < rounds || good == 0; i++) {
		const pid_t writer = start(write_on, &writing);
		const pid_t reader = start(read_on, &writing);
		const pid_t copier = start(copy_on, &copying);

		/* Any moment will do. If no backup was whole by then, as on a busy machine,
		 * one comes last. */
		if (i < rounds)
			usleep((useconds_t)(run_random(&random) % 60000));
		else
			await_backup(root, copying.first);
		end(copier);
		end(writer);
		end(reader);
		copying.first = check_backups(root, copying.first, &good);
		writing.first = check_modules(root) + 1;
	}
	printf("# %u rounds, %u whole backups\n", rounds, good);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("copy_killed");
	TCase *tc = tcase_create("copy_killed");

	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, nothing_is_half_there);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
