/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex warehouse compare: what two warehouses differ in. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "cmd/warehouse.h"
#include "formats/value_json.h"
#include "lmdbcache.h"
#include "ui/columns.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

enum sample_change { SAMPLE_SAME, SAMPLE_CHANGED, SAMPLE_ADDED, SAMPLE_REMOVED };

#define SAMPLE_CHANGES 4

static int list;

static struct opt options[] = {
	{ "l", "list", OPT_FLAG, &list, .help = "list every sample that differs" },
	STORE_LOOK_OPTIONS,
	{ .kind = OPT_END },
};

/* ---- samples, found again by their names ------------------------------------------- */

#define KEY_DIGITS 12 /* of the recipe's key in a cache_id, before a slash */

/* A sample. */
struct entry {
	lc_id name;      /* among the names */
	uint64_t number; /* where it has no name */
	uint64_t hash[2];
};

struct entries {
	struct entry *all;
	uint64_t n;
	struct lc__buf names; /* names of all samples, one after another */
	uint64_t done, total; /* bytes of both warehouses, for the progress */
};

/* The name of a sample: "run/frame" of "0123456789ab/run/frame". */
static lc_id
without_key(lc_id id)
{
	const char *text = id.data;

	if (id.size <= KEY_DIGITS + 1 || text[KEY_DIGITS] != '/')
		return id;
	for (int i = 0; i < KEY_DIGITS; i++)
		if (memchr("0123456789abcdef", text[i], 16) == NULL)
			return id;
	return (lc_id){ text + KEY_DIGITS + 1, id.size - KEY_DIGITS - 1 };
}

/* What a tensor is, for a hash: no padding in it. */
struct digest {
	uint64_t dtype, ndim, shape[LC_MAX_NDIM], hash[2];
};

static void
digest_tensor(const lc_tensor *tensor, struct digest *out)
{
	memset(out, 0, sizeof(*out));
	out->dtype = (uint64_t)tensor->dtype;
	out->ndim = tensor->ndim;
	memcpy(out->shape, tensor->shape, tensor->ndim * sizeof(uint64_t));
	lc__hash128(tensor->data, tensor->nbytes, out->hash);
}

/* The name of the entry points into the shard. */
static void
make_entry(const lc_sample *sample, uint64_t i, struct entry *out)
{
	struct digest parts[3];

	digest_tensor(&sample->image, &parts[0]);
	digest_tensor(&sample->boxes, &parts[1]);
	digest_tensor(&sample->mask, &parts[2]);
	lc__hash128(parts, sizeof(parts), out->hash);
	out->name = without_key(sample->id);
	out->number = i;
}

static int
by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const size_t n = x->name.size < y->name.size ? x->name.size : y->name.size;
	const int order = n > 0 ? memcmp(x->name.data, y->name.data, n) : 0;

	if (order != 0)
		return order;
	if (x->name.size != y->name.size)
		return x->name.size < y->name.size ? -1 : 1;
	if (x->name.size > 0 || x->number == y->number)
		return 0;
	return x->number < y->number ? -1 : 1;
}

/* The shard is closed when its samples are no longer in use, so names are copied. */
static lc_status
read_entries(lc_warehouse *w, const lc_progress *progress, struct entries *out)
{
	const uint64_t n = lc_warehouse_info_of(w)->samples;
	const char *name;
	lc_sample sample;

	out->all = calloc(n ? (size_t)n : 1, sizeof(*out->all));
	if (out->all == NULL)
		return lc__no_memory(NULL);
	for (out->n = 0; out->n < n; out->n++) {
		return_if_error(lc_warehouse_sample(w, out->n, &sample));
		make_entry(&sample, out->n, &out->all[out->n]);
		lc__buf_append(&out->names, out->all[out->n].name.data,
		    out->all[out->n].name.size);
		out->done += sample.image.nbytes;
		if (progress->step != NULL &&
		    progress->step(progress->ctx, out->done, out->total) != 0)
			return lc__error(LC_CANCELLED, 0, "cancelled");
		lc_warehouse_release(w, &sample);
	}
	if (out->names.failed)
		return lc__no_memory(NULL);
	name = (const char *)out->names.data;
	for (uint64_t i = 0; i < n; i++) {
		out->all[i].name.data = name;
		name += out->all[i].name.size;
	}
	if (n > 0)
		qsort(out->all, (size_t)n, sizeof(*out->all), by_name);
	return LC_OK;
}

