/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of files and pipes, against a model and by hand. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/lines.h"
#include "fail_io.h"
#include "need.h"

/* A file of these bytes, open at its begin. */
static int
file_of(const void *data, size_t size, char path[4200])
{
	snprintf(path, 4200, "%s/lines", run_scratch());
	assert_ok(lc__write_file_atomic(path, data, size));
	return open(path, O_RDONLY);
}

/* ---- small files ---------------------------------------------------------------- */

#define TEXT(text) text, sizeof(text) - 1

/* What is read, each line in brackets; "!" stands for a line that is too long and "." for
 * an end that is missing. */
static const struct row {
	const char *text;
	size_t size, limit;
	bool null, mark;
	const char *lines;
} rows[] = {
	{ TEXT(""), 0, false, false, "" },
	{ TEXT("\n"), 0, false, false, "[]" },
	{ TEXT("a"), 0, false, false, "[a]." },
	{ TEXT("a\n"), 0, false, false, "[a]" },
	{ TEXT("a\n\nbc"), 0, false, false, "[a][][bc]." },
	{ TEXT("a\r\n\r\n"), 0, false, false, "[a\r][\r]" },
	{ TEXT("a\0b\nc"), 0, false, false, "[a0b][c]." },
	{ TEXT("a\0b\nc"), 0, true, false, "[a][b\nc]." },
	{ TEXT("\0\0x\0"), 0, true, false, "[][][x]" },
	{ TEXT("\xef\xbb\xbf" "a\nb\n"), 0, false, true, "[a][b]" },
	{ TEXT("\xef\xbb\xbf\n"), 0, false, true, "[]" },
	{ TEXT("\xef\xbb\xbf"), 0, false, true, "[]." },
	{ TEXT("a\n\xef\xbb\xbf" "b\n"), 0, false, true, "[a][\xef\xbb\xbf" "b]" },
	{ TEXT("\xef\xbb\xbf" "a\n"), 0, false, false, "[\xef\xbb\xbf" "a]" },
	{ TEXT("abc\nab\nabcd\na\n"), 3, false, false, "[abc][ab]![a]" },
	{ TEXT("abcd"), 3, false, false, "!" },
	{ TEXT("abcd\n"), 3, false, false, "!" },
	{ TEXT("abcd\nabcde\n\n"), 3, false, false, "!![]" },
	{ TEXT("abc"), 3, false, false, "[abc]." }
};

static void
read_row(struct lc__lines *lines, char *out, size_t *too_long)
{
	struct lc__text_line line;
	lc_status status;

	*too_long = 0;
	while ((status = lc__lines_next(lines, &line)) != LC_END) {
		if (status == LC_INVALID) {
			++*too_long;
			*out++ = '!';
			continue;
		}
		assert_ok(status);
		ck_assert_int_eq(line.text[line.size], '\0');
		*out++ = '[';
		for (size_t i = 0; i < line.size; i++)
			*out++ = line.text[i] != '\0' ? line.text[i] : '0';
		*out++ = ']';
		if (!line.newline)
			*out++ = '.';
	}
	*out = '\0';
}

START_TEST(small_files)
{
	const struct row *row = &rows[_i];
	char path[4200], got[100];
	size_t too_long, number;
	struct lc__lines lines = { .fd = file_of(row->text, row->size, path), .path = path,
		.limit = row->limit, .null = row->null, .skip_mark = row->mark };

	read_row(&lines, got, &too_long);
	ck_assert_str_eq(got, row->lines);
	ck_assert_uint_eq(lines.offset, row->size);
	number = lines.number;
	/* The same again, and no further than a file of that size reaches. */
	assert_ok(lc__lines_seek(&lines, 0, 0));
	lines.bounded = true;
	lines.size = row->size;
	read_row(&lines, got, &too_long);
	ck_assert_str_eq(got, row->lines);
	ck_assert_uint_eq(lines.number, number);
	close(lines.fd);
	lc__lines_free(&lines);
}
END_TEST

START_TEST(a_line_that_is_too_long_is_named)
{
	char path[4200], want[4300];
	struct lc__text_line line;
	struct lc__lines lines = { .fd = file_of(TEXT("a\nabcdef\nb\n"), path), .path = path,
		.limit = 3 };

	assert_ok(lc__lines_next(&lines, &line));
	assert_status(lc__lines_next(&lines, &line), LC_INVALID);
	snprintf(want, sizeof(want), "%s: line 2 is longer than 3 bytes", path);
	ck_assert_str_eq(lc_last_error()->text, want);
	assert_ok(lc__lines_skip(&lines));
	ck_assert_uint_eq(lines.offset, 9);
	ck_assert_uint_eq(lines.number, 2);
	assert_ok(lc__lines_next(&lines, &line));
	ck_assert_str_eq(line.text, "b");
	ck_assert_uint_eq(lines.number, 3);
	close(lines.fd);
	lc__lines_free(&lines);
}
END_TEST

START_TEST(errors_name_the_file)
{
	char path[4200], want[4300];
	struct lc__text_line line;
	struct lc__lines lines = { .fd = file_of(TEXT("a\nb"), path), .path = path,
		.bounded = true, .size = 4 };

	assert_ok(lc__lines_next(&lines, &line));
	assert_status(lc__lines_next(&lines, &line), LC_CHANGED);
	snprintf(want, sizeof(want), "%s: became shorter while it was read", path);
	ck_assert_str_eq(lc_last_error()->text, want);
	assert_ok(lc__lines_seek(&lines, 0, 0));
	fail_io_only("read");
	fail_io(1, EIO, false);
	assert_status(lc__lines_next(&lines, &line), LC_IO);
	snprintf(want, sizeof(want), "%s: read: Input/output error", path);
	ck_assert_str_eq(lc_last_error()->text, want);
	fail_io(1, EINTR, false);
	assert_ok(lc__lines_next(&lines, &line));
	ck_assert_str_eq(line.text, "a");
	fail_io(0, 0, false);
	close(lines.fd);
	lc__lines_free(&lines);
}
END_TEST

