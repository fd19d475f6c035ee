/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/team.h"
#include "shard/building.h"
#include "shard/digest.h"
#include "shard/reader.h"
#include "shard/writer.h"

/* ---- the intended result --------------------------------------------------------- */

static lc_status
describe_shard(const struct lc__plan_shard *planned, struct lc__manifest_shard *out)
{
	const lc_shard_info *info = &planned->info;
	const char *sub = planned->series->path;
	char name[40];

	/* "shard-000000.twh1" in the directory of the series */
	if (asprintf(&out->relative_path, "%s%s%s", sub, *sub ? "/" : "",
		lc__shard_name(planned->number, name)) < 0) {
		out->relative_path = NULL;
		return lc__no_memory("export");
	}
	out->id = strndup(out->relative_path,
	    strlen(out->relative_path) - strlen(LC__SHARD_SUFFIX));
	out->shard_version = info->version;
	out->samples = info->samples;
	out->width = info->width;
	out->height = info->height;
	out->channels = info->channels;
	out->max_boxes = info->max_boxes;
	out->dtype = info->dtype;
	out->boxes_dtype = info->boxes_dtype;
	out->has_bytes = true;
	out->bytes = info->file_size;
	strcpy(out->samples_hash, planned->samples_hash);
	if (out->id == NULL)
		return lc__no_memory("export");
	return LC_OK;
}

static lc_status
describe_all(struct lc__building *b)
{
	const struct lc__build *build = b->build;
	struct lc__manifest *m = &b->manifest;

	b->kept = calloc(b->plan.n, sizeof(*b->kept));
	m->shards = calloc(b->plan.n, sizeof(*m->shards));
	if (m->shards == NULL || b->kept == NULL)
		return lc__no_memory("export");
	for (m->n = 0; m->n < b->plan.n; m->n++)
		return_if_error(describe_shard(&b->plan.shards[m->n], &m->shards[m->n]));
	m->dataset_root = build->about->dataset_root;
	m->transform = build->about->transform;
	m->code_version = build->about->code_version;
	m->thresholds = build->about->thresholds;
	m->summary = build->about->summary;
	m->warehouse = build->about->warehouse;
	if (build->about->version != NULL) {
		m->version = build->about->version;
		m->version_recipe = build->about->version_recipe;
	}
	m->default_dtype = build->series[0].form->dtype;
	m->default_shard_version = build->series[0].form->version;
	m->manifest_version = LC__MANIFEST_VERSION;
	return LC_OK;
}

/* Give the borrowed strings back before the rest is freed. */
static void
forget_all(struct lc__building *b)
{
	struct lc__manifest *m = &b->manifest;

	m->dataset_root = m->transform = m->code_version = NULL;
	m->thresholds = m->summary = m->warehouse = NULL;
	if (b->build->about->version != NULL)
		m->version = m->version_recipe = NULL;
	/* A shard that could not be described completely comes after the last one
	 * counted. */
	if (m->shards != NULL && m->n < b->plan.n)
		m->n++;
	lc__manifest_free(m);
}

/* ---- one shard ------------------------------------------------------------- */

static lc_status
step(void *team, uint64_t bytes)
{
	return lc__team_step(team, bytes);
}

static void
set_digest(struct lc__building *b, uint64_t i, const struct lc__digest_text *text)
{
	strcpy(b->manifest.shards[i].sha256, text->sha256);
	strcpy(b->manifest.shards[i].xxh3, text->xxh3);
}

/* Compare a file with the record of an earlier run. */
static lc_status
recheck(struct lc__team *team, uint64_t i, const char *path, bool *whole)
{
	const struct lc__building *b = team->ctx;
	const struct lc__manifest_shard *noted = &b->manifest.shards[i];
	struct lc__digest_text text;
	lc_status status;

	*whole = false;
	if (!b->kept[i])
		return LC_OK;
	status = lc__file_digest(path, b->build->no_sha256, team, &text);
	*whole = status == LC_OK && strcmp(text.sha256, noted->sha256) == 0 &&
	    strcmp(text.xxh3, noted->xxh3) == 0;
	if (!*whole)
		lc__team_again(team, noted->bytes);
	return status == LC_NO_FILE ? LC_OK : status;
}

/* Take over a shard of the older build. */
static lc_status
take_older(struct lc__team *team, uint64_t i, const char *path,
    struct lc__digest_text *out, bool *taken)
{
	const struct lc__building *b = team->ctx;
	const struct lc__manifest_shard *there = lc__reuse_find(&b->older,
	    &b->manifest.shards[i], b->build->no_sha256);

