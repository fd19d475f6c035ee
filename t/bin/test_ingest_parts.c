/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a build, each for itself. */
#include "run.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "build/sample.h"
#include "build/ingesting.h"
#include "build/infile.h"
#include "build/disk.h"
#include "need.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* ---- the record of a sample ------------------------------------------------------ */

static struct lc__sample
make_sample(void)
{
	static const uint8_t planes[3 * 4 * 2] = { 1, 2, 3, [23] = 9 };
	static const double boxes[8] = { 0, 0, 1, 1, 0.5, 0.25, 3, 2 };
	static const int64_t class_ids[2] = { 7, -1 };
	struct lc__sample s = {
		.detail = "",
		.label = { "a/labels/f1.json", 10, 11, true, { 12, UINT64_MAX } },
		.image = { "a/images/\xff.png", 20, -21, false, { 22, 23 } },
		.label_hash = UINT64_MAX,
		.has_frame_id = true, .frame_id = UINT64_MAX,
		.width = 40, .height = 30, .orientation = 6,
		.target_width = 4, .target_height = 2,
		.scale = { 0.1, 1.0 / 3 }, .offset = { -0.5, 0 },
		.boxes_total = 5, .dropped = 3, .n = 2,
		.clipped = { "\0\1", 2 }, .extra = { "\x81\xa1k\x01", 4 },
		.pixels = LC_U8, .planes = planes, .boxes = boxes, .class_ids = class_ids
	};

	lc__sample_seal(&s, "key");
	return s;
}

static void
assert_same_note(const struct lc__source_note *a, const struct lc__source_note *b)
{
	ck_assert_str_eq(a->path, b->path);
	ck_assert_uint_eq(a->size, b->size);
	ck_assert_int_eq(a->mtime_ns, b->mtime_ns);
	ck_assert_int_eq(a->settled, b->settled);
	ck_assert_mem_eq(a->hash, b->hash, sizeof(a->hash));
}

START_TEST(sample_to_value_and_back)
{
	const struct lc__sample s = make_sample();
	lc_value *value = lc__sample_value(&s);
	struct lc__sample back;
	lc_tensor tensor;

	assert_ok(lc_value_check(value));
	ck_assert(lc__sample_read(lc_value_find(value, LC__SAMPLE_ABOUT), &back));
	ck_assert_int_eq(back.reason, LC__REJECT_NONE);
	assert_same_note(&back.label, &s.label);
	assert_same_note(&back.image, &s.image);
	ck_assert_uint_eq(back.label_hash, s.label_hash);
	ck_assert(back.has_frame_id);
	ck_assert_uint_eq(back.frame_id, s.frame_id);
	ck_assert_uint_eq(back.width, 40);
	ck_assert_uint_eq(back.height, 30);
	ck_assert_uint_eq(back.orientation, 6);
	ck_assert_uint_eq(back.target_width, 4);
	ck_assert_uint_eq(back.target_height, 2);
	ck_assert_mem_eq(back.scale, s.scale, sizeof(s.scale));
	ck_assert_mem_eq(back.offset, s.offset, sizeof(s.offset));
	ck_assert_uint_eq(back.boxes_total, 5);
	ck_assert_uint_eq(back.dropped, 3);
	ck_assert_uint_eq(back.n, 2);
	ck_assert_mem_eq(back.clipped.data, "\0\1", 2);
	ck_assert_mem_eq(back.extra.data, "\x81\xa1k\x01", 4);
	ck_assert_mem_eq(back.content, s.content, sizeof(s.content));
	assert_ok(lc_value_as_tensor(lc_value_find(value, LC__SAMPLE_PIXELS),
	    &tensor));
	ck_assert_uint_eq(tensor.nbytes, 24);
	assert_ok(lc_value_as_tensor(lc_value_find(value, LC__SAMPLE_BOXES),
	    &tensor));
	ck_assert_uint_eq(tensor.nbytes, 64);
	lc_value_free(value);
}
END_TEST

START_TEST(reject_to_value_and_back)
{
	const struct lc__sample s = { .reason = LC__REJECT_NO_FILE,
		.detail = "f.png: no", .label = { "f.txt", 1, 2, true, { 3, 4 } } };
	lc_value *value = lc__sample_value(&s);
	struct lc__sample back;

	ck_assert_ptr_null(lc_value_find(value, LC__SAMPLE_PIXELS));
	ck_assert(lc__sample_read(lc_value_find(value, LC__SAMPLE_ABOUT), &back));
	ck_assert_int_eq(back.reason, s.reason);
	ck_assert_str_eq(back.detail, s.detail);
	assert_same_note(&back.label, &s.label);
	ck_assert_ptr_null(back.image.path);
	ck_assert(lc__sample_is_passing(&back));
	lc_value_free(value);
}
END_TEST