static void
merge(const struct entries *old, const struct entries *new,
    void (*seen)(void *, lc_id, enum sample_change), void *ctx)
{
	uint64_t i = 0, j = 0;

	while (i < old->n || j < new->n) {
		const struct entry *a = i < old->n ? &old->all[i] : NULL;
		const struct entry *b = j < new->n ? &new->all[j] : NULL;
		const int order = a == NULL ? 1 : b == NULL ? -1 : by_name(a, b);

		i += order <= 0;
		j += order >= 0;
		if (order < 0)
			seen(ctx, a->name, SAMPLE_REMOVED);
		else if (order > 0)
			seen(ctx, b->name, SAMPLE_ADDED);
		else
			seen(ctx, a->name,
			    memcmp(a->hash, b->hash, sizeof(a->hash)) == 0
				? SAMPLE_SAME
				: SAMPLE_CHANGED);
	}
}

/*
 * Compare by cache_id, without the key of the recipe that it begins with in a
 * warehouse, and by a hash of image, boxes and mask. Samples without a cache_id are
 * found by their number. @p seen is called for each in the order of their names.
 * @return LC_OK; LC_CORRUPT for a sample that cannot be read; LC_CANCELLED,
 * LC_NO_MEMORY, LC_IO.
 */
static lc_status
compare_samples(lc_warehouse *old, lc_warehouse *new, const lc_progress *progress,
    void (*seen)(void *ctx, lc_id name, enum sample_change change), void *ctx)
{
	const uint64_t total = lc_warehouse_info_of(old)->bytes +
	    lc_warehouse_info_of(new)->bytes;
	struct entries a = { .total = total }, b = { .total = total };
	lc_status status = read_entries(old, progress, &a);

	b.done = a.done;
	if (status == LC_OK)
		status = read_entries(new, progress, &b);
	if (status == LC_OK)
		merge(&a, &b, seen, ctx);
	free(a.all);
	free(b.all);
	lc__buf_free(&a.names);
	lc__buf_free(&b.names);
	return status;
}

/* ---- the leaves of JSON texts, by their paths -------------------------------------- */

struct leaf {
	char *path;
	char *value; /* JSON */
};

struct leaves {
	struct leaf *all;
	size_t n, room;
	bool failed; /* no memory */
};

static void
leaves_free(struct leaves *leaves)
{
	for (size_t i = 0; i < leaves->n; i++) {
		free(leaves->all[i].path);
		free(leaves->all[i].value);
	}
	free(leaves->all);
}

/* Take path and value over. */
static void
add_leaf(struct leaves *leaves, char *path, char *value)
{
	if (path == NULL || value == NULL ||
	    lc__array_reserve(&leaves->all, &leaves->room, leaves->n + 1, NULL) !=
		LC_OK) {
		leaves->failed = true;
		free(path);
		free(value);
		return;
	}
	leaves->all[leaves->n++] = (struct leaf){ path, value };
}

/* Objects and lists by their members; the empty ones are values. */
static void
walk(struct leaves *leaves, const char *path, const lc_value *value)
{
	const size_t n = lc_value_count(value);

	if (n == 0) {
		add_leaf(leaves, strdup(path), lc__value_json_text(value));
		return;
	}
	for (size_t i = 0; i < n && !leaves->failed; i++) {
		const char *name = lc_value_name(value, i);
		const char *dot = *path != '\0' ? "." : "";
		char *inner;

		if ((name != NULL ? asprintf(&inner, "%s%s%s", path, dot, name)
				  : asprintf(&inner, "%s%s%zu", path, dot, i)) < 0) {
			leaves->failed = true;
			return;
		}
		walk(leaves, inner, lc_value_at(value, i));
		free(inner);
	}
}

