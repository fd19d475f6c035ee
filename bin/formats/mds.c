/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/mds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/json_tree.h"
#include "base/json_write.h"
#include "format/members.h"

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

/* Members in the order of their names. */
static void
put_config(struct lc__buf *out, const struct lc__mds_columns *columns,
    uint64_t size_limit, const struct lc__buf *file)
{
	lc__buf_printf(out, "{\"column_encodings\": [");
	for (size_t i = 0; i < columns->count; i++) {
		lc__buf_printf(out, "%s\"", i > 0 ? ", " : "");
		lc__mds_encoding_text(&columns->column[i].encoding, out);
		lc__buf_append(out, "\"", 1);
	}
	lc__buf_printf(out, "], \"column_names\": [");
	for (size_t i = 0; i < columns->count; i++) {
		lc__buf_append(out, ", ", i > 0 ? 2 : 0);
		put_string(out, columns->column[i].name);
	}
	lc__buf_printf(out, "], \"column_sizes\": [");
	for (size_t i = 0; i < columns->count; i++) {
		lc__buf_append(out, ", ", i > 0 ? 2 : 0);
		if (columns->column[i].size > 0)
			lc__buf_printf(out, "%" PRIu64, columns->column[i].size);
		else
			lc__buf_printf(out, "null");
	}
	lc__buf_printf(out,
	    "], \"compression\": null, \"format\": \"mds\", \"hashes\": [], ");
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

/* ---- the index: shard by shard, so that memory holds the JSON of one shard only ---- */

#define NAME LC__MDS_INDEX
#define MOST_COLUMNS 4096

struct reader {
	struct lc__mds_index *index;
	struct lc__members members; /* the shard that is read */
};

/* ---- columns ------------------------------------------------------------------- */

/* The three lists that describe columns, equally long. */
struct lists {
	const struct lc__json *names, *encodings, *sizes;
};

static lc_status
missing(const struct reader *r, const char *key)
{
	return lc__member_bad(&r->members, key, "is missing");
}

static lc_status
find_lists(const struct reader *r, struct lists *out)
{
	memset(out, 0, sizeof(*out));
	return_if_error(lc__member_array(&r->members, "column_names", &out->names));
	return_if_error(
	    lc__member_array(&r->members, "column_encodings", &out->encodings));
	return_if_error(lc__member_array(&r->members, "column_sizes", &out->sizes));
	if (out->names == NULL || out->encodings == NULL || out->sizes == NULL)
		return missing(r,
		    out->names == NULL           ? "column_names"
			: out->encodings == NULL ? "column_encodings"
						 : "column_sizes");
	if (out->names->count != out->encodings->count ||
	    out->names->count != out->sizes->count)
		return lc__member_bad(&r->members, "column_names",
		    "is not as long as column_encodings and column_sizes");
	if (out->names->count > MOST_COLUMNS)
		return lc__member_bad(&r->members, "column_names", "is too long");
	return LC_OK;
}

/* null and 0 mean that sizes differ by sample; a size that the encoding fixes must agree. */
static lc_status
read_size(const struct reader *r, const struct lc__json *size, struct lc__mds_column *out)
{
	const uint64_t fixed = lc__mds_encoding_size(&out->encoding);

	out->size = 0;
	if (size->kind != LC__JSON_NULL && !lc__json_uint64(size, &out->size))
		return lc__member_bad(&r->members, "column_sizes",
		    "has an element that is not a size");
	if (fixed != 0 && out->size != 0 && out->size != fixed)
		return lc__member_bad(&r->members, "column_sizes",
		    "has another size than an encoding");
	if (out->size > UINT32_MAX)
		return lc__member_bad(&r->members, "column_sizes",
		    "has more than a shard can hold");
	return LC_OK;
}

/* Column i, as each list has it. */
static lc_status
read_column(const struct reader *r, const struct lists *lists, size_t i,
    struct lc__mds_columns *out)
{
	const char *name = lists->names->string;
	const char *encoding = lists->encodings->string;
	struct lc__mds_column *column = &out->column[i];
	size_t other;

	if (name == NULL || encoding == NULL)
		return lc__member_bad(&r->members,
		    name == NULL ? "column_names" : "column_encodings",
		    "has an element that is not a string");
	if (lc__mds_find(out, name, &other))
		return lc__member_bad(&r->members, "column_names", "has a name twice");
	column->name = strdup(name);
	if (column->name == NULL)
		return lc__no_memory(NAME);
	out->count++;
	if (lc__mds_encoding_parse(encoding, &column->encoding) != LC_OK)
		return lc__error_prefix("%s: column %s", NAME,
		    lc__quote_id(name, strlen(name)));
	if (column->encoding.kind == LC__MDS_PICKLE)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: column %s is pickled: to read it could run any program", NAME,
		    lc__quote_id(name, strlen(name)));
	return_if_error(read_size(r, lists->sizes, column));
	out->sizes += column->size == 0;
	return LC_OK;
}