/* A member that is missing, or a reason that there is not, makes it unreadable. */
START_TEST(damaged_values_are_refused)
{
	const struct lc__sample s = make_sample();
	lc_value *value = lc__sample_value(&s);
	const lc_value *about = lc_value_find(value, LC__SAMPLE_ABOUT);
	const size_t n = lc_value_count(about);
	struct lc__sample back;

	ck_assert_uint_gt(n, 10);
	for (size_t left = 0; left < n; left++) {
		lc_value *other = lc_value_map();
		const char *name = lc_value_name(about, left);
		for (size_t i = 0; i < n; i++)
			if (i != left)
				lc_value_set(other, lc_value_name(about, i),
				    lc_value_copy(lc_value_at(about, i)));
		assert_ok(lc_value_check(other));
		/* These may be absent; without another they are wrong, too. */
		if (strcmp(name, "label") != 0 && strcmp(name, "image") != 0 &&
		    strcmp(name, "label_hash") != 0 &&
		    strcmp(name, "frame_id") != 0 &&
		    strcmp(name, "clipped") != 0 && strcmp(name, "labels") != 0)
			ck_assert_msg(!lc__sample_read(other, &back), "%s", name);
		lc_value_free(other);
	}
	ck_assert(!lc__sample_read(NULL, &back));
	ck_assert(!lc__sample_read(lc_value_find(about, "size"), &back));
	lc_value_free(value);
}
END_TEST

/* Whatever a shard has of a sample is in its content. */
START_TEST(content_covers_everything)
{
	const struct lc__sample first = make_sample();
	const double boxes[8] = { 0 };
	const int64_t class_ids[2] = { 7, 7 };
	const uint8_t planes[24] = { 0 };
	struct lc__sample rows[9];

	for (int i = 0; i < COUNT(rows); i++)
		rows[i] = first;
	rows[0].pixels = LC_U8;
	rows[0].planes = planes;
	rows[1].boxes = boxes;
	rows[2].class_ids = class_ids;
	rows[3].frame_id = 1;
	rows[4].width = 41;
	rows[5].scale[0] = 0.2;
	rows[6].extra.size = 0;
	rows[7].boxes_total = 6;
	rows[8].offset[1] = 1;
	for (int i = 0; i < COUNT(rows); i++) {
		lc__sample_seal(&rows[i], "key");
		ck_assert_msg(rows[i].content[0] != first.content[0], "row %d", i);
	}
	lc__sample_seal(&rows[0], "other");
	rows[1] = first;
	lc__sample_seal(&rows[1], "key");
	ck_assert_mem_eq(rows[1].content, first.content, sizeof(first.content));
}
END_TEST

/* ---- boxes ------------------------------------------------------------------------- */

static double
half_value(unsigned bits)
{
	const int exponent = (int)(bits >> 10 & 31);
	const double units = bits & 1023;

	return exponent == 0 ? ldexp(units, -24) :
	    ldexp(units + 1024, exponent - 25);
}

/* Every f16 of 0 to 1, and the middles between neighbours. */
START_TEST(halves_are_nearest_even)
{
	for (unsigned bits = 0; bits <= 0x3c00; bits++) {
		const double here = half_value(bits), next = half_value(bits + 1);
		const double middle = (here + next) / 2;
		ck_assert_uint_eq(lc__half_of(here), bits);
		ck_assert_uint_eq(lc__half_of(middle), bits + (bits & 1));
		ck_assert_uint_eq(lc__half_of(nextafter(middle, 0)), bits);
		ck_assert_uint_eq(lc__half_of(nextafter(middle, 2)), bits + 1);
	}
}
END_TEST

static const lc_dtype dtype_rows[] = { LC_F32, LC_F16 };