static char *
quoted(const char *text)
{
	struct lc__buf out = { 0 };
	FILE *stream = lc__buf_stream(&out);

	if (stream == NULL)
		return NULL;
	lc__json_string(stream, text, strlen(text));
	if (lc__buf_stream_end(stream, &out))
		return (char *)out.data;
	lc__buf_free(&out);
	return NULL;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct leaf *)a)->path, ((const struct leaf *)b)->path);
}

static void
read_leaves(const char *text, struct leaves *out)
{
	struct lc__loaded loaded = { 0 };
	const lc_status status = lc__value_json_read(text, strlen(text), NULL, NULL,
	    &loaded);

	if (status == LC_OK)
		walk(out, "", loaded.value);
	else if (status == LC_NO_MEMORY)
		out->failed = true;
	else
		add_leaf(out, strdup(""), quoted(text));
	lc__loaded_free(&loaded);
	if (out->n > 0)
		qsort(out->all, out->n, sizeof(*out->all), by_path);
}

static void
merge_leaves(const struct leaves *old, const struct leaves *new,
    void (*differs)(void *, const char *, const char *, const char *), void *ctx)
{
	size_t i = 0, j = 0;

	while (i < old->n || j < new->n) {
		const struct leaf *a = i < old->n ? &old->all[i] : NULL;
		const struct leaf *b = j < new->n ? &new->all[j] : NULL;
		const int order = a == NULL ? 1
		    : b == NULL             ? -1
					    : strcmp(a->path, b->path);

		i += order <= 0;
		j += order >= 0;
		if (order < 0)
			differs(ctx, a->path, a->value, NULL);
		else if (order > 0)
			differs(ctx, b->path, NULL, b->value);
		else if (strcmp(a->value, b->value) != 0)
			differs(ctx, a->path, a->value, b->value);
	}
}

/*
 * Call @p differs for each path, "transform.target_size.0", at which two texts have other
 * values; @p old or @p new is NULL where one has none. Values are JSON. A text that is not
 * JSON is one value. Reports; an exit status.
 */
static int
compare_texts(const char *old_text, const char *new_text,
    void (*differs)(void *ctx, const char *path, const char *old, const char *new),
    void *ctx)
{
	struct leaves old = { 0 }, new = { 0 };
	int status = EXIT_DONE;

	read_leaves(old_text, &old);
	read_leaves(new_text, &new);
	if (old.failed || new.failed)
		status = report_no_memory();
	else
		merge_leaves(&old, &new, differs, ctx);
	leaves_free(&old);
	leaves_free(&new);
	return status;
}

/* ---- the comparison ---------------------------------------------------------------- */

/* What was found so far. */
struct comparison {
	const char *part; /* whose fields are compared: "recipe" */
	uint64_t fields;  /* that differ */
	uint64_t samples[SAMPLE_CHANGES];
};

static const char *const words[SAMPLE_CHANGES] = { "same", "changed", "added",
	"removed" };

/* ---- fields -------------------------------------------------------------------- */

static void
value(struct json *json, const char *key, const char *text)
{
	if (text == NULL)
		return;
	jw_key(json, key);
	fputs(text, json->out);
}

static void
show_field(void *ctx, const char *path, const char *old, const char *new)
{
	struct comparison *c = ctx;
	struct json json = { stdout, false };

	c->fields++;
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "part", c->part);
		jw_text(&json, "field", path);
		value(&json, "old", old);
		value(&json, "new", new);
		jw_end_line(&json);
		return;
	}
	printf("%s%s%s: %s -> %s\n", c->part, *path ? "." : "", path,
	    old ? old : "nothing", new ? new : "nothing");
}

static int
compare_fields(struct comparison *c, const char *part, const char *old, const char *new)
{
	c->part = part;
	return compare_texts(old, new, show_field, c);
}

