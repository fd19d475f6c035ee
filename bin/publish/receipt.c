/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/receipt.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/json_tree.h"
#include "base/json_write.h"
#include "base/utf8.h"

#define RECIPE_VERSION 1
#define RECEIPT_VERSION 1

/* ---- writing ------------------------------------------------------------------------ */

/* Append a string; false if it is not UTF-8. */
static bool
put_text(struct lc__buf *out, const char *name, const char *text)
{
	lc__buf_printf(out, "\"%s\":", name);
	lc__json_put_string(out, text, strlen(text), LC__JSON_LETTERS);
	return lc__utf8_valid(text, strlen(text));
}

static void
put_count(struct lc__buf *out, const char *name, uint64_t count)
{
	lc__buf_printf(out, "\"%s\":%llu", name, (unsigned long long)count);
}

/* Format the text, and free the original. */
static lc_status
lay_out(struct lc__buf *text, bool utf8, const char *what, struct lc__buf *out)
{
	lc_status status = LC_OK;

	if (text->failed) {
		status = lc__no_memory(what);
	} else if (!utf8) {
		status = lc__error(LC_INVALID, 0, "%s: a name or text is not UTF-8",
		    what);
	} else {
		lc__json_put_indented(out,
		    (struct lc__json_slice){ (const char *)text->data, text->size });
		lc__buf_append(out, "\n", 1);
		if (out->failed)
			status = lc__no_memory(what);
	}
	lc__buf_free(text);
	return status;
}

lc_status
lc__parts_recipe_format(struct lc__parts_recipe *recipe, struct lc__buf *out)
{
	const size_t start = out->size;
	struct lc__buf text = { 0 };
	bool utf8;

	lc__buf_printf(&text, "{\"options\":%s,\"parts\":[", recipe->options);
	utf8 = lc__utf8_valid(recipe->options, strlen(recipe->options));
	for (size_t i = 0; i < recipe->n; i++) {
		const char *name = recipe->parts[i];

		lc__buf_append(&text, ",", i > 0);
		lc__json_put_string(&text, name, strlen(name), LC__JSON_LETTERS);
		utf8 &= lc__utf8_valid(name, strlen(name));
	}
	lc__buf_append(&text, "],", 2);
	utf8 &= put_text(&text, "producer", recipe->producer);
	lc__buf_append(&text, ",", 1);
	put_count(&text, "recipe_version", RECIPE_VERSION);
	lc__buf_append(&text, "}", 1);
	return_if_error(lay_out(&text, utf8, "recipe", out));
	return_if_error(
	    lc__sha256_of(out->data + start, out->size - start, recipe->sha256));
	memcpy(recipe->id, recipe->sha256, LC__RUN_ID - 1);
	recipe->id[LC__RUN_ID - 1] = '\0';
	return LC_OK;
}

lc_status
lc__receipt_format(const struct lc__receipt *receipt, struct lc__buf *out)
{
	struct lc__buf text = { 0 };
	bool utf8;

	lc__buf_append(&text, "{", 1);
	put_count(&text, "bytes", receipt->bytes);
	lc__buf_append(&text, ",", 1);
	utf8 = put_text(&text, "fingerprint", receipt->fingerprint);
	lc__buf_append(&text, ",", 1);
	put_count(&text, "index", receipt->index);
	lc__buf_append(&text, ",", 1);
	if (receipt->has_lines) {
		put_count(&text, "lines", receipt->lines);
		lc__buf_append(&text, ",", 1);
	}
	lc__buf_printf(&text, "\"manifests\":[");
	for (size_t i = 0; i < receipt->n; i++)
		lc__buf_printf(&text, "%s{\"bytes\":%llu,\"sha256\":\"%s\"}",
		    i > 0 ? "," : "", (unsigned long long)receipt->files[i].bytes,
		    receipt->files[i].sha256);
	lc__buf_printf(&text, "],");
	utf8 &= put_text(&text, "part", receipt->part);
	lc__buf_append(&text, ",", 1);
	put_count(&text, "receipt_version", RECEIPT_VERSION);
	lc__buf_append(&text, ",", 1);
	utf8 &= put_text(&text, "recipe", receipt->run);
	lc__buf_append(&text, ",", 1);
	put_count(&text, "samples", receipt->samples);
	lc__buf_append(&text, ",", 1);
	put_count(&text, "shards", receipt->shards);
	lc__buf_append(&text, "}", 1);
	return lay_out(&text, utf8, "receipt", out);
}

