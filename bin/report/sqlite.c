/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "report/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/lazy.h"
#include "base/utf8.h"
#include "report/facts.h"

/* ---- the tables and the statements that fill them ---------------------------- */

/* The file needs no journal: it is temporary, and nobody reads it before it is
 * complete. */
static const char schema[] =
    "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
    "PRAGMA cache_size=-16384; PRAGMA application_id=1129862984;"
    "PRAGMA user_version=1; BEGIN;"
    "CREATE TABLE warehouse(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE runs(run_id TEXT PRIMARY KEY, total INTEGER NOT NULL,"
    " non_empty INTEGER NOT NULL, empty INTEGER NOT NULL,"
    " missing_image INTEGER NOT NULL, missing_file INTEGER NOT NULL,"
    " invalid INTEGER NOT NULL, written INTEGER NOT NULL);"
    "CREATE TABLE reasons(reason TEXT PRIMARY KEY,"
    " frames INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE rejected(run_id TEXT, name TEXT, label TEXT, image TEXT,"
    " reason TEXT, detail TEXT);"
    "CREATE TABLE series(series INTEGER PRIMARY KEY, width INTEGER NOT NULL,"
    " height INTEGER NOT NULL, channels INTEGER NOT NULL,"
    " first_sample INTEGER NOT NULL, samples INTEGER NOT NULL);"
    "CREATE TABLE shards(path TEXT PRIMARY KEY, samples INTEGER NOT NULL,"
    " width INTEGER NOT NULL, height INTEGER NOT NULL, bytes INTEGER, sha256 TEXT);"
    "CREATE TABLE histograms(name TEXT NOT NULL, bin INTEGER NOT NULL,"
    " low REAL, high REAL, count INTEGER NOT NULL, PRIMARY KEY(name, bin)) WITHOUT ROWID;"
    "CREATE TABLE classes(class_id INTEGER PRIMARY KEY,"
    " boxes INTEGER NOT NULL, name TEXT);"
    "CREATE TABLE samples(sample INTEGER PRIMARY KEY, cache_id, run_id TEXT,"
    " frame_id INTEGER, width INTEGER, height INTEGER,"
    " boxes INTEGER NOT NULL, boxes_total INTEGER NOT NULL,"
    " series INTEGER NOT NULL REFERENCES series, brightness REAL, contrast REAL);"
    "CREATE TABLE boxes(sample INTEGER NOT NULL REFERENCES samples,"
    " box INTEGER NOT NULL, class_id INTEGER, x0 REAL, y0 REAL, x1 REAL,"
    " y1 REAL, PRIMARY KEY(sample, box)) WITHOUT ROWID;";

/* The statements that insert, in the order of their tables. */
enum insert {
	INSERT_WAREHOUSE,
	INSERT_RUNS,
	INSERT_REASONS,
	INSERT_REJECTED,
	INSERT_SERIES,
	INSERT_SHARDS,
	INSERT_HISTOGRAMS,
	INSERT_CLASSES,
	INSERT_SAMPLES,
	INSERT_BOXES,
	INSERTS
};

static const char *const inserts[INSERTS] = {
	[INSERT_WAREHOUSE] = "INSERT INTO warehouse VALUES(?,?)",
	[INSERT_RUNS] = "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?)",
	[INSERT_REASONS] = "INSERT INTO reasons VALUES(?,?)",
	[INSERT_REJECTED] = "INSERT INTO rejected VALUES(?,?,?,?,?,?)",
	[INSERT_SERIES] = "INSERT INTO series VALUES(?,?,?,?,?,?)",
	[INSERT_SHARDS] = "INSERT INTO shards VALUES(?,?,?,?,?,?)",
	[INSERT_HISTOGRAMS] = "INSERT INTO histograms VALUES(?,?,?,?,?)",
	[INSERT_CLASSES] = "INSERT INTO classes VALUES(?,?,?)",
	[INSERT_SAMPLES] = "INSERT INTO samples VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[INSERT_BOXES] = "INSERT INTO boxes VALUES(?,?,?,?,?,?,?)",
};

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(sqlite3_bind_blob) X(sqlite3_bind_double) X(sqlite3_bind_int64) \
	X(sqlite3_bind_null) X(sqlite3_bind_text) X(sqlite3_clear_bindings) \
	X(sqlite3_close) X(sqlite3_errcode) X(sqlite3_errmsg) X(sqlite3_exec) \
	X(sqlite3_finalize) X(sqlite3_open_v2) X(sqlite3_prepare_v2) X(sqlite3_reset) \
	X(sqlite3_step)
