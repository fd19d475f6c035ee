/* SPDX-License-Identifier: BSD-2-Clause */
/* Warehouses that are damaged, stale or not what was asked for: what is refused, and
 * that no damaged byte is ever handed out. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "made_warehouse.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define SHARD "32x24/shard-000001.twh1" /* one in the middle */

static const struct made_variant plain;

/* ---- what was told ------------------------------------------------------------ */

struct told {
	int lines;
	char text[4000]; /* all of them */
};

static void
tell(void *ctx, const char *line)
{
	struct told *told = ctx;
	const size_t used = strlen(told->text);

	told->lines++;
	snprintf(told->text + used, sizeof(told->text) - used, "%s\n", line);
}

/* Open, twice: with somebody to tell and without; the same comes of both. */
static lc_status
try_open(const char *path, lc_warehouse_options *options, struct told *told)
{
	lc_warehouse *w = NULL;
	lc_status status, again;

	memset(told, 0, sizeof(*told));
	options->progress = (lc_progress){ .step = NULL };
	status = lc_warehouse_open(path, options, &w);
	ck_assert(status != LC_OK || w != NULL);
	lc_warehouse_close(w);
	w = NULL;
	options->progress = (lc_progress){ .damage = tell, .ctx = told };
	again = lc_warehouse_open(path, options, &w);
	ck_assert_int_eq(again, status);
	lc_warehouse_close(w);
	return status;
}

static off_t
size_of(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	free(path);
	return st.st_size;
}

static void
set_size(const char *dir, const char *name, off_t size)
{
	char *path = outdir_join(dir, name);

	ck_assert_int_eq(truncate(path, size), 0);
	free(path);
}

static void
swap(const char *dir, const char *a, const char *b)
{
	char *x = outdir_join(dir, a), *y = outdir_join(dir, b);
	char *middle = outdir_join(dir, "middle");

	ck_assert_int_eq(rename(x, middle), 0);
	ck_assert_int_eq(rename(y, x), 0);
	ck_assert_int_eq(rename(middle, y), 0);
	free(x);
	free(y);
	free(middle);
}

/* Replace text in a file by text. */
static void
edit(const char *dir, const char *name, const char *from, const char *to, bool sign)
{
	struct lc__buf old = outdir_get_file(dir, name);
	char *at, *new;

	lc__buf_append(&old, "", 1);
	at = strstr((char *)old.data, from);
	ck_assert_msg(at != NULL, "no %s in %s", from, (char *)old.data);
	*at = '\0';
	ck_assert_int_ge(asprintf(&new, "%s%s%s", (char *)old.data, to,
	    at + strlen(from)), 0);
	if (sign)
		outdir_put_manifest(dir, new);
	else
		outdir_put_file(dir, name, new);
	free(new);
	lc__buf_free(&old);
}

/* ---- refused when opened ------------------------------------------------------- */

enum harm {
	MISSING, CUT, GROWN, FLIPPED, EMPTIED, SWAPPED, EXTRA, REPLACED,
	EDITED,  /* with its digest of the new text */
	UNSIGNED, /* with its digest of the old text */
};

