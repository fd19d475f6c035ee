/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/about.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/manifest.h"
#include "format/members.h"

/* ---- writing --------------------------------------------------------------- */

static lc_status
put_series(const struct lc__series_about *s, struct lc__buf *out)
{
	lc__buf_printf(out, "{\"path\":");
	return_if_error(lc__manifest_quote(s->path, out));
	lc__buf_printf(out, ",\"width\":%u,\"height\":%u,\"samples\":%llu}", s->width,
	    s->height, (unsigned long long)s->samples);
	return LC_OK;
}

/* Omitted if no names are known. */
static lc_status
put_classes(const struct lc__warehouse_about *about, struct lc__buf *out)
{
	if (about->n_classes == 0)
		return LC_OK;
	lc__buf_printf(out, ",\"classes\":[");
	for (size_t i = 0; i < about->n_classes; i++) {
		if (i > 0)
			lc__buf_append(out, ",", 1);
		if (about->classes[i] == NULL)
			lc__buf_printf(out, "null");
		else
			return_if_error(lc__manifest_quote(about->classes[i], out));
	}
	lc__buf_printf(out, "]");
	return LC_OK;
}

lc_status
lc__warehouse_about_format(const struct lc__warehouse_about *about, struct lc__buf *out)
{
	lc__buf_printf(out, "{\"layout\":");
	return_if_error(lc__manifest_quote(about->layout, out));
	lc__buf_printf(out,
	    ",\"fingerprint\":\"%s\",\"sources_root\":", about->fingerprint);
	return_if_error(lc__manifest_quote(about->sources_root, out));
	lc__buf_printf(out,
	    ",\"sources_sha256\":\"%s\",\"rejected_sha256\":\"%s\",\"series\":[",
	    about->sources_sha256, about->rejected_sha256);
	for (size_t i = 0; i < about->n_series; i++) {
		if (i > 0)
			lc__buf_append(out, ",", 1);
		return_if_error(put_series(&about->series[i], out));
	}
	lc__buf_printf(out, "]");
	return_if_error(put_classes(about, out));
	lc__buf_printf(out, "}");
	return out->failed ? lc__no_memory("warehouse") : LC_OK;
}

/* ---- reading --------------------------------------------------------------- */

/* All of these members are required. */
static lc_status
need(const struct lc__members *from, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!lc__member_has(from, keys[i]))
			return lc__member_bad(from, keys[i], "is missing");
	return LC_OK;
}

static lc_status
get_side(const struct lc__members *from, const char *key, uint32_t *out)
{
	uint64_t side = 0;

	return_if_error(lc__member_number(from, key, UINT32_MAX, &side));
	if (side == 0)
		return lc__member_bad(from, key, "is 0");
	*out = (uint32_t)side;
	return LC_OK;
}

static lc_status
get_one_series(const struct lc__members *from, struct lc__series_about *s)
{
	static const char *const keys[] = { "path", "width", "height", "samples" };

	if (!lc__json_is(from->json, LC__JSON_OBJECT))
		return lc__member_bad(from, "entry", "is not an object");
	return_if_error(need(from, keys, sizeof(keys) / sizeof(keys[0])));
	return_if_error(lc__member_text(from, "path", &s->path));
	if (*s->path != '\0' &&
	    (!lc__manifest_path_ok(s->path) || strchr(s->path, '/') != NULL))
		return lc__member_bad(from, "path", "is not one name");
	return_if_error(get_side(from, "width", &s->width));
	return_if_error(get_side(from, "height", &s->height));
	return lc__member_number(from, "samples", INT64_MAX, &s->samples);
}

/* The path of a series identifies it, and the number of all samples must fit. */
static lc_status
check_series(const struct lc__members *from, const struct lc__warehouse_about *about)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < about->n_series; i++) {
		if (!lc__add64(samples, about->series[i].samples, &samples))
			return lc__member_bad(from, "series", "have too many samples");
		for (size_t k = 0; k < i; k++)
			if (strcmp(about->series[i].path, about->series[k].path) == 0)
				return lc__member_bad(from, "series",
				    "have a path twice");
	}
	return LC_OK;
}

