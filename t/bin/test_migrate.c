/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "migrate/claims.h"
#include "migrate/entry.h"
#include "migration.h"
#include "need.h"
#include "sample.h"

/* ---- lines ---------------------------------------------------------------------------- */

/* A line, and what it becomes with the array cut and the members of version 2. */
static const struct {
	const char *v1, *v2;
} line_rows[] = {
	{ "{\"image_path\":\"a\",\"e\":[1],\"c\":2}",
	    "{\"image_path\":\"a\",\"c\":2,\"image_id\":\"I\",\"aspect_bucket\":\"1x1\",\"format_version\":2}" },
	{ "{\"image_path\": \"a\", \"e\": [1, 2], \"c\": 2}",
	    "{\"image_path\": \"a\", \"c\": 2, \"image_id\": \"I\", \"aspect_bucket\": \"1x1\", \"format_version\": 2}" },
	{ "{\"e\": [1], \"image_path\": \"a\"}",
	    "{\"image_path\": \"a\", \"image_id\": \"I\", \"aspect_bucket\": \"1x1\", \"format_version\": 2}" },
	{ "{\"image_path\": \"a\", \"e\": [1]}",
	    "{\"image_path\": \"a\", \"image_id\": \"I\", \"aspect_bucket\": \"1x1\", \"format_version\": 2}" },
	{ " { \"image_path\" : \"a\" , \"e\" : [ 1 ] , \"c\" : 2 } \r",
	    " { \"image_path\" : \"a\"  , \"c\" : 2, \"image_id\": \"I\", \"aspect_bucket\": \"1x1\", \"format_version\": 2 } \r" },
	{ "{\"image_path\":\"a\"}",
	    "{\"image_path\":\"a\",\"image_id\":\"I\",\"aspect_bucket\":\"1x1\",\"format_version\":2}" },
	{ "{\"image_id\":[1,{}],\"e\":[],\"aspect_bucket\":null,\"image_path\":\"a\",\"format_version\":1.0}",
	    "{\"image_id\":\"I\",\"aspect_bucket\":\"1x1\",\"image_path\":\"a\",\"format_version\":2}" },
	{ "{\"e\":[1],\"image_\\u0069d\":7,\"image_path\":\"a\"}",
	    "{\"image_\\u0069d\":\"I\",\"image_path\":\"a\",\"aspect_bucket\":\"1x1\",\"format_version\":2}" },
	{ "{\"image_path\":\"a\",\"x\":{\"e\":[1],\"image_id\":2},\"e\":[1]}",
	    "{\"image_path\":\"a\",\"x\":{\"e\":[1],\"image_id\":2},\"image_id\":\"I\",\"aspect_bucket\":\"1x1\",\"format_version\":2}" },
	{ "{\"image_path\":\"a\",\"n\":1E400,\"m\":-0.0,\"k\":\"\\ud800\\u0000\",\"e\":[1]}",
	    "{\"image_path\":\"a\",\"n\":1E400,\"m\":-0.0,\"k\":\"\\ud800\\u0000\",\"image_id\":\"I\",\"aspect_bucket\":\"1x1\",\"format_version\":2}" },
};

