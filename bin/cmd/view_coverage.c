/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of two modules, or of two warehouses, and how their records differ. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "cmd/view.h"
#include "cmd/warehouse.h"
#include "formats/value_json.h"
#include "report/coverage.h"
#include "report/distributions.h"
#include "report/survey.h"
#include "report/texts.h"
#include "ui/columns.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "value/tensor.h"

/* One of the two. */
struct side {
	const char *name;
	lc_id *keys; /* sorted; they point into bytes */
	size_t n, room;
	struct lc__buf bytes;   /* of all keys */
	struct lc__texts texts; /* types, or values of a field */
	struct lc__histogram sizes;
	uint64_t lacking;             /* records without the field */
	struct warehouse_look opened; /* a warehouse */
	struct lc__distributions seen;
};

struct coverage {
	struct side sides[2];
	const char *field;
	bool modules;
	struct lc__overlap keys;
	struct lc__overlap_row *groups; /* one for each key at first */
	size_t n_groups, groups_room;
	struct lc__count_row *counts;
	size_t n_counts;
	struct lc__buf names; /* of classes */
	char other_groups[40], other_counts[40];
};

static void
coverage_free(struct coverage *c)
{
	for (int i = 0; i < 2; i++) {
		struct side *side = &c->sides[i];
		free(side->keys);
		lc__buf_free(&side->bytes);
		lc__texts_free(&side->texts);
		lc__distributions_free(&side->seen);
		warehouse_look_end(&side->opened);
	}
	free(c->groups);
	free(c->counts);
	lc__buf_free(&c->names);
}

/* ---- keys ------------------------------------------------------------------------- */

/* The buffer may move while it grows, so the keys are located when it is complete. */
static lc_status
add_key(struct side *side, lc_id key)
{
	return_if_error(lc__array_reserve(&side->keys, &side->room, side->n + 1, "view"));
	side->keys[side->n++] = (lc_id){ NULL, key.size };
	if (key.size > 0)
		lc__buf_append(&side->bytes, key.data, key.size);
	return side->bytes.failed ? lc__no_memory("view") : LC_OK;
}

static int
by_key(const void *a, const void *b)
{
	const lc_id *x = a, *y = b;
	const int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);

	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static void
end_keys(struct side *side)
{
	const char *at = (const char *)side->bytes.data;

	for (size_t i = 0; i < side->n; i++) {
		side->keys[i].data = at;
		at += side->keys[i].size;
	}
	if (side->n > 0)
		qsort(side->keys, side->n, sizeof(*side->keys), by_key);
}

/* ---- a module ---------------------------------------------------------------------- */

/* The type of a record, or the value of its field, as text. */
static lc_status
add_text(struct coverage *c, struct side *side, lc_iter *iter, const lc_item *item)
{
	char type[LC__TENSOR_TEXT];
	const lc_value *value;
	const char *string;
	size_t size;
	char *text;
	lc_status status;

	if (c->field == NULL && item->kind == LC_TENSOR)
		return lc__texts_add(&side->texts,
		    lc_id_of(lc__tensor_describe(&item->tensor, type, sizeof(type))), 0);
	status = lc_iter_value(iter, c->field, &value);
	if (status == LC_NOT_FOUND) {
		side->lacking++;
		return LC_OK;
	}
	return_if_error(status);
	if (c->field == NULL) {
		text = describe_value(value);
	} else if (lc_value_as_str(value, &string, &size) == LC_OK) {
		return lc__texts_add(&side->texts, (lc_id){ string, size }, 0);
	} else if (lc_value_kind(value) == LC_TENSOR) {
		return lc__error(LC_SCHEMA, 0,
		    "%s: %s is a tensor; --field names plain data",
		    lc__quote_id(item->id.data, item->id.size), c->field);
	} else {
		text = lc__value_json_text(value);
	}
	if (text == NULL)
		return lc__no_memory("view");
	status = lc__texts_add(&side->texts, lc_id_of(text), 0);
	free(text);
	return status;
}

static lc_status
walk_module(struct coverage *c, struct side *side, lc_cache *cache)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;

	lc__histogram_init(&side->sizes, "record_size", "Size of a record", 6, 34, 56);
	return_if_error(lc_iter_open(cache, LC_BY_KEY | LC_ITER_LISTED, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		status = add_key(side, item.id);
		if (status == LC_OK)
			status = add_text(c, side, iter, &item);
		if (status != LC_OK)
			break;
		lc__histogram_add(&side->sizes, log2((double)item.stored_size));
		progress_items(side->n, 0);
		if (progress_step(NULL, 0, 0) != 0) {
			status = lc__error(LC_CANCELLED, 0, "cancelled");
			break;
		}
	}
	lc_iter_close(iter);
	return status == LC_END ? LC_OK : status;
}