static bool
same_columns(const struct lc__mds_columns *a, const struct lc__mds_columns *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct lc__mds_encoding *x = &a->column[i].encoding;
		const struct lc__mds_encoding *y = &b->column[i].encoding;

		if (strcmp(a->column[i].name, b->column[i].name) != 0 ||
		    a->column[i].size != b->column[i].size || x->kind != y->kind ||
		    x->has_dtype != y->has_dtype || x->has_shape != y->has_shape ||
		    x->type.dtype != y->type.dtype || x->type.ndim != y->type.ndim ||
		    memcmp(x->type.shape, y->type.shape,
			x->type.ndim * sizeof(x->type.shape[0])) != 0)
			return false;
	}
	return true;
}

/* Columns are kept once for all neighbours that have the same. */
static lc_status
keep_columns(struct lc__mds_index *index, struct lc__mds_columns *columns)
{
	if (index->column_sets > 0 &&
	    same_columns(&index->columns[index->column_sets - 1], columns)) {
		lc__mds_columns_free(columns);
		return LC_OK;
	}
	return_if_error(lc__array_reserve(&index->columns, &index->columns_room,
	    index->column_sets + 1, NAME));
	index->columns[index->column_sets++] = *columns;
	memset(columns, 0, sizeof(*columns));
	return LC_OK;
}

static lc_status
read_columns(struct reader *r, struct lc__mds_shard *shard)
{
	struct lc__mds_columns columns = { 0 };
	struct lists lists, item;
	lc_status status = LC_OK;

	return_if_error(find_lists(r, &lists));
	columns.column = calloc((size_t)lists.names->count + 1, sizeof(*columns.column));
	if (columns.column == NULL)
		return lc__no_memory(NAME);
	item = (struct lists){ lc__json_first(lists.names),
		lc__json_first(lists.encodings), lc__json_first(lists.sizes) };
	for (size_t i = 0; status == LC_OK && item.names != NULL; i++) {
		status = read_column(r, &item, i, &columns);
		item.names = lc__json_after(lists.names, item.names);
		item.encodings = lc__json_after(lists.encodings, item.encodings);
		item.sizes = lc__json_after(lists.sizes, item.sizes);
	}
	if (status == LC_OK)
		status = keep_columns(r->index, &columns);
	lc__mds_columns_free(&columns);
	shard->columns = r->index->column_sets - 1;
	return status;
}

/* ---- files --------------------------------------------------------------------- */

static lc_status
read_hashes(const struct reader *r, const struct lc__json *json, struct lc__mds_file *out)
{
	const struct lc__json *hex;

	out->hash = calloc((size_t)json->count + 1, sizeof(*out->hash));
	if (out->hash == NULL)
		return lc__no_memory(NAME);
	lc__json_each(hex, json)
	{
		struct lc__mds_hash *hash = &out->hash[out->hashes];

		if (!lc__json_is(hex, LC__JSON_STRING))
			return lc__member_bad(&r->members, "hashes",
			    "has an element that is not a string");
		out->hashes++;
		hash->algorithm = strdup(hex->name);
		hash->hex = strdup(hex->string);
		if (hash->algorithm == NULL || hash->hex == NULL)
			return lc__no_memory(NAME);
	}
	return LC_OK;
}

static lc_status
read_file(const struct reader *r, const char *key, struct lc__mds_file *out)
{
	struct lc__members members = r->members;
	const struct lc__json *hashes = NULL;
	uint64_t bytes = UINT64_MAX;
	bool below = true;

	members.json = NULL;
	return_if_error(lc__member_object(&r->members, key, &members.json));
	if (members.json == NULL)
		return LC_OK;
	return_if_error(lc__member_text(&members, "basename", &out->name));
	return_if_error(lc__member_number(&members, "bytes", INT64_MAX, &bytes));
	return_if_error(lc__member_object(&members, "hashes", &hashes));
	if (out->name == NULL || bytes == UINT64_MAX)
		return missing(r, out->name == NULL ? "basename" : "bytes");
	for (const char *at = out->name; below && at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		below = strncmp(at, "..", 2) != 0 || (at[2] != '\0' && at[2] != '/');
	}
	if (!below || *out->name == '\0' || *out->name == '/')
		return lc__member_bad(&members, "basename", "leads out of the directory");
	out->bytes = bytes;
	return hashes != NULL ? read_hashes(r, hashes, out) : LC_OK;
}

/* ---- shards -------------------------------------------------------------------- */

static lc_status
check_format(const struct reader *r)
{
	uint64_t version = 0;
	char *format = NULL;
	lc_status status;

	return_if_error(lc__member_number(&r->members, "version", UINT32_MAX, &version));
	if (version != 2)
		return lc__error(LC_VERSION, 0, "%s: a shard of version %llu, not 2",
		    NAME, (unsigned long long)version);
	return_if_error(lc__member_text(&r->members, "format", &format));
	status = format == NULL ? missing(r, "format")
	    : strcmp(format, "mds") == 0
	    ? LC_OK
	    : lc__error(LC_UNSUPPORTED, 0, "%s: shards of format %s, not mds", NAME,
		  lc__quote_id(format, strlen(format)));
	free(format);
	return status;
}

