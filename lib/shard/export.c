/* SPDX-License-Identifier: BSD-2-Clause */
/* A module's records as shards: lists them once, then passes them to the build. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/team.h"
#include "codec/codec.h"
#include "format/manifest.h"
#include "format/twh1.h"
#include "shard/build.h"
#include "store/cache.h"
#include "store/inputs.h"
#include "store/iterate.h"
#include "value/tensor.h"

#define DEFAULT_SHARD_BYTES ((uint64_t)192 << 20)
#define MIN_SHARD_BYTES ((uint64_t)4 << 10)
#define MAX_SHARD_BYTES ((uint64_t)1 << 40)
#define AHEAD_BYTES ((size_t)1 << 20) /* requested from the disk at a time */

/* The position of a record in the map. All records have one type, so this suffices. */
struct ref {
	const void *id;              /* its cache_id */
	const unsigned char *record; /* its first byte */
	uint64_t stored_size;        /* of the record */
	uint32_t id_size;            /* of the cache_id */
};

/* Records that go into one series of shards: all, or those of one input. */
struct part {
	const struct listing *list;
	uint64_t first, n; /* range of the list's refs */
	char *path;        /* path of the part's directory; malloc'ed */
};

/* The records to export, of one snapshot. */
struct listing {
	lc_iter *iter;      /* holds the snapshot */
	struct ref *refs;   /* malloc'ed */
	uint64_t n;         /* how many */
	size_t room;        /* allocated */
	bool by_input;      /* each input is a part */
	struct part *parts; /* in order; malloc'ed */
	size_t n_parts, parts_room;
	uint32_t input;                  /* of the last part */
	lc_tensor type;                  /* dtype and shape of all; no data */
	const struct lc__schema *schema; /* the schema of all records */
	uint64_t hash;   /* hash of the cache_ids in order and of the records' positions
	                  * */
	uint64_t group;  /* records requested from the disk at a time */
	uintptr_t asked; /* start of the last AHEAD_BYTES that were requested */
};

void
lc_export_options_init(lc_export_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->shard_bytes = DEFAULT_SHARD_BYTES;
	options->metadata = 1;
	options->order = LC_BY_ORDER;
}

static lc_status
check_options(const lc_export_options *options)
{
	if (options->struct_size != sizeof(*options))
		return lc__error(LC_INVALID, 0,
		    "export: options were not made by lc_export_options_init()");
	if (options->shard_bytes < MIN_SHARD_BYTES ||
	    options->shard_bytes > MAX_SHARD_BYTES)
		return lc__error(LC_INVALID, 0,
		    "export: shard_bytes %llu is not within 4 KiB to 1 TiB",
		    (unsigned long long)options->shard_bytes);
	if (options->shard_version > 2)
		return lc__error(LC_INVALID, 0, "export: no shard_version %u",
		    options->shard_version);
	if (options->order != LC_BY_ORDER && options->order != LC_BY_COMMIT &&
	    options->order != LC_BY_KEY)
		return lc__error(LC_INVALID, 0, "export: unknown order %u",
		    options->order);
	if (options->by_input && options->order != LC_BY_ORDER)
		return lc__error(LC_INVALID, 0,
		    "export: by_input goes with LC_BY_ORDER alone");
	if (options->input != NULL && !options->by_input)
		return lc__error(LC_INVALID, 0, "export: one input goes with by_input");
	return LC_OK;
}

/* ---- listing --------------------------------------------------------------- */

static lc_status
mixed(const struct listing *list, const lc_id *id, const lc_tensor *type)
{
	char first[LC__TENSOR_TEXT], other[LC__TENSOR_TEXT];

	return lc__error(LC_INVALID, 0, "export: %s is %s but %s is %s",
	    lc__quote_id(list->refs[0].id, list->refs[0].id_size),
	    lc__tensor_describe(&list->type, first, sizeof(first)),
	    lc__quote_id(id->data, id->size),
	    lc__tensor_describe(type, other, sizeof(other)));
}

/* All records must be tensors of one type. */
static lc_status
check_type(struct listing *list, const struct lc__record *record)
{
	const struct lc__schema *schema = lc__iter_schema(list->iter);
	struct lc__record_part part;
	lc_tensor type;

	if (!lc__schema_is_tensor(schema))
		return lc__error(LC_SCHEMA, 0, "export: %s is a %s, not a tensor",
		    lc__quote_id(record->id.data, record->id.size),
		    schema->node[0].kind == LC__PLAIN
			? "plain value"
			: lc_kind_name(schema->node[0].kind));
	lc__record_tensors(record, schema, 0, &type, &part);
	if (list->n > 0 && !lc__tensor_same_type(&list->type, &type))
		return mixed(list, &record->id, &type);
	list->type = type;
	list->type.data = NULL;
	list->schema = schema;
	return LC_OK;
}

