/* SPDX-License-Identifier: BSD-2-Clause */
/* Which shards a path means. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "stream/source_shards.h"

/* ---- of a manifest ---------------------------------------------------------------- */

static lc_status
open_warehouse(struct lc__shards_source *s, const char *path,
    const lc_source_options *how)
{
	lc_warehouse_options options;

	lc_warehouse_options_init(&options);
	options.verify = s->source.verify ? LC_VERIFY_LAZY : LC_VERIFY_NONE;
	options.sources = how->sources;
	options.dataset = how->dataset;
	options.ignore_thresholds = how->ignore_thresholds;
	options.progress = how->progress;
	return_if_error(lc_warehouse_open(path, &options, &s->warehouse));
	s->set = &s->warehouse->set;
	s->said = s->warehouse->manifest.shards;
	return LC_OK;
}

/* Bytes of the directory that a shard stands in, from the manifest's; 0 for that. */
static size_t
dir_size(const struct lc__manifest_shard *said)
{
	const char *slash = strrchr(said->relative_path, '/');

	return slash == NULL ? 0 : (size_t)(slash - said->relative_path);
}

static lc_status
take_all(struct lc__shards_source *s)
{
	s->first = 0;
	s->n = s->set->n;
	return LC_OK;
}

/* ---- of one series ------------------------------------------------------------------ */

/* A directory's own name and the path of the one that it is in. */
static lc_status
split(const char *path, char **parent, char **name)
{
	char *whole = realpath(path, NULL);
	char *slash = whole == NULL ? NULL : strrchr(whole, '/');

	if (slash == NULL || slash[1] == '\0') {
		free(whole);
		return lc__error(LC_NOT_MODULE, 0, "%s: no manifest.json in it, and "
		    "it is no series of a warehouse", path);
	}
	*name = strdup(slash + 1);
	slash[slash == whole] = '\0';
	*parent = whole;
	if (*name != NULL)
		return LC_OK;
	free(whole);
	return lc__no_memory(path);
}

static bool
stands_in(const struct lc__manifest_shard *said, const char *name)
{
	return dir_size(said) == strlen(name) &&
	    strncmp(said->relative_path, name, strlen(name)) == 0;
}

static bool
same_shape(const lc_shard_info *a, const lc_shard_info *b)
{
	return a->channels == b->channels && a->height == b->height &&
	    a->width == b->width;
}

/* Shards of a series follow each other in the manifest; false if there are none that
 * stand there, or if they are no series. */
static bool
take_series(struct lc__shards_source *s, const char *name)
{
	size_t first = 0, end;

	while (first < s->set->n && !stands_in(&s->said[first], name))
		first++;
	for (end = first; end < s->set->n && stands_in(&s->said[end], name); end++)
		if (!same_shape(&s->set->shards[end].twh1.info,
		    &s->set->shards[first].twh1.info))
			return false;
	s->first = first;
	s->n = end - first;
	return s->n > 0;
}

static lc_status
find_series(struct lc__shards_source *s, const char *path,
    const lc_source_options *how)
{
	char *parent = NULL, *name = NULL;
	lc_status status;

	return_if_error(split(path, &parent, &name));
	status = open_warehouse(s, parent, how);
	if (status == LC_OK && !take_series(s, name))
		status = lc__error(LC_NOT_MODULE, 0, "%s: is no series of %s", path,
		    parent);
	else if (status == LC_NOT_MODULE)
		status = lc__error(LC_NOT_MODULE, 0, "%s: no manifest.json in it, and "
		    "it is no series of a warehouse", path);
	free(parent);
	free(name);
	return status;
}

/* ---- a shard alone ------------------------------------------------------------------- */

/* What a manifest would say of it, but for checksums: it has its own, or none. */
static lc_status
imagine_manifest(struct lc__shards_source *s, const lc_shard_info *info,
    const char *path)
{
	struct lc__manifest_shard *said = calloc(1, sizeof(*said));

	if (said == NULL)
		return lc__no_memory(path);
	s->manifest.shards = said;
	s->manifest.n = 1;
	said->relative_path = strdup(strrchr(path, '/') == NULL ? path :
	    strrchr(path, '/') + 1);
	if (said->relative_path == NULL)
		return lc__no_memory(path);
	said->shard_version = info->version;
	said->samples = info->samples;
	said->width = info->width;
	said->height = info->height;
	said->channels = info->channels;
	said->max_boxes = info->max_boxes;
	said->dtype = info->dtype;
	said->boxes_dtype = info->boxes_dtype;
	return LC_OK;
}

static lc_status
open_alone(struct lc__shards_source *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == NULL ? strdup(".") :
	    strndup(path, slash == path ? 1 : (size_t)(slash - path));
	lc_status status;

	if (dir == NULL)
		return lc__no_memory(path);
	s->alone.mode = LC_WAREHOUSE_MAP;
	s->alone.verify = s->source.verify ? LC_VERIFY_LAZY : LC_VERIFY_NONE;
	s->set = &s->alone;
	status = lc__shardset_open(s->set, dir, &s->manifest, NULL);
	free(dir);
	s->said = s->manifest.shards;
	s->first = 0;
	s->n = 1;
	return status;
}

static lc_status
find_alone(struct lc__shards_source *s, const char *path)
{
	lc_shard *shard;
	lc_status status;

	return_if_error(lc_shard_open(path, &shard));
	status = imagine_manifest(s, lc_shard_info_of(shard), path);
	lc_shard_close(shard);
	return status != LC_OK ? status : open_alone(s, path);
}

/* ---- any of them ---------------------------------------------------------------------- */

lc_status
lc__shards_find(struct lc__shards_source *s, const char *path,
    const lc_source_options *how)
{
	struct stat st;
	lc_status status;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return find_alone(s, path);
	status = open_warehouse(s, path, how);
	if (status == LC_NOT_MODULE)
		return find_series(s, path, how);
	return status != LC_OK ? status : take_all(s);
}

void
lc__shards_close(struct lc__shards_source *s)
{
	lc_warehouse_close(s->warehouse);
	lc__shardset_close(&s->alone);
	lc__manifest_free(&s->manifest);
}
