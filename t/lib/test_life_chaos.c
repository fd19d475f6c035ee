/* SPDX-License-Identifier: BSD-2-Clause */
/* Each system call and each allocation of what is done to a whole module fails once, and
 * with all after it: it says so, the module keeps every record, nothing half-made is left,
 * and the next try comes to its end. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail_io.h"
#include "fail_malloc.h"
#include "lmdbcache.h"
#include "need.h"
#include "outdir_files.h"
#include "sample.h"

#define RECORDS 12
#define BYTES 3000 /* of each: several shards */

/* A module, opened before anything fails, and a directory for what is made. */
struct life {
	const char *root, *to;
	char *made;       /* below to */
	lc_options options;
	lc_cache *cache;  /* NULL while it is closed */
};

static void
fill(unsigned char *out, unsigned i)
{
	sample_fill(out, BYTES, i + 1);
}

static void
make_module(struct life *l)
{
	unsigned char bytes[BYTES];
	lc_tensor tensor;
	char id[8];

	*l = (struct life) { .root = run_scratch(), .to = run_scratch(),
		.options = sample_options() };
	l->options.durability = LC_DURABLE_RELAXED;
	l->made = outdir_join(l->to, "made");
	l->cache = sample_open(l->root, "m", &l->options);
	for (unsigned i = 0; i < RECORDS; i++) {
		snprintf(id, sizeof(id), "r%02u", i);
		fill(bytes, i);
		tensor = sample_bytes(bytes, BYTES);
		assert_ok(lc_put(l->cache, id, 3, &tensor));
	}
	assert_ok(lc_flush(l->cache));
}

static void
check_module(const char *root, const char *module)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, module, &options);
	lc_verify_result result;
	unsigned char bytes[BYTES];
	lc_tensor got;
	char id[8];

	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.live, RECORDS);
	for (unsigned i = 0; i < RECORDS; i++) {
		snprintf(id, sizeof(id), "r%02u", i);
		fill(bytes, i);
		assert_ok(lc_get_copy(cache, id, 3, &got));
		ck_assert_uint_eq(got.nbytes, BYTES);
		ck_assert_mem_eq(got.data, bytes, BYTES);
		lc_tensor_free(&got);
	}
	assert_ok(lc_close(cache));
}

static void
free_module(struct life *l)
{
	if (l->cache != NULL)
		assert_ok(lc_close(l->cache));
	free(l->made);
}

static void
close_module(struct life *l)
{
	assert_ok(lc_close(l->cache));
	l->cache = NULL;
}

/* ---- what is done ----------------------------------------------------------------- */

static lc_status
do_backup(struct life *l)
{
	return lc_backup(l->cache, l->made, 0);
}

static lc_status
do_backup_compact(struct life *l)
{
	return lc_backup(l->cache, l->made, LC_BACKUP_COMPACT);
}

/* LC_OK: it is whole. Otherwise it is not there. */
static void
check_backup(struct life *l, lc_status status)
{
	char *module = outdir_join(l->made, "m");

	if (status == LC_OK)
		check_module(l->made, "m");
	else
		ck_assert(!outdir_exists(l->to, "made/m/data.mdb"));
	if (outdir_exists(l->to, "made/m"))
		ck_assert_int_eq(outdir_count_files(module, ""), status == LC_OK ? 2 : 0);
	free(module);
}

static lc_status
do_shrink(struct life *l)
{
	uint64_t before, after;

	return lc_shrink(l->root, "m", &before, &after);
}

/* data.mdb and lock.mdb alone. */
static void
check_files(struct life *l, lc_status status)
{
	char *module = outdir_join(l->root, "m");

	(void)status;
	ck_assert_int_eq(outdir_count_files(module, ""), 2);
	free(module);
}

static lc_status
do_open(struct life *l)
{
	lc_cache *cache;
	const lc_status status = lc_open(l->root, "m", &l->options, &cache);

	return status == LC_OK ? lc_close(cache) : status;
}

static lc_status
do_open_new(struct life *l)
{
	lc_cache *cache;
	const lc_status status = lc_open(l->root, "new", &l->options, &cache);

	return status == LC_OK ? lc_close(cache) : status;
}

static int
count_name(void *ctx, const char *name)
{
	unsigned *count = ctx;

	need(strcmp(name, "m") == 0);
	++*count;
	return 0;
}

static lc_status
do_modules(struct life *l)
{
	unsigned count = 0;
	const lc_status status = lc_modules(l->root, count_name, &count);

	need(status != LC_OK || count == 1);
	return status;
}

static lc_status
do_export(struct life *l)
{
	lc_export_result result;
	lc_export_options options;
	lc_status status;

	lc_export_options_init(&options);
	options.shard_bytes = 4 * BYTES;
	options.threads = 1;
	status = lc_export(l->cache, l->made, &options, &result);
	need(status != LC_OK || result.samples == RECORDS);
	return status;
}

