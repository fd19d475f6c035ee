/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as a source: which shards a path names, and a row of the layout for each. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_tree.h"
#include "stream/source_join.h"
#include "stream/source_shards.h"

/* ---- the shards of a manifest ------------------------------------------------------- */

static lc_status
open_warehouse(struct lc__shards_source *s, const char *path,
    const struct lc__warehouse_text *text, const lc_source_options *how)
{
	lc_warehouse_options options;

	lc_warehouse_options_init(&options);
	options.verify = s->source.verify;
	options.sources = how->sources;
	options.dataset = how->dataset;
	options.ignore_thresholds = how->ignore_thresholds;
	options.open_shards = how->open_shards;
	options.progress = how->progress;
	return_if_error(text != NULL
		? lc__warehouse_open_text(text, &options, &s->warehouse)
		: lc_warehouse_open(path, &options, &s->warehouse));
	s->set = &s->warehouse->set;
	return LC_OK;
}

/* ---- the shards of one series ------------------------------------------------------- */

/* The name of a directory, and the path of the one that it is in. */
static lc_status
split_path(const char *path, char **parent, char **name)
{
	char *whole = realpath(path, NULL);
	char *slash = whole == NULL ? NULL : strrchr(whole, '/');

	if (slash == NULL || slash[1] == '\0') {
		free(whole);
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: no manifest.json in it, and it is not a series of a warehouse",
		    path);
	}
	*name = strdup(slash + 1);
	slash[slash == whole] = '\0';
	*parent = whole;
	if (*name != NULL)
		return LC_OK;
	free(whole);
	return lc__no_memory(path);
}

/* Is a shard in this directory of the manifest's? */
static bool
is_in(const struct lc__manifest_shard *said, const char *name)
{
	const char *slash = strrchr(said->relative_path, '/');
	const size_t size = slash == NULL ? 0 : (size_t)(slash - said->relative_path);

	return size == strlen(name) && strncmp(said->relative_path, name, size) == 0;
}

/* The shards of a series follow each other in the manifest. False if there are none in this
 * directory, or if their images differ in shape. */
static bool
take_series(struct lc__shards_source *s, const char *name)
{
	const struct lc__manifest *m = &s->warehouse->manifest;
	size_t first = 0, end;

	while (first < m->n && !is_in(&m->shards[first], name))
		first++;
	for (end = first; end < m->n && is_in(&m->shards[end], name); end++) {
		const struct lc__manifest_shard *a = &m->shards[first];
		const struct lc__manifest_shard *b = &m->shards[end];

		if (a->channels != b->channels || a->height != b->height ||
		    a->width != b->width)
			return false;
	}
	s->first = first;
	s->n = end - first;
	return s->n > 0;
}

static lc_status
find_series(struct lc__shards_source *s, const char *path, const lc_source_options *how)
{
	char *parent = NULL, *name = NULL;
	lc_status status;

	return_if_error(split_path(path, &parent, &name));
	status = open_warehouse(s, parent, NULL, how);
	if (status == LC_OK && !take_series(s, name))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a series of %s", path,
		    parent);
	else if (status == LC_NOT_MODULE)
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: no manifest.json in it, and it is not a series of a warehouse",
		    path);
	free(parent);
	free(name);
	return status;
}

/* ---- a shard alone ------------------------------------------------------------------- */

