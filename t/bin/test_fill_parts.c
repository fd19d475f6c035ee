/* SPDX-License-Identifier: BSD-2-Clause */
/* What filling is made of: input shards, cursors, fingerprints, sets of ids, failures. */
#include "run.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "fill/failures.h"
#include "fill/inputs.h"
#include "fill/fill.h"
#include "fill/shard.h"
#include "need.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define MIB ((size_t)1 << 20)

static const char *
write_file(const char *name, const void *data, size_t size)
{
	static char path[4][4200];
	static unsigned turn;
	char *out = path[turn++ % 4];
	int fd;

	snprintf(out, sizeof(path[0]), "%s/%s", run_scratch(), name);
	fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	ck_assert_int_ne(fd, -1);
	assert_ok(lc__write_full(fd, data, size, out));
	close(fd);
	return out;
}

/* ---- lines ---------------------------------------------------------------------- */

#define T LC__SHARD_TEXT
#define J LC__SHARD_JSONL
#define F LC__SHARD_FILES

static const struct {
	enum lc__shard_kind kind;
	const char *text;
	size_t size;
	const char *lines; /* each as "NUMBER BEHIND TEXT|"; a bad one as "NUMBER BEHIND !|" */
} contents[] = {
	{ T, "", 0, "" },
	{ T, "a\nbc\n", 5, "0 2 a|1 5 bc|" },
	{ T, "a\nbc", 4, "0 2 a|1 4 bc|" },
	{ T, "\n", 1, "0 1 |" },
	{ T, "\n\n \n", 4, "0 1 |1 2 |2 4  |" },
	{ T, "a\r\n\r\nb\rc\r\r\n", 11, "0 3 a|1 5 |2 11 b\rc\r|" },
	{ T, "a\r", 2, "0 2 a\r|" },
	{ J, "{}\n{\"a\": 1}\n", 12, "0 3 {}|1 12 {\"a\": 1}|" },
	{ J, "{}\n\n \t\r\n {} \r\n", 14, "0 3 {}|3 14  {} |" },
	{ J, "{}\n[]\n{}", 8, "0 3 {}|1 6 !|2 8 {}|" },
	{ J, "{\n}\n", 4, "0 2 !|1 4 !|" },
	{ J, "{\"a\":1,}\nnull\n{} {}", 19, "0 9 !|1 14 !|2 19 !|" },
	{ J, "{}\n\n", 4, "0 3 {}|" },
	{ J, "{\"a\":\"\0\"}\n{}\n", 13, "0 10 !|1 13 {}|" },
	{ F, "x/a.png\n\nb c.png\r\n", 18, "0 8 x/a.png|2 18 b c.png|" },
	{ F, "a\0b\nc\n", 6, "0 4 !|1 6 c|" },
};

static lc_status
read_line(struct lc__shard *shard, char *out, size_t room, struct lc__line_place *behind)
{
	struct lc__line line;
	const lc_status status = lc__shard_next(shard, &line);

	*behind = line.behind;
	if (status == LC_END)
		return status;
	if (status == LC_OK)
		snprintf(out, room, "%llu %llu %.*s|",
		    (unsigned long long)line.number,
		    (unsigned long long)line.behind.offset, (int)line.size,
		    (const char *)line.data);
	else
		snprintf(out, room, "%llu %llu !|", (unsigned long long)line.number,
		    (unsigned long long)line.behind.offset);
	ck_assert_uint_eq(line.behind.line, line.number + 1);
	return status;
}

/* What is read from a place on is what was read behind it before. */
static void
check_rest(const char *path, enum lc__shard_kind kind, const struct lc__line_place *at,
    const char *want)
{
	struct lc__shard *shard;
	struct lc__line_place behind;
	char got[400] = "";
	lc_status status;

	assert_ok(lc__shard_open(path, kind, at, &shard));
	do {
		const size_t used = strlen(got);
		status = read_line(shard, got + used, sizeof(got) - used, &behind);
	} while (status != LC_END);
	ck_assert_str_eq(got, want);
	assert_status(read_line(shard, got, 1, &behind), LC_END);
	lc__shard_close(shard);
}