/* ---- pipes ------------------------------------------------------------------------ */

static unsigned asked;

static lc_status
not_yet(void *ctx)
{
	return ++asked % 2 == 1 ? lc__error(LC_BUSY, 0, "%s", (const char *)ctx) : LC_OK;
}

START_TEST(a_pipe_gives_what_it_has)
{
	static char why[] = "later";
	int ends[2];
	struct lc__text_line line;
	struct lc__lines lines = { .path = "pipe", .wait = not_yet, .ctx = why };

	ck_assert_int_eq(pipe(ends), 0);
	lines.fd = ends[0];
	asked = 0;
	ck_assert_int_eq(write(ends[1], "one\ntw", 6), 6);
	assert_status(lc__lines_next(&lines, &line), LC_BUSY);
	ck_assert_str_eq(lc_last_error()->text, "later");
	assert_ok(lc__lines_next(&lines, &line));
	ck_assert_str_eq(line.text, "one");
	assert_status(lc__lines_next(&lines, &line), LC_BUSY);
	ck_assert_int_eq(write(ends[1], "o\n", 2), 2);
	assert_ok(lc__lines_next(&lines, &line));
	ck_assert_str_eq(line.text, "two");
	ck_assert_uint_eq(lines.number, 2);
	ck_assert_uint_eq(lines.offset, 8);
	close(ends[1]);
	assert_status(lc__lines_next(&lines, &line), LC_BUSY);
	assert_status(lc__lines_next(&lines, &line), LC_END);
	assert_status(lc__lines_next(&lines, &line), LC_END);
	close(ends[0]);
	lc__lines_free(&lines);
}
END_TEST

/* ---- large files, against a model ----------------------------------------------- */

/* Lines of up to a few hundred KiB: around the size of a read, and over it. */
static size_t
random_size(uint64_t *state)
{
	switch (run_random(state) % 8) {
	case 0:
		return 0;
	case 1:
		return run_random(state) % 700000;
	case 2:
		return (262144 - 3) + run_random(state) % 6;
	default:
		return run_random(state) % 100;
	}
}

#define MOST 60

START_TEST(any_lines)
{
	uint64_t state = run_seed() + (uint64_t)_i;
	const size_t n = run_random(&state) % MOST;
	const bool last = run_random(&state) % 2 == 0;
	const size_t limit = run_random(&state) % 2 == 0 ? 0 : 1 + run_random(&state) % 300000;
	size_t begins[MOST + 1], size = 0;
	char path[4200], *data = malloc((size_t)MOST * 700001);
	struct lc__text_line line;
	struct lc__lines lines = { .path = path, .limit = limit };

	for (size_t i = 0; i < n; i++) {
		size_t left = random_size(&state);

		begins[i] = size;
		/* The last one without its end has at least a byte. */
		for (left += i + 1 == n && !last; left > 0; left--, size++)
			data[size] = (char)('a' + (size * 7 + i) % 26);
		if (i + 1 < n || last)
			data[size++] = '\n';
	}
	begins[n] = size;
	lines.fd = file_of(data, size, path);
	for (size_t i = 0; i < n; i++) {
		const bool newline = i + 1 < n || last;
		const size_t want = begins[i + 1] - begins[i] - newline;
		const lc_status status = lc__lines_next(&lines, &line);

		ck_assert_uint_eq(lines.number, i + 1);
		if (limit > 0 && want > limit) {
			assert_status(status, LC_INVALID);
			if (run_random(&state) % 2 == 0) {
				assert_ok(lc__lines_skip(&lines));
				ck_assert_uint_eq(lines.offset, begins[i + 1]);
			}
			continue;
		}
		assert_ok(status);
		ck_assert_uint_eq(lines.offset, begins[i + 1]);
		ck_assert_uint_eq(line.size, want);
		ck_assert_int_eq(line.newline, newline);
		ck_assert(memcmp(line.text, data + begins[i], want) == 0);
	}
	assert_status(lc__lines_next(&lines, &line), LC_END);
	if (n > 0) {
		const size_t from = run_random(&state) % n;
		const size_t want = begins[from + 1] - begins[from] - (from + 1 < n || last);

		assert_ok(lc__lines_seek(&lines, begins[from], from));
		if (limit == 0 || want <= limit) {
			assert_ok(lc__lines_next(&lines, &line));
			ck_assert_uint_eq(line.size, want);
			ck_assert_uint_eq(lines.number, from + 1);
		}
	}
	close(lines.fd);
	lc__lines_free(&lines);
	free(data);
}
END_TEST

START_TEST(blank_lines)
{
	static const struct {
		const char *text;
		size_t size;
		bool blank;
	} texts[] = {
		{ TEXT(""), true }, { TEXT(" \t\r"), true }, { TEXT(" x"), false },
		{ TEXT("\0"), false }, { TEXT("\v"), false }
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(lc__text_line_is_blank(&(struct lc__text_line){
		    (char *)(uintptr_t)texts[i].text, texts[i].size, true }), texts[i].blank);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("lines");
	TCase *tc = tcase_create("lines");

	(void)run_seed();
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, small_files, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(tc, a_line_that_is_too_long_is_named);
	tcase_add_test(tc, errors_name_the_file);
	tcase_add_test(tc, a_pipe_gives_what_it_has);
	tcase_add_loop_test(tc, any_lines, 0, 30);
	tcase_add_test(tc, blank_lines);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
