/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/team.h"
#include "objects/directory.h"
#include "publish/checked.h"
#include "publish/stored.h"
#include "shard/outdir.h"

/* A pull under way. */
struct pulling {
	struct lc__objects *from;
	struct lc__objects *to; /* the directory, which has the same objects */
	const char *dir;
	char *manifest;                /* the path of the directory's manifest */
	int lock;                      /* of the directory */
	struct lc__manifest all, part; /* the generation; the part that is fetched */
	bool plain; /* few shards: they get one manifest without parts */
	struct lc__manifest_shard *shards; /* all of them then; malloc'ed */
	size_t n, room;
	struct lc__stock here; /* shards that the directory has */
	unsigned threads;
	const lc_progress *progress;
	struct lc__pulled *out;
};

/* ---- objects -------------------------------------------------------------------------- */

/* Fetch an object that is missing here, or is not what it should be. One that comes damaged
 * is asked for once more: it may have been the way. */
static lc_status
fetch(struct pulling *p, struct lc__team *team, const char *name, const char *sha256,
    uint64_t size)
{
	const struct lc__stored_object stored = { p->from, name };
	struct lc__object about;
	struct lc__source source = { .sha256 = sha256, .what = name };
	lc_status status = lc__object_find(p->from, name, &about);

	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0, "%s/%s: is missing", p->from->url, name);
	return_if_error(status);
	if (about.size != size)
		return lc__error(LC_CORRUPT, 0, "%s/%s: has %llu bytes, not %llu",
		    p->from->url, name, (unsigned long long)about.size,
		    (unsigned long long)size);
	source.body = lc__body_of_object(&stored, size);
	source.team = team;
	status = lc__put_checked(p->to, name, &source, true);
	if (status == LC_CORRUPT) {
		lc__team_again(team, size);
		status = lc__put_checked(p->to, name, &source, true);
	}
	return status == LC_CORRUPT ? lc__error_prefix("%s", p->from->url) : status;
}

/* Is the file that is here what it should be? */
static lc_status
is_here(struct pulling *p, struct lc__team *team, const char *name,
    const struct lc__manifest_shard *shard, bool *out)
{
	const struct lc__stocked *stocked = lc__stock_find(&p->here, shard->sha256);
	const struct lc__stored_object stored = { p->to, name };
	const struct lc__source source = {
		.body = lc__body_of_object(&stored, shard->bytes),
		.sha256 = shard->sha256,
		.what = name,
		.team = team,
	};
	lc_status status;

	*out = false;
	if (stocked == NULL || stocked->size != shard->bytes)
		return LC_OK;
	status = lc__compare(&source);
	*out = status == LC_OK;
	if (status != LC_CORRUPT)
		return status;
	lc__team_again(team, shard->bytes);
	return LC_OK;
}

/* The work of the team. */
static lc_status
pull_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct pulling *p = team->ctx;
	const struct lc__manifest_shard *shard = &p->part.shards[i];
	bool here;
	lc_status status;

	(void)thread;
	return_if_error(is_here(p, team, shard->relative_path, shard, &here));
	status = here ? LC_OK
		      : fetch(p, team, shard->relative_path, shard->sha256, shard->bytes);
	if (status == LC_CORRUPT)
		return lc__error_prefix("part %s", p->part.dataset_root);
	return_if_error(status);
	pthread_mutex_lock(&team->lock);
	p->out->kept += here;
	p->out->fetched += !here;
	p->out->fetched_bytes += here ? 0 : shard->bytes;
	pthread_mutex_unlock(&team->lock);
	return LC_OK;
}

/* The part's manifest goes to the directory as it is; or its entries into the one of all. */
static lc_status
keep_part(struct pulling *p, const char *sha256, const struct lc__buf *text)
{
	struct lc__manifest *part = &p->part;
	char name[LC__OBJECT_NAME];

	lc__name_part(sha256, name);
	if (!p->plain)
		return lc__object_replace(p->to, name, text->data, text->size);
	if (p->n + part->n > LC__MANIFEST_PART_MOST)
		return lc__error(LC_CORRUPT, 0,
		    "%s/%s: has more shards than its generation says", p->from->url,
		    name);
	return_if_error(lc__array_reserve(&p->shards, &p->room, p->n + part->n, name));
	memcpy(p->shards + p->n, part->shards, part->n * sizeof(*part->shards));
	p->n += part->n;
	part->n = 0;
	return LC_OK;
}