START_TEST(lines)
{
	const char *path = write_file("lines", contents[_i].text, contents[_i].size);
	const char *rest = contents[_i].lines;
	struct lc__line_place at = { 0, 0 };
	struct lc__shard *shard;
	char line[200];

	check_rest(path, contents[_i].kind, &at, rest);
	assert_ok(lc__shard_open(path, contents[_i].kind, &at, &shard));
	while (read_line(shard, line, sizeof(line), &at) != LC_END) {
		rest += strlen(line);
		check_rest(path, contents[_i].kind, &at, rest);
	}
	ck_assert_uint_eq(at.offset, contents[_i].size);
	lc__shard_close(shard);
}
END_TEST

static const struct {
	const char *text, *why; /* behind the path */
} bad_json[] = {
	{ "{}\n{\"a\":}\n", ": line 2: column 6: " },
	{ "\n{}x\n", ": line 2: column 3: " },
	{ "3\n", ": line 1: column 1: " },
};

START_TEST(bad_lines_are_told)
{
	const char *path = write_file("bad.jsonl", bad_json[_i].text,
	    strlen(bad_json[_i].text));
	const struct lc__line_place at = { 0, 0 };
	struct lc__shard *shard;
	struct lc__line line;
	char want[4400];
	lc_status status;

	ck_assert_int_eq(lc__shard_kind_of(path), LC__SHARD_JSONL);
	assert_ok(lc__shard_open(path, LC__SHARD_JSONL, &at, &shard));
	while ((status = lc__shard_next(shard, &line)) == LC_OK)
		;
	ck_assert_int_eq(status, LC_INVALID);
	snprintf(want, sizeof(want), "%s%s", path, bad_json[_i].why);
	ck_assert_msg(strncmp(lc_last_error()->text, want, strlen(want)) == 0,
	    "%s, not %s", lc_last_error()->text, want);
	lc__shard_close(shard);
}
END_TEST

START_TEST(kinds)
{
	static const struct {
		const char *name;
		enum lc__shard_kind kind;
	} names[] = {
		{ "a.jsonl", J }, { "b/c.ndjson", J }, { "a.json", T }, { "a", T },
		{ "a.jsonl.txt", T }, { "jsonl", T }, { "a.list", T }
	};

	for (int i = 0; i < ROWS(names); i++)
		ck_assert_int_eq(lc__shard_kind_of(names[i].name), names[i].kind);
}
END_TEST

/* Lines of any length, over the edges of what is read at once; from any of them on. */
START_TEST(long_lines)
{
	static const size_t lengths[] = { 0, 3, 262143, 1, 262144, 262145, 524287,
		524288, 7, 524289, 3000000, 0, 2, 1048575, 5 };
	const int n = ROWS(lengths);
	struct lc__buf text = { 0 };
	struct lc__line_place places[ROWS(lengths) + 1] = { { 0, 0 } };
	const char *path;

	for (int i = 0; i < n; i++) {
		unsigned char *at = lc__buf_append(&text, NULL, lengths[i] + 1);
		ck_assert_ptr_nonnull(at);
		memset(at, 'a' + i, lengths[i]);
		at[lengths[i]] = '\n';
		places[i + 1] = (struct lc__line_place){ text.size, (uint64_t)i + 1 };
	}
	path = write_file("long", text.data, text.size);
	for (int from = 0; from <= n; from++) {
		struct lc__shard *shard;
		struct lc__line line;

		assert_ok(lc__shard_open(path, T, &places[from], &shard));
		for (int i = from; i < n; i++) {
			assert_ok(lc__shard_next(shard, &line));
			ck_assert_uint_eq(line.number, (uint64_t)i);
			ck_assert_uint_eq(line.size, lengths[i]);
			ck_assert_int_eq(memcmp(line.data, text.data +
			    places[i].offset, line.size), 0);
			ck_assert_uint_eq(line.behind.offset, places[i + 1].offset);
		}
		assert_status(lc__shard_next(shard, &line), LC_END);
		lc__shard_close(shard);
	}
	lc__buf_free(&text);
}
END_TEST

