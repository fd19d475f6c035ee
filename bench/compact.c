/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compacting a module of which half was replaced, beside liblmdb moving the same
 * records in commits of the same size, and beside copies of the module's file.
 */
#include <err.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define ROUNDS 5
#define RECODED 4096 /* bytes of a tensor that is worth it */
#define MODULE "module"
#define MB 1e6
#define COPIED ((size_t)1 << 20) /* bytes at once */

static struct load loads[] = {
	{ .name = "f32[512] x 16k", .samples = 16384, .size = 2048, .commit = 2048 },
	{ .name = "f32[512] x 128k", .samples = 131072, .size = 2048, .commit = 2048 },
	{ .name = "f32[12288] x 5k", .samples = 5461, .size = 49152, .commit = 85 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* ---- the module ------------------------------------------------------------------ */

/* Whose bytes sample i has in the end: its own, or those that replaced them. */
static uint64_t
source_of(const struct load *load, uint64_t i)
{
	return load->keys[i][0] < '8' ? i : i + load->samples;
}

static void
put(const struct load *load, lc_cache *cache, uint64_t i, uint64_t source)
{
	const lc_tensor tensor = module_row(load_value(load, source), load->size);

	module_must(lc_put(cache, load->keys[i], KEY_SIZE, &tensor));
}

static void
fill(const struct load *load, const char *root)
{
	const lc_options options = module_options(load->commit);
	lc_cache *cache = module_open(root, MODULE, &options);

	for (uint64_t i = 0; i < load->samples; i++)
		put(load, cache, i, i);
	for (uint64_t i = 0; i < load->samples; i++)
		if (source_of(load, load->order[i]) != load->order[i])
			put(load, cache, load->order[i],
			    source_of(load, load->order[i]));
	module_must(lc_close(cache));
}

static void
compare(const struct load *load, lc_cache *cache)
{
	for (uint64_t i = 0; i < load->samples; i++) {
		lc_view view;
		module_must(lc_get(cache, load->keys[i], KEY_SIZE, &view));
		if (view.tensor.nbytes != load->size || memcmp(view.tensor.data,
		    load_value(load, source_of(load, i)), load->size) != 0)
			errx(1, "compacting changed a record");
		lc_view_release(&view);
	}
}

/* ---- the contenders: they return MB/s -------------------------------------------- */

/* Of the tensors of the live records that were moved. */
static double
compact(const struct load *load, const char *root, lc_codec recode)
{
	const lc_options options = module_options(load->commit);
	lc_cache *cache = module_open(root, MODULE, &options);
	lc_compact_options how;
	lc_compact_result result;
	double start, seconds;

	lc_compact_options_init(&how);
	how.live_ratio = 1; /* every chunk with a dead record */
	how.recode = recode; /* unless it is the default: every chunk */
	start = bench_seconds();
	module_must(lc_compact(cache, &how, &result));
	seconds = bench_seconds() - start;
	if (result.dropped == 0 || result.moved < result.dropped / 2)
		errx(1, "little was compacted");
	if (recode != LC_CODEC_DEFAULT && result.bytes_after * 3 > result.bytes_before)
		errx(1, "nothing was coded");
	compare(load, cache);
	module_must(lc_close(cache));
	return (double)(result.moved * load->size) / seconds / MB;
}

static void
must(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "lmdb: %s: %s", what, mdb_strerror(rc));
}

/* Durable, as compacting is. */
static double
sync_size(int fd)
{
	struct stat st;

	if (fd < 0 || fsync(fd) != 0 || fstat(fd, &st) != 0)
		err(1, "a copy");
	close(fd);
	return (double)st.st_size;
}

/* An environment with one table, all values in it. */
static MDB_env *
open_raw(const char *dir, unsigned flags)
{
	MDB_env *env;

	if (mkdir(dir, 0777) != 0)
		err(1, "%s", dir);
	must(mdb_env_create(&env), "create");
	must(mdb_env_set_mapsize(env, (size_t)1 << 36), "map size");
	must(mdb_env_open(env, dir, MDB_NORDAHEAD | flags, 0666), dir);
	return env;
}

static void
put_raw(MDB_txn *txn, MDB_val *key, MDB_val *data)
{
	MDB_dbi dbi;

	must(mdb_dbi_open(txn, NULL, 0, &dbi), "table");
	must(mdb_put(txn, dbi, key, data, 0), "put");
}

/* One value a sample, not synchronised: this is not measured. */
static MDB_env *
fill_raw(const struct load *load, const char *dir)
{
	MDB_env *env = open_raw(dir, MDB_NOSYNC);
	MDB_txn *txn;

	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	for (uint64_t i = 0; i < load->samples; i++) {
		MDB_val key = { KEY_SIZE, load->keys[i] };
		MDB_val data = { load->size, (void *)load_value(load, i) };
		put_raw(txn, &key, &data);
	}
	must(mdb_txn_commit(txn), "commit");
	return env;
}

/* From one environment to the other, as many records a durable commit as others
 * move. */
static void
rewrite_raw(MDB_env *from, MDB_env *to, uint64_t commit)
{
	MDB_txn *in, *out = NULL;
	MDB_cursor *cursor;
	MDB_val key, data;
	MDB_dbi dbi;

	must(mdb_txn_begin(from, NULL, MDB_RDONLY, &in), "begin");
	must(mdb_dbi_open(in, NULL, 0, &dbi), "table");
	must(mdb_cursor_open(in, dbi, &cursor), "cursor");
	for (uint64_t n = 0; mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0;) {
		if (out == NULL)
			must(mdb_txn_begin(to, NULL, 0, &out), "begin");
		put_raw(out, &key, &data);
		if (++n % commit != 0)
			continue;
		must(mdb_txn_commit(out), "commit");
		out = NULL;
	}
	if (out != NULL)
		must(mdb_txn_commit(out), "commit");
	mdb_cursor_close(cursor);
	mdb_txn_abort(in);
}

/* Of all values, which are live. */
static double
rewrite(const struct load *load, const char *from, const char *to)
{
	MDB_env *source = fill_raw(load, from), *target = open_raw(to, 0);
	double start, seconds;

	sync();
	start = bench_seconds();
	rewrite_raw(source, target, load->commit);
	seconds = bench_seconds() - start;
	mdb_env_close(source);
	mdb_env_close(target);
	return (double)(load->samples * load->size) / seconds / MB;
}

/* Of the file that comes out. */
static double
copy_compacting(const char *from, const char *to)
{
	const double start = bench_seconds();
	char path[4200];
	MDB_env *env;
	double size;

	if (mkdir(to, 0777) != 0)
		err(1, "%s", to);
	must(mdb_env_create(&env), "create");
	must(mdb_env_open(env, from, MDB_RDONLY | MDB_NOLOCK, 0666), from);
	must(mdb_env_copy2(env, to, MDB_CP_COMPACT), "copy");
	mdb_env_close(env);
	snprintf(path, sizeof(path), "%s/data.mdb", to);
	size = sync_size(open(path, O_RDWR));
	return size / (bench_seconds() - start) / MB;
}

static double
copy_plainly(const char *from, const char *to)
{
	const double start = bench_seconds();
	char path[4200];
	char *bytes = malloc(COPIED);
	ssize_t n;
	int in, out;
	double size;

	snprintf(path, sizeof(path), "%s/data.mdb", from);
	in = open(path, O_RDONLY);
	out = open(to, O_RDWR | O_CREAT | O_EXCL, 0666);
	if (bytes == NULL || in < 0 || out < 0)
		err(1, "%s", to);
	while ((n = read(in, bytes, COPIED)) > 0)
		if (write(out, bytes, (size_t)n) != n)
			err(1, "%s", to);
	close(in);
	free(bytes);
	size = sync_size(out);
	return size / (bench_seconds() - start) / MB;
}

/* ---- what is measured -------------------------------------------------------------- */

static const char metric[] = "moved, durable";
static const char *const contenders[] = {
	"lc_compact", "lc_compact, recoding", "lmdb, rewritten",
	"lmdb, compacting copy", "plain copy"
};
enum contender { COMPACT, RECODE, REWRITE, COPY_COMPACTING, COPY_PLAINLY };

static void
note(struct bench *bench, const struct load *load, enum contender contender,
    double value)
{
	bench_run(bench, load->name, contenders[contender], metric, "MB/s", value);
}

static void
measure_compact(struct bench *bench, const struct load *load, const char *root,
    enum contender contender, lc_codec recode)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/%s", root, MODULE);
	fill(load, root);
	sync();
	note(bench, load, contender, compact(load, root, recode));
	scratch_remove(dir);
}

