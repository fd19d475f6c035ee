/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/sha256.h"
#include "shard/digest.h"
#include "shard/outdir.h"
#include "shard/plan.h"
#include "shard/workers.h"

/* A build on its way. */
struct building {
	const struct lc__build *build;
	struct lc__plan plan;
	struct lc__outdir dir;
	struct lc__manifest manifest; /* shards[i] is plan.shards[i]; a sha256 says
	                                 that it is done, or was by an earlier run */
	bool resumed;                 /* the state file is of this same build */
	pthread_mutex_t lock;         /* guards manifest and reused */
	uint64_t reused;              /* shards found whole */
};

/* ---- what is to be --------------------------------------------------------- */

static lc_status
describe_shard(const struct lc__plan_shard *planned, uint64_t i,
    struct lc__manifest_shard *out)
{
	const lc_shard_info *info = &planned->info;
	char name[40];

	out->relative_path = strdup(lc__shard_name(i, name));
	name[strlen(name) - strlen(LC__SHARD_SUFFIX)] = '\0';
	out->id = strdup(name);
	out->shard_version = info->version;
	out->samples = info->samples;
	out->width = info->width;
	out->height = info->height;
	out->channels = info->channels;
	out->max_boxes = info->max_boxes;
	out->dtype = info->dtype;
	out->has_bytes = true;
	out->bytes = info->file_size;
	if (out->id == NULL || out->relative_path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	return LC_OK;
}

static lc_status
describe_all(struct building *b)
{
	const struct lc__build *build = b->build;
	struct lc__manifest *m = &b->manifest;

	m->shards = calloc(b->plan.n, sizeof(*m->shards));
	if (m->shards == NULL)
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	for (m->n = 0; m->n < b->plan.n; m->n++)
		return_if_error(describe_shard(&b->plan.shards[m->n], m->n,
		    &m->shards[m->n]));
	m->dataset_root = build->about->dataset_root;
	m->transform = build->about->transform;
	m->code_version = build->about->code_version;
	m->thresholds = build->about->thresholds;
	m->summary = build->about->summary;
	m->default_dtype = build->series[0].form->dtype;
	m->default_shard_version = build->series[0].form->version;
	m->manifest_version = LC__MANIFEST_VERSION;
	return LC_OK;
}

/* Give the borrowed strings back before the rest is freed. */
static void
forget_all(struct building *b)
{
	struct lc__manifest *m = &b->manifest;

	m->dataset_root = m->transform = m->code_version = NULL;
	m->thresholds = m->summary = NULL;
	/* A shard whose description failed half-way is behind the last counted. */
	if (m->shards != NULL && m->n < b->plan.n)
		m->n++;
	lc__manifest_free(m);
}

/* ---- what is there --------------------------------------------------------- */

/* The manifest that stands there, if any. Someone else's manifest.json is not
 * ours to replace. */
static lc_status
read_old_manifest(const struct building *b, struct lc__manifest *old)
{
	struct lc__buf text = { 0 };
	lc_status status = lc__outdir_read(&b->dir, LC__MANIFEST_NAME, &text);

	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size,
		    LC__MANIFEST_NAME, old);
	else if (status == LC_NOT_FOUND)
		status = LC_OK;
	if (status == LC_CORRUPT || status == LC_NOT_MODULE || status == LC_VERSION)
		status = lc__error(LC_INVALID, 0,
		    "%s: will not replace what is no manifest of shards: %s",
		    b->dir.path, strdupa(lc_last_error()->text));
	lc__buf_free(&text);
	return status;
}

static bool
names(const struct lc__manifest *manifest, const char *path)
{
	for (size_t i = 0; i < manifest->n; i++)
		if (strcmp(manifest->shards[i].relative_path, path) == 0)
			return true;
	return false;
}

/* Take over what an interrupted run of this same build noted. A state file that
 * is damaged or of another build is as good as none. */
static void
read_state(struct building *b)
{
	struct lc__manifest old = { 0 };
	struct lc__buf text = { 0 };

	if (lc__outdir_read(&b->dir, LC__STATE_NAME, &text) == LC_OK &&
	    lc__manifest_parse(text.data, text.size, LC__STATE_NAME, &old) ==
	        LC_OK && old.export_state != NULL &&
	    strcmp(old.export_state, b->build->state) == 0) {
		b->resumed = true;
		for (size_t i = 0, j = 0; i < old.n; i++) {
			/* Both are in the order of the shards. */
			while (j < b->manifest.n &&
			    strcmp(b->manifest.shards[j].id, old.shards[i].id) != 0)
				j++;
			if (j < b->manifest.n)
				strcpy(b->manifest.shards[j].sha256,
				    old.shards[i].sha256);
		}
	}
	lc__manifest_free(&old);
	lc__buf_free(&text);
}