/* The manifest comes last: with it everything is there. */
static void
check_export(struct life *l, lc_status status)
{
	if (status == LC_OK || outdir_exists(l->to, "made/manifest.json"))
		assert_ok(lc_manifest_verify(l->made, NULL));
}

static lc_status
do_verify_shards(struct life *l)
{
	return lc_manifest_verify(l->made, NULL);
}

static lc_status
do_recover(struct life *l)
{
	lc_recover_result result;

	return lc_recover(l->root, "m", 0, NULL, &result);
}

/* A module with a value that has parts, which verify builds. */
static void
open_map(struct life *l)
{
	lc_value *map = lc_value_map();

	close_module(l);
	l->cache = sample_open(l->root, "map", &l->options);
	need(lc_value_set(map, "number", lc_value_integer(7)) != NULL);
	need(lc_value_set(map, "text", lc_value_str("seven")) != NULL);
	assert_ok(lc_put_value(l->cache, "a", 1, map));
	assert_ok(lc_flush(l->cache));
	lc_value_free(map);
}

static lc_status
do_verify(struct life *l)
{
	lc_verify_result result;

	return lc_verify(l->cache, NULL, &result);
}

static void
export_first(struct life *l)
{
	assert_ok(do_export(l));
}

static const struct {
	const char *name;
	void (*prepare)(struct life *l);                  /* or NULL */
	lc_status (*run)(struct life *l);
	void (*check)(struct life *l, lc_status status);  /* or NULL */
	lc_status there;  /* of a second try when the first one came to its end */
} deeds[] = {
	{ "backup", NULL, do_backup, check_backup, LC_INVALID },
	{ "backup compact", NULL, do_backup_compact, check_backup, LC_INVALID },
	{ "shrink", close_module, do_shrink, check_files, LC_OK },
	{ "open", close_module, do_open, check_files, LC_OK },
	{ "open new", NULL, do_open_new, NULL, LC_OK },
	{ "modules", close_module, do_modules, NULL, LC_OK },
	{ "export", NULL, do_export, check_export, LC_OK },
	{ "export again", export_first, do_export, check_export, LC_OK },
	{ "verify shards", export_first, do_verify_shards, NULL, LC_OK },
	{ "verify", open_map, do_verify, NULL, LC_OK },
	{ "recover", close_module, do_recover, NULL, LC_OK },
};

/* What fails, and what the call then says. */
static const struct {
	bool io, and_on;
	int error;
	lc_status want;
} faults[] = {
	{ false, false, 0, LC_NO_MEMORY },
	{ false, true, 0, LC_NO_MEMORY },
	{ true, false, EIO, LC_IO },
	{ true, false, ENOSPC, LC_NO_SPACE },
	{ true, true, EIO, LC_IO },
};

#define N(table) ((int)(sizeof(table) / sizeof((table)[0])))

static bool
try_one(int deed, int fault, long n)
{
	struct life l;
	lc_status status;
	const char *call;
	bool failed;

	make_module(&l);
	if (deeds[deed].prepare != NULL)
		deeds[deed].prepare(&l);
	if (faults[fault].io)
		fail_io(n, faults[fault].error, faults[fault].and_on);
	else
		fail_malloc(n, faults[fault].and_on);
	status = deeds[deed].run(&l);
	failed = fail_malloc_hits() > 0 || fail_io_hits() > 0;
	call = fail_io_name();
	fail_malloc(0, false);
	fail_io(0, 0, false);
	ck_assert_msg(status == LC_OK || (failed && status == faults[fault].want),
	    "%s: %ld (%s): %s (%s)", deeds[deed].name, n, call != NULL ? call : "allocation",
	    lc_status_name(status), lc_last_error()->text);
	/* Else what removes things may be what fails. */
	if (deeds[deed].check != NULL && !(faults[fault].io && faults[fault].and_on))
		deeds[deed].check(&l, status);
	if (!(faults[fault].io && faults[fault].and_on))
		assert_status(deeds[deed].run(&l), status == LC_OK ? deeds[deed].there : LC_OK);
	if (l.cache != NULL)
		close_module(&l);
	check_module(l.root, "m");
	free_module(&l);
	return failed;
}

START_TEST(each_fails)
{
	const int deed = _i / N(faults), fault = _i % N(faults);
	long n = 1;

	/* Each of the early ones, then fewer and fewer. */
	while (try_one(deed, fault, n))
		n += 1 + n / 6;
	/* Names are listed without an allocation of ours. */
	ck_assert(n > 1 || (!faults[fault].io && deeds[deed].run == do_modules));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("life_chaos");
	TCase *tc = tcase_create("life_chaos");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, each_fails, 0, N(deeds) * N(faults));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
