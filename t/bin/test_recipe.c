/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "image/image.h"
#include "build/recipe.h"
#include "need.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* What the reference hashes, to the letter. */
#define REFERENCE \
	"{\"dataset_root\":\"assets/datasets/captures_filtered\"," \
	"\"target_size\":[384,384],\"resize_mode\":\"Letterbox\",\"max_boxes\":16," \
	"\"skip_empty\":true,\"code_version\":\"0.1.0\""
#define REFERENCE_VERSION \
	"d806bacbd88511e2140686725f7f7173c5a0e864dd312d1eee4128d411da8029"

static struct lc__recipe
reference(void)
{
	struct lc__recipe r;

	lc__recipe_init(&r);
	r.dataset_root = "assets/datasets/captures_filtered";
	r.transform.width = r.transform.height = 384;
	r.transform.fit = LC__FIT_LETTERBOX;
	r.max_boxes = 16;
	r.skip_empty = true;
	r.code_version = "0.1.0";
	r.layout = LC__LAYOUT_CAPTURE;
	return r;
}

typedef lc_status (*format_fn)(const struct lc__recipe *, struct lc__buf *);

static void
assert_text(const struct lc__recipe *r, format_fn format, const char *want)
{
	struct lc__buf out = { 0 };

	assert_ok(format(r, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, want);
	lc__buf_free(&out);
}

START_TEST(reference_version)
{
	const struct lc__recipe r = reference();
	char version[65];

	assert_text(&r, lc__recipe_format, REFERENCE "}");
	assert_ok(lc__recipe_version(&r, version));
	ck_assert_str_eq(version, REFERENCE_VERSION);
}
END_TEST

/* The code version of 0.1.1: JPEGs with stray bytes before their end are taken. */
START_TEST(defaults)
{
	struct lc__recipe r;

	lc__recipe_init(&r);
	r.dataset_root = "d";
	r.layout = LC__LAYOUT_CAPTURE;
	assert_text(&r, lc__recipe_format, "{\"dataset_root\":\"d\","
	    "\"target_size\":[640,640],\"resize_mode\":\"Letterbox\","
	    "\"max_boxes\":16,\"skip_empty\":true,\"code_version\":\"0.1.1\"}");
}
END_TEST

/* ---- each field ------------------------------------------------------------ */

static void set_dtype(struct lc__recipe *r) { r->dtype = LC_F32; }
static void set_dtype_u8(struct lc__recipe *r) { r->dtype = LC_U8; }
static void set_dtype_u16(struct lc__recipe *r) { r->dtype = LC_U16; }
static void set_layout(struct lc__recipe *r) { r->layout = LC__LAYOUT_YOLO; }
static void set_pad(struct lc__recipe *r) { r->transform.pad[2] = 114; }
static void set_alpha(struct lc__recipe *r) { r->transform.alpha = LC__ALPHA_OVER; }
static void set_stored(struct lc__recipe *r) { r->transform.ignore_orientation = true; }
static void set_dct(struct lc__recipe *r) { r->transform.dct_scale = true; }
static void set_pixels(struct lc__recipe *r) { r->transform.max_pixels = 1000; }
static void set_visible(struct lc__recipe *r) { r->min_visible = 0.25; }
static void set_boxes(struct lc__recipe *r) { r->boxes_stored = true; }
static void set_version(struct lc__recipe *r) { r->shard_version = 1; }
static void set_metadata(struct lc__recipe *r) { r->metadata = false; }
static void set_bytes(struct lc__recipe *r) { r->shard_bytes = 1 << 20; }

static void
set_buckets(struct lc__recipe *r)
{
	r->buckets[0] = (lc_bucket){ 832, 1216 };
	r->buckets[1] = (lc_bucket){ 1024, 1024 };
	r->n_buckets = 2;
}

static void
set_classes(struct lc__recipe *r)
{
	static const char *const names[] = { "big dog", "\"cat\"" };

	r->classes = names;
	r->n_classes = 2;
}

static void
set_map(struct lc__recipe *r)
{
	static char a[] = "a", b[] = "b", *from[] = { b };
	static struct lc__class_line line = { .name = a, .from = { .items = from, .n = 1 } };
	static const struct lc__class_map map = { .lines = &line, .n = 1,
		.keep_rest = true };

	r->class_map = &map;
}

static void
set_all(struct lc__recipe *r)
{
	static void (*const each[])(struct lc__recipe *) = { set_buckets, set_bytes,
		set_metadata, set_version, set_boxes, set_visible, set_pixels, set_dct,
		set_stored, set_alpha, set_pad, set_layout, set_dtype, set_classes,
		set_map };

	for (int i = 0; i < COUNT(each); i++)
		each[i](r);
}

/* What a field adds to the text, and whether samples stay what they are. */
static const struct {
	void (*set)(struct lc__recipe *);
	const char *text;
	bool same_samples;
} field_rows[] = {
	{ set_dtype, ",\"dtype\":\"f32\"", true },
	{ set_dtype_u8, ",\"dtype\":\"u8\"", true },
	{ set_dtype_u16, ",\"dtype\":\"u16\"", false },
	{ set_layout, ",\"layout\":\"yolo\"", false },
	{ set_pad, ",\"pad\":[0,0,114]", false },
	{ set_alpha, ",\"alpha\":\"over\"", false },
	{ set_stored, ",\"orientation\":\"ignore\"", false },
	{ set_dct, ",\"dct_scale\":true", false },
	{ set_pixels, ",\"max_pixels\":1000", false },
	{ set_visible, ",\"min_visible\":0.25", false },
	{ set_boxes, ",\"boxes\":\"stored\"", false },
	{ set_version, ",\"shard_version\":1", true },
	{ set_metadata, ",\"metadata\":false", true },
	{ set_bytes, ",\"shard_bytes\":1048576", true },
	{ set_buckets, ",\"buckets\":[[832,1216],[1024,1024]]", false },
	{ set_classes, ",\"classes\":[\"big dog\",\"\\\"cat\\\"\"]", true },
	{ set_map, ",\"class_map\":[[\"a\",\"b\"],[null]]", true },
	{ set_all, ",\"dtype\":\"f32\",\"layout\":\"yolo\",\"pad\":[0,0,114],"
	    "\"alpha\":\"over\",\"orientation\":\"ignore\",\"dct_scale\":true,"
	    "\"max_pixels\":1000,\"min_visible\":0.25,\"boxes\":\"stored\","
	    "\"shard_version\":1,\"metadata\":false,\"shard_bytes\":1048576,"
	    "\"buckets\":[[832,1216],[1024,1024]],\"classes\":[\"big dog\","
	    "\"\\\"cat\\\"\"],\"class_map\":[[\"a\",\"b\"],[null]]", false },
};

START_TEST(fields)
{
	struct lc__recipe r = reference();
	char want[2000], key[65], before[65], hash[65];

	assert_ok(lc__recipe_sample_key(&r, before));
	field_rows[_i].set(&r);
	snprintf(want, sizeof(want), REFERENCE "%s}", field_rows[_i].text);
	assert_text(&r, lc__recipe_format, want);
	assert_ok(lc__recipe_version(&r, key));
	assert_ok(lc__sha256_of(want, strlen(want), hash));
	ck_assert_str_eq(key, hash);
	assert_ok(lc__recipe_sample_key(&r, key));
	ck_assert_int_eq(strcmp(key, before) == 0, field_rows[_i].same_samples);
}
END_TEST

/* Fields that every text has. */
static void set_size(struct lc__recipe *r) { r->transform.width = 385; }
static void set_height(struct lc__recipe *r) { r->transform.height = 385; }
static void set_stretch(struct lc__recipe *r) { r->transform.fit = LC__FIT_STRETCH; }
static void set_cover(struct lc__recipe *r) { r->transform.fit = LC__FIT_COVER; }
static void set_code(struct lc__recipe *r) { r->code_version = "0.1.1"; }
static void set_root(struct lc__recipe *r) { r->dataset_root = "elsewhere"; }
static void set_max(struct lc__recipe *r) { r->max_boxes = 17; }
static void set_empty(struct lc__recipe *r) { r->skip_empty = false; }

static const struct {
	void (*set)(struct lc__recipe *);
	const char *from, *to; /* in the reference's text */
	bool same_samples;
} always_rows[] = {
	{ set_size, "[384,384]", "[385,384]", false },
	{ set_height, "[384,384]", "[384,385]", false },
	{ set_stretch, "Letterbox", "Stretch", false },
	{ set_cover, "Letterbox", "Cover", false },
	{ set_code, "0.1.0", "0.1.1", false },
	{ set_root, "assets/datasets/captures_filtered", "elsewhere", true },
	{ set_max, ":16,", ":17,", true },
	{ set_empty, "true", "false", true },
};

START_TEST(always)
{
	static const char text[] = REFERENCE "}";
	const char *from = always_rows[_i].from, *at = strstr(text, from);
	struct lc__recipe r = reference();
	char want[1000], key[65], before[65];

	assert_ok(lc__recipe_sample_key(&r, before));
	always_rows[_i].set(&r);
	snprintf(want, sizeof(want), "%.*s%s%s", (int)(at - text), text,
	    always_rows[_i].to, at + strlen(from));
	assert_text(&r, lc__recipe_format, want);
	assert_ok(lc__recipe_version(&r, key));
	ck_assert_str_ne(key, REFERENCE_VERSION);
	assert_ok(lc__recipe_sample_key(&r, key));
	ck_assert_int_eq(strcmp(key, before) == 0, always_rows[_i].same_samples);
}
END_TEST

/* The limit that stands for no limit of one's own is the same recipe. */
START_TEST(max_pixels)
{
	struct lc__recipe r = reference();

	r.transform.max_pixels = LC__IMAGE_MAX_PIXELS;
	assert_text(&r, lc__recipe_format, REFERENCE "}");
}
END_TEST

/* With buckets their list and its order decide, and target_size does not. */
START_TEST(bucket_samples)
{
	struct lc__recipe r = reference();
	const lc_bucket first = { 832, 1216 };
	char want[65], key[65];

	set_buckets(&r);
	assert_ok(lc__recipe_sample_key(&r, want));
	r.transform.width = r.transform.height = 1;
	assert_ok(lc__recipe_sample_key(&r, key));
	ck_assert_str_eq(key, want);
	r.buckets[0] = r.buckets[1];
	r.buckets[1] = first;
	assert_ok(lc__recipe_sample_key(&r, key));
	ck_assert_str_ne(key, want);
	r.n_buckets = 1;
	assert_ok(lc__recipe_sample_key(&r, want));
	ck_assert_str_ne(key, want);
}
END_TEST

START_TEST(transform)
{
	struct lc__recipe r = reference();

	assert_text(&r, lc__recipe_transform, "{\"target_size\":[384,384],"
	    "\"resize_mode\":\"Letterbox\",\"max_boxes\":16,\"pad\":[0,0,0],"
	    "\"alpha\":\"drop\",\"orientation\":\"apply\",\"dct_scale\":false,"
	    "\"max_pixels\":268435456,\"min_visible\":0.1,\"boxes\":\"upright\"}");
	set_all(&r);
	assert_text(&r, lc__recipe_transform, "{\"target_size\":[384,384],"
	    "\"resize_mode\":\"Letterbox\",\"max_boxes\":16,\"pad\":[0,0,114],"
	    "\"alpha\":\"over\",\"orientation\":\"ignore\",\"dct_scale\":true,"
	    "\"max_pixels\":1000,\"min_visible\":0.25,\"boxes\":\"stored\","
	    "\"buckets\":[[832,1216],[1024,1024]]}");
}
END_TEST

/* ---- texts that have to be quoted, and what is refused --------------------- */

static const struct {
	const char *root, *text; /* NULL: refused */
} root_rows[] = {
	{ "", "\"\"" },
	{ "/srv/data set/\xc3\xb6\xe2\x82\xac", "\"/srv/data set/\xc3\xb6\xe2\x82\xac\"" },
	{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
	{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
	{ "\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"" },
	{ "a\xff", NULL }, { "\xc3", NULL }, { "\xed\xa0\x80", NULL },
	{ "\xc0\xaf", NULL },
};

START_TEST(roots)
{
	struct lc__recipe r = reference();
	struct lc__buf out = { 0 };
	char want[200];

	r.dataset_root = root_rows[_i].root;
	assert_status(lc__recipe_format(&r, &out),
	    root_rows[_i].text != NULL ? LC_OK : LC_INVALID);
	if (root_rows[_i].text == NULL) {
		ck_assert_ptr_eq(strstr(lc_last_error()->text,
		    "recipe: dataset_root: '"), lc_last_error()->text);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, " is not UTF-8"));
	} else {
		snprintf(want, sizeof(want), "{\"dataset_root\":%s,\"target_size\"",
		    root_rows[_i].text);
		ck_assert_mem_eq(out.data, want, strlen(want));
	}
	lc__buf_free(&out);
}
END_TEST

static void set_no_layout(struct lc__recipe *r) { r->layout = LC__LAYOUT_AUTO; }
static void set_many(struct lc__recipe *r) { r->n_buckets = LC_BUCKETS_MAX + 1; }
static void set_above(struct lc__recipe *r) { r->min_visible = 1.5; }
static void set_no_number(struct lc__recipe *r) { r->min_visible = (double)NAN; }

static const struct {
	void (*set)(struct lc__recipe *);
	const char *message;
} bad_rows[] = {
	{ set_no_layout, "recipe: the layout is not known yet" },
	{ set_many, "recipe: 65 buckets, 64 at most" },
	{ set_above, "recipe: min_visible is not within 0 and 1" },
	{ set_no_number, "recipe: min_visible is not within 0 and 1" },
};

START_TEST(bad)
{
	struct lc__recipe r = reference();
	struct lc__buf out = { 0 };
	char key[65] = "as it was";

	bad_rows[_i].set(&r);
	assert_status(lc__recipe_format(&r, &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	assert_status(lc__recipe_transform(&r, &out), LC_INVALID);
	assert_status(lc__recipe_version(&r, key), LC_INVALID);
	assert_status(lc__recipe_sample_key(&r, key), LC_INVALID);
	ck_assert_str_eq(key, "as it was");
	ck_assert_uint_eq(out.size, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("recipe");
	TCase *tc = tcase_create("recipe");

	tcase_add_test(tc, reference_version);
	tcase_add_test(tc, defaults);
	tcase_add_loop_test(tc, fields, 0, COUNT(field_rows));
	tcase_add_loop_test(tc, always, 0, COUNT(always_rows));
	tcase_add_test(tc, max_pixels);
	tcase_add_test(tc, bucket_samples);
	tcase_add_test(tc, transform);
	tcase_add_loop_test(tc, roots, 0, COUNT(root_rows));
	tcase_add_loop_test(tc, bad, 0, COUNT(bad_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