	*taken = false;
	if (there == NULL)
		return LC_OK;
	strcpy(b->build->no_sha256 ? out->xxh3 : out->sha256,
	    b->build->no_sha256 ? there->xxh3 : there->sha256);
	return lc__reuse_take(b->older.dir, there, &b->plan.shards[i].info, path, team,
	    taken);
}

/* Take over a packed shard. */
static lc_status
take_packed(struct lc__team *team, uint64_t i, const char *path,
    struct lc__digest_text *out, bool *taken)
{
	const struct lc__building *b = team->ctx;
	const struct lc__plan_shard *planned = &b->plan.shards[i];
	struct lc__manifest_shard there = { .id = NULL };
	struct lc__digest_text text;

	*taken = false;
	there.relative_path = (char *)(uintptr_t)lc__packed_find(&b->packed,
	    planned->samples_hash, there.sha256);
	if (there.relative_path == NULL)
		return LC_OK;
	strcpy(out->sha256, there.sha256);
	return_if_error(
	    lc__reuse_take(b->packed.dir, &there, &planned->info, path, team, taken));
	if (!*taken || !b->build->reread)
		return LC_OK;
	lc__team_again(team, planned->info.file_size);
	return_if_error(lc__file_digest(path, false, team, &text));
	*taken = strcmp(text.sha256, there.sha256) == 0;
	return LC_OK;
}

static struct lc__shard_job
job_of(struct lc__team *team, uint64_t i, const char *path)
{
	const struct lc__building *b = team->ctx;
	const struct lc__plan_shard *planned = &b->plan.shards[i];

	return (struct lc__shard_job){
		.path = path,
		.info = planned->info,
		.first = planned->first,
		.row_bytes = planned->row_bytes,
		.source = planned->series->source,
		.no_sha256 = b->build->no_sha256,
		.step = step,
		.step_ctx = team,
	};
}

static lc_status
take_or_write(struct lc__team *team, uint64_t i, const char *path)
{
	struct lc__building *b = team->ctx;
	const struct lc__shard_job job = job_of(team, i, path);
	struct lc__digest_text text = { "", "" };
	bool taken;

	return_if_error(take_older(team, i, path, &text, &taken));
	if (!taken)
		return_if_error(take_packed(team, i, path, &text, &taken));
	if (!taken)
		return_if_error(lc__shard_write(&job, &text));
	pthread_mutex_lock(&b->lock);
	set_digest(b, i, &text);
	b->reused += taken;
	pthread_mutex_unlock(&b->lock);
	/* Recording a shard can cost more than taking it over again. */
	return taken ? LC_OK : lc__state_add(b, i);
}

static lc_status
keep_or_make(struct lc__team *team, uint64_t i, const char *path)
{
	static const struct lc__digest_text none = { "", "" };
	struct lc__building *b = team->ctx;
	bool whole;

	return_if_error(recheck(team, i, path, &whole));
	pthread_mutex_lock(&b->lock);
	if (whole)
		b->reused++;
	else
		set_digest(b, i, &none);
	pthread_mutex_unlock(&b->lock);
	return whole ? LC_OK : take_or_write(team, i, path);
}

static lc_status
do_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct lc__building *b = team->ctx;
	char *path = lc__path_join(b->dir.path, b->manifest.shards[i].relative_path);
	lc_status status;

	(void)thread;
	if (path == NULL)
		return lc__no_memory("export");
	status = keep_or_make(team, i, path);
	free(path);
	return status;
}

/* ---- the whole build ------------------------------------------------------------- */

static lc_status
hash_hex(const struct lc__buf *text, char out[65])
{
	return text->failed ? lc__no_memory("export")
			    : lc__sha256_of(text->data, text->size, out);
}

/* The content is identified by the shards; together with the options it is the
 * version. */
static lc_status
make_version(struct lc__building *b)
{
	const bool no_sha256 = b->build->no_sha256;
	struct lc__manifest *m = &b->manifest;
	struct lc__buf all = { 0 }, recipe = { 0 };
	char content[65], version[65];
	lc_status status;

	for (size_t i = 0; i < m->n; i++)
		lc__buf_append(&all, no_sha256 ? m->shards[i].xxh3 : m->shards[i].sha256,
		    no_sha256 ? 32 : 64);
	status = hash_hex(&all, content);
	lc__buf_free(&all);
	return_if_error(status);
	lc__buf_printf(&recipe, "{\"options\":%s,\"content_%s\":\"%s\"}",
	    b->build->recipe, no_sha256 ? "xxh3" : "sha256", content);
	status = hash_hex(&recipe, version);
	lc__buf_append(&recipe, "", 1);
	m->version_recipe = (char *)recipe.data;
	return_if_error(status);
	m->version = strdup(version);
	if (recipe.failed || m->version == NULL)
		return lc__no_memory("export");
	return LC_OK;
}

