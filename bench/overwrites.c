/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random keys of a full store overwritten again and again: what a module costs whose
 * commits compact, beside one whose commits do not, and raw liblmdb.
 */
#include <err.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define ROUNDS 5
#define TIMES 8 /* that a sample is overwritten, in the mean */
#define ALLOWED(live) (2 * (double)(live) + (64 << 20))

static struct load loads[] = {
	{ .name = "f32[512] x 2k, one by one", .samples = 2048, .size = 2048, .commit = 1 },
	{ .name = "f32[512] x 32k", .samples = 32768, .size = 2048, .commit = 512 },
	{ .name = "f32[16] x 64k", .samples = 65536, .size = 64, .commit = 512 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* The samples in the order in which they are overwritten, some more often than others. */
static uint64_t
nth(const struct load *load, uint64_t i)
{
	uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return (x ^ x >> 32) % load->samples;
}

/* ---- the contenders -------------------------------------------------------------- */

struct contender {
	const char *name;
	void *(*open)(const struct load *load, const char *root, const char *name);
	void (*put)(void *store, const struct load *load, uint64_t key, uint64_t value);
	void (*commit)(void *store);
	void (*close)(void *store);
};

static void *
open_cachex(const char *root, const char *name, int auto_compact)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	const lc_options options = module_options(UINT32_MAX);
	lc_cache *cache = module_open(root, name, &options);

	module_must(lc_settings_get(cache, &settings));
	settings.auto_compact = auto_compact;
	module_must(lc_settings_set(cache, &settings));
	return cache;
}

static void *
open_auto(const struct load *load, const char *root, const char *name)
{
	(void)load;
	return open_cachex(root, name, 1);
}

static void *
open_manual(const struct load *load, const char *root, const char *name)
{
	(void)load;
	return open_cachex(root, name, 0);
}

static void
put_cachex(void *store, const struct load *load, uint64_t key, uint64_t value)
{
	const lc_tensor tensor = module_row(load_value(load, value), load->size);

	module_must(lc_put(store, load->keys[key], KEY_SIZE, &tensor));
}

static void
commit_cachex(void *store)
{
	module_must(lc_flush(store));
}

static void
close_cachex(void *store)
{
	module_must(lc_close(store));
}

struct raw {
	MDB_env *env;
	MDB_txn *txn; /* NULL between commits */
	MDB_dbi dbi;
};

static void
must(int rc)
{
	if (rc != 0)
		errx(1, "lmdb: %s", mdb_strerror(rc));
}

static void *
open_raw(const struct load *load, const char *root, const char *name)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	char dir[4096];

	(void)load;
	if (raw == NULL)
		err(1, NULL);
	snprintf(dir, sizeof(dir), "%s/%s", root, name);
	if (mkdir(dir, 0777) != 0)
		err(1, "%s", dir);
	must(mdb_env_create(&raw->env));
	must(mdb_env_set_mapsize(raw->env, (size_t)1 << 36));
	must(mdb_env_open(raw->env, dir, MDB_NORDAHEAD, 0666));
	return raw;
}

static void
put_raw(void *store, const struct load *load, uint64_t key, uint64_t value)
{
	MDB_val id = { KEY_SIZE, load->keys[key] };
	MDB_val data = { load->size, (void *)load_value(load, value) };
	struct raw *raw = store;

	if (raw->txn == NULL) {
		must(mdb_txn_begin(raw->env, NULL, 0, &raw->txn));
		must(mdb_dbi_open(raw->txn, NULL, 0, &raw->dbi));
	}
	must(mdb_put(raw->txn, raw->dbi, &id, &data, 0));
}

static void
commit_raw(void *store)
{
	struct raw *raw = store;

	if (raw->txn != NULL)
		must(mdb_txn_commit(raw->txn));
	raw->txn = NULL;
}

static void
close_raw(void *store)
{
	struct raw *raw = store;

	mdb_env_close(raw->env);
	free(raw);
}

#define CONTENDERS 3
static const struct contender contenders[CONTENDERS] = {
	{ "cachex", open_auto, put_cachex, commit_cachex, close_cachex },
	{ "cachex, auto_compact 0", open_manual, put_cachex, commit_cachex,
	    close_cachex },
	{ "lmdb", open_raw, put_raw, commit_raw, close_raw },
};

/* ---- what is measured ------------------------------------------------------------ */

static const char rate[] = "overwrites, durable";
static const char cpu[] = "CPU an overwrite";
static const char slowest[] = "slowest commit";
static const char size[] = "file over live data";

static double
cpu_seconds(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_SELF, &use) != 0)
		err(1, "getrusage");
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	    (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* In large commits, which are not measured. */
static void
fill(const struct contender *c, void *store, const struct load *load)
{
	for (uint64_t i = 0; i < load->samples; i++) {
		c->put(store, load, i, i);
		if (i % 1024 == 1023)
			c->commit(store);
	}
	c->commit(store);
}

static void
measure(struct bench *bench, const struct contender *c, const struct load *load,
    const char *root)
{
	const uint64_t n = TIMES * load->samples;
	double start, used, last, worst = 0;
	char dir[4096];
	void *store = c->open(load, root, "store");

	snprintf(dir, sizeof(dir), "%s/store", root);
	fill(c, store, load);
	start = last = bench_seconds();
	used = cpu_seconds();
	for (uint64_t i = 0; i < n; i++) {
		c->put(store, load, nth(load, i), i);
		if (i % load->commit != load->commit - 1)
			continue;
		c->commit(store);
		if (bench_seconds() - last > worst)
			worst = bench_seconds() - last;
		last = bench_seconds();
	}
	c->commit(store);
	bench_run(bench, load->name, c->name, rate, "/s",
	    (double)n / (bench_seconds() - start));
	bench_run(bench, load->name, c->name, cpu, "us",
	    (cpu_seconds() - used) / (double)n * 1e6);
	bench_run(bench, load->name, c->name, slowest, "ms", worst * 1e3);
	c->close(store);
	bench_run(bench, load->name, c->name, size, "x", scratch_size(dir) /
	    (double)(load->samples * load->size));
	scratch_remove(dir);
}

/* Who begins changes with the round. */
static void
measure_load(struct bench *bench, struct load *load, unsigned rounds, const char *root)
{
	load_make(load);
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < CONTENDERS; i++)
			measure(bench, &contenders[(round + i) % CONTENDERS], load, root);
	load_free(load);
	bench_print(bench, load->name);
}

static double
of(const struct bench *bench, const struct load *load, unsigned contender,
    const char *metric)
{
	return bench_median(bench, load->name, contenders[contender].name, metric);
}

static void
state_ratios(struct bench *bench, const struct load *load)
{
	const double live = (double)(load->samples * load->size);

	bench_ratio(bench, of(bench, load, 0, size) * live / ALLOWED(live), "<=", 1,
	    "%s: file over twice the live data and 64 MiB", load->name);
	bench_ratio(bench, of(bench, load, 0, cpu) / of(bench, load, 1, cpu), "<=", 1.5,
	    "%s: CPU, compacting over not", load->name);
	bench_ratio(bench, of(bench, load, 0, rate) / of(bench, load, 2, rate), ">=", 1,
	    "%s: overwrites over lmdb", load->name);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("overwrites", choice.results);
	const char *root = scratch_make((uint64_t)2 << 30);

	printf("data on %s\n", scratch_filesystem());
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0))
			measure_load(bench, &loads[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		state_ratios(bench, &loads[i]);
	bench_finish(bench);
	scratch_end();
	return 0;
}