/* What is done to `name` of the version, and what comes of it by verification. */
static const struct {
	enum harm harm;
	const char *name;
	long at;               /* of a flip, from the end if below 0 */
	const char *from, *to; /* of an edit */
	lc_status once, files, never;
	const char *text;
} harms[] = {
	{ MISSING, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    SHARD ": open: No such file" },
	{ CUT, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT, SHARD },
	{ GROWN, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT, SHARD },
	{ EMPTIED, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    SHARD ": not a TWH1 shard" },
	{ REPLACED, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    SHARD ": not a TWH1 shard" },
	{ FLIPPED, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    SHARD ": not a TWH1 shard" },
	{ FLIPPED, SHARD, 33, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT, SHARD },
	{ FLIPPED, SHARD, -5, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    SHARD ": the checksum section" },
	{ FLIPPED, SHARD, 4200, NULL, NULL, LC_OK, LC_CORRUPT, LC_OK,
	    SHARD ": SHA-256 differs" },
	{ FLIPPED, SHARD, 100, NULL, NULL, LC_OK, LC_CORRUPT, LC_OK,
	    SHARD ": SHA-256 differs" },
	/* Both are whole, and of one size: only the manifest tells them apart. */
	{ SWAPPED, SHARD, 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "shard-000001.twh1: its checksum section ends in" },
	{ EXTRA, "32x24/shard-000077.twh1", 0, NULL, NULL, LC_OK, LC_OK, LC_OK, NULL },
	{ MISSING, "manifest.json", 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "has no manifest.json" },
	{ CUT, "manifest.json", 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "manifest.json: line " },
	{ EMPTIED, "manifest.json", 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "manifest.json: line " },
	{ EDITED, "manifest.json", 0, "\"version\": \"", "\"version\": \"0",
	    LC_CORRUPT, LC_CORRUPT, LC_CORRUPT, "not the SHA-256 of version_recipe" },
	{ EDITED, "manifest.json", 0, "\"relative_path\": \"32x24/",
	    "\"relative_path\": \"../32x24/", LC_CORRUPT, LC_CORRUPT,
	    LC_CORRUPT, "does not stay inside" },
	{ EDITED, "manifest.json", 0, "\"manifest_version\": 1",
	    "\"manifest_version\": 3", LC_VERSION, LC_VERSION, LC_VERSION, "newer" },
	{ EDITED, "manifest.json", 0, "\"shards\"", "\"sharks\"", LC_NOT_MODULE,
	    LC_NOT_MODULE, LC_NOT_MODULE, "not a shard manifest" },
	{ EDITED, "manifest.json", 0, "\"width\": 32", "\"width\": 31", LC_CORRUPT,
	    LC_CORRUPT, LC_CORRUPT, "width is 32, the manifest says 31" },
	{ EDITED, "manifest.json", 0, "\"checksum_sha256\": \"",
	    "\"checksum_sha256\": null, \"was\": \"", LC_OK, LC_CORRUPT, LC_OK,
	    "the manifest has no checksum of it" },
	{ EDITED, "manifest.json", 0, "\"samples\": 33", "\"samples\": 34", LC_CORRUPT,
	    LC_CORRUPT, LC_CORRUPT, "its series do not match its shards" },
	{ UNSIGNED, "manifest.json", 0, "\"id\": \"32x24/shard-000000\"",
	    "\"id\": \"32x24/shard-000009\"", LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "manifest.json: the file was changed after it was written" },
	{ UNSIGNED, "manifest.json", 0, "\"thresholds\": {", "\"thresholds\": {  ",
	    LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "manifest.json: the file was changed after it was written" },
	{ UNSIGNED, "manifest.json", 0, "\"created_at_ms\": 1", "\"created_at_ms\": 2",
	    LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "manifest.json: the file was changed after it was written" },
	{ UNSIGNED, "manifest.json", 0, "\"manifest_sha256\"", "\"manifest_sha255\"",
	    LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "manifest.json: manifest_sha256 is missing" },
	{ MISSING, "sources.txt", 0, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "sources.txt: open: No such file" },
	{ FLIPPED, "sources.txt", 70, NULL, NULL, LC_CORRUPT, LC_CORRUPT, LC_CORRUPT,
	    "sources.txt: SHA-256 differs from the manifest" },
	{ MISSING, "rejected.jsonl", 0, NULL, NULL, LC_OK, LC_CORRUPT, LC_OK,
	    "rejected.jsonl: open: No such file" },
	{ FLIPPED, "rejected.jsonl", 3, NULL, NULL, LC_OK, LC_CORRUPT, LC_OK,
	    "rejected.jsonl: SHA-256 differs from the manifest" },
};