static lc_status
pull_part(struct pulling *p, const struct lc__manifest_part *part)
{
	struct lc__team team = {
		.work = pull_shard,
		.ctx = p,
		.threads = p->threads,
		.progress = p->progress,
		.total = part->bytes,
	};
	struct lc__buf text = { 0 };
	lc_status status = lc__part_read(p->from, part->sha256, &text, &p->part);

	team.jobs = p->part.n;
	if (status == LC_OK)
		status = lc__team_run(&team);
	for (size_t i = 0; i < p->part.n && status == LC_OK; i++) {
		struct lc__stocked *stocked = lc__stock_find(&p->here,
		    p->part.shards[i].sha256);

		if (stocked != NULL)
			stocked->wanted = true;
	}
	if (status == LC_OK)
		status = keep_part(p, part->sha256, &text);
	lc__manifest_free(&p->part);
	lc__buf_free(&text);
	return status;
}

/* ---- the directory -------------------------------------------------------------------- */

/* Is the manifest that is here one that a pull has made? */
static lc_status
check_ours(const struct pulling *p)
{
	struct lc__buf text = { 0 };
	struct lc__manifest m = { 0 };
	char run[LC__RUN_ID] = "";
	lc_status status = lc__read_regular(p->manifest, LC__STORED_MANIFEST, &text);

	if (status == LC_NO_FILE)
		return LC_OK;
	if (status == LC_OK)
		status = lc__manifest_parse_any(text.data, text.size, p->manifest, &m);
	if (status == LC_OK)
		lc__generation_run(&m, run);
	lc__manifest_free(&m);
	lc__buf_free(&text);
	/* One that is damaged may be anybody's. */
	if (status == LC_OK && run[0] != '\0')
		return LC_OK;
	return lc__error(LC_EXISTS, 0,
	    "%s: is of another set of shards; choose another directory, or remove it",
	    p->manifest);
}

static lc_status
refuse_object(void *ctx, const struct lc__object *object)
{
	const struct pulling *p = ctx;

	return lc__error(LC_EXISTS, 0,
	    "%s: is a store, as it has %s; choose another directory", p->dir,
	    object->name);
}

/* A store has the objects of other generations too, which a pull would remove. */
static lc_status
check_no_store(struct pulling *p)
{
	return_if_error(p->to->list(p->to, "manifest/", refuse_object, p));
	return p->to->list(p->to, "run/", refuse_object, p);
}

/* What a pull left that was stopped; other files are not its own. */
static lc_status
sweep(struct pulling *p)
{
	static const char *const own[] = { "obj/", "part/", LC__MANIFEST_NAME ".tmp." };
	uint64_t files, bytes;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		return_if_error(
		    p->to->sweep(p->to, own[i], UINT64_MAX, false, &files, &bytes));
	return LC_OK;
}