/* More than any build creates: comparing each with each must stay cheap. */
#define SERIES_MAX 4096

static lc_status
get_series(const struct lc__members *top, struct lc__warehouse_about *about)
{
	const struct lc__json *list = NULL, *item;

	return_if_error(lc__member_array(top, "series", &list));
	if (list->count == 0 || list->count > SERIES_MAX)
		return lc__member_bad(top, "series",
		    list->count == 0 ? "is empty" : "is too long");
	about->series = calloc(list->count, sizeof(*about->series));
	if (about->series == NULL)
		return lc__no_memory(top->name);
	lc__json_each(item, list)
	{
		const struct lc__members s = { top->name, "series", about->n_series + 1,
			item };
		/* Counted before it is filled, so that a half-read entry is freed as
		 * well. */
		return_if_error(get_one_series(&s, &about->series[about->n_series++]));
	}
	return check_series(top, about);
}

/* More than any list of classes that a build reads. */
#define CLASSES_MAX ((size_t)1 << 24)

/* They are optional. */
static lc_status
get_classes(const struct lc__members *top, struct lc__warehouse_about *about)
{
	const struct lc__json *list = NULL, *item;

	if (!lc__member_has(top, "classes"))
		return LC_OK;
	return_if_error(lc__member_array(top, "classes", &list));
	if (list->count > CLASSES_MAX)
		return lc__member_bad(top, "classes", "is too long");
	about->classes = calloc((size_t)list->count + 1, sizeof(*about->classes));
	if (about->classes == NULL)
		return lc__no_memory(top->name);
	lc__json_each(item, list)
	{
		char **const name = &about->classes[about->n_classes++];
		if (lc__json_is(item, LC__JSON_NULL))
			continue;
		if (!lc__json_is(item, LC__JSON_STRING))
			return lc__member_bad(top, "classes",
			    "has a name that is not a string");
		*name = strdup(item->string);
		if (*name == NULL)
			return lc__no_memory(top->name);
	}
	return LC_OK;
}

static lc_status
get_about(const struct lc__members *top, struct lc__warehouse_about *about)
{
	static const char *const keys[] = { "layout", "fingerprint", "sources_root",
		"sources_sha256", "rejected_sha256", "series" };

	return_if_error(need(top, keys, sizeof(keys) / sizeof(keys[0])));
	return_if_error(lc__member_text(top, "layout", &about->layout));
	return_if_error(lc__member_sha256(top, "fingerprint", about->fingerprint));
	return_if_error(lc__member_text(top, "sources_root", &about->sources_root));
	return_if_error(lc__member_sha256(top, "sources_sha256", about->sources_sha256));
	return_if_error(
	    lc__member_sha256(top, "rejected_sha256", about->rejected_sha256));
	return_if_error(get_classes(top, about));
	return get_series(top, about);
}

lc_status
lc__warehouse_about_parse(const char *text, const char *name,
    struct lc__warehouse_about *out)
{
	struct lc__members top = { name, "warehouse", 0, NULL };
	struct lc__warehouse_about about = { 0 };
	struct lc__json_tree tree = { 0 };
	lc_status status = LC_OK;

	if (text != NULL)
		status = lc__members_load(text, name, &tree, &top.json);
	if (status == LC_OK && top.json == NULL)
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: is a manifest of shards, not of a warehouse", name);
	if (status == LC_OK)
		status = get_about(&top, &about);
	lc__json_free(&tree);
	if (status == LC_OK)
		*out = about;
	else
		lc__warehouse_about_free(&about);
	return status;
}

void
lc__warehouse_about_free(struct lc__warehouse_about *about)
{
	for (size_t i = 0; i < about->n_series; i++)
		free(about->series[i].path);
	free(about->series);
	for (size_t i = 0; i < about->n_classes; i++)
		free(about->classes[i]);
	free(about->classes);
	free(about->layout);
	free(about->sources_root);
	memset(about, 0, sizeof(*about));
}
