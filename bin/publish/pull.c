/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "base/team.h"
#include "objects/directory.h"
#include "publish/checked.h"
#include "publish/stored.h"
#include "shard/outdir.h"

#define BATCH_PARTS 1024  /* most parts at once */
#define BATCH_SHARDS 4096 /* after this many shards no further part is added */

/* A pull in progress. */
struct pulling {
	struct lc__objects *from;
	struct lc__objects *to; /* the directory, with the same object names */
	const char *dir;
	char *manifest;          /* the path of the directory's manifest */
	int lock;                /* of the directory */
	struct lc__manifest all; /* the generation */
	bool plain;              /* few shards: they get one manifest without parts */
	struct lc__manifest_shard *shards; /* all of them then; malloc'ed */
	size_t n, room;
	struct lc__stock here; /* shards that the directory has */
	unsigned threads;
	const lc_progress *progress;
	struct lc__pulled *out;
};

/* ---- objects -------------------------------------------------------------------------- */

/* A file being fetched. */
struct fetching {
	struct lc__newfile file;
	uint64_t begun, at; /* bytes for which writing to disk was started, and all */
};

static lc_status
write_file(void *ctx, const void *data, size_t size)
{
	struct fetching *f = ctx;

	return_if_error(lc__write_full(f->file.fd, data, size, f->file.path));
	f->at += size;
	lc__write_behind(f->file.fd, &f->begun, f->at);
	return LC_OK;
}

/* Fetch an object into a file with its name, which appears once it is correct. */
static lc_status
fetch_once(struct pulling *p, const struct lc__stored_object *wanted)
{
	struct fetching f = { .file = LC__NEWFILE_NONE };
	const struct lc__object_sink sink = { write_file, &f, NULL };
	char *path = lc__path_join(p->dir, wanted->name), *slash;
	lc_status status = LC_OK;

	if (path == NULL)
		return lc__no_memory(wanted->name);
	slash = strrchr(path, '/');
	*slash = '\0';
	if (mkdir(path, 0777) == -1 && errno != EEXIST)
		status = lc__make_dirs(path);
	*slash = '/';
	if (status == LC_OK)
		status = lc__newfile_open(path, 0666, &f.file);
	if (status == LC_OK)
		status = lc__get_checked(wanted, &sink);
	if (status == LC_OK) {
		lc__write_rest_behind(f.file.fd, f.begun);
		f.file.unsynced = true;
		status = lc__newfile_replace(&f.file);
	}
	lc__newfile_discard(&f.file);
	free(path);
	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0, "%s/%s: is missing", p->from->url,
		    wanted->name);
	if (status == LC_CORRUPT)
		(void)lc__error_prefix("%s", p->from->url);
	return status;
}

/* Fetch an object that is missing or wrong here. One that arrives damaged is requested
 * once more: the transfer may be to blame. */
static lc_status
fetch(struct pulling *p, const struct lc__stored_object *wanted)
{
	lc_status status = fetch_once(p, wanted);

	if (status == LC_CORRUPT || status == LC_CHANGED) {
		lc__team_again(wanted->team, wanted->size);
		status = fetch_once(p, wanted);
	}
	return status;
}

/* Is the local file correct? */
static lc_status
is_here(struct pulling *p, const struct lc__stored_object *theirs, bool *out)
{
	const struct lc__stocked *stocked = lc__stock_find(&p->here, theirs->sha256);
	struct lc__stored_object ours = *theirs;
	lc_status status;

	*out = false;
	ours.store = p->to;
	if (stocked == NULL || stocked->size != ours.size)
		return LC_OK;
	status = lc__get_checked(&ours, NULL);
	*out = status == LC_OK;
	if (status != LC_CORRUPT)
		return status;
	lc__team_again(ours.team, ours.size);
	return LC_OK;
}

/* ---- parts ---------------------------------------------------------------------------- */

/*
 * Some parts fetched at once. Their shards are synced when all of them have arrived: a
 * transfer that waited for the disk would leave its connection unused meanwhile. Only the
 * manifest says that they are complete, and it is written later. A later pull verifies what
 * a killed one has left.
 */
struct batch {
	struct pulling *pulling;
	const struct lc__manifest_part *listed; /* in the generation */
	size_t n;
	struct batch_part {
		struct lc__manifest manifest;
		struct lc__buf text;
	} * parts; /* malloc'ed */
	struct batch_shard {
		const struct lc__manifest *part;
		const struct lc__manifest_shard *shard;
	} * shards; /* malloc'ed: those of all of them */
	size_t n_shards;
};

/* The work of the team that reads the manifests. */
static lc_status
read_part(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct batch *b = team->ctx;

	(void)thread;
	return lc__part_read(b->pulling->from, b->listed[i].sha256, &b->parts[i].text,
	    &b->parts[i].manifest);
}

/* The work of the team that fetches the shards. */
static lc_status
pull_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct batch *b = team->ctx;
	struct pulling *p = b->pulling;
	const struct lc__manifest_shard *shard = b->shards[i].shard;
	const struct lc__stored_object wanted = { p->from, shard->relative_path,
		shard->bytes, shard->sha256, team };
	bool here;
	lc_status status;

	(void)thread;
	return_if_error(is_here(p, &wanted, &here));
	status = here ? LC_OK : fetch(p, &wanted);
	if (status != LC_OK)
		return lc__error_prefix("part %s", b->shards[i].part->dataset_root);
	pthread_mutex_lock(&team->lock);
	p->out->kept += here;
	p->out->fetched += !here;
	p->out->fetched_bytes += here ? 0 : shard->bytes;
	pthread_mutex_unlock(&team->lock);
	return LC_OK;
}