/* The directory of an input: its name, encoded for a file name. For a long name, its
 * beginning and a hash. */
static lc_status
name_part(struct listing *list, uint32_t input, char **out)
{
	enum { long_name = 180 };
	struct lc__input_row row;
	struct lc__buf path = { 0 };

	return_if_error(lc__input_get(lc__iter_snapshot(list->iter), input, &row));
	for (size_t i = 0; i < row.name.size && path.size < long_name; i++)
		lc__buf_name_byte(&path, ((const char *)row.name.data)[i], i == 0);
	if (path.size >= long_name) {
		uint64_t hash[2];

		lc__hash128(row.name.data, row.name.size, hash);
		lc__buf_printf(&path, "-%016llx%016llx", (unsigned long long)hash[1],
		    (unsigned long long)hash[0]);
	}
	lc__buf_append(&path, ".shards", sizeof(".shards"));
	if (path.failed) {
		lc__buf_free(&path);
		return lc__no_memory("export");
	}
	*out = (char *)path.data;
	return LC_OK;
}

/* Assign the record that was listed last to the last part, or to a new one. */
static lc_status
add_to_part(struct listing *list)
{
	const uint32_t input = lc__iter_input(list->iter);
	struct part *part;

	if (list->n_parts > 0 && (!list->by_input || input == list->input)) {
		list->parts[list->n_parts - 1].n++;
		return LC_OK;
	}
	return_if_error(lc__array_reserve(&list->parts, &list->parts_room,
	    list->n_parts + 1, "export"));
	part = &list->parts[list->n_parts];
	*part = (struct part){ .first = list->n - 1, .n = 1 };
	if (list->by_input)
		return_if_error(name_part(list, input, &part->path));
	else if ((part->path = strdup("")) == NULL)
		return lc__no_memory("export");
	list->input = input;
	list->n_parts++;
	return LC_OK;
}

static lc_status
add_ref(struct listing *list, const struct lc__record *record, uint64_t location)
{
	return_if_error(check_type(list, record));
	return_if_error(
	    lc__array_reserve(&list->refs, &list->room, list->n + 1, "export"));
	list->refs[list->n++] = (struct ref){ record->id.data, lc__record_start(record),
		record->size, (uint32_t)record->id.size };
	list->hash = lc__hash64_seed(record->id.data, record->id.size,
	    list->hash ^ lc__location_chunk(location));
	return add_to_part(list);
}

/* In commit order the walk is sequential in memory: prefetch, unless records are so large
 * that most of their pages are skipped. */
static void
ask_listed(struct listing *list, const struct lc__record *record)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t at = (uintptr_t)record->dims & ~(page - 1);

	if (record->size > 16 * page || at - list->asked < AHEAD_BYTES / 2)
		return;
	list->asked = at;
	(void)madvise((void *)at, AHEAD_BYTES, MADV_WILLNEED);
}

/* The records of a module with inputs, or of one input that the options name. */
static lc_status
choose_input(lc_cache *cache, const lc_export_options *options, struct listing *list)
{
	struct lc__snapshot *snapshot = lc__iter_snapshot(list->iter);
	struct lc__input_row row;
	uint32_t input;
	lc_status status;

	if (!snapshot->filled)
		return lc__error(LC_INVALID, 0,
		    "export: module %s has no inputs: by_input cannot divide it",
		    cache->module_id);
	if (options->input == NULL)
		return LC_OK;
	status = lc__input_find(snapshot, options->input, &input, &row);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_NOT_FOUND, 0, "export: module %s has no input %s",
		    cache->module_id,
		    lc__quote_id(options->input, strlen(options->input)));
	if (status == LC_OK)
		lc__iter_only_input(list->iter, input);
	return status;
}

static lc_status
list_records(lc_cache *cache, const lc_export_options *options, struct listing *list)
{
	const unsigned order = options->by_input ? LC_BY_INPUT : options->order;
	const struct lc__record *record;
	uint64_t location = 0;
	lc_status status;

	return_if_error(
	    lc_iter_open(cache, order | LC_ITER_LISTED, NULL, 0, &list->iter));
	list->by_input = options->by_input;
	if (list->by_input)
		return_if_error(choose_input(cache, options, list));
	while ((status = lc__iter_step(list->iter, &record, &location)) == LC_OK) {
		if (order != LC_BY_KEY)
			ask_listed(list, record);
		return_if_error(add_ref(list, record, location));
	}
	if (status != LC_END)
		return status;
	if (list->n == 0 && options->input != NULL)
		return lc__error(LC_INVALID, 0,
		    "export: input %s of module %s has no records", options->input,
		    cache->module_id);
	if (list->n == 0)
		return lc__error(LC_INVALID, 0, "export: module %s has no records",
		    cache->module_id);
	list->group = AHEAD_BYTES / (list->type.nbytes + 1) + 1;
	return LC_OK;
}

