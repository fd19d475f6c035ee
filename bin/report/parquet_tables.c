/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parquet_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/utf8.h"
#include "formats/base64.h"
#include "report/facts.h"
#include "report/parquet.h"

enum table { RUNS, SAMPLES, BOXES, REJECTED, TABLES };

struct lc__parquet_tables {
	const lc_warehouse *warehouse; /* has the names of classes; borrowed */
	bool replace;
	char *dir;
	struct lc__parquet *tables[TABLES];
};

static const struct lc__parquet_column runs[] = {
	{ "run_id", LC__PARQUET_STRING, false },
	{ "total", LC__PARQUET_INT64, false },
	{ "non_empty", LC__PARQUET_INT64, false },
	{ "empty", LC__PARQUET_INT64, false },
	{ "missing_image", LC__PARQUET_INT64, false },
	{ "missing_file", LC__PARQUET_INT64, false },
	{ "invalid", LC__PARQUET_INT64, false },
	{ "written", LC__PARQUET_INT64, false },
};
static const struct lc__parquet_column samples[] = {
	{ "sample", LC__PARQUET_INT64, false },
	{ "cache_id", LC__PARQUET_STRING, true },
	{ "cache_id_base64", LC__PARQUET_STRING, true },
	{ "run_id", LC__PARQUET_STRING, true },
	{ "frame_id", LC__PARQUET_UINT64, true },
	{ "width", LC__PARQUET_INT64, true },
	{ "height", LC__PARQUET_INT64, true },
	{ "boxes", LC__PARQUET_INT64, false },
	{ "boxes_total", LC__PARQUET_UINT64, false },
	{ "series", LC__PARQUET_INT64, false },
	{ "brightness", LC__PARQUET_DOUBLE, true },
	{ "contrast", LC__PARQUET_DOUBLE, true },
};
static const struct lc__parquet_column boxes[] = {
	{ "sample", LC__PARQUET_INT64, false },
	{ "box", LC__PARQUET_INT64, false },
	{ "class_id", LC__PARQUET_INT64, true },
	{ "class_name", LC__PARQUET_STRING, true },
	{ "x0", LC__PARQUET_DOUBLE, true },
	{ "y0", LC__PARQUET_DOUBLE, true },
	{ "x1", LC__PARQUET_DOUBLE, true },
	{ "y1", LC__PARQUET_DOUBLE, true },
};
static const struct lc__parquet_column rejected[] = {
	{ "run_id", LC__PARQUET_STRING, true },
	{ "name", LC__PARQUET_STRING, true },
	{ "label", LC__PARQUET_STRING, true },
	{ "image", LC__PARQUET_STRING, true },
	{ "reason", LC__PARQUET_STRING, true },
	{ "detail", LC__PARQUET_STRING, true },
};

static const struct {
	const char *name;
	const struct lc__parquet_column *columns;
	size_t n;
} tables_are[TABLES] = {
	[RUNS] = { "runs.parquet", runs, sizeof(runs) / sizeof(runs[0]) },
	[SAMPLES] = { "samples.parquet", samples, sizeof(samples) / sizeof(samples[0]) },
	[BOXES] = { "boxes.parquet", boxes, sizeof(boxes) / sizeof(boxes[0]) },
	[REJECTED] = { "rejected.parquet", rejected,
	    sizeof(rejected) / sizeof(rejected[0]) },
};

/* ---- cells ---------------------------------------------------------------------- */

/* A text; NULL becomes null. */
static void
put_str(struct lc__parquet *table, const char *text)
{
	if (text != NULL)
		lc__parquet_text(table, text, strlen(text));
	else
		lc__parquet_null(table);
}

static void
put_number(struct lc__parquet *table, bool known, uint64_t number)
{
	if (known)
		lc__parquet_unsigned(table, number);
	else
		lc__parquet_null(table);
}

/* Values that are not finite become null, as in the database. */
static void
put_real(struct lc__parquet *table, bool known, double value)
{
	if (known && isfinite(value))
		lc__parquet_real(table, value);
	else
		lc__parquet_null(table);
}