/* ---- reading ------------------------------------------------------------------------ */

/* The object in which fields are looked up; the first wrong one is reported. */
struct scope {
	const char *name; /* the file */
	const struct lc__json *json;
	lc_status status;
};

static void
wrong(struct scope *s, const char *key)
{
	if (s->status == LC_OK)
		s->status = lc__error(LC_CORRUPT, 0, "%s: %s is missing or wrong",
		    s->name, key);
}

/* A copy, which has no NUL; "" after a failure, NULL without memory. */
static char *
get_text(struct scope *s, const char *key)
{
	const struct lc__json *value = lc__json_get(s->json, key);
	const char *text = lc__json_text(value);
	char *copy;

	if (text == NULL || strlen(text) != value->string_size) {
		wrong(s, key);
		text = "";
	}
	copy = strdup(text);
	if (copy == NULL && s->status == LC_OK)
		s->status = lc__no_memory(s->name);
	return copy;
}

static uint64_t
get_count(struct scope *s, const char *key)
{
	uint64_t count = 0;

	if (!lc__json_uint64(lc__json_get(s->json, key), &count) || count > INT64_MAX)
		wrong(s, key);
	return count;
}

static void
get_sha256(struct scope *s, const char *key, char out[65])
{
	const char *text = lc__json_text(lc__json_get(s->json, key));

	if (text == NULL || !lc__is_hex(text, 64))
		wrong(s, key);
	else
		strcpy(out, text);
}

/* The tree, in which @p key is the version. */
static lc_status
parse(const void *text, size_t size, const char *name, const char *key, uint64_t newest,
    struct lc__json_tree *tree)
{
	const lc_status status = lc__json_parse(text, size, NULL, tree);
	uint64_t version;

	if (status == LC_NO_MEMORY)
		return lc__no_memory(name);
	if (status != LC_OK)
		return lc__error(LC_CORRUPT, 0, "%s: line %zu: %s", name, tree->line,
		    tree->wrong);
	if (!lc__json_uint64(lc__json_get(tree->values, key), &version) || version == 0)
		return lc__error(LC_CORRUPT, 0, "%s: %s is missing or wrong", name, key);
	if (version > newest)
		return lc__error(LC_VERSION, 0, "%s: %s %llu is newer than this program",
		    name, key, (unsigned long long)version);
	return LC_OK;
}

lc_status
lc__parts_recipe_add(struct lc__parts_recipe *recipe, const char *name)
{
	return_if_error(
	    lc__array_reserve(&recipe->parts, &recipe->room, recipe->n + 1, "recipe"));
	recipe->parts[recipe->n] = strdup(name);
	return recipe->parts[recipe->n++] != NULL ? LC_OK : lc__no_memory("recipe");
}

static void
get_recipe(struct scope *s, struct lc__parts_recipe *recipe)
{
	const struct lc__json *options = lc__json_get(s->json, "options"), *item;
	const struct lc__json *parts = lc__json_get(s->json, "parts");
	struct lc__buf compact = { 0 };

	recipe->producer = get_text(s, "producer");
	if (lc__json_is(options, LC__JSON_OBJECT))
		lc__json_put_compact(&compact, options->source);
	else
		wrong(s, "options");
	lc__buf_append(&compact, "", 1);
	recipe->options = (char *)compact.data;
	if (compact.failed && s->status == LC_OK)
		s->status = lc__no_memory(s->name);
	if (!lc__json_is(parts, LC__JSON_ARRAY) || parts->count == 0)
		wrong(s, "parts");
	lc__json_each(item, s->status == LC_OK ? parts : NULL)
	{
		const char *name = lc__json_text(item);

		if (name == NULL || strlen(name) != item->string_size)
			wrong(s, "parts");
		else if (s->status == LC_OK)
			s->status = lc__parts_recipe_add(recipe, name);
	}
}

