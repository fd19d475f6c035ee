/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins sets of shards without copying: writes a manifest whose parts are theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "format/manifest.h"
#include "shard/outdir.h"
#include "warehouse/place.h"

#define LONGEST_MANIFEST ((uint64_t)1 << 30)

/* A union being made. */
struct joining {
	struct lc__outdir out;
	char *dir; /* the real path of out */
	struct lc__manifest manifest;
	size_t room;              /* elements allocated for the manifest's parts */
	char *layout_of;          /* the set that defines the layout; NULL: none yet */
	struct lc__checksum *sha; /* of the parts' digests */
};

/* ---- paths ----------------------------------------------------------------- */

/* Append "../..", "." or "a/b" to an absolute path without links; the result is such a
 * path. */
static lc_status
add_path(struct lc__buf *path, const char *more)
{
	for (size_t n; *more != '\0'; more += n + (more[n] == '/')) {
		n = strcspn(more, "/");
		if (n == 2 && memcmp(more, "..", 2) == 0) {
			while (path->size > 0 && path->data[--path->size] != '/')
				;
		} else if (n != 1 || *more != '.') {
			lc__buf_append(path, "/", 1);
			lc__buf_append(path, more, n);
		}
	}
	return path->failed ? lc__no_memory("union") : LC_OK;
}

/* The relative path from one directory to a file or directory, both absolute:
 * malloc'ed. */
static lc_status
relative(const char *from, const char *to, char **out)
{
	size_t same = 0, i = 0;
	struct lc__buf path = { 0 };

	/* Their common prefix, up to the end of a component. */
	for (; from[i] != '\0' && from[i] == to[i]; i++)
		if (from[i] == '/')
			same = i;
	if ((from[i] == '\0' || from[i] == '/') && (to[i] == '\0' || to[i] == '/'))
		same = i;
	for (const char *p = from + same; *p != '\0'; p++)
		if (*p == '/' && p[1] != '\0')
			lc__buf_printf(&path, "../");
	to += same;
	lc__buf_printf(&path, "%s", to[0] == '/' ? to + 1 : to);
	/* If it is a parent directory, nothing is left after the slash. */
	if (path.size > 0 && path.data[path.size - 1] == '/')
		path.size--;
	if (path.size == 0)
		lc__buf_append(&path, ".", 1);
	lc__buf_append(&path, "", 1);
	if (path.failed) {
		lc__buf_free(&path);
		return lc__no_memory("union");
	}
	*out = (char *)path.data;
	return LC_OK;
}

/* The path of a part's file or base, relative to the set's directory, made relative to
 * out; "." for that itself. */
static lc_status
move_path(const struct joining *j, const char *set, const char *path, char **out)
{
	struct lc__buf whole = { 0 };
	lc_status status;

	if (strcmp(set, "/") != 0)
		lc__buf_printf(&whole, "%s", set);
	status = add_path(&whole, path);
	lc__buf_append(&whole, "", 1);
	if (status == LC_OK && whole.failed)
		status = lc__no_memory("union");
	if (status == LC_OK)
		status = relative(j->dir, whole.size > 1 ? (char *)whole.data : "/", out);
	lc__buf_free(&whole);
	return status;
}

/* ---- one set --------------------------------------------------------------- */

static lc_status
check_layout(struct joining *j, const char *set, const struct lc__manifest_layout *layout)
{
	const char *differs;

	if (j->layout_of == NULL) {
		j->manifest.layout = *layout;
		j->manifest.default_dtype = layout->dtype;
		j->layout_of = strdup(set);
		return j->layout_of != NULL ? LC_OK : lc__no_memory("union");
	}
	differs = lc__manifest_layout_differs(&j->manifest.layout, layout);
	if (differs == NULL)
		return LC_OK;
	return lc__error(LC_INVALID, 0, "%s: its %s differs from that of %s", set,
	    differs, j->layout_of);
}

