/* SPDX-License-Identifier: BSD-2-Clause */
/* The database says the same as the facts, and takes the place of no other file. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "made_report.h"
#include "need.h"
#include "report/sqlite.h"
#include "run.h"

static const char *dir;

static void
make_dir(void)
{
	dir = run_scratch();
}

static char *
empty_file(const char *name)
{
	char *path = lc__path_join(dir, name);

	assert_ok(lc__write_file_atomic(path, "", 0));
	return path;
}

static void
write_database(const char *path, struct lc__facts *facts)
{
	const struct lc__box boxes[] = { { 0.125, 0.25, 0.5, 1, 4 },
		{ 0, 0, 0.5, (double)INFINITY, -1 } };
	struct lc__observation seen = made_observation(boxes, 2);
	struct lc__sqlite *db;

	assert_ok(lc__sqlite_begin(path, &db));
	seen.sample = 3;
	seen.series = 1;
	seen.cache_id = lc_id_of("0123456789ab/run-000/f1");
	seen.origin.run_id = lc_id_of("run-000");
	seen.origin.has_frame_id = 1;
	seen.origin.frame_id = 12;
	seen.origin.original_width = 1920;
	seen.origin.original_height = 1080;
	seen.origin.boxes_total = 5;
	assert_ok(lc__sqlite_sample(db, &seen));
	/* A name that is not text; nothing else is known. */
	seen = made_observation(boxes, 0);
	seen.sample = 4;
	seen.cache_id = (lc_id){ "\xff\0x", 3 };
	assert_ok(lc__sqlite_sample(db, &seen));
	/* The two frames that are the first and the last without a positive integer. */
	for (int i = 0; i < 2; i++) {
		seen = made_observation(boxes, 0);
		seen.sample = 5 + (uint64_t)i;
		seen.origin.has_frame_id = 1;
		seen.origin.frame_id = i ? UINT64_MAX : UINT64_C(1) << 63;
		assert_ok(lc__sqlite_sample(db, &seen));
	}
	assert_ok(lc__sqlite_end(db, facts));
}

/* The rows of a query, cells separated by '|', rows by line. */
static char *
ask(const char *path, const char *query)
{
	sqlite3 *db;
	sqlite3_stmt *select;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL),
	    SQLITE_OK);
	ck_assert_msg(sqlite3_prepare_v2(db, query, -1, &select, NULL) == SQLITE_OK,
	    "%s: %s", query, sqlite3_errmsg(db));
	while (sqlite3_step(select) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(select); i++) {
			const unsigned char *cell = sqlite3_column_text(select, i);
			fprintf(out, "%s%s", cell ? (const char *)cell : "NULL",
			    i + 1 < sqlite3_column_count(select) ? "|" : "\n");
		}
	ck_assert_int_eq(sqlite3_finalize(select), SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static const struct {
	const char *query, *answer;
} questions[] = {
	{ "PRAGMA integrity_check", "ok\n" },
	{ "PRAGMA foreign_key_check", "" },
	{ "PRAGMA application_id", "1129862984\n" },
	{ "PRAGMA user_version", "1\n" },
	/* 7 runs of 57 or 58 samples and what make_run() adds. */
	{ "SELECT count(*), sum(total), sum(non_empty), sum(empty), "
	    "sum(missing_image), sum(missing_file), sum(invalid), sum(written) "
	    "FROM runs", "7|427|400|6|3|7|11|400\n" },
	{ "SELECT count(*) FROM runs WHERE total != "
	    "non_empty+empty+missing_image+missing_file+invalid", "0\n" },
	{ "SELECT * FROM reasons", "blank_image|3\nno_file|7\nno_labels|6\n"
	    "out_of_range|11\n" },
	{ "SELECT run_id, name, label, image, reason, substr(detail, 1, 14) "
	    "FROM rejected",
	    "run-000|<b>f1</b>|NULL|run-000/f1.jpg|no_file|run-000/\"f1\".j\n"
	    "run-001|f2|NULL|NULL|out_of_range|run-001/labels\n" },
	{ "SELECT * FROM series", "0|640|640|3|0|200\n1|640|1280|3|200|200\n" },
	{ "SELECT path, samples, bytes, length(sha256) FROM shards",
	    "shard-000000.twh1|133|201326592|64\n"
	    "shard-000001.twh1|133|201326593|64\n"
	    "shard-000002.twh1|133|201326594|64\n" },
	{ "SELECT value FROM warehouse WHERE key = 'version'",
	    "d806bacbd88511e2140686725f7f7173c5a0e864dd312d1eee4128d411da8029\n" },
	{ "SELECT value, typeof(value) FROM warehouse WHERE key = 'samples'",
	    "400|integer\n" },
	{ "SELECT sum(count) FROM histograms WHERE name = 'boxes_per_sample'",
	    "400\n" },
	{ "SELECT count(DISTINCT name) FROM histograms", "12\n" },
	{ "SELECT count(*), min(bin), max(bin), min(low), max(high) "
	    "FROM histograms WHERE name = 'box_side'", "52|-1|50|0.0|1.0\n" },
	{ "SELECT low IS NULL, high IS NULL FROM histograms WHERE "
	    "name = 'box_side' AND bin IN (-1, 0, 50) ORDER BY bin",
	    "1|0\n0|0\n0|1\n" },
	{ "SELECT bin, count FROM histograms WHERE name = 'contrast' AND "
	    "(low IS NULL OR high IS NULL)", "-1|1\n32|2\n" },
	{ "SELECT (SELECT sum(boxes) FROM classes) = (SELECT sum(count) FROM "
	    "histograms WHERE name = 'box_x')", "1\n" },
	{ "SELECT typeof(frame_id), frame_id, printf('%u', frame_id) FROM samples "
	    "WHERE sample > 4", "integer|-9223372036854775808|9223372036854775808\n"
	    "integer|-1|18446744073709551615\n" },
	{ "SELECT * FROM samples WHERE sample < 5",
	    "3|0123456789ab/run-000/f1|run-000|12|1920|1080|2|5|1|NULL|NULL\n"
	    "4|\xff|NULL|NULL|NULL|NULL|0|0|0|NULL|NULL\n" },
	{ "SELECT typeof(cache_id), hex(cache_id) FROM samples WHERE sample = 4",
	    "blob|FF0078\n" },
	{ "SELECT * FROM boxes", "3|0|4|0.125|0.25|0.5|1.0\n"
	    "3|1|NULL|0.0|0.0|0.5|NULL\n" },
};

START_TEST(database_says_the_same)
{
	const struct made_report how = { dir, 1, 400, 7, 0, NULL };
	struct lc__facts facts;
	char *path = empty_file("a.db");

	made_report(&how, &facts);
	lc__histogram_add(&facts.seen.histograms[LC__METRIC_CONTRAST], -1);
	lc__histogram_add(&facts.seen.histograms[LC__METRIC_CONTRAST], 2);
	lc__histogram_add(&facts.seen.histograms[LC__METRIC_CONTRAST], 3);
	write_database(path, &facts);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		char *answer = ask(path, questions[i].query);
		ck_assert_msg(strcmp(answer, questions[i].answer) == 0,
		    "%s: '%s', expected '%s'", questions[i].query, answer,
		    questions[i].answer);
		free(answer);
	}
	assert_ok(lc__sqlite_may_replace(path));
	made_report_free(&facts);
	free(path);
}
END_TEST