static int
compare_manifests(struct comparison *c, const lc_warehouse_info *old,
    const lc_warehouse_info *new)
{
	int status = compare_fields(c, "recipe", old->recipe, new->recipe);

	status = report_worse(status,
	    compare_fields(c, "transform", old->transform, new->transform));
	/* Text, which need not be JSON. */
	if (strcmp(old->fingerprint, new->fingerprint) != 0)
		status = report_worse(status,
		    compare_fields(c, "fingerprint", old->fingerprint, new->fingerprint));
	status = report_worse(status,
	    compare_fields(c, "summary", old->summary, new->summary));
	return report_worse(status,
	    compare_fields(c, "thresholds", old->thresholds, new->thresholds));
}

/* ---- samples ------------------------------------------------------------------- */

static void
show_sample(void *ctx, lc_id name, enum sample_change change)
{
	struct comparison *c = ctx;
	struct json json = { stdout, false };

	c->samples[change]++;
	if (!list || change == SAMPLE_SAME)
		return;
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "sample", words[change]);
		jw_id(&json, name);
		jw_end_line(&json);
		return;
	}
	printf("%s: ", words[change]);
	ident_print(stdout, name);
	putchar('\n');
}

static void
show_result(const struct comparison *c, bool same)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_flag(&json, "same", same);
		jw_count(&json, "fields", c->fields);
		jw_count(&json, "unchanged", c->samples[SAMPLE_SAME]);
		for (int i = SAMPLE_CHANGED; i < SAMPLE_CHANGES; i++)
			jw_count(&json, words[i], c->samples[i]);
		jw_end_line(&json);
		return;
	}
	if (settings.quiet)
		return;
	printf("samples: %llu added, %llu removed, %llu changed, %llu same\n",
	    (unsigned long long)c->samples[SAMPLE_ADDED],
	    (unsigned long long)c->samples[SAMPLE_REMOVED],
	    (unsigned long long)c->samples[SAMPLE_CHANGED],
	    (unsigned long long)c->samples[SAMPLE_SAME]);
}

/* ---- the command ---------------------------------------------------------------- */

static int
compare(lc_warehouse *old, lc_warehouse *new)
{
	const lc_progress progress = { .step = progress_step };
	struct comparison c = { 0 };
	lc_status compared;
	int status = compare_manifests(&c, lc_warehouse_info_of(old),
	    lc_warehouse_info_of(new));
	bool same;

	progress_begin("compare");
	compared = compare_samples(old, new, &progress, show_sample, &c);
	progress_end();
	if (compared != LC_OK)
		return report_status(compared);
	same = c.fields == 0 && c.samples[SAMPLE_ADDED] == 0 &&
	    c.samples[SAMPLE_REMOVED] == 0 && c.samples[SAMPLE_CHANGED] == 0;
	show_result(&c, same);
	return report_worse(status, same ? EXIT_DONE : EXIT_NO);
}

static int
run_warehouse_compare(int argc, char **argv)
{
	struct warehouse_look old = { .warehouse = NULL }, new = { .warehouse = NULL };
	lc_status opened = warehouse_look(argv[0], LC_VERIFY_ONCE, &old);
	int status;

	(void)argc;
	if (opened == LC_OK)
		opened = warehouse_look(argv[1], LC_VERIFY_ONCE, &new);
	status = opened == LC_OK ? compare(old.warehouse, new.warehouse)
				 : report_status(opened);
	warehouse_look_end(&new);
	warehouse_look_end(&old);
	return status;
}

const struct command warehouse_compare = {
	.name = "warehouse compare",
	.operands = "OLD NEW",
	.summary = "print the differences of two warehouses",
	.text =
	    "Compares the recipes, transforms, summaries and thresholds field by field, the "
	    "fingerprints of the sources, and the samples: by their cache_ids, "
	    "without the recipe's key in them, and by a hash of image, boxes and "
	    "mask. Exit status 1 means that they differ, 0 that they are equal. cachex "
	    "warehouse report --drift compares the distributions of the samples.",
	.examples =
	    "cachex warehouse compare warehouse/v20261101-0123456789ab warehouse\n"
	    "cachex warehouse compare s3://bucket/photos@6 s3://bucket/photos\n"
	    "cachex warehouse compare -l old new --json | jq -r 'select(.sample == "
	    "\"added\").id'",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_warehouse_compare,
};