/* A text if the bytes are one; else their base64. */
static lc_status
put_id(struct lc__parquet *table, lc_id id)
{
	struct lc__buf text = { 0 };
	FILE *stream;

	if (id.size == 0 || lc__utf8_valid(id.data, id.size)) {
		if (id.size > 0)
			lc__parquet_text(table, id.data, id.size);
		else
			lc__parquet_null(table);
		lc__parquet_null(table);
		return LC_OK;
	}
	stream = lc__buf_stream(&text);
	if (stream != NULL)
		lc__base64_write(stream, id.data, id.size);
	if (!lc__buf_stream_end(stream, &text)) {
		lc__buf_free(&text);
		return lc__no_memory(NULL);
	}
	lc__parquet_null(table);
	lc__parquet_text(table, text.data, text.size);
	lc__buf_free(&text);
	return LC_OK;
}

/* ---- rows ----------------------------------------------------------------------- */

static lc_status
put_boxes(struct lc__parquet_tables *tables, const struct lc__observation *seen)
{
	struct lc__parquet *table = tables->tables[BOXES];

	for (uint32_t i = 0; i < seen->n; i++) {
		const struct lc__box *box = &seen->boxes[i];
		lc__parquet_unsigned(table, seen->sample);
		lc__parquet_unsigned(table, i);
		put_number(table, box->class_id != -1, (uint64_t)box->class_id);
		put_str(table, lc_warehouse_class(tables->warehouse, box->class_id));
		put_real(table, true, box->x0);
		put_real(table, true, box->y0);
		put_real(table, true, box->x1);
		put_real(table, true, box->y1);
		return_if_error(lc__parquet_row(table));
	}
	return LC_OK;
}

lc_status
lc__parquet_tables_sample(struct lc__parquet_tables *tables,
    const struct lc__observation *seen)
{
	struct lc__parquet *table = tables->tables[SAMPLES];
	const lc_sample_origin *origin = &seen->origin;

	lc__parquet_unsigned(table, seen->sample);
	return_if_error(put_id(table, seen->cache_id));
	if (origin->run_id.size > 0)
		lc__parquet_text(table, origin->run_id.data, origin->run_id.size);
	else
		lc__parquet_null(table);
	put_number(table, origin->has_frame_id, origin->frame_id);
	put_number(table, origin->original_width > 0, origin->original_width);
	put_number(table, origin->original_height > 0, origin->original_height);
	lc__parquet_unsigned(table, seen->n);
	lc__parquet_unsigned(table,
	    origin->boxes_total > seen->n ? origin->boxes_total : seen->n);
	lc__parquet_unsigned(table, seen->series);
	put_real(table, seen->lit, seen->brightness);
	put_real(table, seen->lit, seen->contrast);
	return_if_error(lc__parquet_row(table));
	return put_boxes(tables, seen);
}

static lc_status
put_runs(struct lc__parquet *table, const struct lc__summary *summary)
{
	for (size_t i = 0; i < summary->n_runs; i++) {
		const struct lc__counts *c = &summary->runs[i].counts;
		const uint64_t numbers[] = { c->total, c->non_empty, c->empty,
			c->missing_image, c->missing_file, c->invalid,
			lc__summary_written(summary, c) };
		put_str(table, summary->runs[i].run_id);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			lc__parquet_unsigned(table, numbers[k]);
		return_if_error(lc__parquet_row(table));
	}
	return LC_OK;
}

