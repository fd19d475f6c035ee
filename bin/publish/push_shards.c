/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory of shards as parts, which are its series. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "publish/push.h"

struct set {
	char *dir;
	struct lc__manifest manifest;
	size_t *part_of; /* by shard */
};

/* The directory that the shard's path leads through: "a.shards" of "a.shards/s.twh1". */
static char *
series_of(const struct lc__manifest_shard *shard)
{
	const char *slash = strrchr(shard->relative_path, '/');

	return slash == NULL
	    ? strdup(".")
	    : strndup(shard->relative_path, (size_t)(slash - shard->relative_path));
}

/* Shards of a series follow one another; if not, it is found again. */
static lc_status
divide(struct set *set, struct lc__push_source *out)
{
	for (size_t i = 0; i < set->manifest.n; i++) {
		char *name = series_of(&set->manifest.shards[i]);
		struct lc__push_part *part;
		size_t at = out->n;
		lc_status status = name != NULL ? LC_OK : lc__no_memory(set->dir);

		while (status == LC_OK && at > 0 &&
		    strcmp(out->parts[at - 1].name, name) != 0)
			at--;
		if (status == LC_OK && at == 0) {
			status = lc__push_source_add(out, name, &part);
			at = out->n;
		}
		free(name);
		return_if_error(status);
		part = &out->parts[at - 1];
		part->finished = true;
		part->records += set->manifest.shards[i].samples;
		set->part_of[i] = at - 1;
	}
	return LC_OK;
}

static lc_status
copy_shard(const struct lc__manifest_shard *from, struct lc__manifest_shard *to)
{
	*to = *from;
	to->id = strdup(from->id);
	to->relative_path = strdup(from->relative_path);
	return to->id != NULL && to->relative_path != NULL ? LC_OK
							   : lc__no_memory("push");
}

static lc_status
make(void *ctx, const char *run, size_t part, char **dir, struct lc__manifest *out)
{
	const struct set *set = ctx;
	struct lc__manifest m = {
		.default_dtype = set->manifest.default_dtype,
		.default_shard_version = set->manifest.default_shard_version,
		.transform = strdup(set->manifest.transform),
		.shards = calloc(set->manifest.n, sizeof(*m.shards)),
	};
	lc_status status = LC_OK;

	(void)run;
	if (m.transform == NULL || m.shards == NULL)
		status = lc__no_memory("push");
	for (size_t i = 0; i < set->manifest.n && status == LC_OK; i++)
		if (set->part_of[i] == part)
			status = copy_shard(&set->manifest.shards[i], &m.shards[m.n++]);
	*dir = status == LC_OK ? strdup(set->dir) : NULL;
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

static void
close_set(void *ctx)
{
	struct set *set = ctx;

	lc__manifest_free(&set->manifest);
	free(set->part_of);
	free(set->dir);
	free(set);
}

static lc_status
read_set(struct set *set, const char *dir)
{
	return_if_error(lc__push_read_manifest(dir, &set->manifest));
	if (set->manifest.n == 0)
		return lc__error(LC_INVALID, 0, "%s: has no shards", dir);
	set->part_of = calloc(set->manifest.n, sizeof(*set->part_of));
	set->dir = strdup(dir);
	return set->part_of != NULL && set->dir != NULL ? LC_OK : lc__no_memory(dir);
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
	status = read_set(set, dir);
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