START_TEST(boxes_are_padded)
{
	static const double pixels[8] = { 0, 5, 10, 20, -1e-9, 0, 40, 20.0001 };
	static const float singles[8] = { 0, 0.25f, 0.25f, 1, 0, 0, 1, 1 };
	static const uint16_t halves[8] = { 0, 0x3400, 0x3400, 0x3c00, 0, 0,
		0x3c00, 0x3c00 };
	static const unsigned char zeros[16];
	lc_shard_info form = { .boxes_dtype = dtype_rows[_i], .width = 40,
		.height = 20, .max_boxes = 3 };
	const bool single = form.boxes_dtype == LC_F32;
	const void *want = single ? (const void *)singles : halves;
	const size_t one = single ? 16 : 8; /* bytes a box */
	struct lc__buf room = { 0 };
	const void *boxes, *mask;

	assert_ok(lc__boxes_pad(pixels, 2, &form, &room, &boxes, &mask));
	ck_assert_mem_eq(boxes, want, 2 * one);
	ck_assert_mem_eq((const char *)boxes + 2 * one, zeros, one);
	ck_assert_mem_eq((const char *)mask + one / 2, zeros, one / 4);
	ck_assert_mem_ne(mask, zeros, one / 4);
	form.max_boxes = 1;
	assert_ok(lc__boxes_pad(pixels, 2, &form, &room, &boxes, &mask));
	ck_assert_mem_eq(boxes, want, one);
	ck_assert_ptr_eq(mask, (const char *)boxes + one);
	lc__buf_free(&room);
}
END_TEST

/* ---- files -------------------------------------------------------------------------- */

static enum lc__infile_fate
read_file(const char *dir, const char *name, uint64_t limit,
    struct lc__infile *file, struct lc__buf *out, struct lc__source_note *note)
{
	const int root = open(dir, O_RDONLY | O_DIRECTORY);
	enum lc__infile_fate fate = lc__infile_open(file, root, name, limit);

	if (fate == LC__INFILE_GOOD)
		fate = lc__infile_read(file, out, note);
	lc__infile_close(file);
	close(root);
	return fate;
}

START_TEST(files_are_noted)
{
	const struct timespec times[2] = { { 1600000000, 7 }, { 1600000000, 7 } };
	const char *dir = run_scratch();
	char *path = outdir_join(dir, "f");
	struct lc__infile file;
	struct lc__source_note note = { .path = NULL };
	struct lc__buf out = { 0 };

	outdir_put_file(dir, "f", "hello");
	ck_assert_int_eq(read_file(dir, "f", 5, &file, &out, &note),
	    LC__INFILE_GOOD);
	ck_assert_uint_eq(note.size, 5);
	ck_assert(!note.settled);
	need(utimensat(AT_FDCWD, path, times, 0) == 0);
	ck_assert_int_eq(read_file(dir, "f", 5, &file, &out, &note),
	    LC__INFILE_GOOD);
	ck_assert(note.settled);
	ck_assert_int_eq(note.mtime_ns, INT64_C(1600000000000000007));
	ck_assert_mem_eq(out.data, "hellohello", 10);
	ck_assert_int_eq(read_file(dir, "f", 4, &file, &out, &note),
	    LC__INFILE_BAD);
	ck_assert_str_eq(file.detail, "f: larger than 4 bytes");
	ck_assert_int_eq(read_file(dir, "g", 4, &file, &out, &note),
	    LC__INFILE_MISSING);
	ck_assert_str_eq(file.detail, "g: No such file or directory");
	ck_assert_int_eq(read_file(dir, ".", 4, &file, &out, &note),
	    LC__INFILE_BAD);
	ck_assert_str_eq(file.detail, ".: is not a regular file");
	ck_assert_uint_eq(out.size, 10);
	lc__buf_free(&out);
	free(path);
}
END_TEST

/* What is noted is what was read, not what stood there before. */
START_TEST(files_that_change_are_read_again)
{
	static const char *const texts[] = { "hello, and more", "he" };
	const char *dir = run_scratch();
	char *path = outdir_join(dir, "f");
	const int root = open(dir, O_RDONLY | O_DIRECTORY);
	struct lc__infile file;
	struct lc__source_note note = { .path = NULL };
	struct lc__buf out = { 0 };
	FILE *writer;

	outdir_put_file(dir, "f", "hello");
	ck_assert_int_eq(lc__infile_open(&file, root, "f", 100), LC__INFILE_GOOD);
	writer = fopen(path, "w");
	need(fputs(texts[_i], writer) >= 0 && fclose(writer) == 0);
	ck_assert_int_eq(lc__infile_read(&file, &out, &note), LC__INFILE_GOOD);
	ck_assert_uint_eq(note.size, strlen(texts[_i]));
	ck_assert_uint_eq(out.size, strlen(texts[_i]));
	ck_assert_mem_eq(out.data, texts[_i], out.size);
	lc__infile_close(&file);
	lc__buf_free(&out);
	close(root);
	free(path);
}
END_TEST