/* The longest line there may be, one that is longer by a byte, and what follows. */
START_TEST(longest_line)
{
	const size_t most = LC__LINE_MAX, size = 2 * most + 1 + 2 + 3;
	const struct lc__line_place at = { 0, 0 };
	unsigned char *text = malloc(size);
	struct lc__shard *shard;
	struct lc__line line;
	const char *path;

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', size);
	text[most] = text[2 * most + 2] = text[size - 1] = '\n';
	path = write_file("longest", text, size);
	assert_ok(lc__shard_open(path, T, &at, &shard));
	assert_ok(lc__shard_next(shard, &line));
	ck_assert_uint_eq(line.size, most);
	ck_assert_int_eq(memcmp(line.data, text, most), 0);
	assert_status(lc__shard_next(shard, &line), LC_INVALID);
	ck_assert(strstr(lc_last_error()->text,
	    "longest: line 2 is longer than 64 MiB") != NULL);
	ck_assert_uint_eq(line.number, 1);
	ck_assert_uint_eq(line.behind.offset, 2 * most + 3);
	assert_ok(lc__shard_next(shard, &line));
	ck_assert_uint_eq(line.number, 2);
	ck_assert_uint_eq(line.size, 2);
	assert_status(lc__shard_next(shard, &line), LC_END);
	lc__shard_close(shard);
	free(text);
}
END_TEST

START_TEST(places_that_are_none)
{
	const char *path = write_file("places", "ab\ncd\nef", 8);
	static const struct {
		struct lc__line_place at;
		lc_status want;
	} rows[] = {
		{ { 0, 0 }, LC_OK }, { { 1, 0 }, LC_STALE }, { { 2, 0 }, LC_STALE },
		{ { 3, 1 }, LC_OK }, { { 6, 2 }, LC_OK }, { { 7, 2 }, LC_STALE },
		{ { 8, 3 }, LC_OK }, { { 9, 3 }, LC_STALE }
	};

	for (int i = 0; i < ROWS(rows); i++) {
		struct lc__shard *shard = NULL;

		assert_status(lc__shard_open(path, T, &rows[i].at, &shard),
		    rows[i].want);
		lc__shard_close(shard);
	}
}
END_TEST

START_TEST(what_is_no_file)
{
	const struct lc__line_place at = { 0, 0 };
	unsigned char print[LC__FINGERPRINT];
	struct lc__shard *shard;
	char fifo[4200];
	uint64_t size;

	snprintf(fifo, sizeof(fifo), "%s/fifo", run_scratch());
	ck_assert_int_eq(mkfifo(fifo, 0666), 0);
	assert_status(lc__shard_open(fifo, T, &at, &shard), LC_INVALID);
	assert_status(lc__fingerprint(fifo, print, &size), LC_INVALID);
	assert_status(lc__shard_open(run_scratch(), T, &at, &shard), LC_INVALID);
	assert_status(lc__fingerprint(run_scratch(), print, &size), LC_INVALID);
	strcat(fifo, ".none");
	assert_status(lc__shard_open(fifo, T, &at, &shard), LC_NO_FILE);
	assert_status(lc__fingerprint(fifo, print, &size), LC_NO_FILE);
}
END_TEST

START_TEST(shards_that_change)
{
	const size_t size = 3 * MIB;
	const struct lc__line_place at = { 0, 0 };
	char *text = malloc(size);
	struct lc__shard *shard;
	struct lc__line line;
	const char *path;
	int fd;

	/* What is appended after it was opened is not read. */
	path = write_file("grows", "a\nb\n", 4);
	assert_ok(lc__shard_open(path, T, &at, &shard));
	fd = open(path, O_WRONLY | O_APPEND);
	assert_ok(lc__write_full(fd, "c\n", 2, path));
	close(fd);
	assert_ok(lc__shard_next(shard, &line));
	assert_ok(lc__shard_next(shard, &line));
	assert_status(lc__shard_next(shard, &line), LC_END);
	lc__shard_close(shard);

	ck_assert_ptr_nonnull(text);
	memset(text, '\n', size);
	path = write_file("shrinks", text, size);
	assert_ok(lc__shard_open(path, T, &at, &shard));
	assert_ok(lc__shard_next(shard, &line));
	ck_assert_int_eq(truncate(path, 2 * (off_t)MIB), 0);
	while (line.behind.offset < 2 * MIB)
		assert_ok(lc__shard_next(shard, &line));
	assert_status(lc__shard_next(shard, &line), LC_CHANGED);
	lc__shard_close(shard);
	free(text);
}
END_TEST

/* ---- cursors -------------------------------------------------------------------- */

static const struct lc__line_place cursors[] = {
	{ 0, 0 }, { 1, 1 }, { 128, 3 }, { UINT64_C(1) << 40, 1 << 20 },
	{ INT64_MAX, INT64_MAX }
};

