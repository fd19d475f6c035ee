/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into directories of MDS: one, or one for each group below it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "formats/mds_plan.h"
#include "formats/outfile.h"
#include "formats/value_json.h"

/* ---- one directory ----------------------------------------------------------- */

/*
 * One data set of MDS being written: a directory with an index of its own. The samples
 * of a shard wait on disk until their number is known, which comes before them.
 */

struct mds_set {
	struct lc__out_tree *tree; /* the tree that holds it */
	char *name;                /* "" or "bucket_1024x1024" */
	struct lc__mds_plan plan;
	bool planned;          /* completely */
	struct lc__buf config; /* JSON in each shard */
	struct lc__buf
	    index; /* the entries of shards that are written, one after another */
	size_t shards;
	struct lc__spill spill; /* samples of the next shard */
	struct lc__buf sizes;   /* sizes of the samples, 32 bits each */
	uint32_t samples;       /* number of samples */
	uint64_t size;          /* of the shard as it would be now */
	const lc_value **parts; /* of the record that is written */
	struct lc__buf *heads;  /* of each column: what comes before a tensor's data,
	                            or all there is */
	uint64_t bytes;         /* of files in place */
};

/* The most bytes of a shard: places in it have 32 bits. */
static uint64_t
size_limit(const struct mds_set *set)
{
	const uint64_t wanted = set->tree->how.shard_bytes;

	return wanted == 0 || wanted > UINT32_MAX ? UINT32_MAX : wanted;
}

/* The limit as it is written to files, 0 for none. */
static uint64_t
written_limit(const struct mds_set *set)
{
	return set->tree->how.shard_bytes == 0 ? 0 : size_limit(set);
}

static void
free_set(struct mds_set *set)
{
	const size_t columns = set->plan.columns.count;

	for (size_t i = 0; set->heads != NULL && i < columns; i++)
		lc__buf_free(&set->heads[i]);
	free(set->heads);
	free(set->parts);
	lc__mds_plan_free(&set->plan);
	lc__buf_free(&set->config);
	lc__buf_free(&set->index);
	lc__buf_free(&set->sizes);
	lc__spill_close(&set->spill);
	free(set->name);
}

/* ---- shards -------------------------------------------------------------------- */

/* "shard.00000.mds", below the group's directory. */
static char *
path_of(const struct mds_set *set, const char *name)
{
	return *set->name != '\0' ? lc__path_join(set->name, name) : strdup(name);
}

/* Remove a file of an older data set; LC_NO_FILE if there is none. */
static lc_status
remove_old(const struct mds_set *set, const char *name)
{
	char *below = path_of(set, name);
	char *path = below != NULL ? lc__path_join(set->tree->path, below) : NULL;
	lc_status status = LC_OK;

	if (path == NULL)
		status = lc__no_memory(NULL);
	else if (unlink(path) == -1)
		status = errno == ENOENT ? LC_NO_FILE
					 : lc__error_sys(errno, "%s: remove", path);
	free(path);
	free(below);
	return status;
}

/* Place a file once it is on disk. */
static lc_status
finish_file(struct mds_set *set, struct lc__out_file *file)
{
	const uint64_t size = file->size;

	return_if_error(lc__out_file_finish(file));
	set->tree->files++;
	set->bytes += size;
	return LC_OK;
}

static lc_status
write_head(const struct mds_set *set, struct lc__out_file *file)
{
	uint64_t at = lc__mds_head_size(set->samples) + set->config.size;
	struct lc__buf head = { 0 };
	lc_status status = LC_OK;
	unsigned char *word = lc__buf_append(&head, NULL,
	    (size_t)lc__mds_head_size(set->samples));

	if (word == NULL)
		return lc__no_memory(NULL);
	lc__set32(word, set->samples);
	for (uint32_t i = 0; i <= set->samples; i++) {
		lc__set32(word + 4 + (size_t)i * 4, (uint32_t)at);
		if (i < set->samples)
			at += lc__get32(set->sizes.data + (size_t)i * 4);
	}
	status = lc__out_file_write(file, head.data, head.size);
	lc__buf_free(&head);
	return status == LC_OK
	    ? lc__out_file_write(file, set->config.data, set->config.size)
	    : status;
}

