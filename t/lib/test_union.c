/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "fake_build.h"
#include "format/manifest.h"
#include "need.h"
#include "outdir_files.h"

static const char *scratch; /* of the running test */

static char *
in_scratch(const char *name)
{
	return outdir_join(scratch, name);
}

/* A set of so many samples, 20 a shard. */
static char *
make_set(const char *name, uint64_t samples)
{
	const struct fake_variant v = { .samples = samples };
	char *dir = in_scratch(name);
	lc_export_result result;

	assert_ok(fake_build(dir, &v, &result));
	return dir;
}

static void
read_union(const char *dir, struct lc__manifest *out)
{
	struct lc__buf text = outdir_get_file(dir, "manifest.json");

	assert_ok(lc__manifest_parse_any(text.data, text.size, "m", out));
	lc__buf_free(&text);
}

static lc_status
join(const char *out, const char *a, const char *b, const char *c)
{
	const char *const sets[] = { a, b, c };
	lc_union_result result;

	return lc_shard_union(out, sets, c != NULL ? 3 : b != NULL ? 2 : 1, &result);
}

static void
setup(void)
{
	scratch = run_scratch();
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
}

START_TEST(joined)
{
	char *a = make_set("a", 100), *b = make_set("b", 30);
	char *c, *all = in_scratch("all"), *more = in_scratch("deep/er/more");
	struct lc__buf one, two;
	struct lc__manifest m;
	lc_union_result result;

	assert_ok(lc__make_dirs(more));
	c = make_set("deep/c", 20);
	{
		const char *const sets[] = { b, a };
		assert_ok(lc_shard_union(all, sets, 2, &result));
	}
	ck_assert_uint_eq(result.parts, 2);
	ck_assert_uint_eq(result.shards, 7);
	ck_assert_uint_eq(result.samples, 130);
	read_union(all, &m);
	ck_assert_uint_eq(m.n_parts, 2);
	ck_assert_str_eq(m.parts[0].relative_path, "../b/manifest.json");
	ck_assert_str_eq(m.parts[0].base, "");
	ck_assert_uint_eq(m.parts[0].samples, 30);
	ck_assert_str_eq(m.parts[0].counts, "20 10");
	ck_assert_str_eq(m.parts[1].relative_path, "../a/manifest.json");
	ck_assert_str_eq(m.parts[1].counts, "20x5");
	ck_assert_uint_eq(m.parts[0].bytes + m.parts[1].bytes, result.bytes);
	ck_assert_int_eq(m.layout.dtype, LC_U8);
	lc__manifest_free(&m);
	ck_assert_int_eq(outdir_count_files(all, ""), 1);

	/* The parts of a union become those of the next one, from other directories. */
	{
		const char *const sets[] = { c, all, a };
		assert_ok(lc_shard_union(more, sets, 3, &result));
	}
	ck_assert_uint_eq(result.parts, 4);
	ck_assert_uint_eq(result.samples, 250);
	read_union(more, &m);
	ck_assert_str_eq(m.parts[0].relative_path, "../../c/manifest.json");
	ck_assert_str_eq(m.parts[1].relative_path, "../../../b/manifest.json");
	ck_assert_str_eq(m.parts[2].relative_path, "../../../a/manifest.json");
	ck_assert_str_eq(m.parts[3].relative_path, "../../../a/manifest.json");
	ck_assert_str_eq(m.parts[2].base, "");
	lc__manifest_free(&m);

	/* The same again is the same bytes, over the first one. */
	one = outdir_get_file(more, "manifest.json");
	assert_ok(join(more, c, all, a));
	two = outdir_get_file(more, "manifest.json");
	ck_assert_uint_eq(one.size, two.size);
	ck_assert_mem_eq(one.data, two.data, one.size);
	lc__buf_free(&one);
	lc__buf_free(&two);
	free(a);
	free(b);
	free(c);
	free(all);
	free(more);
}
END_TEST

/* A base is from the directory of the manifest that names the part. */
START_TEST(bases)
{
	static const struct { const char *in, *out; } rows[] = {
		{ "..", ".." }, { "../..", "../.." }, { "", "" }, { ".", "../store" },
		{ "../store/x", "../store/x" }, { "../all", "." }, { "x", "../store/x" },
		{ "../../..", "../../.." },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lc__manifest_part part = {
			.relative_path = (char *)"../part/aa/b.json",
			.base = (char *)rows[i].in,
			.shards = 1, .samples = 7, .counts = (char *)"7",
		};
		struct lc__manifest m = {
			.manifest_version = LC__MANIFEST_OF_PARTS,
			.default_shard_version = 2,
			.layout = { 1, 1, 1, 0, LC_U8, LC_U8 },
			.n_parts = 1,
			.parts = &part,
		};
		char *store = in_scratch("store"), *all = in_scratch("all"), *out;
		struct lc__buf text = { 0 };

		memset(part.sha256, 'a', 64);
		assert_ok(lc__make_dirs(store));
		assert_ok(lc__manifest_format(&m, &text));
		lc__buf_append(&text, "", 1);
		outdir_put_file(store, "manifest.json", (char *)text.data);
		lc__buf_free(&text);
		assert_ok(join(all, store, NULL, NULL));
		read_union(all, &m);
		out = m.parts[0].base;
		ck_assert_msg(strcmp(out, rows[i].out) == 0, "%s became %s, not %s",
		    rows[i].in, out, rows[i].out);
		ck_assert_str_eq(m.parts[0].relative_path, "../part/aa/b.json");
		lc__manifest_free(&m);
		free(store);
		free(all);
	}
}
END_TEST