START_TEST(trees_are_removed)
{
	const char *dir = run_scratch(), *outside = run_scratch();
	char *deep = outdir_join(dir, "tree/a/b"), *link;

	assert_ok(lc__make_dirs(deep));
	outdir_put_file(deep, "file", "x");
	outdir_put_file(outside, "kept", "x");
	link = outdir_join(deep, "link");
	need(symlink(outside, link) == 0);
	free(deep);
	deep = outdir_join(dir, "tree");
	assert_ok(lc__tree_remove(AT_FDCWD, deep, ""));
	ck_assert_int_eq(outdir_count_files(dir, ""), 0);
	ck_assert(outdir_exists(outside, "kept"));
	assert_ok(lc__tree_remove(AT_FDCWD, deep, ""));
	free(deep);
	free(link);
}
END_TEST

/* ---- counts -------------------------------------------------------------------------- */

static const struct {
	const char *run;
	enum lc__reject reason;
	uint64_t n, dropped;
} frame_rows[] = {
	{ "", LC__REJECT_NONE, 3, 1 },
	{ "", LC__REJECT_NONE, 0, 0 },
	{ "", LC__REJECT_NO_FILE, 0, 0 },
	{ "b", LC__REJECT_BLANK_IMAGE, 0, 0 },
	{ "b", LC__REJECT_UNDECODABLE, 0, 0 },
	{ "b", LC__REJECT_UNDECODABLE, 0, 0 },
	{ "c", LC__REJECT_NONE, 1, 0 },
};

START_TEST(frames_are_counted)
{
	struct lc__recipe recipe = { .max_boxes = 2, .skip_empty = _i == 0 };
	struct lc__summary summary = { .n_runs = 0 };
	struct lc__counting counting = { .recipe = &recipe, .summary = &summary };

	for (int i = 0; i < COUNT(frame_rows); i++) {
		const struct lc__sample s = { .reason = frame_rows[i].reason,
			.n = frame_rows[i].n, .dropped = frame_rows[i].dropped,
			.clipped = { "\1\0\1", frame_rows[i].n == 3 ? 3 : 0 } };
		assert_ok(lc__counting_add(&counting, frame_rows[i].run, &s));
	}
	assert_ok(lc__counting_end(&counting));
	ck_assert_uint_eq(summary.totals.total, 7);
	ck_assert_uint_eq(summary.totals.non_empty, 2);
	ck_assert_uint_eq(summary.totals.empty, 1);
	ck_assert_uint_eq(summary.totals.missing_image, 1);
	ck_assert_uint_eq(summary.totals.missing_file, 1);
	ck_assert_uint_eq(summary.totals.invalid, 2);
	ck_assert_uint_eq(summary.written, _i == 0 ? 2 : 3);
	ck_assert_uint_eq(summary.boxes, 3);
	ck_assert_uint_eq(summary.clipped, 1);
	ck_assert_uint_eq(summary.dropped, 1);
	ck_assert_uint_eq(summary.overflow_boxes, 1);
	ck_assert_uint_eq(summary.overflow_samples, 1);
	ck_assert_uint_eq(summary.n_runs, 3);
	ck_assert_str_eq(summary.runs[1].run_id, "b");
	ck_assert_uint_eq(summary.runs[1].counts.total, 3);
	ck_assert_uint_eq(summary.n_reasons, _i == 0 ? 4 : 3);
	ck_assert_str_eq(summary.reasons[0].name, "blank_image");
	lc__summary_free(&summary);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("ingest_parts");
	TCase *tc = tcase_create("parts");

	tcase_add_test(tc, sample_to_value_and_back);
	tcase_add_test(tc, reject_to_value_and_back);
	tcase_add_test(tc, damaged_values_are_refused);
	tcase_add_test(tc, content_covers_everything);
	tcase_add_test(tc, halves_are_nearest_even);
	tcase_add_loop_test(tc, boxes_are_padded, 0, COUNT(dtype_rows));
	tcase_add_test(tc, files_are_noted);
	tcase_add_loop_test(tc, files_that_change_are_read_again, 0, 2);
	tcase_add_test(tc, trees_are_removed);
	tcase_add_loop_test(tc, frames_are_counted, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
