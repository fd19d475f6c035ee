/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/json_tree.h"

/* ---- generations ---------------------------------------------------------------------- */

void
lc__generation_run(const struct lc__manifest *manifest, char run[LC__RUN_ID])
{
	struct lc__json_tree tree = { 0 };
	const char *text = NULL;

	run[0] = '\0';
	if (lc__json_parse(manifest->version_recipe, strlen(manifest->version_recipe),
		NULL, &tree) == LC_OK)
		text = lc__json_text(lc__json_get(tree.values, "run"));
	if (text != NULL && lc__is_hex(text, LC__RUN_ID - 1))
		strcpy(run, text);
	lc__json_free(&tree);
}

lc_status
lc__stored_format(const struct lc__manifest *manifest, struct lc__buf *recipe,
    uint64_t samples, struct lc__buf *out)
{
	struct lc__manifest m = *manifest;
	char version[65], summary[60];

	lc__buf_append(recipe, "", 1);
	if (recipe->failed)
		return lc__no_memory("manifest");
	return_if_error(lc__sha256_of(recipe->data, recipe->size - 1, version));
	snprintf(summary, sizeof(summary), "{\"totals\":{\"total\":%llu}}",
	    (unsigned long long)samples);
	m.version = version;
	m.version_recipe = (char *)recipe->data;
	m.summary = summary;
	m.thresholds = (char *)"{}";
	m.code_version = (char *)"";
	return lc__manifest_format(&m, out);
}

/* ---- runs ----------------------------------------------------------------------------- */

lc_status
lc__parts_recipe_read(struct lc__objects *store, const char *run,
    struct lc__parts_recipe *out)
{
	char name[LC__OBJECT_NAME];
	struct lc__buf text = { 0 };
	struct lc__parts_recipe recipe = { .n = 0 };
	lc_status status;

	lc__name_recipe(run, name);
	status = lc__object_read(store, name, LC__RECIPE_LIMIT, &text);
	if (status == LC_OK) {
		status = lc__parts_recipe_parse(text.data, text.size, name, &recipe);
		if (status != LC_OK)
			(void)lc__error_prefix("%s", store->url);
	}
	lc__buf_free(&text);
	if (status == LC_OK && strcmp(recipe.id, run) != 0) {
		lc__parts_recipe_free(&recipe);
		status = lc__error(LC_CORRUPT, 0,
		    "%s/%s: its SHA-256 differs from its name", store->url, name);
	}
	if (status == LC_OK)
		*out = recipe;
	return status;
}

lc_status
lc__receipt_read(struct lc__objects *store, const struct lc__parts_recipe *recipe,
    uint64_t part, struct lc__receipt *out)
{
	char name[LC__OBJECT_NAME];
	struct lc__buf text = { 0 };
	struct lc__receipt receipt = { .n = 0 };
	lc_status status;

	lc__name_receipt(recipe->id, part, name);
	status = lc__object_read(store, name, LC__RECEIPT_LIMIT, &text);
	if (status == LC_OK) {
		status = lc__receipt_parse(text.data, text.size, name, &receipt);
		if (status != LC_OK)
			(void)lc__error_prefix("%s", store->url);
	}
	lc__buf_free(&text);
	if (status == LC_OK &&
	    (strcmp(receipt.run, recipe->sha256) != 0 || receipt.index != part ||
		part >= recipe->n || strcmp(receipt.part, recipe->parts[part]) != 0)) {
		lc__receipt_free(&receipt);
		status = lc__error(LC_CORRUPT, 0,
		    "%s/%s: the receipt is for another run or part", store->url, name);
	}
	if (status == LC_OK)
		*out = receipt;
	return status;
}