static lc_status
sync_dirs(const struct lc__building *b)
{
	for (size_t i = 0; i < b->build->n_series; i++) {
		char *path = lc__path_join(b->dir.path, b->build->series[i].path);
		lc_status status;
		if (path == NULL)
			return lc__no_memory("export");
		status = lc__sync_dir(path);
		free(path);
		return_if_error(status);
	}
	return lc__sync_dir(b->dir.path);
}

/* Read from the file in every case: written, found or taken over. */
static lc_status
note_section(const struct lc__building *b, struct lc__manifest_shard *said)
{
	char *path = lc__path_join(b->dir.path, said->relative_path);
	lc_shard *shard;
	lc_status status;

	if (path == NULL)
		return lc__no_memory("export");
	status = lc_shard_open(path, &shard);
	free(path);
	return_if_error(status);
	lc__twh1_section_xxh3(lc__shard_twh1(shard), said->section_xxh3);
	lc_shard_close(shard);
	return LC_OK;
}

static lc_status
finish(struct lc__building *b)
{
	struct lc__buf text = { 0 };
	lc_status status;

	if (b->build->about->version == NULL)
		return_if_error(make_version(b));
	for (size_t i = 0; i < b->manifest.n; i++)
		return_if_error(note_section(b, &b->manifest.shards[i]));
	b->manifest.created_at_ms = lc__clock_wall_ms();
	return_if_error(sync_dirs(b));
	status = lc__manifest_format(&b->manifest, &text);
	if (status == LC_OK)
		status = lc__outdir_write(&b->dir, LC__MANIFEST_NAME, &text);
	lc__buf_free(&text);
	return_if_error(status);
	return_if_error(lc__outdir_remove(&b->dir, LC__STATE_NAME));
	return lc__sync_dir(b->dir.path);
}

/* Shards that may be taken over. */
static lc_status
open_others(struct lc__building *b)
{
	const struct lc__build *build = b->build;

	if (build->reuse != NULL)
		return_if_error(lc__reuse_open(build->reuse, &b->older));
	return build->packed != NULL ? lc__packed_open(build->packed, &b->packed) : LC_OK;
}

static lc_status
run_team(struct lc__team *team, const char *dir)
{
	const lc_status status = lc__team_run(team);

	return status == LC_CANCELLED
	    ? lc__error(LC_CANCELLED, 0, "%s: export cancelled", dir)
	    : status;
}

static lc_status
write_all(struct lc__building *b)
{
	struct lc__team team = {
		.work = do_shard,
		.ctx = b,
		.jobs = b->plan.n,
		.threads = b->build->threads,
		.total = b->plan.bytes,
		.progress = b->build->progress,
	};

	return_if_error(open_others(b));
	return_if_error(lc__outdir_lock(b->build->dir, &b->dir));
	return_if_error(lc__build_prepare(b));
	return_if_error(run_team(&team, b->dir.path));
	return finish(b);
}

/* ---- packing shards ahead -------------------------------------------------------- */

/* Is there a shard that the version will take over? */
static bool
is_there(const struct lc__building *b, uint64_t i)
{
	const struct lc__plan_shard *planned = &b->plan.shards[i];
	const struct lc__manifest_shard *older = lc__reuse_find(&b->older,
	    &b->manifest.shards[i], false);
	const char *packed = lc__packed_find(&b->packed, planned->samples_hash, NULL);
	bool there = false;
	char *path;

	if (older != NULL) {
		path = lc__path_join(b->older.dir, older->relative_path);
		there = path != NULL && lc__reuse_looks_whole(path, &planned->info);
		free(path);
	}
	if (!there && packed != NULL) {
		path = lc__path_join(b->packed.dir, packed);
		there = path != NULL && lc__reuse_looks_whole(path, &planned->info);
		free(path);
	}
	return there;
}