/* clang-format on */
LC__LAZY(lib, "libsqlite3", LIBSQLITE3_FILE, CALLS)

struct lc__sqlite {
	sqlite3 *db;
	sqlite3_stmt *insert[INSERTS];
	char *path;
};

/* ---- rows --------------------------------------------------------------------- */

static lc_status
failure(const struct lc__sqlite *db)
{
	const int code = lib.sqlite3_errcode(db->db);
	const lc_status status = code == SQLITE_FULL ? LC_NO_SPACE
	    : code == SQLITE_NOMEM                   ? LC_NO_MEMORY
	    : code == SQLITE_CONSTRAINT              ? LC_CORRUPT
						     : LC_IO;

	return lc__error(status, 0, "%s: %s", db->path, lib.sqlite3_errmsg(db->db));
}

/* A binding that failed for lack of memory is reported here, too. */
static lc_status
put_row(struct lc__sqlite *db, enum insert which)
{
	sqlite3_stmt *insert = db->insert[which];
	const int code = lib.sqlite3_step(insert);
	const lc_status status = code == SQLITE_DONE ? LC_OK : failure(db);

	(void)lib.sqlite3_reset(insert);
	(void)lib.sqlite3_clear_bindings(insert);
	return status;
}

/* SQLite's integers are signed: a number n from 2^63 on is stored as n - 2^64. As a
 * text, SQLite would convert it to REAL in an INTEGER column, and it would lose its
 * last digits. */
static int
bind_count(sqlite3_stmt *insert, int at, uint64_t n)
{
	return lib.sqlite3_bind_int64(insert, at, (sqlite3_int64)n);
}

static int
bind_str(sqlite3_stmt *insert, int at, const char *text)
{
	return text ? lib.sqlite3_bind_text(insert, at, text, -1, SQLITE_STATIC)
		    : lib.sqlite3_bind_null(insert, at);
}

static int
bind_real(sqlite3_stmt *insert, int at, double value)
{
	return isfinite(value) ? lib.sqlite3_bind_double(insert, at, value)
			       : lib.sqlite3_bind_null(insert, at);
}

/* Bind a key: as text if it is UTF-8 without a NUL, otherwise as a blob. */
static int
bind_id(sqlite3_stmt *insert, int at, lc_id id)
{
	if (id.size == 0)
		return lib.sqlite3_bind_null(insert, at);
	if (memchr(id.data, 0, id.size) != NULL || !lc__utf8_valid(id.data, id.size))
		return lib.sqlite3_bind_blob(insert, at, id.data, (int)id.size,
		    SQLITE_STATIC);
	return lib.sqlite3_bind_text(insert, at, id.data, (int)id.size, SQLITE_STATIC);
}

static lc_status
bound(const struct lc__sqlite *db, int code)
{
	return code == SQLITE_OK ? LC_OK : failure(db);
}

lc_status
lc__sqlite_sample(struct lc__sqlite *db, const struct lc__observation *seen)
{
	sqlite3_stmt *insert = db->insert[INSERT_SAMPLES];
	const lc_sample_origin *origin = &seen->origin;
	int code = bind_count(insert, 1, seen->sample);

	code |= bind_id(insert, 2, seen->cache_id);
	code |= bind_id(insert, 3, origin->run_id);
	if (origin->has_frame_id)
		code |= bind_count(insert, 4, origin->frame_id);
	if (origin->original_width > 0)
		code |= bind_count(insert, 5, origin->original_width);
	if (origin->original_height > 0)
		code |= bind_count(insert, 6, origin->original_height);
	code |= bind_count(insert, 7, seen->n);
	code |= bind_count(insert, 8,
	    origin->boxes_total > seen->n ? origin->boxes_total : seen->n);
	code |= bind_count(insert, 9, seen->series);
	if (seen->lit) {
		code |= bind_real(insert, 10, seen->brightness);
		code |= bind_real(insert, 11, seen->contrast);
	}
	return_if_error(bound(db, code));
	return_if_error(put_row(db, INSERT_SAMPLES));

	insert = db->insert[INSERT_BOXES];
	for (uint32_t i = 0; i < seen->n; i++) {
		const struct lc__box *box = &seen->boxes[i];
		code = bind_count(insert, 1, seen->sample);
		code |= lib.sqlite3_bind_int64(insert, 2, i);
		if (box->class_id != -1)
			code |= lib.sqlite3_bind_int64(insert, 3, box->class_id);
		code |= bind_real(insert, 4, box->x0);
		code |= bind_real(insert, 5, box->y0);
		code |= bind_real(insert, 6, box->x1);
		code |= bind_real(insert, 7, box->y1);
		return_if_error(bound(db, code));
		return_if_error(put_row(db, INSERT_BOXES));
	}
	return LC_OK;
}