static lc_status
write_shard(struct mds_set *set, const char *name)
{
	struct lc__out_file file = LC__OUT_FILE_NONE;
	char *path = path_of(set, name);
	uint64_t size = 0;
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__out_tree_open(set->tree, path, &file);
	free(path);
	if (status == LC_OK)
		status = write_head(set, &file);
	if (status == LC_OK && set->spill.fd != -1) {
		status = lc__spill_move(&set->spill, &file);
	} else if (status == LC_OK) {
		/* A dry run has only their size. */
		file.size += set->spill.size;
		set->spill.size = 0;
	}
	if (status == LC_OK) {
		size = file.size;
		status = finish_file(set, &file);
	}
	lc__out_file_discard(&file);
	if (status != LC_OK)
		return status;
	if (set->shards > 0)
		lc__buf_append(&set->index, ", ", 2);
	lc__mds_index_entry(&set->plan.columns, written_limit(set), name, size,
	    set->samples, &set->index);
	return set->index.failed ? lc__no_memory(NULL) : LC_OK;
}

static lc_status
end_shard(struct mds_set *set)
{
	char name[40];

	/* Remove an old index first: it lists other shards. */
	if (set->shards == 0 && !set->tree->how.dry_run) {
		const lc_status status = remove_old(set, LC__MDS_INDEX);

		if (status != LC_NO_FILE)
			return_if_error(status);
	}
	snprintf(name, sizeof(name), "shard.%05zu.mds", set->shards);
	return_if_error(write_shard(set, name));
	set->shards++;
	set->samples = 0;
	set->sizes.size = 0;
	set->size = lc__mds_head_size(0) + set->config.size;
	return LC_OK;
}

/* ---- samples ------------------------------------------------------------------- */

static lc_status
end_plan(struct mds_set *set)
{
	const size_t columns = set->plan.columns.count;

	if (set->planned)
		return LC_OK;
	if (columns == 0)
		return lc__error(LC_INVALID, 0, "came after the files were planned");
	set->planned = true;
	lc__mds_plan_end(&set->plan);
	lc__mds_config(&set->plan.columns, written_limit(set), &set->config);
	set->parts = calloc(columns, sizeof(*set->parts));
	set->heads = calloc(columns, sizeof(*set->heads));
	if (set->config.failed || set->parts == NULL || set->heads == NULL)
		return lc__no_memory(NULL);
	set->size = lc__mds_head_size(0) + set->config.size;
	return set->tree->how.dry_run ? LC_OK
				      : lc__spill_open(set->tree->path, &set->spill);
}

static lc_status
encode_plain(enum lc__mds_kind kind, const lc_value *part, struct lc__buf *out)
{
	const void *data;
	const char *text;
	char *json;
	size_t size;
	int64_t number;
	double real;
	uint64_t bits;

	switch (kind) {
	case LC__MDS_STR:
		return_if_error(lc_value_as_str(part, &text, &size));
		lc__buf_append(out, text, size);
		return LC_OK;
	case LC__MDS_BYTES:
		return_if_error(lc_value_as_bytes(part, &data, &size));
		lc__buf_append(out, data, size);
		return LC_OK;
	case LC__MDS_INT:
		return_if_error(lc_value_as_integer(part, &number));
		lc__buf_append64(out, (uint64_t)number);
		return LC_OK;
	case LC__MDS_NUMBER:
		return_if_error(lc_value_as_float(part, &real));
		memcpy(&bits, &real, sizeof(bits));
		lc__buf_append64(out, bits);
		return LC_OK;
	default:
		json = lc__value_json_text(part);
		if (json == NULL)
			return lc__no_memory(NULL);
		lc__buf_append(out, json, strlen(json));
		free(json);
		return LC_OK;
	}
}

