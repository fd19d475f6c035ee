/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/setparts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"

/* What the file of a part says about a shard, except what all shards of the set share. */
struct packed {
	uint64_t bytes;           /* of the file */
	uint32_t path;            /* its offset in the paths, or NAMED */
	uint8_t version;          /* version of the shard's header, 1 or 2 */
	bool has_bytes : 1;       /* bytes is valid */
	bool has_sha256 : 1;      /* digest is the SHA-256 */
	bool has_xxh3 : 1;        /* it begins with the XXH3 instead */
	bool has_section : 1;     /* section is valid */
	bool big_endian : 1;      /* it says so */
	unsigned char digest[32]; /* of the file */
	unsigned char section[8]; /* XXH3 that ends its checksum section */
};
#define NAMED UINT32_MAX /* its path is derived from its SHA-256, as in a store */

/* The shards of a part that was read. */
struct packed_part {
	char *name;            /* their sources, according to their manifest */
	char *paths;           /* with terminators */
	struct packed items[]; /* as many as the set's manifest says */
};

/* A part: the position of its shards, and what its file says about them. */
struct lc__setpart {
	size_t first;                         /* its first shard in the set */
	_Atomic(struct packed_part *) shards; /* NULL until it is read */
	char *path;                           /* path of the part's manifest */
	char *dir;                            /* to which its shards' paths are relative
	                                       * */
};

static void
free_packed(struct packed_part *part)
{
	if (part != NULL) {
		free(part->name);
		free(part->paths);
	}
	free(part);
}

/* ---- opening ---------------------------------------------------------------- */

static lc_status
too_many(const struct lc__setparts *set)
{
	return lc__error(LC_CORRUPT, 0, "%s: too many samples", set->dir);
}

static lc_status
count_shards(struct lc__setparts *set)
{
	const struct lc__manifest *m = set->manifest;

	for (size_t i = 0; i < m->n; i++)
		if (!lc__add64(set->first[i], m->shards[i].samples, &set->first[i + 1]) ||
		    set->first[i + 1] > INT64_MAX)
			return too_many(set);
	return LC_OK;
}

static lc_status
count_parts(struct lc__setparts *set)
{
	const struct lc__manifest *m = set->manifest;
	size_t i = 0;

	set->parts = calloc(m->n_parts + 1, sizeof(*set->parts));
	if (set->parts == NULL)
		return lc__no_memory(set->dir);
	for (size_t p = 0; p < m->n_parts; p++) {
		const struct lc__manifest_part *said = &m->parts[p];
		struct lc__setpart *part = &set->parts[p];
		const char *counts = said->counts;
		uint64_t samples, n;

		part->first = i;
		part->path = lc__path_join(set->dir, said->relative_path);
		part->dir = lc__manifest_part_base(set->dir, said);
		if (part->path == NULL || part->dir == NULL)
			return lc__no_memory(set->dir);
		/* lc__manifest_parse_any() has compared shards and counts. */
		while (lc__manifest_counts_next(&counts, &samples, &n))
			for (; n > 0; n--, i++)
				set->first[i + 1] = set->first[i] + samples;
	}
	set->parts[m->n_parts].first = i;
	return LC_OK;
}

lc_status
lc__setparts_open(const char *dir, const struct lc__manifest *manifest,
    struct lc__setparts *out)
{
	const bool of_parts = manifest->manifest_version == LC__MANIFEST_OF_PARTS;

	out->manifest = manifest;
	out->n = manifest->n;
	for (size_t p = 0; p < manifest->n_parts; p++)
		out->n += (size_t)manifest->parts[p].shards;
	out->dir = strdup(dir);
	out->first = calloc(out->n + 1, sizeof(*out->first));
	if (out->dir == NULL || out->first == NULL)
		return lc__no_memory(dir);
	return of_parts ? count_parts(out) : count_shards(out);
}

void
lc__setparts_close(struct lc__setparts *set)
{
	for (size_t p = 0; set->parts != NULL && p < set->manifest->n_parts; p++) {
		struct lc__setpart *part = &set->parts[p];

		free_packed(atomic_load(&part->shards));
		free(part->path);
		free(part->dir);
	}
	free(set->parts);
	free(set->first);
	free(set->dir);
	memset(set, 0, sizeof(*set));
}

/* ---- parts ------------------------------------------------------------------ */

size_t
lc__setparts_part_of(const struct lc__setparts *set, size_t i, size_t *place)
{
	size_t low = 0, high = set->manifest->n_parts - 1;

	/* The last part that begins at or before it, skipping those without shards. */
	while (low < high) {
		const size_t middle = high - (high - low) / 2;

		if (set->parts[middle].first <= i)
			low = middle;
		else
			high = middle - 1;
	}
	*place = i - set->parts[low].first;
	return low;
}

/* ---- shards of parts -------------------------------------------------------- */

/* Digits that lc__manifest_parse() has checked. */
static void
take_hex(const char *hex, unsigned char *out)
{
	for (; hex[0] != '\0'; hex += 2) {
		const int high = hex[0] <= '9' ? hex[0] - '0' : hex[0] - 'a' + 10;
		const int low = hex[1] <= '9' ? hex[1] - '0' : hex[1] - 'a' + 10;

		*out++ = (unsigned char)(high << 4 | low);
	}
}