static lc_status
put_rejected(struct lc__parquet *table, const struct lc__fields *fields)
{
	static const char *const names[] = { "run", "name", "label", "image", "reason",
		"detail" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_str(table, lc__fields_find(fields, names[i]));
	return lc__parquet_row(table);
}

static lc_status
put_all_rejected(struct lc__parquet *table, const char *version_dir)
{
	struct lc__rejects rejects;
	struct lc__fields fields;
	lc_status status = lc__rejects_open(version_dir, &rejects);

	if (status != LC_OK)
		return status == LC_NO_FILE ? LC_OK : status;
	while ((status = lc__rejects_next(&rejects, &fields)) == LC_OK) {
		status = put_rejected(table, &fields);
		lc__fields_free(&fields);
		if (status != LC_OK)
			break;
	}
	lc__rejects_close(&rejects);
	return status == LC_END ? LC_OK : status;
}

/* ---- files ---------------------------------------------------------------------- */

/* An existing file may be replaced only if it is a Parquet file. */
static lc_status
check_place(const char *path, bool replace)
{
	char magic[4] = { 0 };
	struct stat st;
	ssize_t got;
	int fd;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? LC_OK : lc__error_sys(errno, "%s: stat", path);
	if (!replace)
		return lc__error(LC_EXISTS, 0, "%s: exists; -f replaces it", path);
	fd = S_ISREG(st.st_mode) ? lc__open(path, O_RDONLY | O_NOFOLLOW) : -1;
	if (S_ISREG(st.st_mode) && fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	got = fd != -1 ? pread(fd, magic, sizeof(magic), 0) : 0;
	if (fd != -1)
		close(fd);
	return got == sizeof(magic) && memcmp(magic, "PAR1", sizeof(magic)) == 0
	    ? LC_OK
	    : lc__error(LC_INVALID, 0, "%s: is not a Parquet file, and is not replaced",
		  path);
}

static lc_status
for_each_path(struct lc__parquet_tables *tables,
    lc_status (*fn)(struct lc__parquet_tables *tables, int i, const char *path))
{
	lc_status status = LC_OK;

	for (int i = 0; i < TABLES && status == LC_OK; i++) {
		char *path = lc__path_join(tables->dir, tables_are[i].name);
		status = path != NULL ? fn(tables, i, path) : lc__no_memory(tables->dir);
		free(path);
	}
	return status;
}

static lc_status
check_one(struct lc__parquet_tables *tables, int i, const char *path)
{
	(void)i;
	return check_place(path, tables->replace);
}

static lc_status
begin_one(struct lc__parquet_tables *tables, int i, const char *path)
{
	return lc__parquet_begin(path, tables_are[i].columns, tables_are[i].n, 0,
	    &tables->tables[i]);
}

lc_status
lc__parquet_tables_begin(const char *dir, bool replace, const lc_warehouse *warehouse,
    struct lc__parquet_tables **out)
{
	struct lc__parquet_tables *tables = calloc(1, sizeof(*tables));
	lc_status status;

	if (tables == NULL || (tables->dir = strdup(dir)) == NULL) {
		free(tables);
		return lc__no_memory(dir);
	}
	tables->replace = replace;
	tables->warehouse = warehouse;
	status = lc__make_dirs(dir);
	if (status == LC_OK)
		status = for_each_path(tables, check_one);
	if (status == LC_OK)
		status = for_each_path(tables, begin_one);
	if (status != LC_OK) {
		lc__parquet_tables_discard(tables);
		return status;
	}
	*out = tables;
	return LC_OK;
}

lc_status
lc__parquet_tables_end(struct lc__parquet_tables *tables, const struct lc__facts *facts)
{
	lc_status status = put_runs(tables->tables[RUNS], &facts->summary);

	if (status == LC_OK)
		status = put_all_rejected(tables->tables[REJECTED], facts->info->path);
	for (int i = 0; i < TABLES && status == LC_OK; i++) {
		status = lc__parquet_end(tables->tables[i], tables->replace);
		tables->tables[i] = NULL;
	}
	/* Another process created a file of that name meanwhile; the error names only
	 * the file. */
	if (status == LC_EXISTS) {
		const lc_error found = *lc_last_error();
		(void)lc__error(LC_EXISTS, 0, "%s: exists; -f replaces it", found.text);
	}
	lc__parquet_tables_discard(tables);
	return status;
}

void
lc__parquet_tables_discard(struct lc__parquet_tables *tables)
{
	if (tables == NULL)
		return;
	for (int i = 0; i < TABLES; i++)
		lc__parquet_discard(tables->tables[i]);
	free(tables->dir);
	free(tables);
}