/* Write a shard; if its name depends on its bytes, it is known only at the end. */
static lc_status
write_packed(struct lc__team *team, uint64_t i)
{
	const struct lc__building *b = team->ctx;
	const char *dir = b->build->packed, *hash = b->plan.shards[i].samples_hash;
	char *begun = lc__packed_path(dir, hash, ""), *path = NULL;
	const struct lc__shard_job job = job_of(team, i, begun);
	struct lc__newfile file = LC__NEWFILE_NONE;
	struct lc__digest_text text;
	lc_status status = begun != NULL ? LC_OK : lc__no_memory(dir);

	/* A build that created the version has removed it. */
	if (status == LC_OK)
		status = lc__make_dirs(dir);
	if (status == LC_OK)
		status = lc__newfile_open(begun, 0666, &file);
	if (status == LC_OK)
		status = lc__shard_write_to(&job, &file, &text);
	if (status == LC_OK)
		path = lc__packed_path(dir, hash, text.sha256);
	if (status == LC_OK)
		status = path != NULL ? lc__newfile_move(&file, path)
				      : lc__no_memory(dir);
	if (status == LC_OK)
		status = lc__newfile_replace(&file);
	lc__newfile_discard(&file);
	free(path);
	free(begun);
	return status;
}

static lc_status
pack_shard(struct lc__team *team, unsigned thread, uint64_t job)
{
	struct lc__building *b = team->ctx;
	const uint64_t i = b->task + job * b->tasks;

	(void)thread;
	if (!is_there(b, i))
		return write_packed(team, i);
	pthread_mutex_lock(&b->lock);
	b->reused++;
	pthread_mutex_unlock(&b->lock);
	return lc__team_step(team, b->plan.shards[i].info.file_size);
}

static lc_status
pack_task(struct lc__building *b, lc_export_result *out)
{
	struct lc__team team = {
		.work = pack_shard,
		.ctx = b,
		.threads = b->build->threads,
		.progress = b->build->progress,
	};

	*out = (lc_export_result){ .shards = 0 };
	for (uint64_t i = b->task; i < b->plan.n; i += b->tasks) {
		out->shards++;
		out->samples += b->plan.shards[i].info.samples;
		out->bytes += b->plan.shards[i].info.file_size;
	}
	team.jobs = out->shards;
	team.total = out->bytes;
	return_if_error(open_others(b));
	return_if_error(run_team(&team, b->build->packed));
	out->reused = b->reused;
	return LC_OK;
}

/* Each in a directory of its own, which a shard or a file of ours is not. */
static lc_status
check_series(const struct lc__build *build)
{
	for (size_t i = 0; i < build->n_series; i++) {
		if (build->packed != NULL &&
		    (build->no_sha256 || build->series[i].source->hash == NULL))
			return lc__error(LC_INVALID, 0,
			    "export: packed shards need hashes of samples, and SHA-256");
		const char *path = build->series[i].path;
		const char *dot = strrchr(path, '.');
		bool good = *path == '\0' ||
		    (*path != '.' && strchr(path, '/') == NULL &&
			(dot == NULL || strcmp(dot, LC__SHARD_SUFFIX) != 0) &&
			strcmp(path, LC__MANIFEST_NAME) != 0);
		for (size_t k = 0; k < i; k++)
			good = good && strcmp(build->series[k].path, path) != 0;
		if (!good || build->series[i].samples == 0)
			return lc__error(LC_INVALID, 0,
			    "export: bad series of shards '%s'", path);
	}
	return LC_OK;
}

static lc_status
begin(const struct lc__build *build, struct lc__building *b)
{
	*b = (struct lc__building){ .build = build, .dir = { .fd = -1 } };
	return_if_error(check_series(build));
	return_if_error(lc__plan_make(build, &b->plan));
	pthread_mutex_init(&b->lock, NULL);
	return LC_OK;
}

static void
end(struct lc__building *b)
{
	lc__outdir_close(&b->dir);
	lc__reuse_close(&b->older);
	lc__packed_close(&b->packed);
	forget_all(b);
	free(b->kept);
	pthread_mutex_destroy(&b->lock);
	lc__plan_free(&b->plan);
}

lc_status
lc__build_run(const struct lc__build *build, lc_export_result *out)
{
	struct lc__building b;
	lc_status status;

	return_if_error(begin(build, &b));
	status = describe_all(&b);
	if (status == LC_OK && !build->dry_run)
		status = write_all(&b);
	if (status == LC_OK)
		*out = (lc_export_result){ b.plan.n, b.reused, b.plan.samples,
			b.plan.bytes };
	end(&b);
	return status;
}

lc_status
lc__build_pack(const struct lc__build *build, uint32_t task, uint32_t tasks,
    lc_export_result *out)
{
	lc_export_result result = { .shards = 0 };
	struct lc__building b;
	lc_status status;

	return_if_error(begin(build, &b));
	b.task = task;
	b.tasks = tasks;
	status = describe_all(&b);
	if (status == LC_OK)
		status = pack_task(&b, &result);
	if (status == LC_OK)
		*out = result;
	end(&b);
	return status;
}