/* The bytes before a tensor's data in a column, or all bytes of other parts. */
static lc_status
encode(struct mds_set *set, size_t i, lc_id id, lc_tensor *tensor)
{
	const struct lc__mds_encoding *encoding = &set->plan.columns.column[i].encoding;
	struct lc__buf *head = &set->heads[i];

	head->size = 0;
	memset(tensor, 0, sizeof(*tensor));
	if (set->parts[i] == NULL) {
		lc__buf_append(head, id.data, id.size);
	} else if (lc_value_kind(set->parts[i]) == LC_TENSOR) {
		*tensor = lc__mds_plan_tensor(&set->plan, set->parts[i]);
		if (encoding->kind == LC__MDS_ARRAY)
			lc__mds_array_head(encoding, tensor, head);
	} else {
		return_if_error(encode_plain(encoding->kind, set->parts[i], head));
	}
	return head->failed ? lc__no_memory(NULL) : LC_OK;
}

static lc_status
write_part(struct mds_set *set, const void *data, size_t size)
{
	if (set->spill.fd != -1)
		return lc__spill_write(&set->spill, data, size);
	set->spill.size += size;
	return LC_OK;
}

static uint64_t
data_size(const struct mds_set *set, size_t i)
{
	return set->parts[i] != NULL && lc_value_kind(set->parts[i]) == LC_TENSOR
	    ? lc__mds_plan_tensor(&set->plan, set->parts[i]).nbytes
	    : 0;
}

/* Sizes of those columns that have none of their own, and then all of them. */
static lc_status
write_sample(struct mds_set *set)
{
	const struct lc__mds_columns *columns = &set->plan.columns;

	for (size_t i = 0; i < columns->count; i++) {
		unsigned char word[4];

		if (columns->column[i].size > 0)
			continue;
		lc__set32(word, (uint32_t)(set->heads[i].size + data_size(set, i)));
		return_if_error(write_part(set, word, sizeof(word)));
	}
	for (size_t i = 0; i < columns->count; i++) {
		return_if_error(write_part(set, set->heads[i].data, set->heads[i].size));
		if (data_size(set, i) > 0)
			return_if_error(write_part(set,
			    lc__mds_plan_tensor(&set->plan, set->parts[i]).data,
			    (size_t)data_size(set, i)));
	}
	return LC_OK;
}

static lc_status
put_sample(struct mds_set *set, lc_id id)
{
	const struct lc__mds_columns *columns = &set->plan.columns;
	uint64_t size = (uint64_t)columns->sizes * 4;
	unsigned char word[4];
	lc_tensor tensor;

	for (size_t i = 0; i < columns->count; i++) {
		return_if_error(encode(set, i, id, &tensor));
		size += set->heads[i].size + tensor.nbytes;
	}
	if (set->samples > 0 &&
	    (set->size + size + 4 > size_limit(set) ||
		set->samples == set->tree->how.shard_records))
		return_if_error(end_shard(set));
	if (set->size + size + 4 > UINT32_MAX)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%" PRIu64 " bytes, and MDS has shards below 4 GiB", size);
	return_if_error(write_sample(set));
	lc__set32(word, (uint32_t)size);
	if (lc__buf_append(&set->sizes, word, sizeof(word)) == NULL)
		return lc__no_memory(NULL);
	set->samples++;
	set->size += size + 4;
	return LC_OK;
}

/* ---- the end ------------------------------------------------------------------- */

static lc_status
write_index(struct mds_set *set)
{
	static const char begins[] = "{\"shards\": [", ends[] = "], \"version\": 2}";
	struct lc__out_file file = LC__OUT_FILE_NONE;
	char *path = path_of(set, LC__MDS_INDEX), name[40];
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__out_tree_open(set->tree, path, &file);
	free(path);
	if (status == LC_OK)
		status = lc__out_file_write(&file, begins, sizeof(begins) - 1);
	if (status == LC_OK)
		status = lc__out_file_write(&file, set->index.data, set->index.size);
	if (status == LC_OK)
		status = lc__out_file_write(&file, ends, sizeof(ends) - 1);
	if (status == LC_OK)
		status = finish_file(set, &file);
	lc__out_file_discard(&file);
	return_if_error(status);

	/* Remove old shards numbered after the last one. A shard that cannot be removed
	 * stays: no index lists it. */
	if (!set->tree->how.force || set->tree->how.dry_run)
		return LC_OK;
	for (size_t i = set->shards; status == LC_OK; i++) {
		snprintf(name, sizeof(name), "shard.%05zu.mds", i);
		status = remove_old(set, name);
	}
	return status == LC_NO_MEMORY ? status : LC_OK;
}