START_TEST(cursors_come_back)
{
	struct lc__buf bytes = { 0 };
	struct lc__line_place got;

	lc__cursor_encode(&cursors[_i], &bytes);
	ck_assert(!bytes.failed);
	assert_ok(lc__cursor_decode((lc_id){ bytes.data, bytes.size }, &got));
	ck_assert_uint_eq(got.offset, cursors[_i].offset);
	ck_assert_uint_eq(got.line, cursors[_i].line);
	/* A part of it, or more than it, is none. */
	for (size_t size = 1; size < bytes.size; size++)
		assert_status(lc__cursor_decode((lc_id){ bytes.data, size }, &got),
		    LC_CORRUPT);
	lc__buf_append(&bytes, "", 1);
	assert_status(lc__cursor_decode((lc_id){ bytes.data, bytes.size }, &got),
	    LC_CORRUPT);
	lc__buf_free(&bytes);
}
END_TEST

START_TEST(cursor_bytes)
{
	static const unsigned char want[] = "\x82\xa6offset\xcd\x01\x00\xa4line\x05";
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{ "\x81\xa6offset\x01", 9 },
		{ "\x82\xa4line\x01\xa6offset\x01", 15 },
		{ "\x82\xa6offset\x01\xa4line\x02", 15 },
		{ "\x82\xa6offset\xff\xa4line\x00", 15 },
		{ "\x82\xa6offsey\x01\xa4line\x00", 15 },
		{ "\x83\xa6offset\x01\xa4line\x00\xa1x\x00", 18 },
		{ "\x82\xa6offset\xcf\x80\0\0\0\0\0\0\0\xa4line\x00", 23 },
		{ "12", 2 }
	};
	const struct lc__line_place place = { 256, 5 };
	struct lc__buf bytes = { 0 };
	struct lc__line_place got;

	lc__cursor_encode(&place, &bytes);
	ck_assert_uint_eq(bytes.size, sizeof(want) - 1);
	ck_assert_int_eq(memcmp(bytes.data, want, bytes.size), 0);
	lc__buf_free(&bytes);
	assert_ok(lc__cursor_decode((lc_id){ NULL, 0 }, &got));
	ck_assert_uint_eq(got.offset | got.line, 0);
	for (int i = 0; i < ROWS(bad); i++)
		assert_status(lc__cursor_decode((lc_id){ bad[i].bytes,
		    bad[i].size }, &got), LC_CORRUPT);
}
END_TEST

/* ---- fingerprints ------------------------------------------------------------------ */

static const size_t sizes[] = { 0, 1, 1000, MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB + 5 };

START_TEST(fingerprints)
{
	const size_t size = sizes[_i], end = size < MIB ? size : MIB;
	unsigned char *text = malloc(size + 1), print[LC__FINGERPRINT], other[LC__FINGERPRINT];
	struct lc__buf all = { 0 };
	uint64_t state = run_seed(), hash[2], got;
	const char *path;

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < size; i++)
		text[i] = (unsigned char)run_random(&state);
	path = write_file("print", text, size);
	assert_ok(lc__fingerprint(path, print, &got));
	ck_assert_uint_eq(got, size);
	lc__buf_append64(&all, size);
	lc__buf_append(&all, text, end);
	lc__buf_append(&all, text + size - end, end);
	lc__hash128(all.data, all.size, hash);
	ck_assert_uint_eq(be64toh(lc__get64(print)), hash[0]);
	ck_assert_uint_eq(be64toh(lc__get64(print + 8)), hash[1]);
	/* Each end counts. */
	for (int which = 0; which < 2 && size > 0; which++) {
		const size_t at = which ? size - 1 : 0;
		text[at] ^= 1;
		path = write_file("print", text, size);
		assert_ok(lc__fingerprint(path, other, &got));
		ck_assert_int_ne(memcmp(print, other, sizeof(print)), 0);
		text[at] ^= 1;
	}
	lc__buf_free(&all);
	free(text);
}
END_TEST

/* ---- failures --------------------------------------------------------------------- */

static void
assert_file(const char *path, const char *want)
{
	struct lc__buf text = { 0 };

	assert_ok(lc__read_file(path, 100000, &text));
	lc__buf_append(&text, "", 1);
	ck_assert_str_eq((const char *)text.data, want);
	lc__buf_free(&text);
}

#define FIRST "{\"id\":\"a\\u000a\xc3\xa9\",\"why\":\"no \\\"such\\\" thing\"," \
	"\"attempts\":2,\"stderr\":\"last\\u000awords\\ufffd\"," \
	"\"at\":\"2023-11-14T22:13:20Z\"}\n"