/* What a manifest would say of it, without checksums: the shard has its own, or none. */
static lc_status
make_manifest(struct lc__shards_source *s, const lc_shard_info *info, const char *path)
{
	struct lc__manifest_shard *said = calloc(1, sizeof(*said));

	if (said == NULL)
		return lc__no_memory(path);
	s->manifest.shards = said;
	s->manifest.n = 1;
	said->relative_path = strdup(
	    strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
	if (said->relative_path == NULL)
		return lc__no_memory(path);
	said->shard_version = info->version;
	said->samples = info->samples;
	said->width = info->width;
	said->height = info->height;
	said->channels = info->channels;
	said->max_boxes = info->max_boxes;
	said->dtype = info->dtype;
	said->boxes_dtype = info->boxes_dtype;
	return LC_OK;
}

static lc_status
find_alone(struct lc__shards_source *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	lc_shard *shard;
	lc_status status;
	char *dir;

	return_if_error(lc_shard_open(path, &shard));
	status = make_manifest(s, lc_shard_info_of(shard), path);
	lc_shard_close(shard);
	return_if_error(status);

	dir = slash == NULL ? strdup(".")
			    : strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (dir == NULL)
		return lc__no_memory(path);
	s->alone.mode = LC_WAREHOUSE_MAP;
	s->alone.verify = s->source.verify;
	s->set = &s->alone;
	status = lc__shardset_open(s->set, dir, &s->manifest, NULL);
	free(dir);
	s->first = 0;
	s->n = 1;
	return status;
}

/* ---- any of them ---------------------------------------------------------------------- */

static lc_status
find_shards(struct lc__shards_source *s, const char *path,
    const struct lc__warehouse_text *text, const lc_source_options *how)
{
	struct stat st;
	lc_status status;

	if (text == NULL && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return find_alone(s, path);
	status = open_warehouse(s, path, text, how);
	if (status == LC_NOT_MODULE && text == NULL)
		return find_series(s, path, how);
	return_if_error(status);
	s->first = 0;
	s->n = s->set->n;
	return LC_OK;
}

/* ---- their layout ------------------------------------------------------------------ */

struct listing {
	const struct lc__shards_source *s;
	struct lc__row_array *array;
	struct lc__checksum *sha; /* of a line for each shard, or for each part */
	uint64_t prefix_hash;
};

/* The number of the size of image of a shard, among those that are read. */
static uint32_t
series_of(const struct lc__shards_source *s, size_t i)
{
	const uint64_t first = s->set->said.first[i];
	uint32_t series = 0;

	if (!lc__shards_mixed(s))
		return 0;
	while (series + 1 < s->warehouse->info.series &&
	    s->warehouse->series[series + 1].first <= first)
		series++;
	return series;
}

/* The size of a shard's file, and what ends its checksums: as the manifest has them, else
 * from the shard. So the line is the same whether the shard is open or not. */
static lc_status
look_at(struct lc__shardset *set, size_t i, const struct lc__manifest_shard *said,
    uint64_t *size, char section[17])
{
	struct lc__wshard *shard;

	if (set->shards == NULL && said->has_bytes &&
	    (said->section_xxh3[0] != '\0' || said->shard_version == 1)) {
		*size = said->bytes;
		strcpy(section, said->section_xxh3);
		return LC_OK;
	}
	return_if_error(lc__shardset_take(set, i, &shard));
	*size = shard->twh1.info.file_size;
	lc__twh1_section_xxh3(&shard->twh1, section);
	lc__shardset_give(set, shard);
	return LC_OK;
}

/* A line identifies a shard, whatever its directory and its name. */
static lc_status
describe_shard(struct lc__shardset *set, size_t i, struct lc__buf *line)
{
	/* A manifest of parts has no such lines. */
	const struct lc__manifest_shard *said = &set->said.manifest->shards[i];
	char section[17];
	uint64_t size;

	return_if_error(look_at(set, i, said, &size, section));
	lc__buf_printf(line, "%s %s %s %s %u %u %u %u %llu %llu\n",
	    said->sha256[0] ? said->sha256 : "-", said->xxh3[0] ? said->xxh3 : "-",
	    section[0] ? section : "-", lc_dtype_name(said->dtype), said->channels,
	    said->height, said->width, said->max_boxes, (unsigned long long)said->samples,
	    (unsigned long long)size);
	return LC_OK;
}

/* One of a part is identified by the part and its place there: its part need not be read. */
static void
describe_place(const struct lc__setparts *said, size_t i, struct lc__buf *line)
{
	size_t place;
	const size_t p = lc__setparts_part_of(said, i, &place);

	lc__buf_printf(line, "%s %zu\n", said->manifest->parts[p].sha256, place);
}

static lc_status
list_shard(struct listing *list, size_t i, struct lc__buf *line)
{
	struct lc__shardset *set = list->s->set;
	struct lc__chunk_row row = {
		.id = i,
		.records = lc__setparts_samples(&set->said, i),
		.series = series_of(list->s, i),
	};
	unsigned char link[32];

	line->size = 0;
	if (set->said.parts != NULL)
		describe_place(&set->said, i, line);
	else
		return_if_error(describe_shard(set, i, line));
	if (line->failed)
		return lc__no_memory("source");
	return_if_error(lc__checksum_update(list->sha, line->data, line->size));
	if (row.records == 0)
		return LC_OK;
	if (!lc__mul64(row.records, list->s->length ? list->s->length : 1, &row.units))
		return lc__error(LC_CORRUPT, 0, "%s: too many samples",
		    list->s->source.name);
	lc__set64(link, list->prefix_hash);
	lc__set64(link + 8, list->array->n);
	lc__set64(link + 16, row.units);
	lc__set64(link + 24, lc__hash64(line->data, line->size));
	row.prefix_hash = list->prefix_hash = lc__hash64(link, sizeof(link));
	return lc__row_array_add(list->array, &row);
}

static int
hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static lc_status
list_all(struct listing *list, char hex[65])
{
	const struct lc__shards_source *s = list->s;
	struct lc__buf line = { 0 };
	lc_status status = lc__checksum_new("sha256", &list->sha);

	for (size_t i = s->first; i < s->first + s->n && status == LC_OK; i++)
		status = list_shard(list, i, &line);
	if (status == LC_OK)
		status = lc__checksum_hex(list->sha, hex);
	lc__checksum_free(list->sha);
	lc__buf_free(&line);
	return status;
}

static lc_status
list_shards(struct listing *list, struct lc__layout **out)
{
	const struct lc__shards_source *s = list->s;
	lc_source_info info;
	char hex[65];

	memset(&info, 0, sizeof(info));
	return_if_error(list_all(list, hex));
	for (int i = 0; i < 16; i++)
		info.uuid[i] = (uint8_t)(hex_digit(hex[2 * i]) * 16 +
		    hex_digit(hex[2 * i + 1]));
	lc__row_array_sum(list->array, &info);
	info.generation = info.chunks;
	info.prefix_hash = list->prefix_hash;
	info.final = 1;
	info.has_lengths = s->length != 0;
	return_if_error(lc__layout_new(&info, &list->array->rows, 0, out));
	if (lc__shards_mixed(s))
		lc__layout_set_series(*out, s->warehouse->info.series);
	return LC_OK;
}

static lc_status
newest(lc_source *source, struct lc__layout *old, struct lc__layout **out)
{
	struct listing list = { .s = lc__shards_source_of(source) };
	lc_status status;

	if (old != NULL) {
		*out = lc__layout_hold(old);
		return LC_OK;
	}
	list.array = lc__row_array_new();
	if (list.array == NULL)
		return lc__no_memory("source");
	status = list_shards(&list, out);
	lc__rows_drop(&list.array->rows);
	return status;
}

static lc_status
chunks_at(lc_source *source, struct lc__layout *layout, uint64_t generation,
    uint64_t *chunks)
{
	(void)source;
	(void)layout;
	*chunks = generation;
	return LC_OK;
}

static void
free_source(lc_source *source)
{
	struct lc__shards_source *s = lc__shards_source_of(source);

	if (s->fetch != NULL)
		s->fetch->stop(s->ctx);
	lc_warehouse_close(s->warehouse);
	lc__shardset_close(&s->alone);
	lc__manifest_free(&s->manifest);
	if (s->fetch != NULL)
		s->fetch->end(s->ctx);
	free(s);
}

static lc_status
fetched(lc_source *source, struct lc__layout *layout, uint64_t first,
    struct lc__fetched_list *out)
{
	return_if_error(lc__array_reserve(&out->all, &out->room, out->n + 1, "source"));
	out->all[out->n++] = (struct lc__fetched){
		.source = source,
		.first = first,
		.chunks = lc__layout_info(layout)->chunks,
	};
	return LC_OK;
}

static lc_status
file_bytes(lc_source *source, uint64_t shard, uint64_t *bytes)
{
	const struct lc__shards_source *s = lc__shards_source_of(source);
	struct lc__said said;

	return_if_error(lc__setparts_said(&s->set->said, (size_t)shard, &said));
	*bytes = said.shard.has_bytes ? said.shard.bytes : 0;
	return LC_OK;
}

static const struct lc__source_kind shards_kind = {
	.newest = newest,
	.chunks_at = chunks_at,
	.commit = lc__final_commit,
	.is_abandoned = lc__final_never,
	.has_inputs = lc__final_never,
	.cursor_new = lc__shards_cursor_new,
	.free = free_source,
	.file_bytes = file_bytes,
};

/* Of a store. */
static const struct lc__source_kind fetched_kind = {
	.newest = newest,
	.chunks_at = chunks_at,
	.commit = lc__final_commit,
	.is_abandoned = lc__final_never,
	.has_inputs = lc__final_never,
	.cursor_new = lc__shards_cursor_new,
	.free = free_source,
	.fetched = fetched,
	.file_bytes = file_bytes,
};

/* ---- opening -------------------------------------------------------------------- */

/* A sample counts as a tensor of one axis. */
static lc_status
choose_length(struct lc__shards_source *s)
{
	struct lc__manifest_layout layout;

	if (*s->source.length_field == '\0' || s->n == 0)
		return LC_OK;
	if (lc__shards_mixed(s))
		return lc__error(LC_INVALID, 0, "%s: images of %u sizes have no length",
		    s->source.name, s->warehouse->info.series);
	layout = lc__setparts_layout(&s->set->said, s->first);
	if (strcmp(s->source.length_field, ".") != 0)
		return lc__error(LC_INVALID, 0,
		    "%s: the length field of shards can be \".\" only, not \"%s\"",
		    s->source.name, s->source.length_field);
	if (layout.channels != 1 || layout.height != 1 || layout.width == 0)
		return lc__error(LC_INVALID, 0,
		    "%s: samples of %u x %u x %u have no "
		    "length: that takes one channel of height 1",
		    s->source.name, layout.channels, layout.height, layout.width);
	s->length = layout.width;
	return LC_OK;
}

static lc_status
start(struct lc__shards_source *s, const char *path,
    const struct lc__warehouse_text *text, const lc_source_options *options)
{
	return_if_error(lc__source_begin(&s->source,
	    text != NULL ? &fetched_kind : &shards_kind, path, options));
	return_if_error(find_shards(s, path, text, options));
	return_if_error(choose_length(s));
	return lc__source_start(&s->source, options);
}

/* If the options name a part and no split: the split that the warehouse was built with. */
static lc_status
own_split(const struct lc__shards_source *s, lc_source_options *options,
    struct lc__buf *text)
{
	const char *recipe = s->warehouse == NULL ? NULL
						  : s->warehouse->manifest.version_recipe;
	struct lc__json_tree tree = { 0 };
	const struct lc__json *split = NULL;
	lc_status status = LC_OK;
	int64_t seed = 0;

	if (options->part == NULL || options->split != NULL || recipe == NULL)
		return LC_OK;
	/* A recipe of another program need not be JSON. */
	if (lc__json_parse(recipe, strlen(recipe), NULL, &tree) == LC_NO_MEMORY)
		status = lc__no_memory("source");
	else if (tree.count > 0)
		split = lc__json_get(tree.values, "split");
	if (lc__json_is(split, LC__JSON_STRING)) {
		const char *by = lc__json_text(lc__json_get(tree.values, "split_by"));

		lc__buf_append(text, split->string, split->string_size + 1);
		options->split = (const char *)text->data;
		options->split_by_run = by != NULL && strcmp(by, "run") == 0;
		(void)lc__json_int64(lc__json_get(tree.values, "split_seed"), &seed);
		options->split_seed = (uint64_t)seed;
		if (text->failed)
			status = lc__no_memory("source");
	}
	lc__json_free(&tree);
	return status;
}

static lc_status
open_shards(const char *path, const struct lc__warehouse_text *text,
    const lc_source_options *given, struct lc__shards_source **shards, lc_source **out)
{
	struct lc__shards_source *s;
	lc_source_options options;
	struct lc__buf split = { 0 };
	lc_status status;

	return_if_error(lc__source_options_of(given, &options));
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return lc__no_memory("source");
	status = start(s, path, text, &options);
	if (status == LC_OK)
		status = own_split(s, &options, &split);
	if (status == LC_OK)
		status = lc__source_take_part(&s->source, &options, out);
	else
		lc_source_close(&s->source);
	if (status == LC_OK)
		*shards = s;
	lc__buf_free(&split);
	return status;
}

lc_status
lc_source_open_shards(const char *path, const lc_source_options *options, lc_source **out)
{
	struct lc__shards_source *shards;

	return open_shards(path, NULL, options, &shards, out);
}

lc_status
lc__source_open_text(const struct lc__warehouse_text *text,
    const lc_source_options *options, const struct lc__shards_fetch *fetch, void *ctx,
    lc_source **out)
{
	struct lc__shards_source *shards;

	return_if_error(open_shards(text->name, text, options, &shards, out));
	shards->fetch = fetch;
	shards->ctx = ctx;
	return LC_OK;
}

lc_warehouse *
lc__source_warehouse(lc_source *source)
{
	return source->kind == &shards_kind || source->kind == &fetched_kind
	    ? lc__shards_source_of(source)->warehouse
	    : NULL;
}
