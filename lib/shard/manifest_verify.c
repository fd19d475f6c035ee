/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a directory of shards against its manifest. */
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "format/manifest.h"
#include "shard/digest.h"
#include "shard/outdir.h"
#include "shard/reader.h"

#define THREADS 2 /* SHA-256 takes most of the time */

/* A verification in progress. */
struct check {
	struct lc__outdir dir;
	struct lc__manifest manifest;
	const char *base; /* that its shards' paths start from */
	const lc_progress *progress;
	lc_error first; /* the first damage; the team's lock guards it */
};

/* Keep the current error and report it, with no other callback at the same time. */
static void
note_damage(struct check *c)
{
	if (c->first.status == LC_OK) {
		c->first = *lc_last_error();
		c->first.status = LC_CORRUPT;
	}
	if (c->progress != NULL && c->progress->damage != NULL)
		c->progress->damage(c->progress->ctx, lc_last_error()->text);
}

/* ---- one shard ------------------------------------------------------------- */

/* Counts the bytes of one shard as steps of the work. */
struct steps {
	struct lc__team *team;
	uint64_t counted;
};

static int
count_steps(void *ctx, uint64_t done, uint64_t total)
{
	struct steps *steps = ctx;
	const uint64_t more = done - steps->counted;

	(void)total;
	steps->counted = done;
	return lc__team_step(steps->team, more) != LC_OK;
}

/* For a shard without a checksum in the manifest. */
static lc_status
check_blocks(struct lc__team *team, const char *path)
{
	struct steps steps = { team, 0 };
	const lc_progress progress = { .step = count_steps, .ctx = &steps };
	uint64_t size;
	lc_shard *shard;
	lc_status status;

	return_if_error(lc_shard_open(path, &shard));
	size = lc_shard_info_of(shard)->file_size;
	status = lc_shard_verify(shard, &progress);
	lc_shard_close(shard);
	if (status == LC_UNSUPPORTED)
		return lc__error(LC_CORRUPT, 0,
		    "%s: neither the manifest nor the shard has checksums of it", path);
	return_if_error(status);
	return lc__team_step(team, size - steps.counted);
}

static lc_status
check_digest(struct lc__team *team, const char *path,
    const struct lc__manifest_shard *said)
{
	const bool no_sha256 = said->sha256[0] == '\0';
	struct lc__digest_text has;

	if (no_sha256 && said->xxh3[0] == '\0')
		return check_blocks(team, path);
	return_if_error(lc__file_digest(path, no_sha256, team, &has));
	if (strcmp(no_sha256 ? has.xxh3 : has.sha256,
		no_sha256 ? said->xxh3 : said->sha256) != 0)
		return lc__error(LC_CORRUPT, 0, "%s: %s differs from the manifest", path,
		    no_sha256 ? "XXH3" : "SHA-256");
	return LC_OK;
}

/* System failures and a cancellation end the verification; everything else is damage. */
static lc_status
check_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct check *c = team->ctx;
	const struct lc__manifest_shard *said = &c->manifest.shards[i];
	char *path = lc__path_join(c->base, said->relative_path);
	lc_shard *shard;
	lc_status status;

	(void)thread;
	if (path == NULL)
		return lc__no_memory(c->base);
	status = lc_shard_open(path, &shard);
	if (status == LC_OK) {
		status = lc__shard_compare(path, lc__shard_twh1(shard), said);
		lc_shard_close(shard);
	}
	if (status == LC_OK)
		status = check_digest(team, path, said);
	free(path);
	if (status == LC_OK || status == LC_CANCELLED || status == LC_IO ||
	    status == LC_NO_SPACE || status == LC_NO_MEMORY || status == LC_PERMISSION)
		return status;
	pthread_mutex_lock(&team->lock);
	note_damage(c);
	pthread_mutex_unlock(&team->lock);
	return LC_OK;
}

/* ---- the directory --------------------------------------------------------- */

static lc_status
read_manifest(struct check *c)
{
	struct lc__buf text = { 0 };
	char *path = lc__path_join(c->dir.path, LC__MANIFEST_NAME);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(c->dir.path);
	status = lc__outdir_read(&c->dir, LC__MANIFEST_NAME, &text);
	if (status == LC_OK)
		status = lc__manifest_parse_any(text.data, text.size, path, &c->manifest);
	lc__buf_free(&text);
	free(path);
	return status;
}