static void
do_harm(const char *dir, int row)
{
	const char *name = harms[row].name;

	switch (harms[row].harm) {
	case MISSING:
		outdir_remove_file(dir, name);
		break;
	case CUT:
		set_size(dir, name, size_of(dir, name) - 1 -
		    (strcmp(name, "manifest.json") == 0 ? 9 : 0));
		break;
	case GROWN:
		set_size(dir, name, size_of(dir, name) + 1);
		break;
	case FLIPPED:
		outdir_flip(dir, name, harms[row].at >= 0 ? harms[row].at :
		    size_of(dir, name) + harms[row].at);
		break;
	case EMPTIED:
		set_size(dir, name, 0);
		break;
	case SWAPPED:
		ck_assert_int_eq(size_of(dir, name),
		    size_of(dir, "32x24/shard-000002.twh1"));
		swap(dir, name, "32x24/shard-000002.twh1");
		break;
	case EXTRA:
	case REPLACED:
		outdir_put_file(dir, name, "this is no shard");
		break;
	case EDITED:
		edit(dir, name, harms[row].from, harms[row].to, true);
		break;
	case UNSIGNED:
		edit(dir, name, harms[row].from, harms[row].to, false);
		break;
	}
}

START_TEST(harmed)
{
	const lc_status wanted[] = { harms[_i].once, harms[_i].files,
		harms[_i].never };
	const struct made made = made_warehouse(&plain);
	struct told told;

	do_harm(made.version, _i);
	for (int mode = 0; mode < 3; mode++)
		for (int verify = 0; verify < 3; verify++) {
			lc_warehouse_options o = made_options((lc_warehouse_mode)mode);

			o.verify = verify < 2 ? LC_VERIFY_ONCE : LC_VERIFY_NEVER;
			o.verify_files = verify == 1;
			ck_assert_msg(try_open(made.warehouse, &o, &told) ==
			    wanted[verify], "mode %d, verify %d: %s", mode, verify,
			    lc_last_error()->text);
			if (wanted[verify] != LC_OK)
				ck_assert_msg(strstr(lc_last_error()->text,
				    harms[_i].text) != NULL, "%s",
				    lc_last_error()->text);
		}
}
END_TEST

START_TEST(shards_without_block_checksums)
{
	const struct made_variant variants[] = { { .version = 1 },
		{ .bare = true }, { .bare = true, .no_sha256 = true } };
	const struct made made = made_warehouse(&variants[_i]);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	struct told told;

	outdir_flip(made.version, SHARD, 4200);
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(told.text, SHARD));
	o.verify_files = 1;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_CORRUPT);
	o.verify_files = 0;
	o.verify = LC_VERIFY_NEVER;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_OK);
}
END_TEST

/* All that speaks against it is told; the first of it is the error. */
START_TEST(everything_is_told)
{
	const struct made_variant v = { .thresholds = "{\"max_invalid\":0}" };
	const struct made made = made_warehouse(&v);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	struct told told;

	outdir_put_file(made.dataset, "run-0/labels/1.json", "{\"other\":1}");
	outdir_remove_file(made.dataset, "run-1/labels/1.json");
	outdir_flip(made.version, "32x24/shard-000000.twh1", 5000);
	outdir_remove_file(made.version, "32x24/shard-000001.twh1");
	outdir_flip(made.version, "16x48/shard-000000.twh1", 5000);
	o.verify_files = 1;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_FAILED);
	ck_assert_ptr_nonnull(strstr(told.text, "invalid 1 of 104"));
	ck_assert_ptr_nonnull(strstr(told.text, "run-0/labels/1.json: changed\n"));
	ck_assert_ptr_nonnull(strstr(told.text, "run-1/labels/1.json: removed\n"));
	ck_assert_ptr_nonnull(strstr(told.text,
	    "32x24/shard-000000.twh1: SHA-256 differs"));
	ck_assert_ptr_nonnull(strstr(told.text, "32x24/shard-000001.twh1: open"));
	ck_assert_ptr_nonnull(strstr(told.text,
	    "16x48/shard-000000.twh1: SHA-256 differs"));
	ck_assert_msg(told.lines == 6, "%s", told.text);
	o.ignore_thresholds = 1;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_STALE);
	o.sources = LC_SOURCES_IGNORE;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_CORRUPT);
	ck_assert_int_eq(told.lines, 3);
}
END_TEST

START_TEST(lists_that_are_ignored)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	struct told told;

	outdir_flip(made.version, "sources.txt", 70);
	o.sources = LC_SOURCES_IGNORE;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_OK);
	o.verify_files = 1;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(told.text, "sources.txt"));
}
END_TEST

