/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation and each system call of writing and reading files of other systems fails
 * once, and with all after it: it says so and leaves nothing half-written, or what it
 * wrote and read is the same as ever. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "formats/formats.h"
#include "fail_io.h"
#include "fail_malloc.h"
#include "formats/value_json.h"
#include "need.h"
#include "outdir_files.h"

#define U8 "{\"$tensor\":\"u8[3]\",\"data\":\"YWJj\"}"
#define U16 "{\"$tensor\":\"u16[2,1]\",\"data\":\"YWJjZA==\"}"
#define BYTES "{\"$bytes\":\"//8AAQ==\"}"
#define RECORDS 3

/* What goes out: a value for all records, in one file or in a directory of files. */
static const struct {
	const char *format, *target, *value;
	uint64_t shard_records;
	bool force;  /* something is there already */
} rows[] = {
	{ "safetensors", "a.safetensors", U8, 0, false },
	{ "safetensors", "a.safetensors", "{\"x\":" U8 ",\"y\":{\"z\":" U16 "}}", 0, true },
	{ "npz", "a.npz", U16, 0, false },
	{ "npz", "a.npz", U8, 0, true },
	{ "npy", "dir", U8, 0, false },
	{ "webdataset", "a.tar", "{\"x\":" U8 ",\"cls\":7,\"txt\":\"seven\"}", 0, true },
	{ "webdataset", "a.tar", "[" U8 ",{\"n\":[1,2.5,null,true]}," BYTES "]", 0, false },
	{ "webdataset", "dir", "{\"x\":" U8 ",\"j\":{\"k\":[1,\"l\"]}}", 2, false },
	{ "mds", "dir", "{\"x\":" U8 ",\"n\":-3,\"f\":0.5,\"s\":\"t\",\"b\":" BYTES
	    ",\"j\":[1,{\"k\":null}]}", 2, false },
	{ "mds", "dir", "{\"x\":" U16 "}", 0, true },
	{ "lmdb", "dir", U8, 0, false },
	{ "lmdb", "dir", BYTES, 0, true },
};

static const char *const ids[RECORDS] = { "c", "d/a", "b" };

/* What fails, and what the call must then say. */
static const struct {
	bool io, and_on;
	int error;
	lc_status want;
} faults[] = {
	{ false, false, 0, LC_NO_MEMORY },
	{ false, true, 0, LC_NO_MEMORY },
	{ true, false, EIO, LC_IO },
	{ true, true, ENOSPC, LC_NO_SPACE },
};

#define N(table) (sizeof(table) / sizeof((table)[0]))

static void
begin_fault(int fault, long n)
{
	if (faults[fault].io)
		fail_io(n, faults[fault].error, faults[fault].and_on);
	else
		fail_malloc(n, faults[fault].and_on);
}

/* Whether something has failed since begin_fault(). */
static bool
end_fault(void)
{
	const bool failed = fail_malloc_hits() > 0 || fail_io_hits() > 0;

	fail_malloc(0, false);
	fail_io(0, 0, false);
	return failed;
}

/* ---- out ---------------------------------------------------------------------------- */

static lc_status
write_records(int row, const char *path, lc_value *const *values)
{
	const struct lc__outgoing_format *format = lc__outgoing_named(rows[row].format);
	const struct lc__outgoing_how how = { .shard_bytes = 1 << 20,
		.shard_records = rows[row].shard_records, .force = rows[row].force };
	uint64_t bytes;
	void *file;
	lc_status status = format->begin(path, &how, &file);

	if (status != LC_OK)
		return status;
	for (int i = 0; i < RECORDS && status == LC_OK && format->plan != NULL; i++)
		status = format->plan(file, lc_id_of(ids[i]), values[i]);
	for (int i = 0; i < RECORDS && status == LC_OK; i++)
		status = format->put(file, lc_id_of(ids[i]), values[i]);
	if (status == LC_OK)
		return format->finish(file, &bytes);
	format->discard(file);
	return status;
}

static void
make_values(int row, struct lc__loaded loaded[RECORDS], lc_value *values[RECORDS])
{
	for (int i = 0; i < RECORDS; i++) {
		loaded[i] = (struct lc__loaded){ 0 };
		assert_ok(lc__value_json_read(rows[row].value, strlen(rows[row].value), NULL,
		    NULL, &loaded[i]));
		values[i] = loaded[i].value;
	}
}

static void
free_values(struct lc__loaded loaded[RECORDS])
{
	for (int i = 0; i < RECORDS; i++)
		lc__loaded_free(&loaded[i]);
}

/* A directory to write into, with an old file at the target where it is to be replaced. */
static const char *
make_target(int row)
{
	const char *dir = run_scratch();

	if (rows[row].force && strchr(rows[row].target, '.') != NULL)
		outdir_put_file(dir, rows[row].target, "old");
	return dir;
}

/* Files that did not become whole are gone. The target is as it was; or whole, where all
 * that failed was to sync its directory. A directory keeps the files that were whole. */
static void
check_nothing_left(int row, const char *dir, const char *reference)
{
	const bool was_there = rows[row].force;
	const char *target = rows[row].target;
	struct lc__buf now = { 0 };

	ck_assert_int_eq(outdir_count_unfinished(dir), 0);
	if (strchr(target, '.') == NULL) {
		char *path = outdir_join(dir, target);
		if (outdir_exists(dir, target))
			ck_assert_int_eq(outdir_count_unfinished(path), 0);
		free(path);
		return;
	}
	if (outdir_exists(dir, target))
		now = outdir_get_file(dir, target);
	else
		ck_assert(!was_there);
	if (now.size > 0 && !(was_there && now.size == 3 && memcmp(now.data, "old", 3) == 0))
		outdir_assert_same_dirs(reference, dir);
	lc__buf_free(&now);
}

