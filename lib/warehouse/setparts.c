/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/setparts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"

/* A part: where its shards begin, and what its file says of them. */
struct lc__setpart {
	size_t first;                            /* its first shard in the set */
	_Atomic(struct lc__manifest *) manifest; /* NULL until it is read */
	char *path;                              /* of its file */
	char *dir;                               /* that its shards' paths start from */
};

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
		struct lc__manifest *m = atomic_load(&part->manifest);

		if (m != NULL)
			lc__manifest_free(m);
		free(m);
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

	/* The last part that begins at or before it; those without shards are passed. */
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

/* Threads that need it at once each read it; one of them keeps it. */
static lc_status
load_part(const struct lc__setparts *set, size_t p, const struct lc__manifest **out)
{
	struct lc__setpart *part = &set->parts[p];
	struct lc__manifest *m = atomic_load_explicit(&part->manifest,
	    memory_order_acquire);
	struct lc__manifest *before = NULL;
	lc_status status;

	if (m != NULL) {
		*out = m;
		return LC_OK;
	}
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return lc__no_memory(part->path);
	status = lc__manifest_read_part(set->manifest, &set->manifest->parts[p],
	    part->path, m);
	if (status != LC_OK) {
		free(m);
		return status;
	}
	if (!atomic_compare_exchange_strong_explicit(&part->manifest, &before, m,
		memory_order_acq_rel, memory_order_acquire)) {
		lc__manifest_free(m);
		free(m);
		m = before;
	}
	*out = m;
	return LC_OK;
}

lc_status
lc__setparts_said(const struct lc__setparts *set, size_t i,
    const struct lc__manifest_shard **said, const char **dir)
{
	const struct lc__manifest *m = set->manifest;
	size_t p, place = i;

	*dir = set->dir;
	if (set->parts != NULL) {
		p = lc__setparts_part_of(set, i, &place);
		*dir = set->parts[p].dir;
		return_if_error(load_part(set, p, &m));
	}
	*said = &m->shards[place];
	return LC_OK;
}

struct lc__manifest_layout
lc__setparts_layout(const struct lc__setparts *set, size_t i)
{
	return set->parts != NULL ? set->manifest->layout
				  : lc__manifest_shard_layout(&set->manifest->shards[i]);
}