/* Whether a file is a shard that an earlier run of this build finished. */
static bool
keeps(const struct building *b, const struct lc__outfile *file)
{
	return file->kind == LC__OUT_SHARD && file->number < b->plan.n &&
	    b->manifest.shards[file->number].sha256[0] != '\0' &&
	    file->size == b->plan.shards[file->number].info.file_size;
}

/* A shard of unknown origin would spoil the directory, and may be precious. */
static lc_status
check_strangers(const struct building *b, const struct lc__manifest *old)
{
	for (size_t i = 0; i < b->dir.n; i++) {
		const struct lc__outfile *file = &b->dir.files[i];
		if (file->kind == LC__OUT_OTHER && !names(old, file->name))
			return lc__error(LC_INVALID, 0,
			    "%s: holds %s, which no export here has written",
			    b->dir.path, file->name);
	}
	return LC_OK;
}

/* Before anything is removed: an export that cannot fit leaves the old one. */
static lc_status
check_space(const struct building *b)
{
	uint64_t needed = b->plan.bytes, room;
	struct statvfs fs;

	if (fstatvfs(b->dir.fd, &fs) == -1)
		return lc__error_sys(errno, "%s: statvfs", b->dir.path);
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	for (size_t i = 0; i < b->dir.n; i++) {
		if (keeps(b, &b->dir.files[i]))
			needed -= b->dir.files[i].size;
		else
			room += b->dir.files[i].disk;
	}
	if (needed <= room)
		return LC_OK;
	return lc__error(LC_NO_SPACE, 0,
	    "%s: the shards need %llu bytes, %llu are free", b->dir.path,
	    (unsigned long long)needed, (unsigned long long)room);
}

static lc_status
sync_dir(const struct building *b)
{
	return lc__sync_dir(b->dir.path);
}

/* The manifest first, for it names what is about to go. */
static lc_status
clear(const struct building *b)
{
	return_if_error(lc__outdir_remove(&b->dir, LC__MANIFEST_NAME));
	if (!b->resumed)
		return_if_error(lc__outdir_remove(&b->dir, LC__STATE_NAME));
	return_if_error(sync_dir(b));
	for (size_t i = 0; i < b->dir.n; i++)
		if (!keeps(b, &b->dir.files[i]))
			return_if_error(lc__outdir_remove(&b->dir,
			    b->dir.files[i].name));
	return LC_OK;
}

static lc_status
prepare(struct building *b)
{
	struct lc__manifest old = { 0 };
	lc_status status;

	return_if_error(lc__outdir_scan(&b->dir));
	return_if_error(read_old_manifest(b, &old));
	status = check_strangers(b, &old);
	lc__manifest_free(&old);
	return_if_error(status);
	read_state(b);
	return_if_error(check_space(b));
	return clear(b);
}

/* ---- one shard ------------------------------------------------------------- */

static lc_status
step(void *workers, uint64_t bytes)
{
	return lc__workers_step(workers, bytes);
}

/* Compare a file with what an earlier run noted of it. */
static lc_status
recheck(struct lc__workers *workers, uint64_t i, const char *path, bool *whole)
{
	const struct building *b = workers->ctx;
	char sha256[65];
	lc_status status;

	*whole = false;
	for (size_t f = 0; f < b->dir.n; f++)
		if (b->dir.files[f].number == i && keeps(b, &b->dir.files[f]))
			*whole = true;
	if (!*whole)
		return LC_OK;
	status = lc__file_sha256(path, workers, sha256);
	*whole = status == LC_OK &&
	    strcmp(sha256, b->manifest.shards[i].sha256) == 0;
	return status == LC_NOT_FOUND ? LC_OK : status;
}

/* Note in the state file every shard that is done. Holds the lock. */
static lc_status
write_state(struct building *b)
{
	struct lc__manifest done = b->manifest;
	struct lc__buf text = { 0 };
	lc_status status;

	done.shards = calloc(b->manifest.n, sizeof(*done.shards));
	if (done.shards == NULL)
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	done.n = 0;
	for (size_t i = 0; i < b->manifest.n; i++)
		if (b->manifest.shards[i].sha256[0] != '\0')
			done.shards[done.n++] = b->manifest.shards[i];
	done.export_state = (char *)b->build->state;
	status = lc__manifest_format(&done, &text);
	if (status == LC_OK)
		status = lc__outdir_write(&b->dir, LC__STATE_NAME, &text);
	free(done.shards);
	lc__buf_free(&text);
	return status;
}

