/* SPDX-License-Identifier: BSD-2-Clause */
/* Exports of modules that inputs fill: the bytes depend on the inputs alone. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "need.h"
#include "outdir_files.h"
#include "sample.h"

#define INPUTS 5
#define CHUNKS 7

/* What the inputs hold: chunks each, of records_of() records. */
struct plan {
	unsigned chunks[INPUTS];
};

static unsigned
records_of(unsigned input, unsigned chunk)
{
	return 1 + (input * 7 + chunk * 3) % 5;
}

static void
input_name(unsigned input, char out[300])
{
	static const char *const names[] = { "plain", "with/slash.txt", ".dot", "é b" };

	if (input < 4) {
		strcpy(out, names[input]);
	} else {
		memset(out, 'x', 290);
		out[290] = '\0';
	}
}

/* Where export puts the shards of an input. */
static void
directory_name(unsigned input, char out[400])
{
	static const char *const names[] = { "plain.shards", "with%2Fslash.txt.shards",
		"%2Edot.shards", "%C3%A9%20b.shards" };

	if (input < 4) {
		strcpy(out, names[input]);
	} else {
		char name[300];
		uint64_t hash[2];

		input_name(input, name);
		lc__hash128(name, strlen(name), hash);
		memset(out, 'x', 180);
		snprintf(out + 180, 220, "-%016llx%016llx.shards",
		    (unsigned long long)hash[1], (unsigned long long)hash[0]);
	}
}

static lc_cache *
open_declared(const char *root, const char *module, const unsigned *inputs, unsigned n)
{
	lc_cache *cache = sample_open(root, module, NULL);
	lc_input declared[INPUTS];
	char names[INPUTS][300];

	for (unsigned i = 0; i < n; i++) {
		input_name(inputs[i], names[i]);
		declared[i] = (lc_input){ names[i], { names[i], 3 } };
	}
	assert_ok(lc_inputs_declare(cache, n, declared));
	return cache;
}

/* One chunk of an input: records of u8[16] that follow from their place. */
static void
put_chunk(lc_writer *writer, unsigned input, unsigned chunk)
{
	const uint64_t shape[1] = { 16 };

	for (unsigned i = 0; i < records_of(input, chunk); i++) {
		unsigned char data[16] = { (unsigned char)input, (unsigned char)chunk,
			(unsigned char)i };
		lc_tensor tensor;
		char id[32];

		snprintf(id, sizeof(id), "%u.%u.%u", input, chunk, i);
		assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, data));
		assert_ok(lc_writer_put(writer, id, strlen(id), &tensor));
	}
}

/* Commit the chunks in a random order of the inputs, and finish each in the end. */
static void
fill(lc_cache *cache, const struct plan *plan, uint64_t *random)
{
	unsigned done[INPUTS] = { 0 }, left = INPUTS;
	lc_writer *writers[INPUTS];
	char name[300];

	for (unsigned i = 0; i < INPUTS; i++) {
		input_name(i, name);
		assert_ok(lc_writer_open(cache, name, &writers[i]));
	}
	while (left > 0) {
		const unsigned i = (unsigned)(run_random(random) % INPUTS);

		if (done[i] > plan->chunks[i])
			continue;
		if (done[i] == plan->chunks[i]) {
			assert_ok(lc_writer_finish(writers[i], NULL, 0));
			lc_writer_close(writers[i]);
			left--;
		} else {
			put_chunk(writers[i], i, done[i]);
			assert_ok(lc_writer_commit(writers[i], "c", 1));
		}
		done[i]++;
	}
}

static void
make_plan(struct plan *plan, uint64_t *random)
{
	for (unsigned i = 0; i < INPUTS; i++)
		plan->chunks[i] = (unsigned)(run_random(random) % CHUNKS);
	plan->chunks[run_random(random) % INPUTS] = CHUNKS;
}

/* Export to a new directory below root; small shards, so that there are many. */
static char *
export_to(lc_cache *cache, const char *root, const char *name, unsigned threads,
    int by_input)
{
	char *dir = outdir_join(root, name);
	lc_export_options how;

	lc_export_options_init(&how);
	how.shard_bytes = 4096;
	how.threads = threads;
	how.by_input = by_input;
	how.dataset_root = "data";
	assert_ok(lc_export(cache, dir, &how, NULL));
	return dir;
}

