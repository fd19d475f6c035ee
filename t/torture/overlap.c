/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything at once in one module: processes that put and delete, compact, shrink, back
 * up, fill and read, each killed and started again at random. What was acknowledged is
 * there, and nobody ever reads what was not put.
 */
#include "torture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writers.h"

enum { KILLS, ACKNOWLEDGED, READ, BACKUPS };

#define WRITERS 2
#define KILLS_A_ROUND 25
#define FILLED 150u /* ids that are filled */

struct overlap {
	const char *dir;
	uint64_t seed;
	_Atomic uint64_t backups; /* begun */
	bool filled;
	struct writer writers[WRITERS];
};

/* ---- the processes ------------------------------------------------------------------ */

/* Is a record one that some process put? */
static bool
is_known(const struct overlap *o, const lc_item *item)
{
	if (item->id.size > 4 && memcmp(item->id.data, "fill", 4) == 0)
		return item->tensor.dtype == LC_U8 &&
		    item->tensor.nbytes == item->id.size &&
		    memcmp(item->tensor.data, item->id.data, item->id.size) == 0;
	return writer_knows(o->writers, WRITERS, &item->id, &item->tensor);
}

static uint64_t
read_all(const struct overlap *o, lc_cache *cache, unsigned order)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;
	uint64_t n = 0;

	need_ok(lc_iter_open(cache, order, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		need(is_known(o, &item));
		n++;
	}
	need_status(status, LC_END);
	lc_iter_close(iter);
	torture_count(READ, n);
	return n;
}

static lc_cache *
open_module(const char *root)
{
	lc_options options = sample_options();

	options.flush_every = 7;
	return sample_open(root, "m", &options);
}

static void
read_on(void *ctx)
{
	const struct overlap *o = ctx;
	lc_cache *cache = open_module(o->dir);

	for (unsigned i = 0;; i++)
		read_all(o, cache, i % 2 == 0 ? LC_BY_KEY : LC_BY_COMMIT);
}

static void
compact_on(void *ctx)
{
	const struct overlap *o = ctx;
	lc_cache *cache = open_module(o->dir);
	lc_compact_options options;
	lc_compact_result result;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	options.chunk_bytes = 64 << 10;
	for (;;)
		need_ok(lc_compact(cache, &options, &result));
}

/* Somebody has it open nearly always. */
static void
shrink_on(void *ctx)
{
	const struct overlap *o = ctx;
	uint64_t before, after;

	for (;;) {
		const lc_status status = lc_shrink(o->dir, "m", &before, &after);

		need(status == LC_OK || status == LC_BUSY || status == LC_NO_FILE ||
		    status == LC_NOT_MODULE);
		usleep(200);
	}
}

static void
backup_on(void *ctx)
{
	struct overlap *o = ctx;
	lc_cache *cache = open_module(o->dir);
	char root[4200];

	for (;;) {
		const uint64_t number = o->backups++;

		snprintf(root, sizeof(root), "%s/backup%llu", o->dir,
		    (unsigned long long)number);
		need_ok(lc_backup(cache, root, number % 2 == 0 ? 0 : LC_BACKUP_COMPACT));
		usleep(3000);
	}
}

/* Its end acknowledges all of them. */
static void
fill(void *ctx)
{
	const struct overlap *o = ctx;
	char command[4300];

	need(chdir(o->dir) == 0 && freopen("/dev/null", "w", stdout) != NULL);
	snprintf(command, sizeof(command), "exec %s good", torture_built("t/support/bad_producer"));
	execl(torture_built("cachex"), "cachex", "--root", ".", "fill", "m", "--exec", command,
	    "--ids", "ids", "-j", "2", "-b", "5", (char *)NULL);
	need(!"exec");
}

static void
write_first(void *ctx)
{
	struct overlap *o = ctx;

	writer_run(&o->writers[0]);
}

static void
write_second(void *ctx)
{
	struct overlap *o = ctx;

	writer_run(&o->writers[1]);
}