/* Add a part whose strings are malloc'ed; they are freed on failure. */
static lc_status
add_part(struct joining *j, struct lc__manifest_part *part)
{
	struct lc__manifest *m = &j->manifest;
	lc_status status = lc__checksum_update(j->sha, part->sha256, 64);

	if (status == LC_OK)
		status = lc__array_reserve(&m->parts, &j->room, m->n_parts + 1, "union");
	if (status == LC_OK) {
		m->parts[m->n_parts++] = *part;
		return LC_OK;
	}
	free(part->relative_path);
	free(part->base);
	free(part->counts);
	return status;
}

/* A set whose manifest lists its shards is one part. */
static lc_status
add_shards(struct joining *j, const char *set, const char *real, const char *text,
    const struct lc__buf *bytes, const struct lc__manifest *m)
{
	struct lc__manifest_layout layout;
	struct lc__manifest_part part;
	lc_status status;

	if (m->export_state != NULL)
		return lc__error(LC_INVALID, 0, "%s: its export is not finished", set);
	if (m->n > 0) {
		return_if_error(lc__manifest_layout_of(m, text, &layout));
		return_if_error(check_layout(j, set, &layout));
	}
	return_if_error(lc__manifest_describe_part(m, text, &part));
	part.base = strdup("");
	status = part.base == NULL ? lc__no_memory("union") : LC_OK;
	if (status == LC_OK)
		status = lc__sha256_of(bytes->data, bytes->size, part.sha256);
	if (status == LC_OK)
		status = move_path(j, real, LC__MANIFEST_NAME, &part.relative_path);
	if (status == LC_OK)
		return add_part(j, &part);
	free(part.base);
	free(part.counts);
	return status;
}

/* For a set whose manifest lists parts, each of them becomes a part of the union. */
static lc_status
add_parts(struct joining *j, const char *set, const char *real,
    const struct lc__manifest *m)
{
	if (m->n_parts > 0)
		return_if_error(check_layout(j, set, &m->layout));
	for (size_t i = 0; i < m->n_parts; i++) {
		struct lc__manifest_part part = m->parts[i];
		lc_status status;

		part.relative_path = part.base = NULL;
		part.counts = strdup(m->parts[i].counts);
		status = part.counts == NULL ? lc__no_memory("union") : LC_OK;
		if (status == LC_OK)
			status = move_path(j, real, m->parts[i].relative_path,
			    &part.relative_path);
		if (status == LC_OK && *m->parts[i].base == '\0') {
			part.base = strdup("");
			status = part.base == NULL ? lc__no_memory("union") : LC_OK;
		} else if (status == LC_OK) {
			status = move_path(j, real, m->parts[i].base, &part.base);
		}
		if (status == LC_OK) {
			return_if_error(add_part(j, &part));
			continue;
		}
		free(part.relative_path);
		free(part.counts);
		return status;
	}
	return LC_OK;
}

static lc_status
add_found(struct joining *j, const char *set, const char *dir)
{
	char *path = lc__path_join(dir, LC__MANIFEST_NAME), *real = realpath(dir, NULL);
	struct lc__manifest m = { .n = 0 };
	struct lc__buf bytes = { 0 };
	lc_status status;

	if (path == NULL || real == NULL)
		status = lc__no_memory("union");
	else if (strcmp(real, j->dir) == 0)
		status = lc__error(LC_INVALID, 0, "%s: is the target of the union", set);
	else
		status = lc__read_regular(path, LONGEST_MANIFEST, &bytes);
	if (status == LC_OK)
		status = lc__manifest_parse_any(bytes.data, bytes.size, path, &m);
	if (status == LC_OK)
		status = m.manifest_version == LC__MANIFEST_OF_PARTS
		    ? add_parts(j, set, real, &m)
		    : add_shards(j, set, real, path, &bytes, &m);
	lc__manifest_free(&m);
	lc__buf_free(&bytes);
	free(real);
	free(path);
	return status;
}

static lc_status
add_set(struct joining *j, const char *set)
{
	char *dir;
	lc_status status;

	return_if_error(lc__version_find(set, &dir));
	status = add_found(j, set, dir);
	free(dir);
	return status;
}

