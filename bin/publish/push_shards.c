/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory of shards as parts: the series of its manifest, or of each manifest that it
 * names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "publish/push.h"
#include "publish/stored.h"
#include "shard/outdir.h"

/* The position of a part's shards. */
struct piece {
	size_t first, n; /* indexes of its manifests among those of the set */
	char *series;    /* the directory of its shards there; NULL: all of them */
};

struct set {
	char *dir;
	struct lc__manifest manifest;
	struct piece *pieces; /* by part; malloc'ed */
	size_t n, room;
};

/* ---- the manifests of a set ------------------------------------------------------------ */

/* Its own manifest only, or those of its parts. */
static size_t
count_manifests(const struct set *set)
{
	return set->manifest.manifest_version == LC__MANIFEST_OF_PARTS
	    ? set->manifest.n_parts
	    : 1;
}

/* Read one of the parts', or borrow the only one; end with unread(). */
static lc_status
read_one(const struct set *set, size_t i, struct lc__manifest *out)
{
	const struct lc__manifest_part *said = &set->manifest.parts[i];
	char *path;
	lc_status status;

	if (set->manifest.manifest_version != LC__MANIFEST_OF_PARTS) {
		*out = set->manifest;
		return LC_OK;
	}
	path = lc__path_join(set->dir, said->relative_path);
	status = path != NULL ? lc__manifest_read_part(&set->manifest, said, path, out)
			      : lc__no_memory(set->dir);
	free(path);
	return status;
}

static void
unread(const struct set *set, struct lc__manifest *m)
{
	if (set->manifest.manifest_version == LC__MANIFEST_OF_PARTS)
		lc__manifest_free(m);
}

/* The directory to which the paths of its shards are relative, malloc'ed. */
static char *
base_of(const struct set *set, size_t i)
{
	return set->manifest.manifest_version == LC__MANIFEST_OF_PARTS
	    ? lc__manifest_part_base(set->dir, &set->manifest.parts[i])
	    : strdup(set->dir);
}

/* ---- finding the parts ----------------------------------------------------------- */

/* The directory in the shard's path: "a.shards" of "a.shards/s.twh1". The directories of
 * a store do not count. */
static char *
series_of(const struct lc__manifest_shard *shard)
{
	const char *slash = strrchr(shard->relative_path, '/');
	char sha256[65];

	return slash == NULL || lc__shard_of_name(shard->relative_path, sha256)
	    ? strdup(".")
	    : strndup(shard->relative_path, (size_t)(slash - shard->relative_path));
}

static lc_status
count_samples(const struct set *set, const struct lc__manifest_shard *shard,
    struct lc__push_part *part)
{
	return lc__add64(part->records, shard->samples, &part->records)
	    ? LC_OK
	    : lc__error(LC_INVALID, 0, "%s: has too many samples", set->dir);
}

/* Add a part whose name is malloc'ed, as is @p series; both are freed if that fails. */
static lc_status
add_piece(struct set *set, struct lc__push_source *out, char *name, size_t manifest,
    char *series)
{
	struct lc__push_part *part;
	lc_status status = name == NULL
	    ? lc__no_memory(set->dir)
	    : lc__array_reserve(&set->pieces, &set->room, set->n + 1, set->dir);

	if (status == LC_OK)
		status = lc__push_source_add(out, name, &part);
	free(name);
	if (status != LC_OK) {
		free(series);
		return status;
	}
	part->finished = true;
	set->pieces[set->n++] = (struct piece){ manifest, 1, series };
	return LC_OK;
}

/* "../a" of "../a/manifest.json" and "." there; "../a/b.shards" of a series. */
static char *
name_series(const struct set *set, size_t manifest, const char *series)
{
	const char *path, *slash;
	char *from, *name;
	size_t size;

	if (set->manifest.manifest_version != LC__MANIFEST_OF_PARTS)
		return strdup(series);
	path = set->manifest.parts[manifest].relative_path;
	slash = strrchr(path, '/');
	size = slash != NULL && strcmp(slash + 1, LC__MANIFEST_NAME) == 0
	    ? (size_t)(slash - path)
	    : strlen(path);
	from = strndup(path, size);
	if (from == NULL || strcmp(series, ".") == 0)
		return from;
	name = lc__path_join(from, series);
	free(from);
	return name;
}

/* Shards of a series are consecutive; if not, it is searched again. */
static lc_status
divide_series(struct set *set, size_t manifest, const struct lc__manifest *m,
    struct lc__push_source *out)
{
	const size_t begun = set->n;

	for (size_t i = 0; i < m->n; i++) {
		char *series = series_of(&m->shards[i]);
		size_t at = set->n;

		if (series == NULL)
			return lc__no_memory(set->dir);
		while (at > begun && strcmp(set->pieces[at - 1].series, series) != 0)
			at--;
		if (at == begun) {
			return_if_error(add_piece(set, out,
			    name_series(set, manifest, series), manifest, series));
			at = set->n;
		} else {
			free(series);
		}
		return_if_error(count_samples(set, &m->shards[i], &out->parts[at - 1]));
	}
	return LC_OK;
}

/* A manifest that was pulled belongs to the part that it had in its store, which may have
 * several manifests. */
static lc_status
join_stored(struct set *set, size_t manifest, const struct lc__manifest *m,
    struct lc__push_source *out)
{
	const struct lc__manifest_part *parts = set->manifest.parts;

