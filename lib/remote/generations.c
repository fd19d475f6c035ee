/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/generations.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/error.h"
#include "objects/names.h"

/* ---- generations ---------------------------------------------------------------------- */

static lc_status
add_generation(struct lc__generations *list, uint64_t number,
    const struct lc__object *object)
{
	return_if_error(
	    lc__array_reserve(&list->all, &list->room, list->n + 1, "generations"));
	list->all[list->n++] = (struct lc__generation){ number, object->time_ms,
		object->size };
	return LC_OK;
}

static lc_status
note_generation(void *ctx, const struct lc__object *object)
{
	uint64_t number;

	return lc__generation_of_name(object->name, &number)
	    ? add_generation(ctx, number, object)
	    : LC_OK;
}

static int
by_number(const void *a, const void *b)
{
	const struct lc__generation *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

lc_status
lc__generations_list(struct lc__objects *store, struct lc__generations *out)
{
	struct lc__generations list = { .n = 0 };
	char name[LC__OBJECT_NAME];
	struct lc__object about;
	lc_status status = store->list(store, "manifest/", note_generation, &list);

	if (status != LC_OK) {
		free(list.all);
		return status;
	}
	if (list.n > 0)
		qsort(list.all, list.n, sizeof(*list.all), by_number);
	while (status == LC_OK) {
		const uint64_t next = list.n > 0 ? list.all[list.n - 1].number + 1 : 1;

		lc__name_generation(next, name);
		status = lc__object_find(store, name, &about);
		if (status == LC_OK)
			status = add_generation(&list, next, &about);
	}
	if (status == LC_NO_FILE)
		*out = list;
	else
		free(list.all);
	return status == LC_NO_FILE ? LC_OK : status;
}

/* Read an object and parse it as a manifest. */
static lc_status
read_manifest(struct lc__objects *store, const char *name, const char *sha256,
    struct lc__buf *text, struct lc__manifest *out)
{
	struct lc__buf own = { 0 };
	struct lc__buf *bytes = text != NULL ? text : &own;
	char hex[65];
	lc_status status = lc__object_read(store, name, LC__STORED_MANIFEST, bytes);

	if (status == LC_OK && sha256 != NULL) {
		status = lc__sha256_of(bytes->data, bytes->size, hex);
		if (status == LC_OK && strcmp(hex, sha256) != 0)
			status = lc__error(LC_CORRUPT, 0,
			    "%s/%s: its SHA-256 is not its name", store->url, name);
	}
	if (status == LC_OK) {
		status = lc__manifest_parse_any(bytes->data, bytes->size, name, out);
		if (status == LC_NOT_MODULE)
			status = lc__error_as(LC_CORRUPT);
		if (status != LC_OK)
			(void)lc__error_prefix("%s", store->url);
	}
	lc__buf_free(&own);
	return status;
}

lc_status
lc__generation_read(struct lc__objects *store, uint64_t number, struct lc__buf *text,
    struct lc__manifest *out)
{
	char name[LC__OBJECT_NAME], sha256[65];
	struct lc__manifest manifest = { 0 };

	lc__name_generation(number, name);
	return_if_error(read_manifest(store, name, NULL, text, &manifest));
	for (size_t i = 0; i < manifest.n_parts; i++) {
		const char *path = manifest.parts[i].relative_path;

		if (strncmp(path, "../", 3) == 0 && lc__part_of_name(path + 3, sha256) &&
		    strcmp(sha256, manifest.parts[i].sha256) == 0)
			continue;
		lc__manifest_free(&manifest);
		return lc__error(LC_CORRUPT, 0,
		    "%s/%s: part %zu is not where a store has it", store->url, name, i);
	}
	if (manifest.n_parts == 0) {
		lc__manifest_free(&manifest);
		return lc__error(LC_CORRUPT, 0, "%s/%s: names no parts", store->url,
		    name);
	}
	*out = manifest;
	return LC_OK;
}

/* What is named has to be there. */
static lc_status
as_damage(lc_status status)
{
	return status == LC_NO_FILE ? lc__error_as(LC_CORRUPT) : status;
}

lc_status
lc__part_read(struct lc__objects *store, const char *sha256, struct lc__buf *text,
    struct lc__manifest *out)
{
	char name[LC__OBJECT_NAME], again[LC__OBJECT_NAME];
	struct lc__manifest manifest = { 0 };

	lc__name_part(sha256, name);
	return_if_error(as_damage(read_manifest(store, name, sha256, text, &manifest)));
	for (size_t i = 0; i < manifest.n; i++) {
		const struct lc__manifest_shard *shard = &manifest.shards[i];

		lc__name_shard(shard->sha256, again);
		if (shard->has_bytes && strcmp(shard->relative_path, again) == 0)
			continue;
		lc__manifest_free(&manifest);
		return lc__error(LC_CORRUPT, 0,
		    "%s/%s: shard %zu is not where a store has it", store->url, name, i);
	}
	*out = manifest;
	return LC_OK;
}