static bool
try_to_write(int row, int fault, long n, lc_value *const *values, const char *reference)
{
	const char *dir = make_target(row);
	char *path = outdir_join(dir, rows[row].target);
	const char *call;
	lc_status status;
	bool failed;

	begin_fault(fault, n);
	status = write_records(row, path, values);
	call = fail_io_name();
	failed = end_fault();
	ck_assert_msg(status == LC_OK || (failed && status == faults[fault].want),
	    "%ld (%s): %s (%s)", n, call != NULL ? call : "allocation",
	    lc_status_name(status), lc_last_error()->text);
	if (status == LC_OK)
		outdir_assert_same_dirs(reference, dir);
	/* Else unlink() may be what fails. */
	else if (!faults[fault].and_on || call == NULL)
		check_nothing_left(row, dir, reference);
	free(path);
	return failed;
}

START_TEST(writing)
{
	const int row = _i / (int)N(faults), fault = _i % (int)N(faults);
	struct lc__loaded loaded[RECORDS];
	lc_value *values[RECORDS];
	const char *reference = make_target(row);
	char *path = outdir_join(reference, rows[row].target);
	long n = 1;

	make_values(row, loaded, values);
	assert_ok(write_records(row, path, values));
	while (try_to_write(row, fault, n, values, reference))
		n++;
	ck_assert_int_gt(n, 5);
	free_values(loaded);
	free(path);
}
END_TEST

/* ---- in ----------------------------------------------------------------------------- */

/* What is read, in its order. */
struct found {
	size_t count;
	char id[16][20];
	lc_value *value[16];
};

static void
free_found(struct found *found)
{
	for (size_t i = 0; i < found->count; i++)
		lc_value_free(found->value[i]);
}

/* A failure of load() is one of its record: the others follow. */
static lc_status
read_records(const struct lc__incoming_format *format, const char *path,
    struct found *found)
{
	const struct lc__incoming_how how = { .limit = 1 << 20, .raw = true };
	lc_status status, first = LC_OK;
	void *file;
	lc_id id;

	found->count = 0;
	status = format->open(path, &how, &file);
	if (status != LC_OK)
		return status;
	while ((status = format->next(file, &id)) == LC_OK) {
		struct lc__loaded loaded = { 0 };
		lc_value *copy = NULL;
		status = format->load(file, &loaded);
		if (status == LC_OK && (copy = lc_value_copy(loaded.value)) == NULL)
			status = LC_NO_MEMORY;
		if (status == LC_OK) {
			need(found->count < N(found->value) && id.size < sizeof(found->id[0]));
			snprintf(found->id[found->count], sizeof(found->id[0]), "%.*s",
			    (int)id.size, (const char *)id.data);
			found->value[found->count++] = copy;
		} else if (first == LC_OK) {
			first = status;
		}
		lc__loaded_free(&loaded);
	}
	format->close(file);
	return status == LC_END ? first : status;
}

/* Everything that was read is among what there is, in the same order. */
static void
check_found(const struct found *all, const struct found *some)
{
	size_t at = 0;

	for (size_t i = 0; i < some->count; i++, at++) {
		while (at < all->count && strcmp(all->id[at], some->id[i]) != 0)
			at++;
		ck_assert_msg(at < all->count, "'%s' in the wrong place", some->id[i]);
		ck_assert(lc_value_equal(all->value[at], some->value[i]));
	}
}

static bool
try_to_read(int fault, long n, const struct lc__incoming_format *format, const char *path,
    const struct found *all)
{
	struct found some;
	lc_status status;
	const char *call;
	bool failed;

	begin_fault(fault, n);
	status = read_records(format, path, &some);
	call = fail_io_name();
	failed = end_fault();
	ck_assert_msg(status == LC_OK || (failed && status == faults[fault].want),
	    "%ld (%s): %s (%s)", n, call != NULL ? call : "allocation",
	    lc_status_name(status), lc_last_error()->text);
	check_found(all, &some);
	ck_assert_msg(status != LC_OK || some.count == all->count,
	    "%ld (%s): %zu of %zu records", n, call != NULL ? call : "allocation",
	    some.count, all->count);
	free_found(&some);
	return failed;
}

START_TEST(reading)
{
	const int row = _i / (int)N(faults), fault = _i % (int)N(faults);
	struct lc__loaded loaded[RECORDS];
	const struct lc__incoming_format *format;
	struct found all;
	lc_value *values[RECORDS];
	char *path = outdir_join(make_target(row), rows[row].target);
	long n = 1;

	make_values(row, loaded, values);
	assert_ok(write_records(row, path, values));
	free_values(loaded);
	format = lc__incoming_named(rows[row].format);
	ck_assert((format == NULL) == (strcmp(rows[row].format, "npy") == 0));
	if (format != NULL) {
		assert_ok(read_records(format, path, &all));
		ck_assert_int_ge(all.count, RECORDS);
		while (try_to_read(fault, n, format, path, &all))
			n++;
		ck_assert_int_gt(n, 4);
		free_found(&all);
	}
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("exchange_chaos");
	TCase *tc = tcase_create("exchange_chaos");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, writing, 0, N(rows) * N(faults));
	tcase_add_loop_test(tc, reading, 0, N(rows) * N(faults));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