/* ---- the source of the build ----------------------------------------------- */

/* Prefetch records [from, to) from the disk, adjacent ones in one call. The map is opened
 * without read-ahead, so a cold walk would wait for each page. */
static void
ask_ahead(const struct listing *list, uint64_t from, uint64_t to)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	while (from < to && from < list->n) {
		const uintptr_t start = (uintptr_t)list->refs[from].id & ~(page - 1);
		uintptr_t end = start;
		do {
			end = (uintptr_t)list->refs[from].id +
			    list->refs[from].stored_size;
			from++;
		} while (from < to && from < list->n &&
		    (uintptr_t)list->refs[from].id >= end - page &&
		    (uintptr_t)list->refs[from].id <= end + page);
		(void)madvise((void *)start, end - start, MADV_WILLNEED);
	}
}

static lc_status
source_row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	const struct part *part = ctx;
	const struct listing *list = part->list;
	const struct ref *ref = &list->refs[part->first + i];

	memset(out, 0, sizeof(*out));
	out->cache_id = (lc_id){ ref->id, ref->id_size };
	out->has_shape = true;
	out->ndim = list->type.ndim;
	memcpy(out->shape, list->type.shape, sizeof(out->shape));
	return LC_OK;
}

/* Verified just before the copy: then its bytes are in the cache. */
static lc_status
source_image(void *ctx, uint64_t i, void *room, const void **out)
{
	const struct part *of = ctx;
	const struct listing *list = of->list;
	const uint64_t at = of->first + i;
	const struct ref *ref = &list->refs[at];
	struct lc__record record;
	struct lc__record_part part;
	lc_tensor tensor;

	if (at % list->group == 0)
		ask_ahead(list, at + list->group, at + 2 * list->group);
	if (!lc__record_parse(ref->record, ref->stored_size, &record) ||
	    !lc__record_intact(&record) || !lc__record_fits(&record, list->schema))
		return lc__error(LC_CORRUPT, 0, "key %s: checksum mismatch",
		    lc__quote_id(ref->id, ref->id_size));
	lc__record_tensors(&record, list->schema, 0, &tensor, &part);
	*out = tensor.data;
	if (part.codec == LC_CODEC_NONE)
		return LC_OK;
	*out = room;
	if (!lc__codec_decode(part.codec, part.data, part.size, &tensor, room))
		return lc__error(LC_CORRUPT, 0, "key %s: its coded bytes are damaged",
		    lc__quote_id(ref->id, ref->id_size));
	return LC_OK;
}

/* ---- the export ------------------------------------------------------------ */

/* Version, dtype and dimensions of the shards. */
static lc_status
choose_form(const lc_export_options *options, const lc_tensor *type, lc_shard_info *form)
{
	const bool plain = type->dtype == LC_F32 || type->dtype == LC_F16;
	uint32_t chw[3];

	memset(form, 0, sizeof(*form));
	form->dtype = form->boxes_dtype = type->dtype;
	form->version = options->shard_version;
	if (form->version == 0)
		form->version = plain && !options->metadata ? 1 : 2;
	return_if_error(lc__twh1_chw(type, chw));
	form->channels = chw[0];
	form->height = chw[1];
	form->width = chw[2];
	return LC_OK;
}

/* All options, as JSON text. */
static lc_status
make_recipe(const lc_export_options *options, const struct listing *list,
    const struct lc__build *build, struct lc__buf *out)
{
	const bool filled = lc__iter_snapshot(list->iter)->filled;
	const char *order = options->order == LC_BY_KEY ? "key"
	    : list->by_input                            ? "input"
	    : options->order == LC_BY_ORDER && filled   ? "published"
							: "commit";
	const lc_shard_info *form = build->series[0].form;

	lc__buf_printf(out, "{\"dataset_root\":");
	return_if_error(lc__manifest_quote(build->about->dataset_root, out));
	lc__buf_printf(out,
	    ",\"transform\":%s,\"code_version\":\"%s\","
	    "\"dtype\":\"%s\",\"channels\":%u,\"height\":%u,\"width\":%u,"
	    "\"max_boxes\":0,\"shard_version\":%u,\"metadata\":%s,"
	    "\"shard_bytes\":%llu,\"order\":\"%s\",\"samples\":%llu}",
	    build->about->transform, build->about->code_version,
	    lc_dtype_name(form->dtype), form->channels, form->height, form->width,
	    form->version, build->metadata ? "true" : "false",
	    (unsigned long long)build->shard_bytes, order, (unsigned long long)list->n);
	lc__buf_append(out, "", 1);
	return out->failed ? lc__no_memory("export") : LC_OK;
}