/* ---- damaged samples ------------------------------------------------------------ */

/* lc_shard says which samples are hurt: it verifies each on its own. */
static bool
is_whole(const lc_shard *shard, uint64_t i)
{
	lc_sample sample;

	return lc_shard_verify_sample(shard, i) == LC_OK &&
	    lc_shard_sample(shard, i, &sample) == LC_OK;
}

/* The samples of SHARD, which is the second. */
static void
expect_damage(lc_warehouse *w, const lc_shard *shard, uint64_t first)
{
	const uint64_t n = lc_shard_info_of(shard)->samples;
	unsigned char image[MADE_IMAGE];
	lc_sample sample;

	for (uint64_t i = 0; i < MADE_SAMPLES; i++) {
		const bool whole = i < first || i >= first + n ||
		    is_whole(shard, i - first);
		const lc_status status = lc_warehouse_sample(w, i, &sample);

		ck_assert_msg(status == (whole ? LC_OK : LC_CORRUPT), "sample %llu",
		    (unsigned long long)i);
		ck_assert_int_eq(lc_warehouse_copy(w, i, image, NULL, NULL), status);
		if (whole) {
			ck_assert(made_is(&sample, i, &plain));
			lc_warehouse_release(w, &sample);
		} else {
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text, SHARD));
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
			    "sample "));
		}
	}
}

static void
flip_and_read(const struct made *made, off_t at, uint64_t first)
{
	lc_shard *shard;
	lc_warehouse *w;
	char *path = outdir_join(made->version, SHARD);

	outdir_flip(made->version, SHARD, at);
	if (lc_shard_open(path, &shard) != LC_OK)
		shard = NULL;
	for (int mode = 0; mode < 3; mode++) {
		const lc_warehouse_options o = made_options((lc_warehouse_mode)mode);
		const lc_status status = lc_warehouse_open(made->warehouse, &o, &w);

		ck_assert_int_eq(status, shard == NULL ? LC_CORRUPT : LC_OK);
		if (status != LC_OK)
			continue;
		expect_damage(w, shard, first);
		expect_damage(w, shard, first);
		lc_warehouse_close(w);
	}
	lc_shard_close(shard);
	outdir_flip(made->version, SHARD, at);
	free(path);
}

/* Where SHARD's samples begin, and its header. */
static lc_shard_info
middle_shard(const struct made *made, uint64_t *first)
{
	char *paths[2] = { outdir_join(made->version, "32x24/shard-000000.twh1"),
		outdir_join(made->version, SHARD) };
	lc_shard_info info[2];
	lc_shard *shard;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(lc_shard_open(paths[i], &shard), LC_OK);
		info[i] = *lc_shard_info_of(shard);
		lc_shard_close(shard);
		free(paths[i]);
	}
	*first = info[0].samples;
	return info[1];
}

/* In a byte of each part, and at random. */
START_TEST(flips)
{
	const struct made_variant v = { .long_rows = _i == 1 };
	const struct made made = made_warehouse(&v);
	uint64_t first, seed = run_seed();
	const lc_shard_info info = middle_shard(&made, &first);
	const uint64_t places[] = { info.image_offset, info.boxes_offset + 3,
		info.mask_offset, info.meta_offset + 32, info.meta_offset + 40,
		info.checksum_offset - 1, 90, info.checksum_offset, info.file_size - 1,
		info.image_offset + 3 * MADE_IMAGE };

	for (int i = 0; i < COUNT(places); i++)
		flip_and_read(&made, (off_t)places[i], first);
	for (int i = 0; i < 12; i++)
		flip_and_read(&made, (off_t)(run_random(&seed) % info.file_size),
		    first);
}
END_TEST