static lc_status
note_run(void *ctx, const struct lc__object *object)
{
	struct lc__run_list *runs = ctx;
	struct lc__run_listed *run;
	size_t at = runs->n;
	char id[LC__RUN_ID];
	bool recipe;
	uint64_t part;

	if (!lc__run_of_name(object->name, id, &recipe, &part))
		return LC_OK;
	/* From most stores those of one run are consecutive. */
	while (at > 0 && strcmp(runs->all[at - 1].id, id) != 0)
		at--;
	if (at == 0) {
		return_if_error(
		    lc__array_reserve(&runs->all, &runs->room, runs->n + 1, "runs"));
		at = ++runs->n;
		runs->all[at - 1] = (struct lc__run_listed){ .receipts = 0 };
		strcpy(runs->all[at - 1].id, id);
	}
	run = &runs->all[at - 1];
	run->recipe |= recipe;
	run->receipts += !recipe;
	run->bytes += object->size;
	if (object->time_ms > run->newest_ms)
		run->newest_ms = object->time_ms;
	return LC_OK;
}

static int
by_id(const void *a, const void *b)
{
	return strcmp(((const struct lc__run_listed *)a)->id,
	    ((const struct lc__run_listed *)b)->id);
}

lc_status
lc__runs_list(struct lc__objects *store, struct lc__run_list *out)
{
	struct lc__run_list runs = { .n = 0 };
	const lc_status status = store->list(store, "run/", note_run, &runs);

	if (status != LC_OK) {
		free(runs.all);
		return status;
	}
	if (runs.n > 0)
		qsort(runs.all, runs.n, sizeof(*runs.all), by_id);
	*out = runs;
	return LC_OK;
}

static lc_status
note_receipt(void *ctx, const struct lc__object *object)
{
	struct lc__receipt_list *receipts = ctx;
	char run[LC__RUN_ID];
	bool recipe;
	uint64_t part;

	if (!lc__run_of_name(object->name, run, &recipe, &part) || recipe)
		return LC_OK;
	return_if_error(lc__array_reserve(&receipts->parts, &receipts->room,
	    receipts->n + 1, "receipts"));
	receipts->parts[receipts->n++] = part;
	return LC_OK;
}

lc_status
lc__receipts_list(struct lc__objects *store, const char *run,
    struct lc__receipt_list *out)
{
	struct lc__receipt_list receipts = { .n = 0 };
	char prefix[LC__OBJECT_NAME];
	lc_status status;

	lc__name_recipe(run, prefix);
	strrchr(prefix, '/')[1] = '\0';
	status = store->list(store, prefix, note_receipt, &receipts);
	if (status != LC_OK) {
		free(receipts.parts);
		return status;
	}
	*out = receipts;
	return LC_OK;
}

/* ---- all objects ---------------------------------------------------------------------- */

struct stocking {
	struct lc__stock *stock;
	bool parts;
};

static lc_status
note_object(void *ctx, const struct lc__object *object)
{
	const struct stocking *s = ctx;
	struct lc__stock *stock = s->stock;
	struct lc__stocked *item;
	char sha256[65];

	if (!(s->parts ? lc__part_of_name : lc__shard_of_name)(object->name, sha256))
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&stock->all, &stock->room, stock->n + 1, "objects"));
	item = &stock->all[stock->n++];
	memcpy(item->sha256, sha256, sizeof(sha256));
	item->wanted = false;
	item->size = object->size;
	item->time_ms = object->time_ms;
	return LC_OK;
}

static int
by_sha256(const void *a, const void *b)
{
	return strcmp(((const struct lc__stocked *)a)->sha256,
	    ((const struct lc__stocked *)b)->sha256);
}

lc_status
lc__stock_list(struct lc__objects *store, bool parts, struct lc__stock *out)
{
	struct lc__stock stock = { .n = 0 };
	struct stocking stocking = { &stock, parts };
	const lc_status status = store->list(store, parts ? "part/" : "obj/", note_object,
	    &stocking);

	if (status != LC_OK) {
		free(stock.all);
		return status;
	}
	if (stock.n > 0)
		qsort(stock.all, stock.n, sizeof(*stock.all), by_sha256);
	*out = stock;
	return LC_OK;
}

struct lc__stocked *
lc__stock_find(const struct lc__stock *stock, const char *sha256)
{
	struct lc__stocked key;

	if (stock->n == 0)
		return NULL;
	strcpy(key.sha256, sha256);
	return bsearch(&key, stock->all, stock->n, sizeof(*stock->all), by_sha256);
}