static void (*const roles[])(void *) = {
	write_first, write_second, read_on, read_on, compact_on, shrink_on, backup_on, fill
};

#define ROLES (sizeof(roles) / sizeof(*roles))

/* ---- afterwards --------------------------------------------------------------------- */

static uint64_t
check_filled(const struct overlap *o, lc_cache *cache)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < FILLED; i++) {
		char id[20];
		lc_status status;

		snprintf(id, sizeof(id), "fill%u", i);
		status = lc_contains(cache, id, strlen(id));
		need(status == LC_OK || (status == LC_NOT_FOUND && !o->filled));
		found += status == LC_OK;
	}
	return found;
}

static void
check_module(struct overlap *o)
{
	lc_cache *cache = open_module(o->dir);
	lc_verify_result result;
	uint64_t count, expected;

	need_ok(lc_verify(cache, NULL, &result));
	need_ok(lc_count(cache, &count));
	expected = check_filled(o, cache);
	for (unsigned i = 0; i < WRITERS; i++)
		expected += writer_check(&o->writers[i], cache);
	need(count == expected);
	need(read_all(o, cache, LC_BY_KEY) == count);
	need_ok(lc_close(cache));
}

/* Each is there as a whole, or not at all. */
static void
check_backups(const struct overlap *o)
{
	for (uint64_t i = 0; i < o->backups; i++) {
		lc_options options = sample_options();
		lc_verify_result result;
		char root[4200];
		lc_cache *cache;
		lc_status status;

		snprintf(root, sizeof(root), "%s/backup%llu", o->dir, (unsigned long long)i);
		options.flags = LC_RDONLY;
		status = lc_open(root, "m", &options, &cache);
		need(status == LC_OK || status == LC_NO_FILE || status == LC_NOT_MODULE);
		if (status != LC_OK)
			continue;
		need_ok(lc_verify(cache, NULL, &result));
		read_all(o, cache, LC_BY_COMMIT);
		need_ok(lc_close(cache));
		torture_count(BACKUPS, 1);
	}
}

static void
write_ids(const char *dir)
{
	char path[4200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/ids", dir);
	file = fopen(path, "w");
	need(file != NULL);
	for (unsigned i = 0; i < FILLED; i++)
		fprintf(file, "fill%u\n", i);
	need(fclose(file) == 0);
}

/* None but the fill ends by itself. */
static void
end(struct overlap *o, unsigned role, pid_t pid)
{
	if (torture_kill(pid)) {
		torture_count(KILLS, 1);
	} else {
		need(roles[role] == fill);
		o->filled = true;
	}
}

static void
round_of_kills(uint64_t seed, const char *dir)
{
	struct overlap *o = torture_shared(sizeof(*o));
	pid_t pids[ROLES];
	uint64_t random = seed;

	o->dir = dir;
	for (unsigned i = 0; i < WRITERS; i++)
		writer_init(&o->writers[i], dir, i, &random);
	write_ids(dir);
	need_ok(lc_close(open_module(dir)));
	for (unsigned i = 0; i < ROLES; i++)
		pids[i] = child_start(roles[i], o);
	for (unsigned kills = 0; kills < KILLS_A_ROUND; kills++) {
		const unsigned i = (unsigned)(run_random(&random) % ROLES);

		torture_sleep(&random, 40000);
		end(o, i, pids[i]);
		pids[i] = child_start(roles[i], o);
	}
	for (unsigned i = 0; i < ROLES; i++)
		end(o, i, pids[i]);
	for (unsigned i = 0; i < WRITERS; i++)
		torture_count(ACKNOWLEDGED, o->writers[i].done * WRITER_OPS);
	check_module(o);
	check_backups(o);
}

int
main(void)
{
	static const struct torture_case cases[] = {
		{ "overlap", round_of_kills, 2 },
		{ NULL, NULL, 0 }
	};
	static const struct torture attack = {
		.name = "overlap", .cases = cases,
		.counts = { "kills", "changes acknowledged", "records read", "whole backups" }
	};

	return torture_run(&attack);
}