static void
put_hex(const unsigned char *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

/* The name of a shard in a store: cachex-store(5). */
static void
name_object(const char *sha256, struct lc__said *out)
{
	snprintf(out->path, sizeof(out->path), "obj/%.2s/%s.twh1", sha256, sha256);
}

static lc_status
pack(const struct lc__manifest_shard *said, struct lc__buf *paths, struct packed *out)
{
	struct lc__said named;

	*out = (struct packed){
		.bytes = said->bytes,
		.path = NAMED,
		.version = (uint8_t)said->shard_version,
		.has_bytes = said->has_bytes,
		.has_sha256 = said->sha256[0] != '\0',
		.has_xxh3 = said->sha256[0] == '\0' && said->xxh3[0] != '\0',
		.has_section = said->section_xxh3[0] != '\0',
		.big_endian = said->big_endian,
	};
	take_hex(out->has_sha256 ? said->sha256 : said->xxh3, out->digest);
	take_hex(said->section_xxh3, out->section);
	name_object(said->sha256, &named);
	if (strcmp(said->relative_path, named.path) == 0)
		return LC_OK;
	if (paths->size >= NAMED)
		return lc__error(LC_CORRUPT, 0, "%s: paths are too long",
		    said->relative_path);
	out->path = (uint32_t)paths->size;
	lc__buf_append(paths, said->relative_path, strlen(said->relative_path) + 1);
	return paths->failed ? lc__no_memory(said->relative_path) : LC_OK;
}

/* A supplier has its file only for a while; it may be damaged, or be removed again. */
static lc_status
read_manifest(const struct lc__setparts *set, size_t p, struct lc__manifest *out)
{
	const struct lc__manifest_part *said = &set->manifest->parts[p];
	lc_status status = LC_OK;

	for (int i = 0; i < 3; i++) {
		if (set->supplier != NULL)
			status = set->supplier->part(set->supplier, said, i > 0);
		if (status == LC_OK)
			status = lc__manifest_read_part(set->manifest, said,
			    set->parts[p].path, out);
		if (status != LC_CORRUPT || set->supplier == NULL)
			break;
	}
	return status;
}

static lc_status
read_part(const struct lc__setparts *set, size_t p, struct packed_part **out)
{
	const char *path = set->parts[p].path;
	struct packed_part *packed;
	struct lc__buf paths = { 0 };
	struct lc__manifest m;
	lc_status status;

	return_if_error(read_manifest(set, p, &m));
	packed = malloc(sizeof(*packed) + m.n * sizeof(packed->items[0]));
	status = packed != NULL ? LC_OK : lc__no_memory(path);
	for (size_t i = 0; i < m.n && status == LC_OK; i++)
		status = pack(&m.shards[i], &paths, &packed->items[i]);
	if (status == LC_OK) {
		packed->name = strdup(m.dataset_root);
		if (packed->name == NULL)
			status = lc__no_memory(path);
	}
	lc__manifest_free(&m);
	if (status != LC_OK) {
		lc__buf_free(&paths);
		free(packed);
		return status;
	}
	packed->paths = (char *)paths.data;
	*out = packed;
	return LC_OK;
}

/* If several threads need it at once, each reads it; one result is kept. */
static lc_status
load_part(const struct lc__setparts *set, size_t p, const struct packed_part **out)
{
	struct lc__setpart *part = &set->parts[p];
	struct packed_part *shards = atomic_load_explicit(&part->shards,
	    memory_order_acquire);
	struct packed_part *before = NULL;

	if (shards == NULL) {
		return_if_error(read_part(set, p, &shards));
		if (!atomic_compare_exchange_strong_explicit(&part->shards, &before,
			shards, memory_order_acq_rel, memory_order_acquire)) {
			free_packed(shards);
			shards = before;
		}
	}
	*out = shards;
	return LC_OK;
}

static void
unpack(const struct lc__setparts *set, size_t i, const struct packed_part *part,
    const struct packed *packed, struct lc__said *out)
{
	const struct lc__manifest_layout *l = &set->manifest->layout;
	struct lc__manifest_shard *said = &out->shard;

	*said = (struct lc__manifest_shard){
		.shard_version = packed->version,
		.samples = lc__setparts_samples(set, i),
		.width = l->width,
		.height = l->height,
		.channels = l->channels,
		.max_boxes = l->max_boxes,
		.dtype = l->dtype,
		.boxes_dtype = l->boxes_dtype,
		.big_endian = packed->big_endian,
		.has_bytes = packed->has_bytes,
		.bytes = packed->bytes,
	};
	if (packed->has_sha256)
		put_hex(packed->digest, 32, said->sha256);
	if (packed->has_xxh3)
		put_hex(packed->digest, 16, said->xxh3);
	if (packed->has_section)
		put_hex(packed->section, 8, said->section_xxh3);
	if (packed->path == NAMED)
		name_object(said->sha256, out);
	said->relative_path = packed->path == NAMED ? out->path
						    : part->paths + packed->path;
}

lc_status
lc__setparts_said(const struct lc__setparts *set, size_t i, struct lc__said *out)
{
	const struct packed_part *part;
	size_t p, place;

	if (set->parts == NULL) {
		out->shard = set->manifest->shards[i];
		out->dir = set->dir;
		return LC_OK;
	}
	p = lc__setparts_part_of(set, i, &place);
	return_if_error(load_part(set, p, &part));
	out->dir = set->parts[p].dir;
	unpack(set, i, part, &part->items[place], out);
	return LC_OK;
}

const char *
lc__setparts_name(const struct lc__setparts *set, size_t i)
{
	const struct packed_part *part;
	size_t place;

	if (set->parts == NULL)
		return set->manifest->dataset_root;
	part =
	    atomic_load_explicit(&set->parts[lc__setparts_part_of(set, i, &place)].shards,
		memory_order_acquire);
	return part == NULL ? NULL : part->name;
}

struct lc__manifest_layout
lc__setparts_layout(const struct lc__setparts *set, size_t i)
{
	return set->parts != NULL ? set->manifest->layout
				  : lc__manifest_shard_layout(&set->manifest->shards[i]);
}