/* The work of the team that syncs them, also those that an earlier pull has left. */
static lc_status
sync_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct batch *b = team->ctx;
	char *path = lc__path_join(b->pulling->dir, b->shards[i].shard->relative_path);
	const int fd = path != NULL ? lc__open(path, O_RDONLY) : -1;
	lc_status status = LC_OK;

	(void)thread;
	if (path == NULL)
		return lc__no_memory(b->pulling->dir);
	if (fd == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else if (fdatasync(fd) == -1)
		status = lc__error_sys(errno, "%s: fdatasync", path);
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}

/* Copy the part's manifest to the directory; or its entries into the manifest of all. */
static lc_status
keep_part(struct pulling *p, const char *sha256, struct batch_part *part)
{
	struct lc__manifest *m = &part->manifest;
	char name[LC__OBJECT_NAME];

	for (size_t i = 0; i < m->n; i++) {
		struct lc__stocked *stocked = lc__stock_find(&p->here,
		    m->shards[i].sha256);

		if (stocked != NULL)
			stocked->wanted = true;
	}
	lc__name_part(sha256, name);
	if (!p->plain)
		return lc__object_replace(p->to, name, part->text.data, part->text.size);
	if (p->n + m->n > LC__MANIFEST_PART_MOST)
		return lc__error(LC_CORRUPT, 0,
		    "%s/%s: has more shards than its generation says", p->from->url,
		    name);
	return_if_error(lc__array_reserve(&p->shards, &p->room, p->n + m->n, name));
	memcpy(p->shards + p->n, m->shards, m->n * sizeof(*m->shards));
	p->n += m->n;
	m->n = 0;
	return LC_OK;
}

static lc_status
pull_parts(struct batch *b)
{
	struct pulling *p = b->pulling;
	struct lc__team reading = { .work = read_part,
		.ctx = b,
		.jobs = b->n,
		.threads = p->threads };
	struct lc__team fetching = { .work = pull_shard,
		.ctx = b,
		.threads = p->threads,
		.progress = p->progress };
	struct lc__team syncing = { .work = sync_shard, .ctx = b, .threads = p->threads };
	size_t n = 0;

	return_if_error(lc__team_run(&reading));
	for (size_t i = 0; i < b->n; i++)
		n += b->parts[i].manifest.n;
	b->shards = calloc(n + 1, sizeof(*b->shards));
	if (b->shards == NULL)
		return lc__no_memory(p->dir);
	for (size_t i = 0; i < b->n; i++) {
		const struct lc__manifest *m = &b->parts[i].manifest;

		for (size_t k = 0; k < m->n; k++) {
			b->shards[b->n_shards++] = (struct batch_shard){ m,
				&m->shards[k] };
			fetching.total += m->shards[k].bytes;
		}
	}
	syncing.jobs = fetching.jobs = b->n_shards;
	return_if_error(lc__team_run(&fetching));
	return_if_error(lc__team_run(&syncing));
	for (size_t i = 0; i < b->n; i++)
		return_if_error(keep_part(p, b->listed[i].sha256, &b->parts[i]));
	return LC_OK;
}

/* Pull some parts, from @p first on: enough to have shards to fetch in parallel; *n is
 * their number. */
static lc_status
pull_batch(struct pulling *p, size_t first, size_t *n)
{
	struct batch b = { .pulling = p, .listed = p->all.parts + first };
	uint64_t shards = 0;
	lc_status status;

	while (first + b.n < p->all.n_parts && b.n < BATCH_PARTS && shards < BATCH_SHARDS)
		shards += b.listed[b.n++].shards;
	b.parts = calloc(b.n, sizeof(*b.parts));
	status = b.parts != NULL ? pull_parts(&b) : lc__no_memory(p->dir);
	for (size_t i = 0; b.parts != NULL && i < b.n; i++) {
		lc__manifest_free(&b.parts[i].manifest);
		lc__buf_free(&b.parts[i].text);
	}
	free(b.parts);
	free(b.shards);
	*n = b.n;
	return status;
}

/* ---- the directory -------------------------------------------------------------------- */

/* Was the local manifest made by a pull? */
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
	/* A damaged one may be from anything. */
	if (status == LC_OK && run[0] != '\0')
		return LC_OK;
	return lc__error(LC_EXISTS, 0,
	    "%s: belongs to another set of shards; choose another directory, or remove it",
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

/* Remove what an interrupted pull has left; other files are not touched. */
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
	return lc__error(LC_BUSY, 0, "%s: another process is pulling into it", p->dir);
}

/* Sync the names of the shards. */
static lc_status
sync_names(const struct pulling *p)
{
	char *path = lc__path_join(p->dir, "obj/xx");
	const size_t end = path != NULL ? strlen(path) : 0;
	lc_status status = path != NULL ? LC_OK : lc__no_memory(p->dir);

	for (unsigned i = 0; i < 256 && status == LC_OK; i++) {
		snprintf(path + end - 2, 3, "%02x", i);
		status = lc__sync_dir(path);
		if (status == LC_NO_FILE)
			status = LC_OK;
	}
	if (status == LC_OK && p->out->shards > 0)
		status = lc__sync_parent(path);
	free(path);
	return status;
}

/* The generation's manifest as one that lists the shards themselves. */
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

/* Remove what an older generation had and this one does not. */
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

/* The manifest must be removed for good, even in case of a power failure, before any
 * shard that it names. An interrupted pull may have removed it and nothing else. */
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
	for (size_t i = 0, n; i < p->all.n_parts; i += n)
		return_if_error(pull_batch(p, i, &n));
	return_if_error(sync_names(p));
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
