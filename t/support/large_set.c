/* SPDX-License-Identifier: BSD-2-Clause */
#include "large_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "format/manifest.h"

/* A set that is made. */
struct making {
	const char *from, *dir;
	struct lc__manifest few;  /* of from */
	struct lc__manifest all;  /* of parts; strings are borrowed but for its parts' */
	size_t room;
	enum large_set_files files;
};

char *
large_set_path(uint64_t shard)
{
	char *path;

	/* Neighbours are in other directories, as those of a store are. */
	return asprintf(&path, "obj/%02x/%062llx.twh1", (unsigned)(shard % 256),
		   (unsigned long long)shard) < 0
	    ? NULL
	    : path;
}

static lc_status
read_few(struct making *m)
{
	char *path = lc__path_join(m->from, "manifest.json");
	struct lc__buf text = { 0 };
	lc_status status = path != NULL ? lc__read_regular(path, UINT64_MAX >> 1, &text)
					: lc__no_memory(m->from);

	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size, path, &m->few);
	lc__buf_free(&text);
	free(path);
	return status;
}

static lc_status
link_shard(const struct making *m, const struct lc__manifest_shard *shard, const char *as)
{
	char *from = lc__path_join(m->from, shard->relative_path);
	char *to = lc__path_join(m->dir, as);
	lc_status status = LC_OK;

	if (from == NULL || to == NULL)
		status = lc__no_memory(as);
	else if (link(from, to) == -1 &&
	    !(m->files == LARGE_SET_STORED && errno == EEXIST))
		status = lc__error_sys(errno, "%s: link", to);
	free(from);
	free(to);
	return status;
}

/* Write a text below the directory. */
static lc_status
write_text(const struct making *m, const char *name, const struct lc__buf *text)
{
	char *path = lc__path_join(m->dir, name);
	const lc_status status = path != NULL
	    ? lc__write_file_atomic(path, text->data, text->size)
	    : lc__no_memory(name);

	free(path);
	return status;
}

static lc_status
make_dir(const struct making *m, const char *name)
{
	char *path = lc__path_join(m->dir, name);
	const lc_status status = path != NULL ? lc__make_dirs(path) : lc__no_memory(name);

	free(path);
	return status;
}

static lc_status
make_shard(const struct making *m, uint64_t number, struct lc__manifest_shard *out)
{
	const struct lc__manifest_shard *few = &m->few.shards[number % m->few.n];

	*out = *few;
	if (m->files != LARGE_SET_STORED)
		out->relative_path = large_set_path(number);
	else if (asprintf(&out->relative_path, "obj/%.2s/%s.twh1", few->sha256,
		     few->sha256) < 0)
		out->relative_path = NULL;
	if (out->relative_path == NULL)
		return lc__no_memory("part");
	return m->files == LARGE_SET_NONE ? LC_OK
					  : link_shard(m, few, out->relative_path);
}

/* A part of @p n shards from number @p first on. */
static lc_status
make_part(struct making *m, uint64_t first, size_t n)
{
	struct lc__manifest part = m->few;
	struct lc__manifest_part *said;
	struct lc__buf text = { 0 };
	char name[100];
	lc_status status = LC_OK;

	part.n = n;
	part.shards = calloc(n, sizeof(*part.shards));
	if (part.shards == NULL)
		return lc__no_memory("part");
	for (size_t i = 0; i < n && status == LC_OK; i++)
		status = make_shard(m, first + i, &part.shards[i]);
	if (status == LC_OK)
		status = lc__manifest_format(&part, &text);
	if (status == LC_OK)
		status = lc__array_reserve(&m->all.parts, &m->room, m->all.n_parts + 1,
		    "parts");
	if (status == LC_OK) {
		said = &m->all.parts[m->all.n_parts];
		status = lc__manifest_describe_part(&part, "part", said);
	}
	if (status == LC_OK) {
		m->all.n_parts++;
		status = lc__sha256_of(text.data, text.size, said->sha256);
	}
	if (status == LC_OK) {
		snprintf(name, sizeof(name), "part/%.2s/%s.json", said->sha256,
		    said->sha256);
		said->relative_path = strdup(name);
		said->base = strdup(".");
		*strrchr(name, '/') = '\0';
		status = said->relative_path != NULL && said->base != NULL
		    ? make_dir(m, name)
		    : lc__no_memory("part");
	}
	if (status == LC_OK)
		status = write_text(m, said->relative_path, &text);
	for (size_t i = 0; i < n; i++)
		free(part.shards[i].relative_path);
	free(part.shards);
	lc__buf_free(&text);
	return status;
}

static lc_status
make_all(struct making *m)
{
	struct lc__buf text = { 0 };
	lc_status status;

	m->all.manifest_version = LC__MANIFEST_OF_PARTS;
	m->all.version = m->few.version;
	m->all.version_recipe = m->few.version_recipe;
	m->all.default_dtype = m->few.default_dtype;
	m->all.default_shard_version = m->few.default_shard_version;
	return_if_error(lc__manifest_layout_of(&m->few, m->from, &m->all.layout));
	status = lc__manifest_format(&m->all, &text);
	if (status == LC_OK)
		status = write_text(m, "manifest.json", &text);
	lc__buf_free(&text);
	return status;
}

lc_status
large_set_make(const char *from, const char *dir, uint64_t shards,
    enum large_set_files files)
{
	struct making m = { .from = from, .dir = dir, .files = files };
	lc_status status = read_few(&m);

	for (unsigned i = 0; i < 256 && status == LC_OK; i++) {
		char name[10];

		snprintf(name, sizeof(name), "obj/%02x", i);
		status = make_dir(&m, name);
	}
	for (uint64_t at = 0; at < shards && status == LC_OK;
	    at += LC__MANIFEST_PART_MOST) {
		const uint64_t left = shards - at;

		status = make_part(&m, at,
		    left < LC__MANIFEST_PART_MOST ? (size_t)left : LC__MANIFEST_PART_MOST);
	}
	if (status == LC_OK)
		status = make_all(&m);
	lc__manifest_free(&m.few);
	lc__manifest_free(&(struct lc__manifest){ .n_parts = m.all.n_parts,
	    .parts = m.all.parts });
	return status;
}