START_TEST(lines)
{
	const struct lc__entry_news news = {
		.cut = strstr(line_rows[_i].v1, "\"e\"") != NULL, .upgrade = true,
		.id = { "I", 1 }, .bucket = "1x1"
	};
	struct lc__line_entry entry = { .count = 0 };
	struct lc__buf out = { 0 };

	assert_ok(lc__entry_read(line_rows[_i].v1, strlen(line_rows[_i].v1), "e", &entry));
	ck_assert(!entry.v2);
	assert_ok(lc__entry_write(&entry, &news, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((char *)out.data, line_rows[_i].v2);
	assert_ok(lc__entry_read((char *)out.data, out.size - 1, "e", &entry));
	ck_assert(entry.v2);
	lc__entry_free(&entry);
	lc__buf_free(&out);
}
END_TEST

/* Ids in a line of ASCII, and in another one. */
static const struct {
	const char *line, *id, *want;
} id_rows[] = {
	{ "{\"image_path\":\"a\"}", "caf\xc3\xa9", "\"caf\\u00e9\"" },
	{ "{\"image_path\":\"\xc3\xa9\"}", "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
	{ "{\"image_path\":\"a\"}", "\xf0\x9f\x98\x80\xe2\x82\xac", "\"\\ud83d\\ude00\\u20ac\"" },
	{ "{\"image_path\":\"a\"}", "\"\\/\x01\n\x7f", "\"\\\"\\\\/\\u0001\\u000a\x7f\"" },
};

START_TEST(ids_in_lines)
{
	const struct lc__entry_news news = {
		.name = true, .id = { id_rows[_i].id, strlen(id_rows[_i].id) }
	};
	struct lc__line_entry entry = { .count = 0 };
	struct lc__buf out = { 0 }, want = { 0 };

	assert_ok(lc__entry_read(id_rows[_i].line, strlen(id_rows[_i].line), "e", &entry));
	assert_ok(lc__entry_write(&entry, &news, &out));
	lc__buf_append(&out, "", 1);
	lc__buf_printf(&want, "%.*s,\"image_id\":%s}", (int)strlen(id_rows[_i].line) - 1,
	    id_rows[_i].line, id_rows[_i].want);
	lc__buf_append(&want, "", 1);
	ck_assert_str_eq((char *)out.data, (char *)want.data);
	assert_ok(lc__entry_read((char *)out.data, out.size - 1, "e", &entry));
	ck_assert_uint_eq(entry.id.size, strlen(id_rows[_i].id));
	ck_assert_mem_eq(entry.id.data, id_rows[_i].id, entry.id.size);
	lc__entry_free(&entry);
	lc__buf_free(&out);
	lc__buf_free(&want);
}
END_TEST

static const struct {
	const char *line;
	lc_status status;
	const char *message;
} bad_rows[] = {
	{ "x", LC_CORRUPT, "column 1: no object begins here" },
	{ "{\"image_path\":\"a\"", LC_CORRUPT, "column 18: the text ends too early" },
	{ "{}", LC_INVALID, "column 1: no image_path" },
	{ "{\"image_path\":null}", LC_INVALID, "column 1: no image_path" },
	{ "{\"image_path\":\"\"}", LC_INVALID, "column 15: image_path is empty" },
	{ "{\"image_path\":7}", LC_INVALID, "column 15: image_path is not a string" },
	{ "{\"image_path\":\"\\ud800\"}", LC_INVALID,
	    "column 15: image_path has half of a surrogate pair" },
	{ "{\"image_path\":\"a\",\"image_path\":\"b\"}", LC_INVALID,
	    "column 20: image_path occurs twice" },
	{ "{\"e\":[],\"image_path\":\"a\",\"\\u0065\":[]}", LC_INVALID,
	    "column 27: e occurs twice" },
	{ "{\"e\":[],\"e\":[],}", LC_CORRUPT, "column 16: a string is missing" },
	{ "{\"image_path\":\"a\",\"e\":{}}", LC_INVALID, "column 23: e is not an array" },
	{ "{\"image_path\":\"a\",\"height\":0}", LC_INVALID,
	    "column 28: height is not a number of pixels" },
	{ "{\"image_path\":\"a\",\"width\":1.5}", LC_INVALID,
	    "column 27: width is not a number of pixels" },
	{ "{\"image_path\":\"a\",\"width\":4294967296}", LC_INVALID,
	    "column 27: width is not a number of pixels" },
	{ "{\"image_path\":\"a\",\"width\":-1}", LC_INVALID,
	    "column 27: width is not a number of pixels" },
	{ "{\"image_path\":\"a\",\"image_id\":1,\"x\":NaN}", LC_CORRUPT,
	    "column 36: no such word in JSON" },
};

START_TEST(bad_lines)
{
	struct lc__line_entry entry = { .count = 0 };

	assert_status(lc__entry_read(bad_rows[_i].line, strlen(bad_rows[_i].line), "e",
	    &entry), bad_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	lc__entry_free(&entry);
}
END_TEST

/* ---- ids ------------------------------------------------------------------------------ */

/* Of one generation, line after line. */
static const struct {
	const char *path, *id;
} claim_rows[] = {
	{ "x/a.jpg", "a" }, { "x/a.png", "a.png" }, { "y/a.png", "y/a.png" },
	{ "y/a.png", "y/a.png#2" }, { "y/a.png", "y/a.png#3" }, { "x/a.jpg", "a.jpg" },
	{ "x/a.jpg", "x/a.jpg" }, { "x/a.jpg", "x/a.jpg#2" }, { "b", "b" }, { "c/b", "c/b" },
	{ ".hidden", ".hidden" }, { "x/..a.b.c", "..a.b" }, { "d.tar.gz", "d.tar" },
	{ "q/.", "." }, { "e.", "e" },
};

#define N_CLAIMS (sizeof(claim_rows) / sizeof(claim_rows[0]))

static void
choose(lc_cache *cache, uint64_t generation, size_t line, bool first)
{
	const struct lc__claimant who = {
		.cache = cache, .generation = generation, .line = line + 1,
		.path = lc_id_of(claim_rows[line].path)
	};
	struct lc__claimed claimed;
	struct lc__buf id = { 0 };

	assert_ok(lc__claims_choose(&who, &id, &claimed));
	ck_assert_uint_eq(id.size, strlen(claim_rows[line].id));
	ck_assert_mem_eq(id.data, claim_rows[line].id, id.size);
	ck_assert_int_eq(claimed.first, first);
	assert_ok(lc__claims_find(&who, &id));
	ck_assert_mem_eq(id.data, claim_rows[line].id, id.size);
	assert_ok(lc__claims_check(&who, lc_id_of(claim_rows[line].id)));
	lc__buf_free(&id);
}

START_TEST(claims)
{
	lc_cache *cache;

	assert_ok(lc__stage2_module(run_scratch(), &cache));
	for (size_t i = 0; i < N_CLAIMS; i++)
		choose(cache, 1, i, true);
	/* The same again; also after the file was changed; also a part of it only. */
	for (size_t i = 0; i < N_CLAIMS; i++)
		choose(cache, 1, i, false);
	for (size_t i = 0; i < N_CLAIMS; i++)
		choose(cache, 2, i, false);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(claims_of_others)
{
	struct lc__claimant who = {
		.generation = 1, .line = 1, .path = lc_id_of("x/a.jpg")
	};
	struct lc__claimed claimed;
	struct lc__buf id = { 0 };

	assert_ok(lc__stage2_module(run_scratch(), &who.cache));
	assert_ok(lc__claims_keep(&who, lc_id_of("a"), &claimed));
	ck_assert(claimed.first);
	who.line = 2;
	assert_status(lc__claims_keep(&who, lc_id_of("a"), &claimed), LC_EXISTS);
	ck_assert_str_eq(lc_last_error()->text, "image_id 'a' is also that of line 1");
	assert_status(lc__claims_check(&who, lc_id_of("a")), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "image_id 'a' is claimed for line 1, x/a.jpg");
	assert_status(lc__claims_check(&who, lc_id_of("b")), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "image_id 'b' has no claim");
	assert_status(lc__claims_find(&who, &id), LC_NOT_FOUND);
	who.path = lc_id_of("x/");
	assert_status(lc__claims_choose(&who, &id, &claimed), LC_INVALID);
	assert_status(lc__claims_find(&who, &id), LC_NOT_FOUND);
	lc__buf_free(&id);
	assert_ok(lc_close(who.cache));
}
END_TEST

/* Which versions a line may have. */
static const struct {
	const char *version;
	lc_status status;
	bool v2, newer;
} version_rows[] = {
	{ "1", LC_OK, false, false }, { "2", LC_OK, true, false }, { "2.0", LC_OK, true, false },
	{ "0.2e1", LC_OK, true, false }, { "null", LC_OK, false, false },
	{ "-3", LC_OK, false, false }, { "1.5", LC_OK, false, false },
	{ "2.0001", LC_OK, false, true }, { "3", LC_OK, false, true },
	{ "18446744073709551618", LC_OK, false, true }, { "1e999", LC_OK, false, true },
	{ "\"2\"", LC_INVALID, false, false }, { "true", LC_INVALID, false, false },
	{ "[2]", LC_INVALID, false, false },
};

START_TEST(versions)
{
	struct lc__line_entry entry = { .count = 0 };
	char line[200];

	snprintf(line, sizeof(line), "{\"image_path\":\"a\",\"image_id\":\"a\","
	    "\"aspect_bucket\":\"1x1\",\"format_version\":%s}", version_rows[_i].version);
	assert_status(lc__entry_read(line, strlen(line), "e", &entry), version_rows[_i].status);
	ck_assert_int_eq(entry.v2, version_rows[_i].v2);
	ck_assert_int_eq(entry.newer, version_rows[_i].newer);
	lc__entry_free(&entry);
}
END_TEST

/* The ids that a path gives. */
START_TEST(ids_of_paths)
{
	static const struct { const char *path, *id; bool own; } rows[] = {
		{ "d/cat.jpg", "cat", true }, { "d/cat.jpg", "cat.jpg", true },
		{ "d/cat.jpg", "d/cat.jpg", true }, { "d/cat.jpg", "d/cat.jpg#2", true },
		{ "d/cat.jpg", "d/cat.jpg#19", true }, { "d/cat.jpg", "d/cat.jpg#1", false },
		{ "d/cat.jpg", "d/cat.jpg#", false }, { "d/cat.jpg", "d/cat.jpg#02", false },
		{ "d/cat.jpg", "d/cat.jpg#2x", false }, { "d/cat.jpg", "d/cat.jpg-2", false },
		{ "d/cat.jpg", "cat.jp", false }, { "d/cat.jpg", "d/cat", false },
		{ "d/cat.jpg", "Cat", false }, { "d/cat.jpg", "", false },
		{ ".cat", ".cat", true }, { ".cat", "", false }, { "d/", "d", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(lc__claims_is_of(lc_id_of(rows[i].path), lc_id_of(rows[i].id)) ==
		    rows[i].own, "%s %s", rows[i].path, rows[i].id);
}
END_TEST

/* ---- whole files ------------------------------------------------------------------------ */

static uint64_t
inode_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_ino;
}

/* How many commits a module had. */
static uint64_t
commits_of(const struct migration *m, const char *module)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_cache *cache = sample_open(m->dir, module, NULL);

	assert_ok(lc_stat(cache, &stats));
	assert_ok(lc_close(cache));
	return stats.generation;
}

START_TEST(migrates)
{
	struct lc__stage2_done done;
	struct migration m;
	uint64_t inode, commits[2];

	migration_make(&m, run_scratch(), 600, run_seed() + (uint64_t)_i, 1 + (unsigned)_i % 7);
	m.cut = _i % 2;
	migration_write(&m);
	inode = inode_of(m.file);
	assert_ok(migration_run(&m, &done));
	migration_check(&m, &done);
	ck_assert(done.rewritten && !done.resumed);
	ck_assert_uint_eq(m.bad, done.counts.bad);
	ck_assert_uint_eq(inode_of(m.backup), inode);
	ck_assert_str_eq(done.backup + strlen(done.backup) - 14, ".stage1.backup");

	/* Again: nothing happens. */
	inode = inode_of(m.file);
	commits[0] = commits_of(&m, "stage2");
	commits[1] = commits_of(&m, "dinov3");
	assert_ok(migration_run(&m, &done));
	ck_assert_uint_eq(inode_of(m.file), inode);
	ck_assert_uint_eq(commits_of(&m, "stage2"), commits[0]);
	ck_assert_uint_eq(commits_of(&m, "dinov3"), commits[1]);
	ck_assert(!done.rewritten && !done.resumed);
	ck_assert_uint_eq(done.counts.migrated + done.counts.extracted, 0);
	ck_assert_uint_eq(done.counts.skipped, done.total);
	migration_check_tensors(&m);
}
END_TEST

START_TEST(dry_run)
{
	struct lc__stage2_done done, dry;
	struct migration m;

	migration_make(&m, run_scratch(), 300, run_seed(), 4);
	m.how.dry_run = true;
	assert_ok(migration_run(&m, &dry));
	ck_assert_int_eq(access(m.dir, F_OK), -1);
	ck_assert_int_eq(access(m.backup, F_OK), -1);
	ck_assert_uint_gt(dry.needs.modules[LC__PASS_DINOV3], 0);
	m.how.dry_run = false;
	assert_ok(migration_run(&m, &done));
	migration_check(&m, &done);
	ck_assert_uint_eq(dry.counts.migrated, done.counts.migrated);
	ck_assert_uint_eq(dry.counts.skipped, done.counts.skipped);
	ck_assert_uint_eq(dry.counts.bad, done.counts.bad);
	m.how.dry_run = true;
	assert_ok(migration_run(&m, &dry));
	ck_assert_uint_eq(dry.counts.skipped, dry.total);
	ck_assert_uint_eq(dry.total, done.total);
}
END_TEST

/* First the arrays, then the lines. */
START_TEST(pass_by_pass)
{
	struct lc__stage2_done done;
	struct migration m;
	uint64_t inode;

	migration_make(&m, run_scratch(), 300, run_seed(), 4);
	m.plain = true;
	migration_write(&m);
	m.how.pass[LC__PASS_MIGRATE] = false;
	inode = inode_of(m.file);
	assert_ok(migration_run(&m, &done));
	ck_assert_uint_eq(inode_of(m.file), inode);
	ck_assert_int_eq(access(m.backup, F_OK), -1);
	ck_assert_uint_eq(done.counts.migrated, 0);
	ck_assert_uint_gt(done.counts.extracted, 0);
	migration_check_tensors(&m);
	assert_ok(migration_run(&m, &done));
	ck_assert_uint_eq(done.counts.extracted, 0);
	ck_assert_uint_eq(done.counts.skipped, done.total);

	m.how.pass[LC__PASS_DINOV3] = false;
	m.how.pass[LC__PASS_MIGRATE] = true;
	assert_ok(migration_run(&m, &done));
	migration_check(&m, &done);
	ck_assert_uint_eq(commits_of(&m, "dinov3"), 1);
}
END_TEST

static void
append(const char *path, const char *text)
{
	FILE *file = fopen(path, "a");

	need(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Lines of version 1 behind those of version 2. */
START_TEST(appended)
{
	static const char more[] =
	    "{\"image_path\":\"d0/img1.gif\",\"height\":8,\"width\":8,\"dinov3_embedding\":[7,8]}\n";
	static const char want[] =
	    "{\"image_path\":\"d0/img1.gif\",\"height\":8,\"width\":8,\"image_id\":\"img1.gif\","
	    "\"aspect_bucket\":\"1024x1024\",\"format_version\":2}\n";
	static const float values[] = { 7, 8 };
	struct lc__stage2_done done;
	struct migration m;
	lc_tensor tensor;
	lc_cache *cache;
	char *before, *after;
	size_t size, size_after;

	migration_make(&m, run_scratch(), 20, run_seed(), 2);
	m.plain = true;
	migration_write(&m);
	assert_ok(migration_run(&m, &done));
	migration_check(&m, &done);
	before = migration_read(m.file, &size);
	append(m.file, more);
	assert_ok(migration_run(&m, &done));
	ck_assert_uint_eq(done.counts.migrated, 1);
	ck_assert_uint_eq(done.counts.skipped, 20);
	ck_assert_uint_eq(done.counts.shared, 1);
	ck_assert_str_eq(done.backup + strlen(done.backup) - 16, ".stage1.backup.2");
	after = migration_read(m.file, &size_after);
	ck_assert_uint_eq(size_after, size + strlen(want));
	ck_assert_mem_eq(after, before, size);
	ck_assert_str_eq(after + size, want);
	cache = sample_open(m.dir, "dinov3", NULL);
	assert_ok(lc_get_copy(cache, "img1.gif", 8, &tensor));
	ck_assert_mem_eq(tensor.data, values, sizeof(values));
	lc_tensor_free(&tensor);
	assert_ok(lc_close(cache));
	free(before);
	free(after);
}
END_TEST

static int
stop_at(void *ctx, const struct lc__stage2_counts *counts, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)counts;
	(void)total;
	return done > 0;
}

/* More than a step of lines, stopped behind the first. */
static void
stop_halfway(struct migration *m, struct lc__stage2_done *done)
{
	migration_make(m, run_scratch(), LC__STEP_LINES * 2, run_seed(), 2);
	m->how.step = stop_at;
	assert_status(migration_run(m, done), LC_CANCELLED);
	ck_assert_uint_lt(done->total, LC__STEP_LINES + 1);
	m->how.step = NULL;
}

START_TEST(goes_on)
{
	struct lc__stage2_done done;
	struct migration m;
	uint64_t bad;

	stop_halfway(&m, &done);
	bad = m.bad;
	assert_ok(migration_run(&m, &done));
	ck_assert(done.resumed);
	ck_assert_uint_eq(bad + m.bad, done.counts.bad);
	migration_check(&m, &done);
}
END_TEST

/* The file is another one when the next run comes: its beginning is the same. */
START_TEST(changed_meanwhile)
{
	struct lc__stage2_done done;
	struct migration m;

	stop_halfway(&m, &done);
	unlink(m.backup);
	m.lines += 100;
	unlink(m.file);
	migration_write(&m);
	assert_ok(migration_run(&m, &done));
	ck_assert(!done.resumed);
	ck_assert_uint_gt(m.warnings, 0);
	migration_check(&m, &done);
}
END_TEST

START_TEST(new_file_is_gone)
{
	struct lc__stage2_done done;
	struct migration m;
	char path[300];

	stop_halfway(&m, &done);
	snprintf(path, sizeof(path), "%s.stage2.tmp", m.file);
	ck_assert_int_eq(unlink(path), 0);
	assert_ok(migration_run(&m, &done));
	migration_check(&m, &done);
}
END_TEST

/* Where a run was killed in front of the rename. */
static void
stop_at_swap(struct migration *m)
{
	struct lc__stage2_state state;
	lc_cache *cache;
	int fd;

	ck_assert_int_eq(rename(m->backup, m->file), 0);
	assert_ok(lc__stage2_module(m->dir, &cache));
	assert_ok(lc__stage2_load(cache, &state));
	fd = open(m->file, O_RDONLY);
	ck_assert_int_ne(fd, -1);
	strcpy(state.renewed, state.stamp);
	assert_ok(lc__stage2_stamp(fd, m->file, state.stamp));
	close(fd);
	state.phase = LC__STAGE2_SWAP;
	state.rewriting = 1;
	assert_ok(lc__stage2_store(cache, &state));
	assert_ok(lc_close(cache));
}

/* The whole new file is gone, or another one, when it is to take the old one's place. */
START_TEST(whole_file_is_gone)
{
	struct lc__stage2_done done;
	struct migration m;
	char path[300];
	int fd;

	migration_make(&m, run_scratch(), 100, run_seed(), 2);
	assert_ok(migration_run(&m, &done));
	stop_at_swap(&m);
	if (_i == 1) {
		snprintf(path, sizeof(path), "%s.stage2.tmp", m.file);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		ck_assert_int_eq(write(fd, "{}\n", 3), 3);
		close(fd);
	}
	assert_ok(migration_run(&m, &done));
	ck_assert(done.rewritten);
	migration_check(&m, &done);
}
END_TEST

/* Another tensor under the id that a record would have is not overwritten. */
START_TEST(another_tensor)
{
	static const char line[] =
	    "{\"image_path\":\"a.jpg\",\"height\":8,\"width\":8,\"dinov3_embedding\":[7,8]}\n";
	static const float other[] = { 1, 2 }, own[] = { 7, 8 };
	const uint64_t shape[] = { 2 };
	const char *id = _i == 0 ? "a.jpg" : "a";
	struct lc__stage2_done done;
	struct migration m;
	lc_tensor tensor;
	lc_cache *cache;
	lc_view view;

	migration_make(&m, run_scratch(), 0, 1, 2);
	append(m.file, line);
	cache = sample_open(m.dir, "dinov3", NULL);
	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, other));
	assert_ok(lc_put(cache, "a", 1, &tensor));
	assert_ok(lc_close(cache));
	m.how.force = _i == 1;
	assert_ok(migration_run(&m, &done));
	ck_assert_uint_eq(done.counts.migrated, 1);
	cache = sample_open(m.dir, "dinov3", NULL);
	assert_ok(lc_get(cache, id, strlen(id), &view));
	ck_assert_mem_eq(view.tensor.data, own, sizeof(own));
	lc_view_release(&view);
	if (_i == 0) {
		assert_ok(lc_get(cache, "a", 1, &view));
		ck_assert_mem_eq(view.tensor.data, other, sizeof(other));
		lc_view_release(&view);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* Two records of version 2 with one id: the second is bad, and nothing is overwritten. */
START_TEST(one_id_twice)
{
	static const char text[] =
	    "{\"image_path\":\"a.jpg\",\"image_id\":\"a\",\"aspect_bucket\":\"1x1\",\"format_version\":2,\"dinov3_embedding\":[1,2]}\n"
	    "{\"image_path\":\"b.jpg\",\"image_id\":\"a\",\"aspect_bucket\":\"1x1\",\"format_version\":2,\"dinov3_embedding\":[3,4]}\n";
	static const char want[] =
	    "{\"image_path\":\"a.jpg\",\"image_id\":\"a\",\"aspect_bucket\":\"1x1\",\"format_version\":2}\n"
	    "{\"image_path\":\"b.jpg\",\"image_id\":\"a\",\"aspect_bucket\":\"1x1\",\"format_version\":2,\"dinov3_embedding\":[3,4]}\n";
	struct lc__stage2_done done;
	struct migration m;
	size_t size;
	char *after;

	migration_make(&m, run_scratch(), 0, 1, 2);
	append(m.file, text);
	assert_ok(migration_run(&m, &done));
	ck_assert_uint_eq(done.counts.extracted, 1);
	ck_assert_uint_eq(done.counts.bad, 1);
	ck_assert_str_eq(m.last_bad, "2:98: dinov3 has another tensor for 'a'");
	after = migration_read(m.file, &size);
	ck_assert_str_eq(after, want);
	free(after);
}
END_TEST

/* What stops it before anything is changed. */
START_TEST(refused)
{
	struct lc__stage2_done done;
	struct migration m;
	char other[300];

	migration_make(&m, run_scratch(), 5, run_seed(), 2);
	snprintf(other, sizeof(other), "%s.other", m.file);
	append(other, "mine");
	m.how.backup = other;
	assert_status(migration_run(&m, &done), LC_EXISTS);
	m.how.backup = NULL;
	assert_ok(migration_run(&m, &done));
	migration_check(&m, &done);

	append(other, "{}");
	m.how.file = other;
	assert_status(migration_run(&m, &done), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "belongs to"));
	m.how.file = m.dir;
	ck_assert_int_ne(migration_run(&m, &done), LC_OK);
	m.how.file = "/nowhere/x.jsonl";
	assert_status(migration_run(&m, &done), LC_NO_FILE);
}
END_TEST

/* ---- verifying -------------------------------------------------------------------------- */

static char findings[4000];

static void
note_finding(void *ctx, uint64_t line, const char *id, const char *what)
{
	const size_t n = strlen(findings);

	(void)ctx;
	snprintf(findings + n, sizeof(findings) - n, "%llu %s: %s\n",
	    (unsigned long long)line, id, what);
}

static uint64_t
verify(struct migration *m)
{
	struct lc__stage2_verified verified;

	*findings = '\0';
	m->how.finding = note_finding;
	assert_ok(lc__stage2_verify(&m->how, &verified));
	return verified.findings;
}

/* Five records: a to e. */
static void
make_five(struct migration *m)
{
	struct lc__stage2_done done;

	migration_make(m, run_scratch(), 0, 1, 2);
	for (char c = 'a'; c <= 'e'; c++) {
		char line[200];
		snprintf(line, sizeof(line), "{\"image_path\":\"%c.jpg\",\"height\":64,"
		    "\"width\":80,\"dinov3_embedding\":[7,8]}\n", c);
		append(m->file, line);
	}
	assert_ok(migration_run(m, &done));
	ck_assert_uint_eq(verify(m), 0);
}

static void
put_f32(struct migration *m, const char *id, uint32_t n, const float *values)
{
	const uint64_t shape[] = { n };
	lc_cache *cache = sample_open(m->dir, "dinov3", NULL);
	lc_tensor tensor;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, values));
	assert_ok(lc_put(cache, id, strlen(id), &tensor));
	assert_ok(lc_close(cache));
}

START_TEST(verify_tensors)
{
	static const float nan[] = { 1, 0x1p127f * 4 }, three[] = { 1, 2, 3 };
	struct migration m;
	lc_cache *cache;

	make_five(&m);
	cache = sample_open(m.dir, "dinov3", NULL);
	assert_ok(lc_delete(cache, "a", 1));
	assert_ok(lc_close(cache));
	put_f32(&m, "b", 2, nan);
	put_f32(&m, "c", 3, three);
	cache = sample_open(m.dir, "stage2", NULL);
	assert_ok(lc_delete(cache, "id:d", 4));
	assert_ok(lc_close(cache));
	append(m.file, "{\"image_path\":\"f.jpg\",\"height\":1,\"width\":1}\n{bad\n"
	    "{\"image_path\":\"g.jpg\"}\n"
	    "{\"image_path\":\"h.jpg\",\"height\":1,\"width\":1,\"dinov3_embedding\":[1]}\n");
	ck_assert_uint_eq(verify(&m), 9);
	ck_assert_str_eq(findings,
	    "1 a: dinov3: missing\n"
	    "2 b: dinov3: Inf at [1]\n"
	    "3 c: dinov3: is f32[3], not f32[2]\n"
	    "4 d: image_id 'd' has no claim\n"
	    "6 : the record does not have version 2\n"
	    "6 : it has no image_id in stage2\n"
	    "7 : column 2: a string is missing\n"
	    "8 : column 1: no height and width, and no --images to find them\n"
	    "9 : column 63: dinov3_embedding is f32[1], not f32[2]\n");
}
END_TEST

/* A byte of a tensor's data is another one. */
START_TEST(verify_damage)
{
	static const unsigned char pattern[] = { 0, 0, 0xe0, 0x40, 0, 0, 0, 0x41 };
	struct migration m;
	char path[300];
	size_t size;
	char *bytes, *at;
	FILE *file;

	make_five(&m);
	snprintf(path, sizeof(path), "%s/dinov3/data.mdb", m.dir);
	bytes = migration_read(path, &size);
	at = memmem(bytes, size, pattern, sizeof(pattern));
	ck_assert_ptr_nonnull(at);
	at[3] ^= 1;
	file = fopen(path, "r+");
	ck_assert(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
	free(bytes);
	ck_assert_uint_eq(verify(&m), 1);
	ck_assert_ptr_nonnull(strstr(findings, "1 a: dinov3: "));
}
END_TEST

START_TEST(verify_latents)
{
	static const uint16_t data[16 * 8 * 10] = { 0 };
	const uint64_t right[] = { 16, 8, 10 }, wrong[] = { 16, 10, 8 };
	struct migration m;
	lc_tensor tensor;
	lc_cache *cache;

	make_five(&m);
	m.how.pass[LC__PASS_VAE] = true;
	ck_assert_uint_eq(verify(&m), 0);
	m.how.named = true;
	ck_assert_uint_eq(verify(&m), 5);
	ck_assert_ptr_nonnull(strstr(findings, "3 c: vae_latents: missing\n"));
	cache = sample_open(m.dir, "vae_latents", NULL);
	for (char c = 'a'; c <= 'e'; c++) {
		assert_ok(lc_tensor_init(&tensor, LC_F16, 3, c == 'b' ? wrong : right, data));
		assert_ok(lc_put(cache, &c, 1, &tensor));
	}
	assert_ok(lc_close(cache));
	ck_assert_uint_eq(verify(&m), 1);
	ck_assert_str_eq(findings,
	    "2 b: vae_latents: an image of 80x64 has latents of [*,8,10]\n");
}
END_TEST

#define loop(test, rows) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(rows) / sizeof((rows)[0])))

int
main(void)
{
	Suite *suite = suite_create("migrate");
	TCase *tcase = tcase_create("migrate");

	tcase_set_timeout(tcase, 120);
	loop(lines, line_rows);
	loop(ids_in_lines, id_rows);
	loop(bad_lines, bad_rows);
	loop(versions, version_rows);
	tcase_add_test(tcase, ids_of_paths);
	tcase_add_test(tcase, claims);
	tcase_add_test(tcase, claims_of_others);
	tcase_add_loop_test(tcase, migrates, 0, 8);
	tcase_add_test(tcase, dry_run);
	tcase_add_test(tcase, pass_by_pass);
	tcase_add_test(tcase, appended);
	tcase_add_test(tcase, goes_on);
	tcase_add_test(tcase, changed_meanwhile);
	tcase_add_test(tcase, new_file_is_gone);
	tcase_add_loop_test(tcase, whole_file_is_gone, 0, 2);
	tcase_add_loop_test(tcase, another_tensor, 0, 2);
	tcase_add_test(tcase, one_id_twice);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, verify_tensors);
	tcase_add_test(tcase, verify_damage);
	tcase_add_test(tcase, verify_latents);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