/* Append the cache_ids of a shard, each with a space. */
static void
add_ids(const char *dir, const char *path, struct lc__buf *out)
{
	char *file = outdir_join(dir, path);
	lc_sample sample;
	lc_shard *shard;

	assert_ok(lc_shard_open(file, &shard));
	for (uint64_t i = 0; i < lc_shard_info_of(shard)->samples; i++) {
		assert_ok(lc_shard_sample(shard, i, &sample));
		lc__buf_append(out, sample.id.data, sample.id.size);
		lc__buf_append(out, " ", 1);
	}
	lc_shard_close(shard);
	free(file);
}

/* The cache_ids of the shards of a directory, in order. */
static char *
ids_of(const char *dir, const char *sub)
{
	struct lc__buf out = { 0 };
	char path[500];

	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "%s%sshard-%06u.twh1", sub, *sub ? "/" : "", i);
		if (!outdir_exists(dir, path))
			break;
		add_ids(dir, path, &out);
	}
	lc__buf_append(&out, "", 1);
	return (char *)out.data;
}

static void
add_chunk(struct lc__buf *out, unsigned input, unsigned chunk)
{
	for (unsigned i = 0; i < records_of(input, chunk); i++)
		lc__buf_printf(out, "%u.%u.%u ", input, chunk, i);
}

START_TEST(same_bytes_however_it_was_filled)
{
	static const unsigned all[INPUTS] = { 0, 1, 2, 3, 4 };
	uint64_t random = run_seed() + (uint64_t)_i;
	const char *root = run_scratch();
	struct lc__buf expected = { 0 };
	char *dirs[3], *ids;
	struct plan plan;

	make_plan(&plan, &random);
	for (unsigned k = 0; k < 3; k++) {
		char name[16];
		lc_cache *cache;

		snprintf(name, sizeof(name), "m%u", k);
		cache = open_declared(root, name, all, INPUTS);
		fill(cache, &plan, &random);
		snprintf(name, sizeof(name), "out%u", k);
		dirs[k] = export_to(cache, root, name, k + 1, 0);
		assert_ok(lc_close(cache));
	}
	outdir_assert_same_dirs(dirs[0], dirs[1]);
	outdir_assert_same_dirs(dirs[0], dirs[2]);

	/* The order is the published one: the first chunk of each input, then the second. */
	for (unsigned chunk = 0; chunk < CHUNKS; chunk++)
		for (unsigned i = 0; i < INPUTS; i++)
			if (chunk < plan.chunks[i])
				add_chunk(&expected, i, chunk);
	lc__buf_append(&expected, "", 1);
	ids = ids_of(dirs[0], "");
	ck_assert_str_eq(ids, (char *)expected.data);
	free(ids);
	lc__buf_free(&expected);
	for (unsigned k = 0; k < 3; k++)
		free(dirs[k]);
}
END_TEST