/* Each refusal leaves what was there, and names the set. */
START_TEST(refused)
{
	char *a = make_set("a", 100), *all = in_scratch("all"), *none = in_scratch("none");
	char *bad = make_set("bad", 20), *wide = in_scratch("wide"), text[500];
	const struct fake_variant boxes = { .samples = 20, .series = 1 };
	lc_export_result result;
	struct lc__buf before, after;

	assert_ok(fake_build(wide, &boxes, &result));
	assert_ok(join(all, a, NULL, NULL));
	before = outdir_get_file(all, "manifest.json");

	ck_assert_int_eq(join(all, a, wide, NULL), LC_INVALID);
	snprintf(text, sizeof(text), "%s: its ", wide);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, text));
	snprintf(text, sizeof(text), " differs from that of %s", a);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, text));

	ck_assert_int_eq(join(all, a, none, NULL), LC_NO_FILE);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, none));
	ck_assert_int_eq(join(all, a, scratch, NULL), LC_NOT_MODULE);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, scratch));

	outdir_flip(bad, "manifest.json", 200);
	ck_assert_int_eq(join(all, a, bad, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, bad));

	ck_assert_int_eq(join(all, a, all, NULL), LC_INVALID);
	snprintf(text, sizeof(text), "%s: is the target of the union", all);
	ck_assert_str_eq(lc_last_error()->text, text);
	ck_assert_int_eq(join(a, wide, NULL, NULL), LC_EXISTS);
	snprintf(text, sizeof(text), "%s: has shards of its own", a);
	ck_assert_str_eq(lc_last_error()->text, text);

	after = outdir_get_file(all, "manifest.json");
	ck_assert_uint_eq(before.size, after.size);
	ck_assert_mem_eq(before.data, after.data, before.size);
	ck_assert_int_eq(outdir_count_unfinished(all), 0);
	lc__buf_free(&before);
	lc__buf_free(&after);
	free(a);
	free(all);
	free(none);
	free(bad);
	free(wide);
}
END_TEST

static void
note_line(void *ctx, const char *line)
{
	struct lc__buf *lines = ctx;

	lc__buf_printf(lines, "%s\n", line);
}

static int
note_step(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	ck_assert_uint_le(done, total);
	return 0;
}

/* A union that is wrong about the samples of a shard, though not about their sum, is damaged
 * for verify as it is for readers. */
START_TEST(wrong_counts)
{
	char *a = make_set("a", 30), *all = in_scratch("all");
	char *path = lc__path_join(all, "manifest.json");
	struct lc__buf text = { 0 };
	struct lc__manifest m;

	assert_ok(join(all, a, NULL, NULL));
	assert_ok(lc__read_regular(path, 1 << 20, &text));
	assert_ok(lc__manifest_parse_any(text.data, text.size, path, &m));
	ck_assert_str_eq(m.parts[0].counts, "20 10");
	strcpy(m.parts[0].counts, "10 20");
	text.size = 0;
	assert_ok(lc__manifest_format(&m, &text));
	lc__buf_append(&text, "", 1);
	outdir_put_file(all, "manifest.json", (char *)text.data);
	ck_assert_int_eq(lc_manifest_verify(all, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "/a/manifest.json: shard-000000.twh1: samples is "));
	lc__manifest_free(&m);
	lc__buf_free(&text);
	free(path);
	free(all);
	free(a);
}
END_TEST

/* Each part and each shard of it is compared; damage of all of them is told. */
START_TEST(verified)
{
	char *a = make_set("a", 100), *b = make_set("b", 60), *c = make_set("c", 20);
	char *all = in_scratch("all");
	struct lc__buf lines = { 0 };
	const lc_progress progress = { .damage = note_line, .step = note_step, .ctx = &lines };

	assert_ok(join(all, a, b, c));
	assert_ok(lc_manifest_verify(all, &progress));
	assert_ok(lc_manifest_verify(all, NULL));
	outdir_flip(a, "shard-000003.twh1", 5000);
	outdir_remove_file(b, "shard-000001.twh1");
	ck_assert_int_eq(lc_manifest_verify(all, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "/a/shard-000003.twh1: SHA-256 differs from the manifest"));
	outdir_flip(c, "manifest.json", 300);
	ck_assert_int_eq(lc_manifest_verify(all, &progress), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "/a/shard-000003.twh1: "));
	lc__buf_append(&lines, "", 1);
	ck_assert_ptr_nonnull(strstr((char *)lines.data,
	    "/b/shard-000001.twh1: open: No such file"));
	ck_assert_ptr_nonnull(strstr((char *)lines.data,
	    "/c/manifest.json: SHA-256 differs from the manifest that names it\n"));
	lc__buf_free(&lines);
	free(a);
	free(b);
	free(c);
	free(all);
}
END_TEST

/* Through a link the paths are those of the directories that are meant. */
START_TEST(links)
{
	char *a = make_set("real/a", 20), *link = in_scratch("link"), *all = in_scratch("all");
	char *real = in_scratch("real");
	char *by_link = outdir_join(link, "a");
	struct lc__manifest m;

	ck_assert_int_eq(symlink(real, link), 0);
	assert_ok(join(all, by_link, NULL, NULL));
	read_union(all, &m);
	ck_assert_str_eq(m.parts[0].relative_path, "../real/a/manifest.json");
	lc__manifest_free(&m);
	free(a);
	free(link);
	free(all);
	free(real);
	free(by_link);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("union");
	TCase *tc = tcase_create("union");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, joined);
	tcase_add_test(tc, bases);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, verified);
	tcase_add_test(tc, wrong_counts);
	tcase_add_test(tc, links);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