/* A block that was right is looked at again only by a handle that verifies always. */
START_TEST(damaged_later)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options o = made_options(
	    _i % 2 ? LC_WAREHOUSE_STREAM : LC_WAREHOUSE_MAP);
	const lc_status want = _i / 2 ? LC_CORRUPT : LC_OK;
	unsigned char image[MADE_IMAGE];
	uint64_t first;
	const lc_shard_info info = middle_shard(&made, &first);
	lc_sample sample;
	lc_warehouse *w;

	if (_i / 2)
		o.verify = LC_VERIFY_ALWAYS;
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &o, &w), LC_OK);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(lc_warehouse_sample(w, first, &sample), LC_OK);
		ck_assert(made_is(&sample, first, &plain));
		lc_warehouse_release(w, &sample);
		ck_assert_int_eq(lc_warehouse_copy(w, first, image, NULL, NULL), LC_OK);
		ck_assert_mem_eq(image, made_image(first), MADE_IMAGE);
	}
	outdir_flip(made.version, SHARD, (off_t)info.image_offset);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(lc_warehouse_sample(w, first, &sample), want);
		if (want == LC_OK)
			lc_warehouse_release(w, &sample);
		ck_assert_int_eq(lc_warehouse_copy(w, first, image, NULL, NULL), want);
		if (want == LC_OK)
			ck_assert_mem_eq(image + 1, (const char *)made_image(first) + 1,
			    MADE_IMAGE - 1);
	}
	outdir_flip(made.version, SHARD, (off_t)info.image_offset);
	ck_assert_int_eq(lc_warehouse_copy(w, first, image, NULL, NULL), LC_OK);
	ck_assert_mem_eq(image, made_image(first), MADE_IMAGE);
	lc_warehouse_close(w);
}
END_TEST

/* Not verified, wrong bytes come, and never others than the file's. */
START_TEST(unverified_flips)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options o = made_options((lc_warehouse_mode)_i);
	uint64_t first, seed = run_seed();
	const lc_shard_info info = middle_shard(&made, &first);
	lc_sample sample;
	lc_warehouse *w;

	o.verify = LC_VERIFY_NEVER;
	for (int k = 0; k < 40; k++) {
		const off_t at = (off_t)(info.meta_offset + 32 + run_random(&seed) %
		    (info.checksum_offset - info.meta_offset - 32));

		outdir_flip(made.version, SHARD, at);
		ck_assert_int_eq(lc_warehouse_open(made.warehouse, &o, &w), LC_OK);
		for (uint64_t i = 0; i < MADE_SAMPLES; i++)
			if (lc_warehouse_sample(w, i, &sample) == LC_OK) {
				ck_assert_mem_eq(sample.image.data, made_image(i),
				    MADE_IMAGE);
				lc_warehouse_release(w, &sample);
			}
		lc_warehouse_close(w);
		outdir_flip(made.version, SHARD, at);
	}
}
END_TEST

/* What is verified stays readable, and a file that is exchanged is seen. */
START_TEST(changed_behind_a_stream)
{
	const struct made made = made_warehouse(&plain);
	const lc_warehouse_options o = made_options(LC_WAREHOUSE_STREAM);
	uint64_t first;
	const lc_shard_info info = middle_shard(&made, &first);
	char *path = outdir_join(made.version, SHARD);
	struct lc__buf bytes = outdir_get_file(made.version, SHARD);
	lc_sample sample;
	lc_warehouse *w;

	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &o, &w), LC_OK);
	ck_assert_int_eq(lc__write_file_atomic(path, bytes.data, bytes.size), LC_OK);
	ck_assert_int_eq(lc_warehouse_sample(w, first, &sample), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "was replaced"));
	lc_warehouse_close(w);
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &o, &w), LC_OK);
	ck_assert_int_eq(lc_warehouse_sample(w, first, &sample), LC_OK);
	lc_warehouse_release(w, &sample);
	set_size(made.version, SHARD, (off_t)info.image_offset + 10);
	ck_assert_int_eq(lc_warehouse_sample(w, first, &sample), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "ends at byte"));
	ck_assert_int_eq(lc_warehouse_sample(w, 0, &sample), LC_OK);
	lc_warehouse_release(w, &sample);
	lc_warehouse_close(w);
	lc__buf_free(&bytes);
	free(path);
}
END_TEST

/* ---- sources --------------------------------------------------------------------- */

enum change { NOTHING, TOUCHED, CHANGED, SAME_SIZE, REMOVED, ADDED, GONE };