/* ---- tables -------------------------------------------------------------------- */

static lc_status
put_text(struct lc__sqlite *db, const char *key, const char *value)
{
	int code = bind_str(db->insert[INSERT_WAREHOUSE], 1, key);

	code |= bind_str(db->insert[INSERT_WAREHOUSE], 2, value);
	return_if_error(bound(db, code));
	return put_row(db, INSERT_WAREHOUSE);
}

static lc_status
put_number(struct lc__sqlite *db, const char *key, uint64_t value)
{
	int code = bind_str(db->insert[INSERT_WAREHOUSE], 1, key);

	code |= bind_count(db->insert[INSERT_WAREHOUSE], 2, value);
	return_if_error(bound(db, code));
	return put_row(db, INSERT_WAREHOUSE);
}

static lc_status
put_warehouse(struct lc__sqlite *db, const struct lc__facts *facts)
{
	const lc_warehouse_info *info = facts->info;
	const struct {
		const char *key, *value;
	} texts[] = {
		{ "dataset_root", info->dataset_root },
		{ "version", info->version },
		{ "fingerprint", info->fingerprint },
		{ "recipe", info->recipe },
		{ "transform", info->transform },
		{ "thresholds", info->thresholds },
		{ "summary", info->summary },
		{ "dtype", lc_dtype_name(info->dtype) },
		{ "boxes_dtype", lc_dtype_name(info->boxes_dtype) },
	};
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "created_at_ms", info->created_at_ms },
		{ "samples", info->samples },
		{ "boxes", facts->seen.boxes },
		{ "shards", info->shards },
		{ "bytes", info->bytes },
		{ "series", info->series },
		{ "max_boxes", info->max_boxes },
		{ "clipped", facts->summary.clipped },
		{ "dropped", facts->summary.dropped },
		{ "filtered", facts->summary.filtered },
		{ "overflow_boxes", facts->summary.overflow_boxes },
		{ "overflow_samples", facts->summary.overflow_samples },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		return_if_error(put_text(db, texts[i].key, texts[i].value));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		return_if_error(put_number(db, numbers[i].key, numbers[i].value));
	return LC_OK;
}

static lc_status
put_numbers(struct lc__sqlite *db, enum insert which, int code, int at,
    const uint64_t *numbers, int n)
{
	for (int i = 0; i < n; i++)
		code |= bind_count(db->insert[which], at + i, numbers[i]);
	return_if_error(bound(db, code));
	return put_row(db, which);
}

static lc_status
put_summary(struct lc__sqlite *db, const struct lc__summary *summary)
{
	for (size_t i = 0; i < summary->n_runs; i++) {
		const struct lc__counts *c = &summary->runs[i].counts;
		const uint64_t numbers[] = { c->total, c->non_empty, c->empty,
			c->missing_image, c->missing_file, c->invalid,
			lc__summary_written(summary, c) };
		return_if_error(put_numbers(db, INSERT_RUNS,
		    bind_str(db->insert[INSERT_RUNS], 1, summary->runs[i].run_id), 2,
		    numbers, 7));
	}
	for (size_t i = 0; i < summary->n_reasons; i++)
		return_if_error(put_numbers(db, INSERT_REASONS,
		    bind_str(db->insert[INSERT_REASONS], 1, summary->reasons[i].name), 2,
		    &summary->reasons[i].count, 1));
	return LC_OK;
}