	if (set->n == 0 || set->pieces[set->n - 1].series != NULL ||
	    strcmp(out->parts[out->n - 1].name, m->dataset_root) != 0 ||
	    strcmp(parts[manifest - 1].base, parts[manifest].base) != 0)
		return_if_error(
		    add_piece(set, out, strdup(m->dataset_root), manifest, NULL));
	else
		set->pieces[set->n - 1].n++;
	for (size_t i = 0; i < m->n; i++)
		return_if_error(
		    count_samples(set, &m->shards[i], &out->parts[out->n - 1]));
	return LC_OK;
}

static lc_status
divide(struct set *set, struct lc__push_source *out)
{
	const bool of_parts = set->manifest.manifest_version == LC__MANIFEST_OF_PARTS;

	for (size_t i = 0; i < count_manifests(set); i++) {
		struct lc__manifest m = { 0 };
		char sha256[65];
		lc_status status = read_one(set, i, &m);

		if (status == LC_OK && of_parts &&
		    lc__part_of_name(set->manifest.parts[i].relative_path, sha256))
			status = join_stored(set, i, &m, out);
		else if (status == LC_OK)
			status = divide_series(set, i, &m, out);
		unread(set, &m);
		return_if_error(status);
	}
	return out->n > 0 ? LC_OK
			  : lc__error(LC_INVALID, 0, "%s: has no shards", set->dir);
}

/* ---- their shards ---------------------------------------------------------------------- */

/* Add a copy of a shard's entry. */
static lc_status
copy_shard(const struct lc__manifest_shard *from, struct lc__manifest *out, size_t *room)
{
	struct lc__manifest_shard *to;

	return_if_error(lc__array_reserve(&out->shards, room, out->n + 1, "push"));
	to = &out->shards[out->n++];
	*to = *from;
	to->id = strdup(from->id);
	to->relative_path = strdup(from->relative_path);
	return to->id != NULL && to->relative_path != NULL ? LC_OK
							   : lc__no_memory("push");
}

static lc_status
copy_series(const struct lc__manifest *from, const char *series, struct lc__manifest *out,
    size_t *room)
{
	if (out->transform == NULL) {
		out->default_dtype = from->default_dtype;
		out->default_shard_version = from->default_shard_version;
		out->transform = strdup(from->transform);
		if (out->transform == NULL)
			return lc__no_memory("push");
	}
	for (size_t i = 0; i < from->n; i++) {
		char *own = series != NULL ? series_of(&from->shards[i]) : NULL;
		lc_status status = LC_OK;

		if (series != NULL && own == NULL)
			status = lc__no_memory("push");
		else if (series == NULL || strcmp(own, series) == 0)
			status = copy_shard(&from->shards[i], out, room);
		free(own);
		return_if_error(status);
	}
	return LC_OK;
}

static lc_status
make(void *ctx, const char *run, size_t part, char **dir, struct lc__manifest *out)
{
	const struct set *set = ctx;
	const struct piece *piece = &set->pieces[part];
	struct lc__manifest m = { 0 };
	size_t room = 0;
	lc_status status = LC_OK;

	(void)run;
	for (size_t i = 0; i < piece->n && status == LC_OK; i++) {
		struct lc__manifest one = { 0 };

		status = read_one(set, piece->first + i, &one);
		if (status == LC_OK)
			status = copy_series(&one, piece->series, &m, &room);
		unread(set, &one);
	}
	*dir = status == LC_OK ? base_of(set, piece->first) : NULL;
	if (status == LC_OK && *dir == NULL)
		status = lc__no_memory("push");
	if (status == LC_OK)
		*out = m;
	else
		lc__manifest_free(&m);
	return status;
}

static void
done(void *ctx, const char *dir)
{
	(void)ctx, (void)dir;
}

/* ---- the set --------------------------------------------------------------------------- */

static void
close_set(void *ctx)
{
	struct set *set = ctx;

	for (size_t i = 0; i < set->n; i++)
		free(set->pieces[i].series);
	free(set->pieces);
	lc__manifest_free(&set->manifest);
	free(set->dir);
	free(set);
}

lc_status
lc__push_shards(const char *dir, struct lc__push_source *out)
{
	struct set *set = calloc(1, sizeof(*set));
	struct lc__buf options = { 0 };
	lc_status status;

	if (set == NULL)
		return lc__no_memory(dir);
	*out = (struct lc__push_source){ .ctx = set,
		.make = make,
		.done = done,
		.close = close_set };
	set->dir = strdup(dir);
	status = set->dir != NULL ? lc__push_read_manifest(dir, &set->manifest)
				  : lc__no_memory(dir);
	if (status == LC_OK && set->manifest.export_state != NULL)
		status = lc__error(LC_INVALID, 0, "%s: its export is unfinished", dir);
	if (status == LC_OK)
		status = divide(set, out);
	if (status == LC_OK) {
		lc__buf_printf(&options, "{\"set\":");
		status = lc__manifest_quote(set->manifest.version, &options);
		lc__buf_append(&options, "}", 2);
		if (status == LC_OK && options.failed)
			status = lc__no_memory(dir);
	}
	out->options = (char *)options.data;
	if (status != LC_OK)
		lc__push_source_close(out);
	return status;
}