#define SECOND "{\"id_base64\":\"/wA=\",\"why\":\"\",\"attempts\":0," \
	"\"at\":\"2023-11-14T22:13:20Z\"}\n"

START_TEST(failure_lines)
{
	char path[4200];
	char why[] = "no \"such\" thing", error[] = "last\nwords\xff";
	struct lc__items batch = { .standard_error = {
		.data = (unsigned char *)error, .size = sizeof(error) - 1 } };
	struct lc__item item = {
		.id = lc_id_of("a\n\xc3\xa9"), .why = why, .attempts = 2
	};
	const struct lc__item binary = { .id = { "\xff\0", 2 } };
	struct lc__failures *failures;

	snprintf(path, sizeof(path), "%s/failures", run_scratch());
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	assert_ok(lc__failures_open(path, false, &failures));
	assert_ok(lc__failures_add(failures, &batch, &item));
	assert_ok(lc__failures_add(failures, NULL, &binary));
	ck_assert_uint_eq(lc__failures_count(failures), 2);
	assert_ok(lc__failures_close(failures));
	assert_file(path, FIRST SECOND);

	/* Kept, and added to. */
	assert_ok(lc__failures_open(path, true, &failures));
	assert_ok(lc__failures_add(failures, NULL, &binary));
	ck_assert_uint_eq(lc__failures_count(failures), 1);
	assert_ok(lc__failures_close(failures));
	/* Anew, and gone where nothing failed. */
	assert_ok(lc__failures_open(path, false, &failures));
	assert_ok(lc__failures_add(failures, NULL, &binary));
	assert_ok(lc__failures_close(failures));
	assert_file(path, SECOND);
	assert_ok(lc__failures_open(path, true, &failures));
	assert_ok(lc__failures_close(failures));
	assert_file(path, SECOND);
	assert_ok(lc__failures_open(path, false, &failures));
	ck_assert_int_eq(access(path, F_OK), 0);
	assert_ok(lc__failures_close(failures));
	ck_assert_int_eq(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/none/failures", run_scratch());
	assert_status(lc__failures_open(path, false, &failures), LC_NO_FILE);
}
END_TEST

/* ---- when to commit ----------------------------------------------------------------- */

/* Work takes `work`, a commit `commit`: how many of so many pieces of work are followed
 * by one. */
static const struct {
	uint64_t work, commit;
	unsigned pieces, commits;
} paces[] = {
	{ 10, 1, 1000, 1000 },  /* slow work is committed as it comes */
	{ 1000000, 1, 10, 10 },
	{ 9, 1, 1000, 500 },    /* here each second one */
	{ 1, 1, 1000, 100 },
	{ 1, 1000, 1000000, 100 },
	{ 0, 1, 1000, 1 },
	{ 0, 0, 7, 7 },
};

START_TEST(pace_of_commits)
{
	struct lc__throttle pace = { 0, 0 };
	uint64_t now = 5, committing = 0;
	unsigned commits = 0;

	for (unsigned i = 0; i < paces[_i].pieces; i++) {
		now += paces[_i].work;
		if (!lc__throttle_is_due(&pace, now))
			continue;
		lc__throttle_note(&pace, now, now + paces[_i].commit);
		now += paces[_i].commit;
		committing += paces[_i].commit;
		commits++;
	}
	ck_assert_uint_eq(commits, paces[_i].commits);
	/* But for the first, which did not wait. */
	if (commits > 1)
		ck_assert_uint_le(11 * (committing - paces[_i].commit), now);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fill_parts");
	TCase *tcase = tcase_create("fill_parts");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, lines, 0, ROWS(contents));
	tcase_add_loop_test(tcase, bad_lines_are_told, 0, ROWS(bad_json));
	tcase_add_test(tcase, kinds);
	tcase_add_test(tcase, long_lines);
	tcase_add_test(tcase, longest_line);
	tcase_add_test(tcase, places_that_are_none);
	tcase_add_test(tcase, what_is_no_file);
	tcase_add_test(tcase, shards_that_change);
	tcase_add_loop_test(tcase, cursors_come_back, 0, ROWS(cursors));
	tcase_add_test(tcase, cursor_bytes);
	tcase_add_loop_test(tcase, fingerprints, 0, ROWS(sizes));
	tcase_add_test(tcase, failure_lines);
	tcase_add_loop_test(tcase, pace_of_commits, 0, ROWS(paces));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
