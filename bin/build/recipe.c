/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/recipe.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/json_number.h"
#include "format/manifest.h"
#include "image/image.h"

#define DEFAULT_MIN_VISIBLE 0.1
#define DEFAULT_SHARD_BYTES ((uint64_t)192 << 20)

void
lc__recipe_init(struct lc__recipe *recipe)
{
	*recipe = (struct lc__recipe) {
		.transform = { .width = 640, .height = 640,
			.fit = LC__FIT_LETTERBOX, },
		.max_boxes = 16,
		.skip_empty = true,
		.code_version = LC__RECIPE_CODE_VERSION,
		.dtype = LC_F16,
		.layout = LC__LAYOUT_AUTO,
		.min_visible = DEFAULT_MIN_VISIBLE,
		.shard_version = 2,
		.metadata = true,
		.shard_bytes = DEFAULT_SHARD_BYTES,
	};
}

lc_dtype
lc__recipe_stored(const struct lc__recipe *recipe)
{
	return recipe->dtype == LC_U16 ? LC_U16 : LC_U8;
}

static lc_status
check(const struct lc__recipe *r)
{
	if (r->layout == LC__LAYOUT_AUTO)
		return lc__error(LC_INVALID, 0, "recipe: the layout is not known yet");
	if (r->n_buckets > LC_BUCKETS_MAX)
		return lc__error(LC_INVALID, 0, "recipe: %zu buckets, %d at most",
		    r->n_buckets, LC_BUCKETS_MAX);
	if (!(r->min_visible >= 0 && r->min_visible <= 1))
		return lc__error(LC_INVALID, 0,
		    "recipe: min_visible is not within 0 and 1");
	return LC_OK;
}

/* ---- members, one after another -------------------------------------------------- */

static lc_status
put_text(struct lc__buf *out, const char *key, const char *text)
{
	lc__buf_printf(out, ",\"%s\":", key);
	if (lc__manifest_quote(text, out) != LC_OK)
		return lc__error_prefix("recipe: %s", key);
	return LC_OK;
}

static void
put_sizes(struct lc__buf *out, const lc_bucket *sizes, size_t n)
{
	lc__buf_printf(out, ",\"buckets\":[");
	for (size_t i = 0; i < n; i++)
		lc__buf_printf(out, "%s[%u,%u]", i > 0 ? "," : "", sizes[i].width,
		    sizes[i].height);
	lc__buf_printf(out, "]");
}

static void
put_pad(struct lc__buf *out, const struct lc__transform *t)
{
	lc__buf_printf(out, ",\"pad\":[%u,%u,%u]", t->pad[0], t->pad[1], t->pad[2]);
}

static void
put_min_visible(struct lc__buf *out, const struct lc__recipe *r)
{
	char number[LC__SHORTEST];

	lc__shortest(r->min_visible, number);
	lc__buf_printf(out, ",\"min_visible\":%s", number);
}

/* 0 means the decoder's own limit. */
static uint64_t
max_pixels(const struct lc__transform *t)
{
	return t->max_pixels != 0 ? t->max_pixels : LC__IMAGE_MAX_PIXELS;
}

static bool
has_pad(const struct lc__transform *t)
{
	return t->pad[0] != 0 || t->pad[1] != 0 || t->pad[2] != 0;
}

/* How a sample's pixels and boxes are computed, where it differs from the default. */
static lc_status
put_changes(struct lc__buf *out, const struct lc__recipe *r)
{
	const struct lc__transform *t = &r->transform;

	if (r->layout != LC__LAYOUT_CAPTURE)
		return_if_error(put_text(out, "layout", lc__layout_name(r->layout)));
	if (has_pad(t))
		put_pad(out, t);
	if (t->alpha == LC__ALPHA_OVER)
		lc__buf_printf(out, ",\"alpha\":\"over\"");
	if (t->ignore_orientation)
		lc__buf_printf(out, ",\"orientation\":\"ignore\"");
	if (t->dct_scale)
		lc__buf_printf(out, ",\"dct_scale\":true");
	if (max_pixels(t) != LC__IMAGE_MAX_PIXELS)
		lc__buf_printf(out, ",\"max_pixels\":%llu",
		    (unsigned long long)max_pixels(t));
	if (r->min_visible != DEFAULT_MIN_VISIBLE)
		put_min_visible(out, r);
	if (r->boxes_stored)
		lc__buf_printf(out, ",\"boxes\":\"stored\"");
	return LC_OK;
}

static void
put_form_changes(struct lc__buf *out, const struct lc__recipe *r)
{
	if (r->shard_version != 2)
		lc__buf_printf(out, ",\"shard_version\":%u", r->shard_version);
	if (!r->metadata)
		lc__buf_printf(out, ",\"metadata\":false");
	if (r->shard_bytes != DEFAULT_SHARD_BYTES)
		lc__buf_printf(out, ",\"shard_bytes\":%llu",
		    (unsigned long long)r->shard_bytes);
	if (r->n_buckets > 0)
		put_sizes(out, r->buckets, r->n_buckets);
	/* Letters, digits and signs that need no escapes. */
	if (r->split != NULL)
		lc__buf_printf(out,
		    ",\"split\":\"%s\",\"split_by\":\"%s\",\"split_seed\":%llu", r->split,
		    r->split_by_run ? "run" : "id", (unsigned long long)r->split_seed);
}