/* Each input by itself gives the shards that it has in the export of all. */
static void
check_one_input(lc_cache *cache, const char *root, const char *all,
    const struct plan *plan)
{
	lc_export_options how;

	lc_export_options_init(&how);
	how.shard_bytes = 4096;
	how.by_input = 1;
	for (unsigned i = 0; i < INPUTS; i++) {
		char name[300], sub[400], out[16], *dir, *one, *of_all;

		input_name(i, name);
		directory_name(i, sub);
		snprintf(out, sizeof(out), "input%u", i);
		how.input = name;
		dir = outdir_join(root, out);
		assert_status(lc_export(cache, dir, &how, NULL),
		    plan->chunks[i] > 0 ? LC_OK : LC_INVALID);
		if (plan->chunks[i] > 0) {
			one = outdir_join(dir, sub);
			of_all = outdir_join(all, sub);
			outdir_assert_same_dirs(one, of_all);
			ck_assert_int_eq(outdir_count_files(dir, ".shards"), 1);
			free(one);
			free(of_all);
		}
		free(dir);
	}
	how.input = "other";
	assert_status(lc_export(cache, root, &how, NULL), LC_NOT_FOUND);
	ck_assert_str_eq(lc_last_error()->text,
	    "export: module all has no input 'other'");
	how.by_input = 0;
	assert_status(lc_export(cache, root, &how, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "export: one input goes with by_input");
}

START_TEST(by_input_bytes_depend_on_that_input)
{
	static const unsigned all[INPUTS] = { 0, 1, 2, 3, 4 };
	uint64_t random = run_seed() + (uint64_t)_i;
	const char *root = run_scratch();
	struct plan plan;
	lc_cache *cache;
	char *dir;

	make_plan(&plan, &random);
	cache = open_declared(root, "all", all, INPUTS);
	fill(cache, &plan, &random);
	dir = export_to(cache, root, "out", 2, 1);
	assert_ok(lc_manifest_verify(dir, NULL));
	check_one_input(cache, root, dir, &plan);
	assert_ok(lc_close(cache));

	for (unsigned i = 0; i < INPUTS; i++) {
		struct lc__buf expected = { 0 };
		char sub[400], name[300], module[16], *alone, *part, *part_alone, *ids;
		lc_writer *writer;

		directory_name(i, sub);
		ck_assert_int_eq(outdir_exists(dir, sub), plan.chunks[i] > 0);
		if (plan.chunks[i] == 0)
			continue;
		for (unsigned chunk = 0; chunk < plan.chunks[i]; chunk++)
			add_chunk(&expected, i, chunk);
		lc__buf_append(&expected, "", 1);
		ids = ids_of(dir, sub);
		ck_assert_str_eq(ids, (char *)expected.data);

		/* A module of this input alone, in as few chunks as may be. */
		snprintf(module, sizeof(module), "one%u", i);
		cache = open_declared(root, module, &i, 1);
		input_name(i, name);
		assert_ok(lc_writer_open(cache, name, &writer));
		for (unsigned chunk = 0; chunk < plan.chunks[i]; chunk++)
			put_chunk(writer, i, chunk);
		assert_ok(lc_writer_finish(writer, NULL, 0));
		lc_writer_close(writer);
		alone = export_to(cache, root, module + 1, 1, 1);
		assert_ok(lc_close(cache));
		part = outdir_join(dir, sub);
		part_alone = outdir_join(alone, sub);
		outdir_assert_same_dirs(part, part_alone);
		free(part);
		free(part_alone);
		free(alone);
		free(ids);
		lc__buf_free(&expected);
	}
	free(dir);
}
END_TEST

/* The order waits for input 0: what it does not know yet follows input by input. */
START_TEST(what_waits_for_its_place_comes_last)
{
	static const unsigned two[] = { 0, 1 };
	const char *root = run_scratch();
	lc_cache *cache = open_declared(root, "m", two, 2);
	lc_writer *first, *second;
	char *dir, *ids;

	assert_ok(lc_writer_open(cache, "plain", &first));
	assert_ok(lc_writer_open(cache, "with/slash.txt", &second));
	for (unsigned chunk = 0; chunk < 3; chunk++) {
		put_chunk(second, 1, chunk);
		assert_ok(lc_writer_commit(second, "c", 1));
	}
	put_chunk(first, 0, 0);
	assert_ok(lc_writer_commit(first, "c", 1));
	dir = export_to(cache, root, "out", 1, 0);
	ids = ids_of(dir, "");
	ck_assert_str_eq(ids, "0.0.0 1.0.0 1.0.1 1.0.2 1.1.0 1.2.0 1.2.1 1.2.2 1.2.3 ");
	lc_writer_close(first);
	lc_writer_close(second);
	assert_ok(lc_close(cache));
	free(ids);
	free(dir);
}
END_TEST

START_TEST(by_input_is_refused)
{
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	char *dir = outdir_join(root, "out");
	const uint64_t shape[1] = { 1 };
	lc_export_options how;
	lc_tensor tensor;

	assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, "x"));
	assert_ok(lc_put(cache, "a", 1, &tensor));
	lc_export_options_init(&how);
	how.by_input = 1;
	assert_status(lc_export(cache, dir, &how, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "export: module m has no inputs: by_input cannot divide it");
	how.order = LC_BY_COMMIT;
	assert_status(lc_export(cache, dir, &how, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "export: by_input goes with LC_BY_ORDER alone");
	ck_assert_int_eq(outdir_exists(root, "out"), 0);
	assert_ok(lc_close(cache));
	free(dir);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("export_inputs");
	TCase *tc = tcase_create("all");

	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, same_bytes_however_it_was_filled, 0, 5);
	tcase_add_loop_test(tc, by_input_bytes_depend_on_that_input, 0, 3);
	tcase_add_test(tc, what_waits_for_its_place_comes_last);
	tcase_add_test(tc, by_input_is_refused);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