static const struct {
	enum change change;
	lc_warehouse_sources sources;
	lc_status status;
	int seen;
	const char *text;
} source_rows[] = {
	{ NOTHING, LC_SOURCES_STAT, LC_OK, 1, NULL },
	{ NOTHING, LC_SOURCES_CONTENT, LC_OK, 1, NULL },
	{ NOTHING, LC_SOURCES_IGNORE, LC_OK, 0, NULL },
	{ TOUCHED, LC_SOURCES_STAT, LC_OK, 1, NULL },
	{ TOUCHED, LC_SOURCES_CONTENT, LC_OK, 1, NULL },
	{ CHANGED, LC_SOURCES_STAT, LC_STALE, 0, "run-0/labels/1.json: changed" },
	{ CHANGED, LC_SOURCES_CONTENT, LC_STALE, 0, "run-0/labels/1.json: changed" },
	{ CHANGED, LC_SOURCES_IGNORE, LC_OK, 0, NULL },
	{ SAME_SIZE, LC_SOURCES_CONTENT, LC_STALE, 0, "run-0/labels/1.json: changed" },
	{ REMOVED, LC_SOURCES_STAT, LC_STALE, 0, "run-0/labels/1.json: removed" },
	{ ADDED, LC_SOURCES_STAT, LC_STALE, 0, "run-0/labels/3.json: added" },
	{ ADDED, LC_SOURCES_CONTENT, LC_STALE, 0, "run-0/labels/3.json: added" },
	{ GONE, LC_SOURCES_STAT, LC_OK, 0, NULL },
	{ GONE, LC_SOURCES_CONTENT, LC_NO_FILE, 0, "gone" },
	{ GONE, LC_SOURCES_IGNORE, LC_OK, 0, NULL },
};

static void
change_sources(const char *dir, enum change change)
{
	static const struct timespec later[2] = { { 2000000000, 0 },
		{ 2000000000, 0 } };
	char *path = outdir_join(dir, "run-0/labels/1.json");

	if (change == CHANGED)
		outdir_put_file(dir, "run-0/labels/1.json", "{\"one\":\"other\"}");
	if (change == SAME_SIZE)
		outdir_put_file(dir, "run-0/labels/1.json", "{\"one\":2}");
	if (change == REMOVED)
		outdir_remove_file(dir, "run-0/labels/1.json");
	if (change == ADDED)
		outdir_put_file(dir, "run-0/labels/3.json", "{}");
	if (change == TOUCHED)
		ck_assert_int_eq(utimensat(AT_FDCWD, path, later, 0), 0);
	free(path);
}

START_TEST(changed_sources)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	struct told told;
	lc_warehouse *w;

	change_sources(made.dataset, source_rows[_i].change);
	o.sources = source_rows[_i].sources;
	o.dataset = source_rows[_i].change == GONE ? "/nowhere/gone" : NULL;
	ck_assert_msg(try_open(made.warehouse, &o, &told) ==
	    source_rows[_i].status, "%s", lc_last_error()->text);
	if (source_rows[_i].text != NULL) {
		ck_assert_ptr_nonnull(strstr(told.text, source_rows[_i].text));
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    source_rows[_i].text));
		return;
	}
	ck_assert_int_eq(told.lines, 0);
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &o, &w), LC_OK);
	ck_assert_int_eq(lc_warehouse_info_of(w)->sources_seen,
	    source_rows[_i].seen);
	lc_warehouse_close(w);
}
END_TEST

START_TEST(dataset_elsewhere)
{
	const struct made made = made_warehouse(&plain);
	const struct made other = made_warehouse(&plain);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	struct told told;

	change_sources(made.dataset, CHANGED);
	o.dataset = other.dataset;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_OK);
	o.sources = LC_SOURCES_CONTENT;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_OK);
}
END_TEST

/* ---- thresholds ------------------------------------------------------------------- */

