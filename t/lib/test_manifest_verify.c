/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_build.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* Replace text in the manifest by text. */
static void
edit_manifest(const char *dir, const char *from, const char *to)
{
	struct lc__buf old = outdir_get_file(dir, "manifest.json");
	char *at, *new;

	lc__buf_append(&old, "", 1);
	at = strstr((char *)old.data, from);
	ck_assert_ptr_nonnull(at);
	*at = '\0';
	ck_assert_int_ge(asprintf(&new, "%s%s%s", (char *)old.data, to,
	    at + strlen(from)), 0);
	outdir_put_manifest(dir, new);
	free(new);
	lc__buf_free(&old);
}

static const struct {
	const char *from, *to; /* in the manifest, or NULL */
	off_t flip;            /* in shard 1, or 0 */
	const char *remove;
	const char *add;
	int damages;
	const char *text;
} verify_rows[] = {
	{ NULL, NULL, 5000, NULL, NULL, 1,
	    "shard-000001.twh1: SHA-256 differs from the manifest" },
	{ NULL, NULL, 17, NULL, NULL, 1, "shard-000001.twh1: " },
	{ NULL, NULL, 0, "shard-000002.twh1", NULL, 1,
	    "shard-000002.twh1: open: No such file" },
	{ NULL, NULL, 0, NULL, "shard-000007.twh1", 1,
	    "shard-000007.twh1: a shard that the manifest does not name" },
	{ NULL, NULL, 0, NULL, "x.twh1", 1,
	    "x.twh1: a shard that the manifest does not name" },
	{ NULL, NULL, 0, NULL, "shard-000007.twh1.tmp.Xy3aB9", 0, NULL },
	{ "\"samples\": 20", "\"samples\": 19", 0, NULL, NULL, 1,
	    "samples is 20, the manifest says 19" },
	{ "\"width\": 3", "\"width\": 4", 0, NULL, NULL, 1,
	    "width is 3, the manifest says 4" },
	{ "\"dtype\": \"U8\"", "\"dtype\": \"I8\"", 0, NULL, NULL, 1,
	    "dtype is u8, the manifest says i8" },
	{ "\"endianness\": \"Little\"", "\"endianness\": \"Big\"", 0, NULL, NULL, 1,
	    "is little-endian, the manifest says Big" },
	{ "\"shard_version\": 2", "\"shard_version\": 1", 0, NULL, NULL, 1,
	    "shard_version is 2, the manifest says 1" },
	{ "\"bytes\": ", "\"bytes\": 1", 0, NULL, NULL, 1, "file size is " },
	{ "\"checksum_sha256\"", "\"checksum\"", 0, NULL, NULL, 0, NULL },
	{ "\"version\": \"", "\"version\": \"0", 0, NULL, NULL, 1,
	    "version is not the SHA-256 of version_recipe" },
	{ "\"manifest_version\"", "\"other_version\"", 0, NULL, NULL, 0, NULL },
};

struct damages {
	int lines;       /* reported */
	char first[500]; /* the first of them */
};

static void
count_damage(void *ctx, const char *line)
{
	struct damages *d = ctx;

	if (d->lines++ == 0)
		snprintf(d->first, sizeof(d->first), "%s", line);
}

START_TEST(verify_finds)
{
	const char *dir = fake_reference(0);
	struct damages damages = { 0 };
	const lc_progress progress = { .damage = count_damage, .ctx = &damages };

	if (verify_rows[_i].from != NULL)
		edit_manifest(dir, verify_rows[_i].from, verify_rows[_i].to);
	if (verify_rows[_i].flip != 0)
		outdir_flip(dir, "shard-000001.twh1", verify_rows[_i].flip);
	if (verify_rows[_i].remove != NULL)
		outdir_remove_file(dir, verify_rows[_i].remove);
	if (verify_rows[_i].add != NULL)
		outdir_put_file(dir, verify_rows[_i].add, "x");
	ck_assert_int_eq(lc_manifest_verify(dir, &progress),
	    verify_rows[_i].damages ? LC_CORRUPT : LC_OK);
	ck_assert_int_eq(damages.lines, verify_rows[_i].damages);
	if (verify_rows[_i].text != NULL) {
		ck_assert_ptr_nonnull(strstr(damages.first, verify_rows[_i].text));
		ck_assert_str_eq(lc_last_error()->text, damages.first);
	}
}
END_TEST

START_TEST(verify_without_manifest)
{
	const char *dir = run_scratch();
	int steps = 2;
	const lc_progress stop = { .step = fake_stop_at, .ctx = &steps };

	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_NO_FILE);
	outdir_put_file(dir, "manifest.json", "{}");
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_NOT_MODULE);
	outdir_put_file(dir, "manifest.json", "{\"shards\":[],\"manifest_version\":3}");
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_VERSION);
	ck_assert_int_eq(lc_manifest_verify(fake_reference(0), &stop), LC_CANCELLED);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("manifest_verify");
	TCase *tc = tcase_create("manifest_verify");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, verify_finds, 0, COUNT(verify_rows));
	tcase_add_test(tc, verify_without_manifest);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