static int
read_module(struct coverage *c, struct side *side)
{
	lc_cache *cache;
	lc_status walked;
	int status = module_open(side->name, &cache);

	if (status != EXIT_DONE)
		return status;
	progress_begin("view");
	walked = walk_module(c, side, cache);
	progress_end();
	if (walked != LC_OK)
		status = report_argument(walked);
	else if (c->field != NULL && side->lacking == side->n && side->n > 0)
		status = report_error(EXIT_NO, "no record of %s has the part %s",
		    side->name, c->field);
	return module_close(cache, status);
}

/* ---- a warehouse ------------------------------------------------------------------- */

static lc_status
take_sample(void *ctx, const struct lc__observation *seen, const lc_sample *sample)
{
	char number[40];

	(void)sample;
	if (seen->cache_id.size > 0)
		return add_key(ctx, view_short_id(seen->cache_id));
	snprintf(number, sizeof(number), "#%" PRIu64, seen->sample);
	return add_key(ctx, lc_id_of(number));
}

static int
step(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	progress_items(done, total);
	return progress_step(NULL, 0, 0);
}

static int
read_warehouse(struct side *side)
{
	const lc_progress progress = { .step = step };
	const struct lc__survey survey = {
		.lit = LC__SURVEY_LIT,
		.sample = take_sample,
		.ctx = side,
		.progress = &progress,
	};
	lc_status status = warehouse_look(side->name, LC_VERIFY_NEVER, &side->opened);

	if (status != LC_OK)
		return report_status(status);
	lc__distributions_init(&side->seen);
	progress_begin("view");
	status = lc__survey_run(side->opened.warehouse, &survey, &side->seen);
	progress_end();
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* ---- what they have in common --------------------------------------------------------- */

static void
print_key(lc_id key, const char *where)
{
	struct json json = { stdout, false };

	if (!settings.json) {
		printf("%s\t", where);
		ident_print(stdout, key);
		putchar('\n');
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "in", where);
	jw_id(&json, key);
	jw_end_line(&json);
}

/* The part before the last slash, or "." if there is none. */
static lc_id
directory_of(lc_id key)
{
	const char *slash = memrchr(key.data, '/', key.size);

	return slash != NULL && slash > (const char *)key.data
	    ? (lc_id){ key.data, (size_t)(slash - (const char *)key.data) }
	    : lc_id_of(".");
}

static lc_status
add_group(struct coverage *c, lc_id key, struct lc__overlap keys)
{
	const lc_id name = directory_of(key);
	struct lc__overlap_row *last = c->n_groups > 0 ? &c->groups[c->n_groups - 1]
						       : NULL;

	c->keys.first += keys.first;
	c->keys.both += keys.both;
	c->keys.second += keys.second;
	/* Keys are sorted: those of a directory are mostly together. */
	if (last != NULL && by_key(&last->name, &name) == 0) {
		last->keys.first += keys.first;
		last->keys.both += keys.both;
		last->keys.second += keys.second;
		return LC_OK;
	}
	return_if_error(
	    lc__array_reserve(&c->groups, &c->groups_room, c->n_groups + 1, "view"));
	c->groups[c->n_groups++] = (struct lc__overlap_row){ name, keys };
	return LC_OK;
}

static int
by_group(const void *a, const void *b)
{
	return by_key(&((const struct lc__overlap_row *)a)->name,
	    &((const struct lc__overlap_row *)b)->name);
}

/* A directory inside of another one divides the keys of the outer one. */
static void
fold_groups(struct coverage *c)
{
	size_t kept = 0;

	if (c->n_groups > 0)
		qsort(c->groups, c->n_groups, sizeof(*c->groups), by_group);
	for (size_t i = 0; i < c->n_groups; i++) {
		struct lc__overlap_row *last = &c->groups[kept > 0 ? kept - 1 : 0];
		if (kept > 0 && by_group(last, &c->groups[i]) == 0) {
			last->keys.first += c->groups[i].keys.first;
			last->keys.both += c->groups[i].keys.both;
			last->keys.second += c->groups[i].keys.second;
		} else {
			c->groups[kept++] = c->groups[i];
		}
	}
	c->n_groups = lc__overlap_rows(c->groups, kept, c->other_groups);
}

static lc_status
compare_keys(struct coverage *c, bool list)
{
	const struct side *a = &c->sides[0], *b = &c->sides[1];
	size_t i = 0, k = 0;

	while (i < a->n || k < b->n) {
		const int order = i == a->n ? 1
		    : k == b->n             ? -1
					    : by_key(&a->keys[i], &b->keys[k]);
		const lc_id key = order <= 0 ? a->keys[i] : b->keys[k];
		const struct lc__overlap keys = { order<0, order == 0, order> 0 };
		i += order <= 0;
		k += order >= 0;
		return_if_error(add_group(c, key, keys));
		if (list)
			print_key(key,
			    order < 0        ? "first"
				: order == 0 ? "both"
					     : "second");
	}
	fold_groups(c);
	return LC_OK;
}

/* ---- classes and types ------------------------------------------------------------------ */

static void
add_count(struct coverage *c, lc_id name, int side, uint64_t n)
{
	size_t i = 0;

	while (i < c->n_counts && by_key(&c->counts[i].name, &name) != 0)
		i++;
	if (i == c->n_counts)
		c->counts[c->n_counts++] = (struct lc__count_row){ .name = name };
	*(side == 0 ? &c->counts[i].first : &c->counts[i].second) += n;
}

static lc_status
count_texts(struct coverage *c)
{
	const lc_id rest = lc_id_of("all others");

	c->counts = calloc(c->sides[0].texts.n + c->sides[1].texts.n + 1,
	    sizeof(*c->counts));
	if (c->counts == NULL)
		return lc__no_memory("view");
	for (int k = 0; k < 2; k++) {
		const struct lc__texts *texts = &c->sides[k].texts;
		for (size_t i = 0; i < texts->n; i++)
			add_count(c, texts->rows[i].text, k, texts->rows[i].n);
		if (texts->others > 0)
			add_count(c, rest, k, texts->others);
	}
	return LC_OK;
}

/* The name of a class in one of the warehouses, or "class 7", at the end of c->names. */
static void
name_class(struct coverage *c, int64_t id)
{
	const char *name = NULL;

	for (int k = 0; k < 2 && name == NULL && id >= 0; k++)
		name = lc_warehouse_class(c->sides[k].opened.warehouse, id);
	if (name != NULL)
		lc__buf_append(&c->names, name, strlen(name));
	else if (id >= 0)
		lc__buf_printf(&c->names, "class %" PRId64, id);
	else
		lc__buf_printf(&c->names, "no class");
}

/* By id; both lists are sorted by it. */
static lc_status
count_classes(struct coverage *c)
{
	const struct lc__classes *a = &c->sides[0].seen.classes;
	const struct lc__classes *b = &c->sides[1].seen.classes;
	const char *name;
	size_t i = 0, k = 0;

	c->counts = calloc(a->n + b->n + 1, sizeof(*c->counts));
	if (c->counts == NULL)
		return lc__no_memory("view");
	while (i < a->n || k < b->n) {
		struct lc__count_row *row = &c->counts[c->n_counts++];
		const bool first = k == b->n ||
		    (i < a->n && a->rows[i].id <= b->rows[k].id);
		const bool second = i == a->n ||
		    (k < b->n && b->rows[k].id <= a->rows[i].id);
		const size_t before = c->names.size;
		name_class(c, first ? a->rows[i].id : b->rows[k].id);
		row->name.size = c->names.size - before;
		if (first)
			row->first = a->rows[i++].boxes;
		if (second)
			row->second = b->rows[k++].boxes;
	}
	if (c->names.failed)
		return lc__no_memory("view");
	/* The names do not move any more. */
	name = (const char *)c->names.data;
	for (i = 0; i < c->n_counts; i++) {
		c->counts[i].name.data = name;
		name += c->counts[i].name.size;
	}
	if (a->others.boxes + b->others.boxes > 0)
		c->counts[c->n_counts++] = (struct lc__count_row){ lc_id_of("all others"),
			a->others.boxes, b->others.boxes };
	return LC_OK;
}

/* ---- the picture ----------------------------------------------------------------------- */

static void
set_pairs(const struct coverage *c, struct lc__coverage *out)
{
	const struct lc__distributions *a = &c->sides[0].seen, *b = &c->sides[1].seen;

	if (c->modules) {
		out->pairs[out->n_pairs++] = (struct lc__coverage_pair){
			&c->sides[0].sizes, &c->sides[1].sizes, LC__UNIT_BYTES2,
			"bytes as stored"
		};
		return;
	}
	for (int i = 0; i < LC__METRICS && out->n_pairs < LC__COVERAGE_HISTOGRAMS; i++)
		if (a->histograms[i].n + b->histograms[i].n > 0)
			out->pairs[out->n_pairs++] = (struct lc__coverage_pair){
				&a->histograms[i], &b->histograms[i],
				lc__metrics[i].log2 ? LC__UNIT_POWER2 : LC__UNIT_NUMBER,
				lc__metrics[i].axis
			};
}

static void
write_json(const struct coverage *c, const struct lc__coverage *drawn, struct json *json)
{
	jw_text(json, "kind", "coverage");
	jw_text(json, "first", c->sides[0].name);
	jw_text(json, "second", c->sides[1].name);
	jw_count(json, "only_first", c->keys.first);
	jw_count(json, "both", c->keys.both);
	jw_count(json, "only_second", c->keys.second);
	jw_open(json, "groups", '[');
	for (size_t i = 0; i < drawn->n_groups; i++) {
		const struct lc__overlap_row *row = &drawn->groups[i];
		jw_open(json, NULL, '{');
		jw_id(json, row->name);
		jw_count(json, "only_first", row->keys.first);
		jw_count(json, "both", row->keys.both);
		jw_count(json, "only_second", row->keys.second);
		jw_close(json, '}');
	}
	jw_close(json, ']');
	jw_open(json, "counts", '[');
	for (size_t i = 0; i < drawn->n_counts; i++) {
		jw_open(json, NULL, '{');
		jw_id(json, drawn->counts[i].name);
		jw_count(json, "first", drawn->counts[i].first);
		jw_count(json, "second", drawn->counts[i].second);
		jw_close(json, '}');
	}
	jw_close(json, ']');
	jw_open(json, "distances", '{');
	for (size_t i = 0; i < drawn->n_pairs; i++)
		jw_real(json, drawn->pairs[i].first->name,
		    lc__histogram_distance(drawn->pairs[i].first,
			drawn->pairs[i].second));
	jw_close(json, '}');
}

static lc_status
draw(struct coverage *c, const struct view_page *page)
{
	char counts_title[200];
	struct lc__coverage drawn = {
		.names = { c->sides[0].name, c->sides[1].name },
		.what = c->modules ? "records" : "samples",
		.groups_title = "Keys by what is before their last slash",
		.counts_title = counts_title,
	};

	return_if_error(compare_keys(c, page->list));
	return_if_error(c->modules ? count_texts(c) : count_classes(c));
	c->n_counts = lc__count_rows(c->counts, c->n_counts, c->other_counts);
	if (c->field != NULL)
		snprintf(counts_title, sizeof(counts_title), "Records by %.150s",
		    c->field);
	else
		snprintf(counts_title, sizeof(counts_title), "%s",
		    c->modules ? "Types of records" : "Boxes of each class");
	drawn.keys = c->keys;
	drawn.groups = c->groups;
	drawn.n_groups = c->n_groups;
	drawn.counts = c->counts;
	drawn.n_counts = c->n_counts;
	set_pairs(c, &drawn);
	write_json(c, &drawn, page->json);
	return page->picture != NULL
	    ? lc__coverage_draw(page->picture, &drawn, page->width)
	    : LC_OK;
}

int
view_coverage(const char *const names[2], bool modules, const char *field,
    const struct view_page *page)
{
	struct coverage c = { .field = field, .modules = modules };
	int status = EXIT_DONE;

	for (int i = 0; i < 2 && status == EXIT_DONE; i++) {
		c.sides[i].name = names[i];
		status = modules ? read_module(&c, &c.sides[i])
				 : read_warehouse(&c.sides[i]);
		if (status == EXIT_DONE)
			end_keys(&c.sides[i]);
	}
	if (status == EXIT_DONE && c.sides[0].n + c.sides[1].n == 0)
		status = report_error(EXIT_NO, "there are no %s",
		    modules ? "records" : "samples");
	if (status == EXIT_DONE) {
		const lc_status drawn = draw(&c, page);
		status = drawn == LC_OK ? EXIT_DONE : report_argument(drawn);
	}
	coverage_free(&c);
	return status;
}