static const struct {
	const char *thresholds, *summary;
	lc_status status;
	const char *text;
} threshold_rows[] = {
	{ "{\"max_invalid\":1}", NULL, LC_OK, NULL },
	{ "{\"max_invalid\":0}", NULL, LC_FAILED, "invalid 1 of 104 frames" },
	{ "{\"max_invalid\":0,\"mode\":\"warn\"}", NULL, LC_OK, NULL },
	{ "{\"max_empty_ratio\":0.1}", NULL, LC_FAILED, "empty 21 of 104 frames" },
	{ "{\"max_empty_ratio\":0.5}", NULL, LC_OK, NULL },
	{ "{\"max_missing\":0}", NULL, LC_OK, NULL },
	{ "{\"max_missing\":0}", "{\"totals\":{\"total\":2,\"missing\":2}}",
	    LC_FAILED, "missing 2 of 2 frames" },
	{ "null", "null", LC_OK, NULL },
	{ "[]", NULL, LC_CORRUPT, "manifest.json: thresholds: " },
	{ "{\"max_invalid\":\"many\"}", NULL, LC_CORRUPT, "max_invalid" },
};

START_TEST(thresholds)
{
	const struct made_variant v = {
		.thresholds = threshold_rows[_i].thresholds,
		.summary = threshold_rows[_i].summary };
	const struct made made = made_warehouse(&v);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	struct told told;

	ck_assert_msg(try_open(made.warehouse, &o, &told) ==
	    threshold_rows[_i].status, "%s", lc_last_error()->text);
	if (threshold_rows[_i].text != NULL)
		ck_assert_msg(strstr(lc_last_error()->text,
		    threshold_rows[_i].text) != NULL, "%s", lc_last_error()->text);
	o.ignore_thresholds = 1;
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_OK);
}
END_TEST

/* ---- no warehouse ------------------------------------------------------------------ */

START_TEST(no_warehouse)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options o = made_options(LC_WAREHOUSE_MAP);
	char *current = outdir_join(made.warehouse, "current");
	char *file = outdir_join(made.dataset, "run-0/labels/1.json");
	struct told told;

	ck_assert_int_eq(try_open("/nowhere/at/all", &o, &told), LC_NO_FILE);
	ck_assert_int_eq(try_open(file, &o, &told), LC_NOT_MODULE);
	ck_assert_int_eq(try_open(made.dataset, &o, &told), LC_NOT_MODULE);
	ck_assert_int_eq(try_open(current, &o, &told), LC_OK);
	ck_assert_int_eq(unlink(current), 0);
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_NOT_MODULE);
	ck_assert_int_eq(symlink("v20200101-000000000000", current), 0);
	ck_assert_int_eq(try_open(made.warehouse, &o, &told), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "current"));
	ck_assert_int_eq(try_open(made.version, &o, &told), LC_OK);
	free(current);
	free(file);
}
END_TEST

/* Of two versions the current one. */
START_TEST(versions)
{
	const struct made_variant second = { .recipe = "{\"made\":2}" };
	struct made made = made_warehouse(&plain);
	const char *first = made.version;
	lc_warehouse *w;

	made_another(&made, &second);
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, NULL, &w), LC_OK);
	ck_assert_str_eq(lc_warehouse_info_of(w)->recipe, "{\"made\":2}");
	lc_warehouse_close(w);
	ck_assert_int_eq(lc_warehouse_open(first, NULL, &w), LC_OK);
	ck_assert_str_eq(lc_warehouse_info_of(w)->recipe, "{\"made\":1}");
	lc_warehouse_close(w);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warehouse_damage");
	TCase *tc = tcase_create("warehouse_damage");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, harmed, 0, COUNT(harms));
	tcase_add_loop_test(tc, shards_without_block_checksums, 0, 3);
	tcase_add_test(tc, everything_is_told);
	tcase_add_test(tc, lists_that_are_ignored);
	tcase_add_loop_test(tc, flips, 0, 2);
	tcase_add_loop_test(tc, damaged_later, 0, 4);
	tcase_add_loop_test(tc, unverified_flips, 0, 3);
	tcase_add_test(tc, changed_behind_a_stream);
	tcase_add_loop_test(tc, changed_sources, 0, COUNT(source_rows));
	tcase_add_test(tc, dataset_elsewhere);
	tcase_add_loop_test(tc, thresholds, 0, COUNT(threshold_rows));
	tcase_add_test(tc, no_warehouse);
	tcase_add_test(tc, versions);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