static lc_status
put_classes(struct lc__buf *out, const struct lc__recipe *r)
{
	if (r->n_classes > 0)
		lc__buf_printf(out, ",\"classes\":[");
	for (size_t i = 0; i < r->n_classes; i++) {
		lc__buf_printf(out, "%s", i > 0 ? "," : "");
		if (lc__manifest_quote(r->classes[i], out) != LC_OK)
			return lc__error_prefix("recipe: classes");
	}
	if (r->n_classes > 0)
		lc__buf_printf(out, "]");
	if (r->class_map == NULL)
		return LC_OK;
	lc__buf_printf(out, ",\"class_map\":");
	return lc__class_map_format(r->class_map, out);
}

static lc_status
finish(struct lc__buf *out)
{
	lc__buf_printf(out, "}");
	return out->failed ? lc__no_memory("recipe") : LC_OK;
}

/* ---- texts ----------------------------------------------------------------- */

lc_status
lc__recipe_format(const struct lc__recipe *recipe, struct lc__buf *out)
{
	const struct lc__transform *t = &recipe->transform;

	return_if_error(check(recipe));
	lc__buf_printf(out, "{\"dataset_root\":");
	if (lc__manifest_quote(recipe->dataset_root, out) != LC_OK)
		return lc__error_prefix("recipe: dataset_root");
	lc__buf_printf(out,
	    ",\"target_size\":[%u,%u],\"resize_mode\":\"%s\","
	    "\"max_boxes\":%u,\"skip_empty\":%s",
	    t->width, t->height, lc__fit_recipe_name(t->fit), recipe->max_boxes,
	    recipe->skip_empty ? "true" : "false");
	return_if_error(put_text(out, "code_version", recipe->code_version));
	if (recipe->dtype != LC_F16)
		return_if_error(put_text(out, "dtype", lc_dtype_name(recipe->dtype)));
	return_if_error(put_changes(out, recipe));
	put_form_changes(out, recipe);
	return_if_error(put_classes(out, recipe));
	return finish(out);
}

/* With buckets the list decides an image's size, and target_size has no effect. */
static lc_status
format_sample(const struct lc__recipe *r, struct lc__buf *out)
{
	return_if_error(check(r));
	lc__buf_printf(out, "{\"resize_mode\":\"%s\"",
	    lc__fit_recipe_name(r->transform.fit));
	return_if_error(put_text(out, "code_version", r->code_version));
	if (lc__recipe_stored(r) == LC_U16)
		return_if_error(put_text(out, "dtype", lc_dtype_name(LC_U16)));
	return_if_error(put_changes(out, r));
	if (r->n_buckets > 0)
		put_sizes(out, r->buckets, r->n_buckets);
	else
		lc__buf_printf(out, ",\"target_size\":[%u,%u]", r->transform.width,
		    r->transform.height);
	return finish(out);
}

static lc_status
hash_text(const struct lc__recipe *recipe,
    lc_status (*format)(const struct lc__recipe *, struct lc__buf *), char out[65])
{
	struct lc__buf text = { 0 };
	lc_status status = format(recipe, &text);

	if (status == LC_OK)
		status = lc__sha256_of(text.data, text.size, out);
	lc__buf_free(&text);
	return status;
}

lc_status
lc__recipe_version(const struct lc__recipe *recipe, char out[65])
{
	return hash_text(recipe, lc__recipe_format, out);
}

lc_status
lc__recipe_sample_key(const struct lc__recipe *recipe, char out[65])
{
	return hash_text(recipe, format_sample, out);
}

lc_status
lc__recipe_transform(const struct lc__recipe *recipe, struct lc__buf *out)
{
	const struct lc__transform *t = &recipe->transform;

	return_if_error(check(recipe));
	lc__buf_printf(out,
	    "{\"target_size\":[%u,%u],\"resize_mode\":\"%s\",\"max_boxes\":%u", t->width,
	    t->height, lc__fit_recipe_name(t->fit), recipe->max_boxes);
	put_pad(out, t);
	lc__buf_printf(out,
	    ",\"alpha\":\"%s\",\"orientation\":\"%s\","
	    "\"dct_scale\":%s,\"max_pixels\":%llu",
	    t->alpha == LC__ALPHA_OVER ? "over" : "drop",
	    t->ignore_orientation ? "ignore" : "apply", t->dct_scale ? "true" : "false",
	    (unsigned long long)max_pixels(t));
	put_min_visible(out, recipe);
	lc__buf_printf(out, ",\"boxes\":\"%s\"",
	    recipe->boxes_stored ? "stored" : "upright");
	if (recipe->n_buckets > 0)
		put_sizes(out, recipe->buckets, recipe->n_buckets);
	return finish(out);
}