static lc_status
lock_directory(struct pulling *p)
{
	return_if_error(lc__make_dirs(p->dir));
	p->lock = lc__open(p->dir, O_RDONLY | O_DIRECTORY);
	if (p->lock == -1)
		return lc__error_sys(errno, "%s: open", p->dir);
	if (flock(p->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return LC_OK;
	return lc__error(LC_BUSY, 0, "%s: another process pulls there", p->dir);
}

/* The generation's manifest as one of the shards themselves. */
static lc_status
format_plain(struct pulling *p, struct lc__buf *out)
{
	struct lc__manifest plain = p->all;

	plain.n_parts = 0;
	plain.parts = NULL;
	plain.n = p->n;
	plain.shards = p->shards;
	plain.manifest_version = LC__MANIFEST_VERSION;
	return lc__manifest_format(&plain, out);
}

/* The generation's manifest as that of the directory: its parts are below it. */
static lc_status
format(struct pulling *p, struct lc__buf *out)
{
	if (p->plain)
		return format_plain(p, out);
	for (size_t i = 0; i < p->all.n_parts; i++) {
		struct lc__manifest_part *part = &p->all.parts[i];
		char *path = strdup(part->relative_path + strlen("../"));
		char *base = strdup(".");

		if (path == NULL || base == NULL) {
			free(path);
			free(base);
			return lc__no_memory(p->dir);
		}
		free(part->relative_path);
		free(part->base);
		part->relative_path = path;
		part->base = base;
	}
	return lc__manifest_format(&p->all, out);
}

/* What an older generation had and this one has not. */
static lc_status
remove_others(struct pulling *p)
{
	struct lc__stock parts = { .n = 0 };
	char name[LC__OBJECT_NAME];
	lc_status status = lc__stock_list(p->to, true, &parts);

	for (size_t i = 0; i < p->all.n_parts && status == LC_OK; i++) {
		struct lc__stocked *part = lc__stock_find(&parts, p->all.parts[i].sha256);

		if (part != NULL)
			part->wanted = !p->plain;
	}
	for (size_t i = 0; i < parts.n && status == LC_OK; i++) {
		lc__name_part(parts.all[i].sha256, name);
		if (!parts.all[i].wanted)
			status = p->to->remove(p->to, name);
	}
	free(parts.all);
	for (size_t i = 0; i < p->here.n && status == LC_OK; i++) {
		lc__name_shard(p->here.all[i].sha256, name);
		if (p->here.all[i].wanted)
			continue;
		status = p->to->remove(p->to, name);
		p->out->removed++;
	}
	return status;
}

/* ---- the generation -------------------------------------------------------------------- */

static lc_status
choose(struct pulling *p, uint64_t number)
{
	struct lc__generations list = { .n = 0 };
	lc_status status;

	if (number == 0) {
		return_if_error(lc__generations_list(p->from, &list));
		if (list.n > 0)
			number = list.all[list.n - 1].number;
		free(list.all);
		if (number == 0)
			return lc__error(LC_NOT_FOUND, 0,
			    "%s: nothing was published there", p->from->url);
	}
	status = lc__generation_read(p->from, number, NULL, &p->all);
	if (status == LC_NO_FILE)
		return lc__error(LC_NOT_FOUND, 0, "%s: has no generation %llu",
		    p->from->url, (unsigned long long)number);
	p->out->generation = number;
	return status;
}

/* It is gone for good, after a loss of power too, before any shard that it names. A pull that
 * was stopped may have removed it and no more. */
static lc_status
remove_manifest(const struct pulling *p)
{
	if (unlink(p->manifest) == -1 && errno != ENOENT)
		return lc__error_sys(errno, "%s: remove", p->manifest);
	return lc__sync_parent(p->manifest);
}

static lc_status
pull(struct pulling *p, uint64_t number)
{
	struct lc__buf text = { 0 };
	lc_status status;

	return_if_error(choose(p, number));
	return_if_error(lock_directory(p));
	return_if_error(lc__directory_open(p->dir, p->dir, &p->to));
	return_if_error(check_no_store(p));
	return_if_error(check_ours(p));
	return_if_error(remove_manifest(p));
	return_if_error(sweep(p));
	return_if_error(lc__stock_list(p->to, false, &p->here));
	for (size_t i = 0; i < p->all.n_parts; i++) {
		p->out->samples += p->all.parts[i].samples;
		p->out->shards += p->all.parts[i].shards;
		p->out->bytes += p->all.parts[i].bytes;
	}
	p->plain = p->out->shards <= LC__MANIFEST_PART_MOST;
	for (size_t i = 0; i < p->all.n_parts; i++)
		return_if_error(pull_part(p, &p->all.parts[i]));
	return_if_error(remove_others(p));
	status = format(p, &text);
	if (status == LC_OK)
		status = lc__write_file_atomic(p->manifest, text.data, text.size);
	lc__buf_free(&text);
	return status;
}

lc_status
lc__pull(struct lc__objects *store, uint64_t generation, const char *dir,
    unsigned threads, const lc_progress *progress, struct lc__pulled *out)
{
	struct pulling p = {
		.from = store,
		.dir = dir,
		.manifest = lc__path_join(dir, LC__MANIFEST_NAME),
		.lock = -1,
		.threads = threads,
		.progress = progress,
		.out = out,
	};
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = p.manifest != NULL ? pull(&p, generation) : lc__no_memory(dir);
	if (p.lock != -1)
		close(p.lock);
	lc__objects_close(p.to);
	lc__manifest_free(&p.all);
	lc__manifest_free(&(struct lc__manifest){ .n = p.n, .shards = p.shards });
	free(p.here.all);
	free(p.manifest);
	return status;
}