/* ---- all of them ----------------------------------------------------------- */

/* Only a manifest of parts may be replaced: nothing else is lost with it. */
static lc_status
check_out(const struct joining *j)
{
	struct lc__manifest m;
	struct lc__buf text = { 0 };
	lc_status status = lc__outdir_read(&j->out, LC__MANIFEST_NAME, &text);
	bool of_parts;

	if (status == LC_NO_FILE)
		return LC_OK;
	if (status == LC_OK)
		status = lc__manifest_parse_any(text.data, text.size, j->out.path, &m);
	lc__buf_free(&text);
	return_if_error(status);
	of_parts = m.manifest_version == LC__MANIFEST_OF_PARTS;
	lc__manifest_free(&m);
	return of_parts
	    ? LC_OK
	    : lc__error(LC_EXISTS, 0, "%s: has shards of its own", j->out.path);
}

/* The version is derived from the parts' digests in their order. */
static lc_status
describe(struct joining *j)
{
	struct lc__manifest *m = &j->manifest;
	char hex[65], recipe[128];

	return_if_error(lc__checksum_hex(j->sha, hex));
	snprintf(recipe, sizeof(recipe), "{\"union\":{\"parts_sha256\":\"%s\"}}", hex);
	return_if_error(lc__sha256_of(recipe, strlen(recipe), hex));
	m->version = strdup(hex);
	m->version_recipe = strdup(recipe);
	m->code_version = strdup("cachex " PACKAGE_VERSION);
	if (m->version == NULL || m->version_recipe == NULL || m->code_version == NULL)
		return lc__no_memory("union");
	m->default_shard_version = 2;
	m->created_at_ms = lc__clock_wall_ms();
	m->manifest_version = LC__MANIFEST_OF_PARTS;
	return LC_OK;
}

static lc_status
join(struct joining *j, const char *const *sets, size_t n, lc_union_result *out)
{
	struct lc__buf text = { 0 };
	struct lc__manifest check;
	lc_status status;

	j->dir = realpath(j->out.path, NULL);
	if (j->dir == NULL)
		return lc__no_memory("union");
	return_if_error(check_out(j));
	return_if_error(lc__checksum_new("sha256", &j->sha));
	for (size_t i = 0; i < n; i++)
		return_if_error(add_set(j, sets[i]));
	if (j->layout_of == NULL)
		return lc__error(LC_INVALID, 0, "%s: none of the sets has a shard",
		    j->out.path);
	return_if_error(describe(j));
	status = lc__manifest_format(&j->manifest, &text);
	/* Too many shards, or samples? Reading the manifest finds out. */
	if (status == LC_OK)
		status = lc__manifest_parse_any(text.data, text.size, j->out.path,
		    &check);
	if (status == LC_OK) {
		lc__manifest_free(&check);
		status = lc__outdir_write(&j->out, LC__MANIFEST_NAME, &text);
	}
	lc__buf_free(&text);
	return_if_error(status);
	return_if_error(lc__sync_dir(j->out.path));

	out->parts = j->manifest.n_parts;
	out->shards = out->samples = out->bytes = 0;
	for (size_t i = 0; i < j->manifest.n_parts; i++) {
		out->shards += j->manifest.parts[i].shards;
		out->samples += j->manifest.parts[i].samples;
		out->bytes += j->manifest.parts[i].bytes;
	}
	return LC_OK;
}

lc_status
lc_shard_union(const char *dir, const char *const *sets, size_t n, lc_union_result *out)
{
	struct joining j = { .out = { .fd = -1 } };
	lc_union_result result;
	lc_status status;

	if (n == 0)
		return lc__error(LC_INVALID, 0, "union: no sets");
	return_if_error(lc__outdir_lock(dir, &j.out));
	status = join(&j, sets, n, &result);
	lc__checksum_free(j.sha);
	lc__manifest_free(&j.manifest);
	free(j.layout_of);
	free(j.dir);
	lc__outdir_close(&j.out);
	if (status == LC_OK)
		*out = result;
	return status;
}