lc_status
lc__parts_recipe_parse(const void *text, size_t size, const char *name,
    struct lc__parts_recipe *out)
{
	struct lc__json_tree tree = { 0 };
	struct lc__parts_recipe recipe = { 0 };
	struct scope s = { .name = name };

	s.status = parse(text, size, name, "recipe_version", RECIPE_VERSION, &tree);
	s.json = tree.values;
	if (s.status == LC_OK)
		get_recipe(&s, &recipe);
	if (s.status == LC_OK)
		s.status = lc__sha256_of(text, size, recipe.sha256);
	memcpy(recipe.id, recipe.sha256, LC__RUN_ID - 1);
	lc__json_free(&tree);
	if (s.status == LC_OK)
		*out = recipe;
	else
		lc__parts_recipe_free(&recipe);
	return s.status;
}

static void
get_receipt(struct scope *s, struct lc__receipt *receipt)
{
	const struct lc__json *files = lc__json_get(s->json, "manifests"), *item;

	receipt->bytes = get_count(s, "bytes");
	receipt->fingerprint = get_text(s, "fingerprint");
	receipt->index = get_count(s, "index");
	receipt->has_lines = lc__json_get(s->json, "lines") != NULL;
	if (receipt->has_lines)
		receipt->lines = get_count(s, "lines");
	receipt->part = get_text(s, "part");
	get_sha256(s, "recipe", receipt->run);
	receipt->samples = get_count(s, "samples");
	receipt->shards = get_count(s, "shards");
	if (!lc__json_is(files, LC__JSON_ARRAY))
		wrong(s, "manifests");
	lc__json_each(item, s->status == LC_OK ? files : NULL)
	{
		struct scope entry = { s->name, item, LC_OK };

		entry.status = lc__array_reserve(&receipt->files, &receipt->room,
		    receipt->n + 1, s->name);
		if (entry.status == LC_OK) {
			struct lc__receipt_file *file = &receipt->files[receipt->n++];

			*file = (struct lc__receipt_file){ .bytes = 0 };
			file->bytes = get_count(&entry, "bytes");
			get_sha256(&entry, "sha256", file->sha256);
		}
		if (s->status == LC_OK)
			s->status = entry.status;
	}
}

lc_status
lc__receipt_parse(const void *text, size_t size, const char *name,
    struct lc__receipt *out)
{
	struct lc__json_tree tree = { 0 };
	struct lc__receipt receipt = { .n = 0 };
	struct scope s = { .name = name };

	s.status = parse(text, size, name, "receipt_version", RECEIPT_VERSION, &tree);
	s.json = tree.values;
	if (s.status == LC_OK)
		get_receipt(&s, &receipt);
	lc__json_free(&tree);
	if (s.status == LC_OK)
		*out = receipt;
	else
		lc__receipt_free(&receipt);
	return s.status;
}

/* ---- memory ------------------------------------------------------------------------- */

void
lc__parts_recipe_free(struct lc__parts_recipe *recipe)
{
	for (size_t i = 0; i < recipe->n; i++)
		free(recipe->parts[i]);
	free(recipe->parts);
	free(recipe->producer);
	free(recipe->options);
	memset(recipe, 0, sizeof(*recipe));
}

void
lc__receipt_free(struct lc__receipt *receipt)
{
	free(receipt->part);
	free(receipt->fingerprint);
	free(receipt->files);
	memset(receipt, 0, sizeof(*receipt));
}
