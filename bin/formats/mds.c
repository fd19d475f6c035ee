/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/mds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_write.h"

bool
lc__mds_find(const struct lc__mds_columns *columns, const char *name, size_t *out)
{
	for (size_t i = 0; i < columns->count; i++)
		if (strcmp(columns->column[i].name, name) == 0) {
			*out = i;
			return true;
		}
	return false;
}

void
lc__mds_columns_free(struct lc__mds_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		free(columns->column[i].name);
	free(columns->column);
	memset(columns, 0, sizeof(*columns));
}

/* ---- in ------------------------------------------------------------------------ */

void
lc__mds_place(const void *head, uint32_t sample, uint64_t *begin, uint64_t *end)
{
	const unsigned char *at = (const unsigned char *)head + 4 + (size_t)sample * 4;

	*begin = lc__get32(at);
	*end = lc__get32(at + 4);
}

lc_status
lc__mds_check_head(const void *head, uint32_t samples, uint64_t file_size)
{
	uint64_t begin = 0, end = lc__get32((const unsigned char *)head + 4);

	if (lc__get32(head) != samples)
		return lc__error(LC_CORRUPT, 0,
		    "%" PRIu32 " samples, of which the index has %" PRIu32,
		    lc__get32(head), samples);
	if (end < lc__mds_head_size(samples))
		return lc__error(LC_CORRUPT, 0,
		    "the first sample begins at %" PRIu64 ", among the places", end);
	for (uint32_t i = 0; i < samples; i++) {
		lc__mds_place(head, i, &begin, &end);
		if (begin > end)
			return lc__error(LC_CORRUPT, 0,
			    "sample %" PRIu32 " ends at %" PRIu64
			    ", before it begins at %" PRIu64,
			    i, end, begin);
	}
	if (end != file_size)
		return lc__error(LC_CORRUPT, 0,
		    "the samples end at %" PRIu64 " of %" PRIu64 " bytes", end,
		    file_size);
	return LC_OK;
}

lc_status
lc__mds_split(const struct lc__mds_columns *columns, const void *sizes, size_t size,
    struct lc__mds_piece *out)
{
	const unsigned char *next = sizes;
	uint64_t at = (uint64_t)columns->sizes * 4;

	for (size_t i = 0; i < columns->count; i++) {
		const struct lc__mds_column *column = &columns->column[i];
		uint64_t bytes = column->size;

		if (bytes == 0) {
			bytes = lc__get32(next);
			next += 4;
		}
		if (bytes > size - at)
			return lc__error(LC_CORRUPT, 0,
			    "column %s: %" PRIu64 " bytes, of "
			    "which %" PRIu64 " are there",
			    lc__quote_id(column->name, strlen(column->name)), bytes,
			    size - at);
		out[i] = (struct lc__mds_piece){ (size_t)at, (size_t)bytes };
		at += bytes;
	}
	if (at != size)
		return lc__error(LC_CORRUPT, 0, "%" PRIu64 " bytes are of no column",
		    size - at);
	return LC_OK;
}

/* ---- out ----------------------------------------------------------------------- */

static void
put_string(struct lc__buf *out, const char *text)
{
	lc__json_put_string(out, text, strlen(text),
	    LC__JSON_LETTERS | LC__JSON_DEL | LC__JSON_ASCII);
}

static void
put_encoding(struct lc__buf *out, const struct lc__mds_column *column)
{
	lc__buf_append(out, "\"", 1);
	lc__mds_encoding_text(&column->encoding, out);
	lc__buf_append(out, "\"", 1);
}

static void
put_name(struct lc__buf *out, const struct lc__mds_column *column)
{
	put_string(out, column->name);
}

static void
put_size(struct lc__buf *out, const struct lc__mds_column *column)
{
	if (column->size > 0)
		lc__buf_printf(out, "%" PRIu64, column->size);
	else
		lc__buf_printf(out, "null");
}

static void
put_list(struct lc__buf *out, const char *name, const struct lc__mds_columns *columns,
    void (*put)(struct lc__buf *, const struct lc__mds_column *))
{
	lc__buf_printf(out, "\"%s\": [", name);
	for (size_t i = 0; i < columns->count; i++) {
		lc__buf_append(out, ", ", i > 0 ? 2 : 0);
		put(out, &columns->column[i]);
	}
	lc__buf_printf(out, "], ");
}

/* Members in the order of their names. */
static void
put_config(struct lc__buf *out, const struct lc__mds_columns *columns,
    uint64_t size_limit, const struct lc__buf *file)
{
	lc__buf_printf(out, "{");
	put_list(out, "column_encodings", columns, put_encoding);
	put_list(out, "column_names", columns, put_name);
	put_list(out, "column_sizes", columns, put_size);
	lc__buf_printf(out,
	    "\"compression\": null, \"format\": \"mds\", \"hashes\": [], ");
	if (file != NULL)
		lc__buf_append(out, file->data, file->size);
	if (size_limit > 0)
		lc__buf_printf(out, "\"size_limit\": %" PRIu64 ", ", size_limit);
	else
		lc__buf_printf(out, "\"size_limit\": null, ");
	lc__buf_printf(out, "\"version\": 2%s}",
	    file != NULL ? ", \"zip_data\": null" : "");
}

void
lc__mds_config(const struct lc__mds_columns *columns, uint64_t size_limit,
    struct lc__buf *out)
{
	put_config(out, columns, size_limit, NULL);
}

void
lc__mds_index_entry(const struct lc__mds_columns *columns, uint64_t size_limit,
    const char *basename, uint64_t bytes, uint32_t samples, struct lc__buf *out)
{
	struct lc__buf file = { 0 };

	lc__buf_printf(&file, "\"raw_data\": {\"basename\": ");
	put_string(&file, basename);
	lc__buf_printf(&file,
	    ", \"bytes\": %" PRIu64 ", \"hashes\": {}}, \"samples\": %" PRIu32 ", ",
	    bytes, samples);
	put_config(out, columns, size_limit, &file);
	out->failed |= file.failed;
	lc__buf_free(&file);
}