/* Our version is the SHA-256 of its recipe; another program may define its own. */
static lc_status
check_version(struct check *c)
{
	const struct lc__manifest *m = &c->manifest;
	struct lc__checksum *sha;
	char hex[65];
	lc_status status;

	if (m->manifest_version == 0)
		return LC_OK;
	if (lc__checksum_new("sha256", &sha) != LC_OK)
		return lc__error_prefix("%s", c->dir.path);
	status = lc__checksum_update(sha, m->version_recipe, strlen(m->version_recipe));
	if (status == LC_OK)
		status = lc__checksum_hex(sha, hex);
	lc__checksum_free(sha);
	return_if_error(status);
	if (strcmp(hex, m->version) != 0) {
		lc__error(LC_CORRUPT, 0,
		    "%s/" LC__MANIFEST_NAME ": version is not the SHA-256 of "
		    "version_recipe",
		    c->dir.path);
		note_damage(c);
	}
	return LC_OK;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lc_status
check_strangers(struct check *c)
{
	const struct lc__manifest *m = &c->manifest;
	const char **names = calloc(m->n + 1, sizeof(*names));
	lc_status status = names != NULL ? LC_OK : lc__no_memory(c->dir.path);

	for (size_t i = 0; i < m->n && status == LC_OK; i++) {
		names[i] = m->shards[i].relative_path;
		status = lc__outdir_know(&c->dir, names[i]);
	}
	if (status == LC_OK)
		status = lc__outdir_scan(&c->dir);
	if (status == LC_OK)
		qsort(names, m->n, sizeof(*names), by_name);
	for (size_t i = 0; i < c->dir.n && status == LC_OK; i++) {
		const struct lc__outfile *file = &c->dir.files[i];
		const char *name = file->name;

		if (file->kind == LC__OUT_TMP || file->kind == LC__OUT_EXPORT ||
		    bsearch(&name, names, m->n, sizeof(*names), by_name) != NULL)
			continue;
		lc__error(LC_CORRUPT, 0, "%s/%s: a shard that the manifest does not name",
		    c->dir.path, name);
		note_damage(c);
	}
	free(names);
	return status;
}

static lc_status
check_shards(struct check *c)
{
	struct lc__team team = {
		.work = check_shard,
		.ctx = c,
		.jobs = c->manifest.n,
		.threads = THREADS,
		.progress = c->progress,
	};

	for (size_t i = 0; i < c->manifest.n; i++)
		team.total += c->manifest.shards[i].bytes;
	return lc__team_run(&team);
}

/* ---- parts ----------------------------------------------------------------- */

/* Adds the progress of one part to that of all parts. */
struct parts_progress {
	const lc_progress *to;
	uint64_t before, total;
};

static int
step_of_part(void *ctx, uint64_t done, uint64_t total)
{
	const struct parts_progress *p = ctx;

	(void)total;
	return p->to->step(p->to->ctx, p->before + done, p->total);
}

static void
damage_of_part(void *ctx, const char *line)
{
	const struct parts_progress *p = ctx;

	p->to->damage(p->to->ctx, line);
}

static lc_status
check_part(struct check *c, const struct lc__manifest_part *said,
    struct parts_progress *progress)
{
	const lc_progress inner = {
		.step = progress->to->step != NULL ? step_of_part : NULL,
		.damage = progress->to->damage != NULL ? damage_of_part : NULL,
		.ctx = progress,
	};
	struct check part = { .dir = { .fd = -1 }, .progress = &inner };
	char *path = lc__path_join(c->dir.path, said->relative_path);
	char *base = lc__manifest_part_base(c->dir.path, said);
	lc_status status;

	if (path == NULL || base == NULL) {
		free(base);
		free(path);
		return lc__no_memory(c->dir.path);
	}
	part.base = base;
	status = lc__manifest_read_part(&c->manifest, said, path, &part.manifest);
	if (status == LC_OK)
		status = check_shards(&part);
	else if (status != LC_IO && status != LC_NO_MEMORY && status != LC_PERMISSION) {
		note_damage(c);
		status = LC_OK;
	}
	if (c->first.status == LC_OK)
		c->first = part.first;
	progress->before += said->bytes;
	lc__manifest_free(&part.manifest);
	free(base);
	free(path);
	return status;
}

/* Shards that no part names are not reported: they may belong to other sets. */
static lc_status
check_parts(struct check *c)
{
	static const lc_progress none = { .step = NULL };
	struct parts_progress progress = { .to = c->progress ? c->progress : &none };

	for (size_t i = 0; i < c->manifest.n_parts; i++)
		progress.total += c->manifest.parts[i].bytes;
	for (size_t i = 0; i < c->manifest.n_parts; i++)
		return_if_error(check_part(c, &c->manifest.parts[i], &progress));
	return LC_OK;
}

static lc_status
check_all(struct check *c)
{
	return_if_error(read_manifest(c));
	return_if_error(check_version(c));
	if (c->manifest.manifest_version == LC__MANIFEST_OF_PARTS) {
		return_if_error(check_parts(c));
	} else {
		return_if_error(check_strangers(c));
		return_if_error(check_shards(c));
	}
	return c->first.status == LC_OK ? LC_OK : lc__error_raise(&c->first);
}

lc_status
lc_manifest_verify(const char *dir, const lc_progress *progress)
{
	struct check c = {
		.dir = { .path = dir, .fd = -1 },
		.base = dir,
		.progress = progress,
	};
	const lc_status status = check_all(&c);

	lc__manifest_free(&c.manifest);
	lc__outdir_close(&c.dir);
	return status;
}