static lc_status
read_shard(struct reader *r, struct lc__mds_shard *out)
{
	uint64_t samples = UINT64_MAX;

	return_if_error(check_format(r));
	return_if_error(read_columns(r, out));
	return_if_error(
	    lc__member_number(&r->members, "samples", UINT32_MAX - 2, &samples));
	if (samples == UINT64_MAX)
		return missing(r, "samples");
	out->samples = (uint32_t)samples;
	r->index->samples += samples;
	return_if_error(lc__member_text(&r->members, "compression", &out->compression));
	return_if_error(read_file(r, "raw_data", &out->raw));
	return_if_error(read_file(r, "zip_data", &out->zip));
	if (out->raw.name == NULL)
		return missing(r, "raw_data");
	if (out->compression != NULL && out->zip.name == NULL)
		return missing(r, "zip_data");
	return LC_OK;
}

static lc_status
add_shard(struct reader *r, const struct lc__json *json)
{
	struct lc__mds_index *index = r->index;

	return_if_error(lc__array_reserve(&index->shard, &index->shards_room,
	    index->shards + 1, NAME));
	memset(&index->shard[index->shards], 0, sizeof(*index->shard));
	index->shards++;
	r->members = (struct lc__members){
		.name = NAME,
		.of = "shards",
		.place = index->shards,
		.json = json,
	};
	if (json->kind != LC__JSON_OBJECT)
		return lc__error(LC_CORRUPT, 0, "%s: shards[%zu] is not an object", NAME,
		    index->shards - 1);
	return read_shard(r, &index->shard[index->shards - 1]);
}

/* The array has been scanned; each of its elements is parsed alone. */
static lc_status
read_shards(struct reader *r, struct lc__json_slice array)
{
	struct lc__json_scan scan = {
		.at = array.text,
		.begin = array.text,
		.end = array.text + array.size,
	};
	struct lc__json_tree tree = { 0 };
	lc_status status = LC_OK;
	bool more = lc__json_accept(&scan, '[') && lc__json_peek(&scan) != ']';

	while (more && status == LC_OK) {
		const char *const shard = scan.at;

		(void)lc__json_skip_value(&scan);
		status = lc__json_parse(shard, (size_t)(scan.at - shard), NULL, &tree);
		if (status == LC_OK)
			status = add_shard(r, tree.values);
		else if (status == LC_NO_MEMORY)
			status = lc__no_memory(NAME);
		else
			status = lc__error(LC_CORRUPT, 0, "%s: shards[%zu]: %s", NAME,
			    r->index->shards, tree.wrong);
		more = lc__json_accept(&scan, ',');
	}
	lc__json_free(&tree);
	return status;
}

bool
lc__mds_index_is(const void *text, size_t size)
{
	return memmem(text, size, "\"shards\"", 8) != NULL ||
	    memmem(text, size, "\"column_encodings\"", 18) != NULL;
}

lc_status
lc__mds_index_read(const void *text, size_t size, struct lc__mds_index *out)
{
	struct reader r = { .index = out };
	struct lc__json_members members;
	struct lc__json_member member;
	bool version = false, shards = false;
	lc_status status = lc__json_object(text, size, &members);

	while (status == LC_OK && (status = lc__json_next(&members, &member)) == LC_OK) {
		if (lc__json_name_is(member.name, "version") && !version) {
			version = true;
			if (member.value.size != 1 || *member.value.text != '2')
				return lc__error(LC_VERSION, 0, "%s: version %.*s, not 2",
				    NAME,
				    (int)(member.value.size < 40 ? member.value.size
								 : 40),
				    member.value.text);
		} else if (lc__json_name_is(member.name, "shards") && !shards) {
			shards = true;
			if (member.kind != LC__JSON_ARRAY)
				return lc__error(LC_CORRUPT, 0,
				    "%s: shards is not an array", NAME);
			return_if_error(read_shards(&r, member.value));
		}
	}
	if (status != LC_END)
		return lc__error_prefix("%s", NAME);
	if (!version || !shards)
		return lc__error(LC_CORRUPT, 0, "%s: %s is missing", NAME,
		    version ? "shards" : "version");
	return LC_OK;
}

static void
free_file(struct lc__mds_file *file)
{
	for (size_t i = 0; i < file->hashes; i++) {
		free(file->hash[i].algorithm);
		free(file->hash[i].hex);
	}
	free(file->hash);
	free(file->name);
}

void
lc__mds_index_free(struct lc__mds_index *index)
{
	for (size_t i = 0; i < index->column_sets; i++)
		lc__mds_columns_free(&index->columns[i]);
	for (size_t i = 0; i < index->shards; i++) {
		free_file(&index->shard[i].raw);
		free_file(&index->shard[i].zip);
		free(index->shard[i].compression);
	}
	free(index->columns);
	free(index->shard);
	memset(index, 0, sizeof(*index));
}