static lc_status
put_parts(struct lc__sqlite *db, const struct lc__facts *facts)
{
	for (uint32_t s = 0; s < facts->info->series; s++) {
		const lc_series_info *series = &facts->series[s];
		const uint64_t numbers[] = { s, series->width, series->height,
			series->channels, series->first, series->samples };
		return_if_error(put_numbers(db, INSERT_SERIES, SQLITE_OK, 1, numbers, 6));
	}
	for (size_t i = 0; i < facts->n_shards; i++) {
		const struct lc__manifest_shard *shard = &facts->shards[i];
		const uint64_t numbers[] = { shard->samples, shard->width, shard->height,
			shard->bytes };
		int code = bind_str(db->insert[INSERT_SHARDS], 1, shard->relative_path);
		if (shard->sha256[0] != '\0')
			code |= bind_str(db->insert[INSERT_SHARDS], 6, shard->sha256);
		return_if_error(put_numbers(db, INSERT_SHARDS, code, 2, numbers,
		    shard->has_bytes ? 4 : 3));
	}
	return LC_OK;
}

/* Bin -1 holds the values below all bins; the bin after the last holds those above. */
static lc_status
put_bin(struct lc__sqlite *db, const struct lc__histogram *histogram, int64_t bin,
    uint64_t count)
{
	sqlite3_stmt *insert = db->insert[INSERT_HISTOGRAMS];
	int code = bind_str(insert, 1, histogram->name);

	code |= lib.sqlite3_bind_int64(insert, 2, bin);
	if (bin >= 0)
		code |= bind_real(insert, 3,
		    lc__histogram_edge(histogram, (uint32_t)bin));
	if (bin < histogram->bins)
		code |= bind_real(insert, 4,
		    lc__histogram_edge(histogram, (uint32_t)(bin + 1)));
	code |= bind_count(insert, 5, count);
	return_if_error(bound(db, code));
	return put_row(db, INSERT_HISTOGRAMS);
}

static lc_status
put_distributions(struct lc__sqlite *db, const struct lc__distributions *seen)
{
	for (int m = 0; m < LC__METRICS; m++) {
		const struct lc__histogram *histogram = &seen->histograms[m];
		return_if_error(put_bin(db, histogram, -1, histogram->below));
		for (uint32_t i = 0; i < histogram->bins; i++)
			return_if_error(put_bin(db, histogram, i, histogram->counts[i]));
		return_if_error(
		    put_bin(db, histogram, histogram->bins, histogram->above));
	}
	return LC_OK;
}

static lc_status
put_class(struct lc__sqlite *db, int64_t id, uint64_t boxes, const char *name)
{
	sqlite3_stmt *insert = db->insert[INSERT_CLASSES];
	int code = lib.sqlite3_bind_int64(insert, 1, id);

	code |= bind_count(insert, 2, boxes);
	code |= bind_str(insert, 3, name);
	return_if_error(bound(db, code));
	return put_row(db, INSERT_CLASSES);
}

/* Insert the classes that have boxes, and those that have a name. */
static lc_status
put_classes(struct lc__sqlite *db, const struct lc__facts *facts)
{
	const struct lc__classes *classes = &facts->seen.classes;

	for (size_t i = 0; i < classes->n; i++)
		return_if_error(put_class(db, classes->rows[i].id, classes->rows[i].boxes,
		    lc__facts_class(facts, classes->rows[i].id)));
	for (int64_t id = 0; (uint64_t)id < facts->info->classes; id++) {
		const char *name = lc__facts_class(facts, id);
		if (name != NULL && lc__classes_count(classes, id) == 0)
			return_if_error(put_class(db, id, 0, name));
	}
	return LC_OK;
}

static lc_status
put_all_rejected(struct lc__sqlite *db, const char *version_dir)
{
	static const char *const names[] = { "run", "name", "label", "image", "reason",
		"detail" };
	struct lc__rejects rejects;
	struct lc__fields fields;
	lc_status status = lc__rejects_open(version_dir, &rejects);

	if (status != LC_OK)
		return status == LC_NO_FILE ? LC_OK : status;
	while (status == LC_OK) {
		int code = SQLITE_OK;
		status = lc__rejects_next(&rejects, &fields);
		if (status != LC_OK)
			break;
		for (int i = 0; i < 6; i++)
			code |= bind_str(db->insert[INSERT_REJECTED], i + 1,
			    lc__fields_find(&fields, names[i]));
		status = bound(db, code);
		if (status == LC_OK)
			status = put_row(db, INSERT_REJECTED);
		lc__fields_free(&fields);
	}
	lc__rejects_close(&rejects);
	return status == LC_END ? LC_OK : status;
}