/* What identifies the state file: the recipe and the records. */
static lc_status
make_state(lc_cache *cache, const struct listing *list, const char *recipe, char *out,
    size_t room)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	return_if_error(lc_stat(cache, &stats));
	snprintf(out, room, "%016llx%016llx-%llu-%016llx-%016llx",
	    (unsigned long long)lc__hash64(stats.uuid, 16),
	    (unsigned long long)lc__hash64_seed(stats.uuid, 16, 1),
	    (unsigned long long)stats.generation, (unsigned long long)list->hash,
	    (unsigned long long)lc__hash64(recipe, strlen(recipe)));
	return LC_OK;
}

static void
make_summary(const struct listing *list, char *out, size_t room)
{
	const bool empty = list->type.nbytes == 0;
	const unsigned long long n = list->n;

	snprintf(out, room,
	    "{\"totals\":{\"total\":%llu,\"non_empty\":%llu,"
	    "\"empty\":%llu,\"missing\":0,\"invalid\":0},\"runs\":[]}",
	    n, empty ? 0 : n, empty ? n : 0);
}

static void
enter(const lc_export_options *options, const char *phase)
{
	if (options->progress.phase != NULL)
		options->progress.phase(options->progress.ctx, phase);
}

/* The series of the parts, followed by their sources; free it. NULL without memory. */
static struct lc__shard_series *
series_of(struct listing *list, const lc_shard_info *form)
{
	struct lc__shard_source *sources;
	struct lc__shard_series *series = calloc(list->n_parts,
	    sizeof(*series) + sizeof(*sources));

	if (series == NULL)
		return NULL;
	sources = (struct lc__shard_source *)(series + list->n_parts);
	for (size_t i = 0; i < list->n_parts; i++) {
		struct part *part = &list->parts[i];

		part->list = list;
		sources[i] = (struct lc__shard_source){
			.ctx = part,
			.row = source_row,
			.image = source_image,
		};
		series[i] = (struct lc__shard_series){
			.path = part->path,
			.form = form,
			.source = &sources[i],
			.samples = part->n,
		};
	}
	return series;
}

static lc_status
build_from(lc_cache *cache, struct listing *list, const char *dir,
    const lc_export_options *options, lc_export_result *out)
{
	char summary[256], state[128];
	const char *root = options->dataset_root;
	const struct lc__manifest about = {
		.dataset_root = (char *)(root ? root : cache->module_id),
		.transform = (char *)"{\"name\":\"none\"}",
		.code_version = (char *)"cachex " PACKAGE_VERSION,
		.thresholds = (char *)"{}",
		.summary = summary,
	};
	struct lc__buf recipe = { 0 };
	lc_shard_info form;
	struct lc__build build = {
		.dir = dir,
		.n_series = list->n_parts,
		.no_sha256 = options->no_sha256 != 0,
		.shard_bytes = options->shard_bytes,
		.threads = options->threads > 0 ? options->threads
						: lc__team_processors(UINT_MAX),
		.dry_run = options->dry_run != 0,
		.progress = &options->progress,
		.about = &about,
		.state = state,
	};
	lc_status status;

	return_if_error(choose_form(options, &list->type, &form));
	build.series = series_of(list, &form);
	if (build.series == NULL)
		return lc__no_memory("export");
	build.metadata = options->metadata && form.version > 1;
	make_summary(list, summary, sizeof(summary));
	status = make_recipe(options, list, &build, &recipe);
	build.recipe = (const char *)recipe.data;
	if (status == LC_OK)
		status = make_state(cache, list, build.recipe, state, sizeof(state));
	if (status == LC_OK)
		status = lc__build_run(&build, out);
	lc__buf_free(&recipe);
	free((void *)(uintptr_t)build.series);
	return status;
}

lc_status
lc_export(lc_cache *cache, const char *dir, const lc_export_options *options,
    lc_export_result *out)
{
	lc_export_options defaults;
	struct listing list = { 0 };
	lc_export_result result;
	lc_status status;

	if (options == NULL) {
		lc_export_options_init(&defaults);
		options = &defaults;
	}
	return_if_error(check_options(options));
	if (dir == NULL || *dir == '\0')
		return lc__error(LC_INVALID, 0, "export: no directory is named");
	enter(options, "list");
	status = list_records(cache, options, &list);
	enter(options, "write");
	if (status == LC_OK)
		status = build_from(cache, &list, dir, options, &result);
	lc_iter_close(list.iter);
	for (size_t i = 0; i < list.n_parts; i++)
		free(list.parts[i].path);
	free(list.parts);
	free(list.refs);
	if (status == LC_OK && out != NULL)
		*out = result;
	return status;
}