/* ---- all directories --------------------------------------------------------- */

struct mds_out {
	struct lc__out_tree tree;
	struct mds_set *sets;
	size_t count, room;
};

static void
free_out(struct mds_out *out)
{
	for (size_t i = 0; i < out->count; i++)
		free_set(&out->sets[i]);
	free(out->sets);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **file)
{
	struct mds_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	status = lc__out_tree_begin(path, how, &out->tree);
	if (status == LC_OK)
		*file = out;
	else
		free_out(out);
	return status;
}

static void
discard(void *file)
{
	struct mds_out *out = file;

	lc__out_tree_discard(&out->tree);
	free_out(out);
}

static lc_status
add_set(struct mds_out *out, const char *name, struct mds_set **result)
{
	struct mds_set set = {
		.tree = &out->tree,
		.spill = LC__SPILL_NONE,
		.plan.bits = out->tree.how.bits,
	};

	return_if_error(lc__array_reserve(&out->sets, &out->room, out->count + 1, NULL));
	set.name = strdup(name);
	if (set.name == NULL)
		return lc__no_memory(NULL);
	out->sets[out->count] = set;
	*result = &out->sets[out->count++];
	return LC_OK;
}

/* A linear search: there are few groups. */
static lc_status
find_set(struct mds_out *out, lc_id id, const lc_value *value, struct mds_set **set)
{
	const struct lc__outgoing_how *how = &out->tree.how;
	const char *name = "";

	if (how->group != NULL)
		return_if_error(how->group(how->group_ctx, id, value, &name));
	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->sets[i].name, name) == 0) {
			*set = &out->sets[i];
			return LC_OK;
		}
	return add_set(out, name, set);
}

static lc_status
plan(void *file, lc_id id, const lc_value *value)
{
	struct mds_set *set;

	return_if_error(find_set(file, id, value, &set));
	return lc__mds_plan_add(&set->plan, id, value);
}

static lc_status
put(void *file, lc_id id, const lc_value *value)
{
	struct mds_set *set;
	lc_status status;

	return_if_error(find_set(file, id, value, &set));
	status = end_plan(set);
	if (status == LC_OK)
		return_if_error(lc__mds_plan_parts(&set->plan, id, value, set->parts));
	if (status == LC_OK)
		status = put_sample(set, id);
	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s", lc__quote_id(id.data, id.size));
}

static lc_status
finish(void *file, uint64_t *bytes)
{
	struct mds_out *out = file;
	struct mds_set *set;
	uint64_t size = 0, of_tree;
	lc_status status = LC_OK;

	/* Without records there is still a data set, with no shard. */
	if (out->count == 0 && out->tree.how.group == NULL)
		status = add_set(out, "", &set);
	for (size_t i = 0; status == LC_OK && i < out->count; i++) {
		set = &out->sets[i];
		if (set->samples > 0)
			status = end_shard(set);
		if (status == LC_OK)
			status = write_index(set);
		size += set->bytes;
	}
	if (status != LC_OK) {
		discard(out);
		return status;
	}
	status = lc__out_tree_finish(&out->tree, &of_tree);
	free_out(out);
	if (status == LC_OK)
		*bytes = size;
	return status;
}

const struct lc__outgoing_format lc__outgoing_mds = {
	.name = "mds",
	.what = "a directory of MDS (MosaicML streaming)",
	.begin = begin,
	.plan = plan,
	.put = put,
	.finish = finish,
	.discard = discard,
};