/* ---- beginning and end ----------------------------------------------------------- */

lc_status
lc__sqlite_begin(const char *path, struct lc__sqlite **out)
{
	struct lc__sqlite *db;
	lc_status status;
	bool good;

	return_if_error(lib_load());
	db = calloc(1, sizeof(*db));
	if (db == NULL || (db->path = strdup(path)) == NULL) {
		free(db);
		return lc__no_memory(NULL);
	}
	good = lib.sqlite3_open_v2(path, &db->db, SQLITE_OPEN_READWRITE, NULL) ==
		SQLITE_OK &&
	    lib.sqlite3_exec(db->db, schema, NULL, NULL, NULL) == SQLITE_OK;
	for (int i = 0; i < INSERTS && good; i++)
		good = lib.sqlite3_prepare_v2(db->db, inserts[i], -1, &db->insert[i],
			   NULL) == SQLITE_OK;
	if (!good) {
		status = failure(db);
		lc__sqlite_discard(db);
		return status;
	}
	*out = db;
	return LC_OK;
}

lc_status
lc__sqlite_end(struct lc__sqlite *db, const struct lc__facts *facts)
{
	lc_status status = put_warehouse(db, facts);

	if (status == LC_OK)
		status = put_summary(db, &facts->summary);
	if (status == LC_OK)
		status = put_parts(db, facts);
	if (status == LC_OK)
		status = put_distributions(db, &facts->seen);
	if (status == LC_OK)
		status = put_classes(db, facts);
	if (status == LC_OK)
		status = put_all_rejected(db, facts->info->path);
	if (status == LC_OK &&
	    lib.sqlite3_exec(db->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		status = failure(db);
	lc__sqlite_discard(db);
	return status;
}

void
lc__sqlite_discard(struct lc__sqlite *db)
{
	if (db == NULL)
		return;
	for (int i = 0; i < INSERTS; i++)
		(void)lib.sqlite3_finalize(db->insert[i]);
	(void)lib.sqlite3_close(db->db);
	free(db->path);
	free(db);
}

/* ---- a file to replace ----------------------------------------------------------- */

/* The header of an old file is read without SQLite, which might change the file. */

#define HEADER 100 /* bytes of the header of an SQLite database */

/* SQLite would apply the old file's journal to the new file. The journal lies beside
 * the file itself, not beside a link to it. */
static lc_status
check_journals(const char *path)
{
	static const char *const suffixes[] = { "-journal", "-wal" };
	char *real = realpath(path, NULL), *name;
	lc_status status = LC_OK;
	struct stat st;

	for (size_t i = 0; i < 2 && status == LC_OK; i++) {
		if (asprintf(&name, "%s%s", real != NULL ? real : path, suffixes[i]) <
		    0) {
			status = lc__no_memory(NULL);
			break;
		}
		if (stat(name, &st) == 0)
			status = lc__error(LC_BUSY, 0,
			    "%s: another process is writing it: there is a %s next to it",
			    path, suffixes[i]);
		free(name);
	}
	free(real);
	return status;
}

lc_status
lc__sqlite_may_replace(const char *path)
{
	static const unsigned char application[4] = { 'C', 'X', 'W', 'H' };
	unsigned char header[HEADER];
	size_t got = 0;
	struct stat st;
	lc_status status;
	int fd;

	return_if_error(check_journals(path));
	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: is not a file", path);
	fd = lc__open(path, O_RDONLY);
	if (fd == -1)
		return lc__error_sys(errno, "%s", path);
	status = lc__read_full(fd, header, sizeof(header), &got, path);
	close(fd);
	if (status == LC_OK && got > 0 &&
	    (got < HEADER || memcmp(header, "SQLite format 3", 16) != 0 ||
		memcmp(header + 68, application, 4) != 0))
		status = lc__error(LC_INVALID, 0,
		    "%s: is not a database of a warehouse, and is not replaced", path);
	return status;
}