START_TEST(same_facts_same_bytes)
{
	const struct made_report how = { dir, 1, 400, 7, 0, NULL };
	struct lc__buf bytes[2] = { { 0 } };
	struct lc__facts facts;

	made_report(&how, &facts);
	for (int i = 0; i < 2; i++) {
		char *path = empty_file(i ? "b.db" : "a.db");
		write_database(path, &facts);
		assert_ok(lc__read_file(path, 1 << 24, &bytes[i]));
		free(path);
	}
	ck_assert_uint_eq(bytes[0].size, bytes[1].size);
	ck_assert_mem_eq(bytes[0].data, bytes[1].data, bytes[0].size);
	lc__buf_free(&bytes[0]);
	lc__buf_free(&bytes[1]);
	made_report_free(&facts);
}
END_TEST

static void
put_file(const char *path, const void *bytes, size_t size)
{
	assert_ok(lc__write_file_atomic(path, bytes, size));
}

START_TEST(other_files_stay)
{
	const struct made_report how = { dir, 1, 40, 2, 0, NULL };
	char *path = empty_file("a.db");
	char *journal = lc__path_join(dir, "a.db-journal");
	char *link = lc__path_join(dir, "link.db");
	char *empty = empty_file("empty.db");
	struct lc__facts facts;
	sqlite3 *db;

	assert_ok(lc__sqlite_may_replace(path));
	put_file(path, "something else", 14);
	assert_status(lc__sqlite_may_replace(path), LC_INVALID);
	assert_ok(lc__sqlite_may_replace(empty));
	ck_assert_int_eq(unlink(path), 0);
	assert_status(lc__sqlite_may_replace(path), LC_NO_FILE);
	assert_status(lc__sqlite_may_replace(dir), LC_INVALID);

	/* A database of something else. */
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE t(a)", NULL, NULL, NULL),
	    SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	assert_status(lc__sqlite_may_replace(path), LC_INVALID);

	/* One of ours that somebody writes, by its name and by a link to it. */
	put_file(path, "", 0);
	made_report(&how, &facts);
	write_database(path, &facts);
	made_report_free(&facts);
	ck_assert_int_eq(symlink(path, link), 0);
	assert_ok(lc__sqlite_may_replace(link));
	put_file(journal, "x", 1);
	assert_status(lc__sqlite_may_replace(path), LC_BUSY);
	assert_status(lc__sqlite_may_replace(link), LC_BUSY);
	free(empty);
	free(link);
	free(journal);
	free(path);
}
END_TEST

START_TEST(damaged_rejected_frames)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "{\"name\":\"a\"}\n{\"name\"", "line 2 is cut short" },
		{ "{\"name\":\"a\"}\n[1]\n", "line 2 is not a JSON object" },
		{ "nonsense\n", "line 1 is not a JSON object" },
	};
	const struct made_report how = { dir, 1, 40, 2, 0, NULL };
	char *path = empty_file("a.db");
	char *rejected = lc__path_join(dir, "rejected.jsonl");
	struct lc__facts facts;
	struct lc__sqlite *db;

	made_report(&how, &facts);
	put_file(rejected, rows[_i].text, strlen(rows[_i].text));
	assert_ok(lc__sqlite_begin(path, &db));
	assert_status(lc__sqlite_end(db, &facts), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, rows[_i].message));
	made_report_free(&facts);
	free(rejected);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("report_sqlite");
	TCase *tc = tcase_create("report_sqlite");

	tcase_add_checked_fixture(tc, make_dir, NULL);
	tcase_add_test(tc, database_says_the_same);
	tcase_add_test(tc, same_facts_same_bytes);
	tcase_add_test(tc, other_files_stay);
	tcase_add_loop_test(tc, damaged_rejected_frames, 0, 3);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