static void
measure_round(struct bench *bench, const struct load *load, const char *root)
{
	char from[4096], to[4096];

	snprintf(from, sizeof(from), "%s/%s", root, MODULE);
	snprintf(to, sizeof(to), "%s/copy", root);
	fill(load, root);
	sync();
	note(bench, load, COPY_COMPACTING, copy_compacting(from, to));
	scratch_remove(to);
	sync();
	note(bench, load, COPY_PLAINLY, copy_plainly(from, to));
	scratch_remove(to);
	scratch_remove(from);
	measure_compact(bench, load, root, COMPACT, LC_CODEC_DEFAULT);
	if (load->size >= RECODED)
		measure_compact(bench, load, root, RECODE, LC_CODEC_U8PACK);
	note(bench, load, REWRITE, rewrite(load, from, to));
	scratch_remove(from);
	scratch_remove(to);
}

static void
measure_load(struct bench *bench, struct load *load, unsigned rounds,
    const char *root)
{
	load_make(load);
	load_pixels(load);
	for (unsigned round = 0; round < rounds; round++)
		measure_round(bench, load, root);
	load_free(load);
	bench_print(bench, load->name);
}

static double
rate(const struct bench *bench, const struct load *load, enum contender contender)
{
	return bench_median(bench, load->name, contenders[contender], metric);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("compact", choice.results);
	const char *root = scratch_make((uint64_t)3 << 30);

	printf("data on %s\n", scratch_filesystem());
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0))
			measure_load(bench, &loads[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		bench_ratio(bench, rate(bench, &loads[i], COMPACT) /
		    rate(bench, &loads[i], REWRITE), ">=", 1, "%s: lc_compact over %s",
		    loads[i].name, contenders[REWRITE]);
	bench_finish(bench);
	scratch_end();
	return 0;
}