static lc_status
write_shard(struct lc__workers *workers, uint64_t i, const char *path)
{
	struct building *b = workers->ctx;
	const struct lc__plan_shard *planned = &b->plan.shards[i];
	const struct lc__shard_job job = { path, planned->info, planned->first,
		planned->row_bytes, b->build->series[0].source, step, workers };
	char sha256[65];
	lc_status status;

	return_if_error(lc__shard_write(&job, sha256));
	pthread_mutex_lock(&b->lock);
	strcpy(b->manifest.shards[i].sha256, sha256);
	status = write_state(b);
	pthread_mutex_unlock(&b->lock);
	return status;
}

static lc_status
reuse_or_write(struct lc__workers *workers, uint64_t i, const char *path)
{
	struct building *b = workers->ctx;
	bool whole;

	return_if_error(recheck(workers, i, path, &whole));
	pthread_mutex_lock(&b->lock);
	if (whole)
		b->reused++;
	else
		b->manifest.shards[i].sha256[0] = '\0';
	pthread_mutex_unlock(&b->lock);
	return whole ? LC_OK : write_shard(workers, i, path);
}

static lc_status
do_shard(struct lc__workers *workers, uint64_t i)
{
	const struct building *b = workers->ctx;
	char name[40], *path;
	lc_status status;

	path = lc__path_join(b->dir.path, lc__shard_name(i, name));
	if (path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	status = reuse_or_write(workers, i, path);
	free(path);
	return status;
}

/* ---- all of it ------------------------------------------------------------- */

static lc_status
hash_hex(const struct lc__buf *text, char out[65])
{
	struct lc__sha256 *sha = lc__sha256_new();
	lc_status status;

	if (sha == NULL || text->failed) {
		lc__sha256_free(sha);
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	}
	status = lc__sha256_update(sha, text->data, text->size);
	if (status == LC_OK)
		status = lc__sha256_hex(sha, out);
	lc__sha256_free(sha);
	return status;
}

/* The content is known by its shards; with the options it makes the version. */
static lc_status
make_version(struct building *b)
{
	struct lc__manifest *m = &b->manifest;
	struct lc__buf all = { 0 }, recipe = { 0 };
	char content[65], version[65];
	lc_status status;

	for (size_t i = 0; i < m->n; i++)
		lc__buf_append(&all, m->shards[i].sha256, 64);
	status = hash_hex(&all, content);
	lc__buf_free(&all);
	return_if_error(status);
	lc__buf_printf(&recipe, "{\"options\":%s,\"content_sha256\":\"%s\"}",
	    b->build->recipe, content);
	status = hash_hex(&recipe, version);
	lc__buf_append(&recipe, "", 1);
	m->version_recipe = (char *)recipe.data;
	return_if_error(status);
	m->version = strdup(version);
	if (recipe.failed || m->version == NULL)
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	m->created_at_ms = lc__clock_wall_ms();
	return LC_OK;
}

static lc_status
finish(struct building *b)
{
	struct lc__buf text = { 0 };
	lc_status status;

	return_if_error(make_version(b));
	return_if_error(sync_dir(b));
	status = lc__manifest_format(&b->manifest, &text);
	if (status == LC_OK)
		status = lc__outdir_write(&b->dir, LC__MANIFEST_NAME, &text);
	lc__buf_free(&text);
	return_if_error(status);
	return_if_error(lc__outdir_remove(&b->dir, LC__STATE_NAME));
	return sync_dir(b);
}

static lc_status
write_all(struct building *b)
{
	struct lc__workers workers = { .job = do_shard, .ctx = b,
		.jobs = b->plan.n, .total = b->plan.bytes,
		.progress = b->build->progress };

	return_if_error(lc__outdir_lock(b->build->dir, &b->dir));
	return_if_error(prepare(b));
	if (lc__workers_run(&workers, b->build->threads) != LC_OK)
		return lc_last_error()->status == LC_CANCELLED ?
		    lc__error(LC_CANCELLED, 0, "%s: export cancelled", b->dir.path) :
		    lc_last_error()->status;
	return finish(b);
}

lc_status
lc__build_run(const struct lc__build *build, lc_export_result *out)
{
	struct building b = { .build = build, .dir = { .fd = -1 } };
	lc_status status;

	if (build->n_series != 1 || build->series[0].path[0] != '\0')
		return lc__error(LC_UNSUPPORTED, 0, "export: one series only");
	return_if_error(lc__plan_make(build->series[0].form, build->metadata,
	    build->series[0].source, build->series[0].samples,
	    build->shard_bytes, &b.plan));
	pthread_mutex_init(&b.lock, NULL);
	status = describe_all(&b);
	if (status == LC_OK && !build->dry_run)
		status = write_all(&b);
	if (status == LC_OK)
		*out = (lc_export_result){ b.plan.n, b.reused, build->series[0].samples,
			b.plan.bytes };
	lc__outdir_close(&b.dir);
	forget_all(&b);
	pthread_mutex_destroy(&b.lock);
	lc__plan_free(&b.plan);
	return status;
}
