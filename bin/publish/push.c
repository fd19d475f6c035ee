/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_write.h"
#include "base/team.h"
#include "publish/checked.h"
#include "publish/stored.h"
#include "shard/digest.h"
#include "shard/outdir.h"

/* A push in progress. */
struct pushing {
	const struct lc__push *push;
	struct lc__parts_recipe recipe;
	struct lc__push_result result;
};

/* A part being pushed. */
struct pushed_part {
	struct pushing *pushing;
	const char *name; /* of the part */
	char *dir;        /* its shards exist */
	struct lc__manifest manifest;
	struct lc__receipt receipt;
};

/* ---- a shard ---------------------------------------------------------------------------- */

/* Compute the SHA-256 of a file if no manifest has it. */
static lc_status
sum_file(const char *path, uint64_t size, struct lc__team *team, char sha256[65])
{
	struct lc__digest_text digest;

	lc__team_again(team, size);
	return_if_error(lc__file_digest(path, false, team, &digest));
	strcpy(sha256, digest.sha256);
	return LC_OK;
}

/* An object of the name exists. If its content does not match its name it is damaged,
 * since nothing else is ever put under that name: put it again. */
static lc_status
mend(const struct lc__push *push, const char *name, const struct lc__source *source,
    bool *mended)
{
	const struct lc__stored_object theirs = { push->store, name, source->body.size,
		source->sha256, NULL };
	struct lc__object about;
	lc_status status;

	return_if_error(lc__object_find(push->store, name, &about));
	*mended = about.size != source->body.size;
	if (!*mended && !push->check)
		return LC_OK;
	if (!*mended) {
		status = lc__get_checked(&theirs, NULL);
		*mended = status == LC_CORRUPT;
		if (status != LC_OK && !*mended)
			return status;
	}
	return *mended ? lc__put_checked(push->store, name, source, true) : LC_OK;
}

static lc_status
put_shard(struct lc__team *team, struct pushed_part *part,
    struct lc__manifest_shard *shard, const char *path, int fd)
{
	const struct lc__push *push = part->pushing->push;
	struct lc__source source = { .what = path,
		.sha256 = shard->sha256,
		.team = team };
	char name[LC__OBJECT_NAME];
	struct stat st;
	bool put = true;
	lc_status status;

	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (shard->has_bytes && shard->bytes != (uint64_t)st.st_size)
		return lc__error(LC_CORRUPT, 0,
		    "%s: has %llu bytes, and %llu in its manifest", path,
		    (unsigned long long)st.st_size, (unsigned long long)shard->bytes);
	shard->has_bytes = true;
	shard->bytes = (uint64_t)st.st_size;
	if (shard->sha256[0] == '\0')
		return_if_error(sum_file(path, shard->bytes, team, shard->sha256));
	source.body = lc__body_of_file(&fd, shard->bytes);
	lc__name_shard(shard->sha256, name);
	status = lc__put_checked(push->store, name, &source, false);
	if (status == LC_EXISTS) {
		status = mend(push, name, &source, &put);
		if (status == LC_OK && !put)
			status = lc__team_step(team, shard->bytes);
	}
	if (status != LC_OK || !put)
		return status;
	pthread_mutex_lock(&team->lock);
	part->pushing->result.objects++;
	part->pushing->result.bytes += shard->bytes;
	pthread_mutex_unlock(&team->lock);
	return LC_OK;
}

/* The work of the team. Afterwards the shard's path is that of the object. */
static lc_status
push_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct pushed_part *part = team->ctx;
	struct lc__manifest_shard *shard = &part->manifest.shards[i];
	char *path = lc__path_join(part->dir, shard->relative_path);
	char name[LC__OBJECT_NAME];
	int fd = -1;
	lc_status status;

	(void)thread;
	if (path == NULL)
		return lc__no_memory(part->dir);
	status = lc__open_regular(path, &fd);
	if (status == LC_OK)
		status = put_shard(team, part, shard, path, fd);
	if (fd != -1)
		close(fd);
	free(path);
	return_if_error(status);
	lc__name_shard(shard->sha256, name);
	free(shard->relative_path);
	shard->relative_path = strdup(name);
	/* Its other members concern other places. */
	shard->xxh3[0] = '\0';
	return shard->relative_path != NULL ? LC_OK : lc__no_memory(name);
}

static lc_status
push_shards(struct pushed_part *part)
{
	const struct lc__push *push = part->pushing->push;
	struct lc__team team = {
		.work = push_shard,
		.ctx = part,
		.jobs = part->manifest.n,
		.threads = push->threads,
		.progress = push->progress,
	};

	for (size_t i = 0; i < part->manifest.n; i++)
		team.total += part->manifest.shards[i].bytes;
	return lc__team_run(&team);
}

/* ---- the part's manifests --------------------------------------------------------------- */

/* The identity of these shards: their content, in order. */
static lc_status
describe_version(const char *part, const struct lc__manifest_shard *shards, size_t n,
    struct lc__buf *recipe)
{
	struct lc__buf sums = { 0 };
	char sha256[65];
	lc_status status;

	for (size_t i = 0; i < n; i++)
		lc__buf_printf(&sums, "%s\n", shards[i].sha256);
	status = sums.failed ? lc__no_memory(part)
			     : lc__sha256_of(sums.data, sums.size, sha256);
	lc__buf_free(&sums);
	return_if_error(status);
	lc__buf_printf(recipe, "{\"part\":");
	return_if_error(lc__manifest_quote(part, recipe));
	lc__buf_printf(recipe, ",\"shards_sha256\":\"%s\"}", sha256);
	return LC_OK;
}

/* The text of the manifest of some of the shards; it depends on the part's content
 * only. */
static lc_status
format_manifest(const struct pushed_part *part, struct lc__manifest_shard *shards,
    size_t n, struct lc__buf *out)
{
	const struct lc__manifest m = {
		.dataset_root = (char *)(uintptr_t)part->name,
		.transform = part->manifest.transform,
		.default_dtype = part->manifest.default_dtype,
		.default_shard_version = part->manifest.default_shard_version,
		.n = n,
		.shards = shards,
		.manifest_version = LC__MANIFEST_VERSION,
	};
	struct lc__buf recipe = { 0 };
	uint64_t samples = 0;
	lc_status status = describe_version(part->name, shards, n, &recipe);

	for (size_t i = 0; i < n; i++)
		samples += shards[i].samples;
	if (status == LC_OK)
		status = lc__stored_format(&m, &recipe, samples, out);
	lc__buf_free(&recipe);
	return status;
}

/* Put it under the name of its content, where it may be already. */
static lc_status
put_manifest(struct pushed_part *part, const struct lc__buf *text)
{
	const struct lc__push *push = part->pushing->push;
	struct lc__receipt *receipt = &part->receipt;
	struct lc__receipt_file *file;
	struct lc__manifest theirs = { 0 };
	char name[LC__OBJECT_NAME];
	lc_status status;

	return_if_error(lc__array_reserve(&receipt->files, &receipt->room, receipt->n + 1,
	    part->name));
	file = &receipt->files[receipt->n++];
	file->bytes = text->size;
	return_if_error(lc__sha256_of(text->data, text->size, file->sha256));
	lc__name_part(file->sha256, name);
	status = lc__object_add(push->store, name, text->data, text->size);
	if (status != LC_EXISTS)
		return status;
	status = lc__part_read(push->store, file->sha256, NULL, &theirs);
	lc__manifest_free(&theirs);
	return status == LC_CORRUPT
	    ? lc__object_replace(push->store, name, text->data, text->size)
	    : status;
}

static lc_status
push_manifests(struct pushed_part *part)
{
	struct lc__manifest *m = &part->manifest;
	struct lc__receipt *receipt = &part->receipt;
	lc_status status = LC_OK;

	receipt->shards = m->n;
	for (size_t i = 0; i < m->n; i++) {
		/* Each is at most INT64_MAX, so a sum cannot wrap before it is
		 * checked. */
		receipt->samples += m->shards[i].samples;
		receipt->bytes += m->shards[i].bytes;
		if (receipt->samples > INT64_MAX || receipt->bytes > INT64_MAX)
			return lc__error(LC_INVALID, 0, "has too many samples");
	}
	for (size_t at = 0; at < m->n && status == LC_OK; at += LC__MANIFEST_PART_MOST) {
		const size_t left = m->n - at;
		struct lc__buf text = { 0 };

		status = format_manifest(part, m->shards + at,
		    left < LC__MANIFEST_PART_MOST ? left : LC__MANIFEST_PART_MOST, &text);
		if (status == LC_OK)
			status = put_manifest(part, &text);
		lc__buf_free(&text);
	}
	return status;
}

/* ---- receipts --------------------------------------------------------------------------- */

/* LC_EXISTS, with an explanation, for a receipt with different content. */
static lc_status
conflict(const struct lc__receipt *ours, const struct lc__receipt *theirs)
{
	if (*ours->fingerprint != '\0' && *theirs->fingerprint != '\0' &&
	    strcmp(ours->fingerprint, theirs->fingerprint) != 0)
		return lc__error(LC_EXISTS, 0,
		    "part %s: this input was pushed with different content: fingerprint "
		    "%.16s, and %.16s here",
		    ours->part, theirs->fingerprint, ours->fingerprint);
	return lc__error(LC_EXISTS, 0,
	    "part %s: different values were pushed: %llu samples in %s, and %llu in %s "
	    "here; the producer is not deterministic, or is another one",
	    ours->part, (unsigned long long)theirs->samples,
	    theirs->n > 0 ? theirs->files[0].sha256 : "no shards",
	    (unsigned long long)ours->samples,
	    ours->n > 0 ? ours->files[0].sha256 : "no shards");
}

static bool
same_files(const struct lc__receipt *a, const struct lc__receipt *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->files[i].sha256, b->files[i].sha256) != 0)
			return false;
	return true;
}

static bool
same_input(const struct lc__receipt *a, const struct lc__receipt *b)
{
	return *a->fingerprint == '\0' || *b->fingerprint == '\0' ||
	    strcmp(a->fingerprint, b->fingerprint) == 0;
}

/*
 * Compare the store's receipt of the part with what is known here: its input only, or
 * with @p made also the result. A receipt that cannot be read is put again, if the part
 * was made. LC_NO_FILE if there is none.
 */
static lc_status
look_at_receipt(const struct pushed_part *part, bool made, enum lc__pushed *out)
{
	const struct pushing *p = part->pushing;
	struct lc__receipt theirs = { .n = 0 };

	return_if_error(
	    lc__receipt_read(p->push->store, &p->recipe, part->receipt.index, &theirs));
	if (same_input(&part->receipt, &theirs) &&
	    (!made || same_files(&part->receipt, &theirs))) {
		*out = LC__PUSHED_THERE;
	} else if (p->push->first_wins) {
		*out = LC__PUSHED_KEPT;
	} else {
		*out = LC__PUSHED_CONFLICT;
		(void)conflict(&part->receipt, &theirs);
	}
	lc__receipt_free(&theirs);
	return LC_OK;
}

/* For a part that is incomplete here: another machine may have pushed it. */
static lc_status
look_for_receipt(const struct pushing *p, uint64_t part, enum lc__pushed *out)
{
	char name[LC__OBJECT_NAME];
	struct lc__object about;
	lc_status status;

	lc__name_receipt(p->recipe.id, part, name);
	status = lc__object_find(p->push->store, name, &about);
	*out = status == LC_OK ? LC__PUSHED_THERE : LC__PUSHED_UNFINISHED;
	return status == LC_NO_FILE ? LC_OK : status;
}

static lc_status
put_receipt(struct pushed_part *part, enum lc__pushed *out)
{
	const struct pushing *p = part->pushing;
	struct lc__buf text = { 0 };
	char name[LC__OBJECT_NAME];
	lc_status status = lc__receipt_format(&part->receipt, &text);

	lc__name_receipt(p->recipe.id, part->receipt.index, name);
	if (status == LC_OK)
		status = lc__object_add(p->push->store, name, text.data, text.size);
	*out = LC__PUSHED_PUT;
	if (status == LC_EXISTS)
		status = look_at_receipt(part, true, out);
	if (status == LC_CORRUPT && p->push->check) {
		*out = LC__PUSHED_PUT;
		status = lc__object_replace(p->push->store, name, text.data, text.size);
	}
	lc__buf_free(&text);
	return status;
}

/* ---- parts ------------------------------------------------------------------------------ */

static lc_status
make_and_put(struct pushed_part *part, const struct lc__push_part *from,
    enum lc__pushed *out)
{
	const struct lc__push_source *source = part->pushing->push->source;
	lc_status status = LC_OK;

	if (from->records > 0)
		status = source->make(source->ctx, part->pushing->recipe.id,
		    (size_t)part->receipt.index, &part->dir, &part->manifest);
	if (status == LC_BUSY) {
		*out = LC__PUSHED_BUSY;
		return LC_OK;
	}
	if (status == LC_OK)
		status = push_shards(part);
	if (status == LC_OK)
		status = push_manifests(part);
	if (status == LC_OK)
		status = put_receipt(part, out);
	if (part->dir != NULL && status == LC_OK)
		source->done(source->ctx, part->dir);
	return status;
}

static lc_status
push_part(struct pushing *p, size_t i, enum lc__pushed *out)
{
	const struct lc__push_part *from = &p->push->source->parts[i];
	struct pushed_part part = {
		.pushing = p,
		.name = from->name,
		.receipt = {
			.part = from->name,
			.index = i,
			.fingerprint = from->fingerprint,
			.has_lines = from->has_lines,
			.lines = from->lines,
		},
	};
	lc_status status = LC_NO_FILE;

	if (!from->finished)
		return look_for_receipt(p, i, out);
	strcpy(part.receipt.run, p->recipe.sha256);
	if (!p->push->check)
		status = look_at_receipt(&part, false, out);
	if (status == LC_NO_FILE)
		status = make_and_put(&part, from, out);
	lc__manifest_free(&part.manifest);
	free(part.receipt.files);
	free(part.dir);
	return status;
}

/* ---- the run ---------------------------------------------------------------------------- */

static lc_status
make_recipe(struct pushing *p, struct lc__buf *text)
{
	const struct lc__push_source *source = p->push->source;

	p->recipe.producer = strdup(p->push->producer);
	p->recipe.options = strdup(source->options);
	if (p->recipe.producer == NULL || p->recipe.options == NULL)
		return lc__no_memory("recipe");
	for (size_t i = 0; i < source->n; i++)
		return_if_error(lc__parts_recipe_add(&p->recipe, source->parts[i].name));
	return lc__parts_recipe_format(&p->recipe, text);
}

/* The first push of a run first checks whether the store keeps its promises. */
static lc_status
put_recipe(const struct pushing *p, const struct lc__buf *text)
{
	struct lc__objects *store = p->push->store;
	struct lc__parts_recipe theirs = { .n = 0 };
	char name[LC__OBJECT_NAME];
	lc_status status;

	lc__name_recipe(p->recipe.id, name);
	if (lc__object_find(store, name, &(struct lc__object){ 0 }) != LC_OK)
		return_if_error(lc__objects_probe(store));
	status = lc__object_add(store, name, text->data, text->size);
	if (status != LC_EXISTS)
		return status;
	status = lc__parts_recipe_read(store, p->recipe.id, &theirs);
	if (status == LC_OK && strcmp(theirs.sha256, p->recipe.sha256) != 0)
		status = lc__error(LC_CORRUPT, 0,
		    "%s/%s: two recipes have this name; change the producer's text",
		    store->url, name);
	lc__parts_recipe_free(&theirs);
	if (status == LC_CORRUPT && p->push->check)
		status = lc__object_replace(store, name, text->data, text->size);
	return status;
}

lc_status
lc__push_run(const struct lc__push *push, struct lc__push_result *out)
{
	struct pushing p = { .push = push };
	struct lc__buf text = { 0 };
	lc_status status = make_recipe(&p, &text);

	if (status == LC_OK)
		status = put_recipe(&p, &text);
	for (size_t i = 0; i < push->source->n && status == LC_OK; i++) {
		enum lc__pushed what;

		status = push_part(&p, i, &what);
		if (status != LC_OK) {
			(void)lc__error_prefix("part %s", push->source->parts[i].name);
			break;
		}
		p.result.parts[what]++;
		push->told(push->ctx, i, what);
	}
	strcpy(p.result.run, p.recipe.id);
	*out = p.result;
	lc__buf_free(&text);
	lc__parts_recipe_free(&p.recipe);
	return status;
}

lc_status
lc__push_is_made(struct lc__objects *store, const struct lc__parts_recipe *recipe,
    uint64_t part, bool *made)
{
	struct lc__receipt receipt = { .n = 0 };
	const lc_status status = lc__receipt_read(store, recipe, part, &receipt);

	lc__receipt_free(&receipt);
	if (status != LC_OK && status != LC_NO_FILE && status != LC_CORRUPT)
		return status;
	*made = status == LC_OK;
	return LC_OK;
}

/* ---- sources ---------------------------------------------------------------------------- */

lc_status
lc__push_read_manifest(const char *dir, struct lc__manifest *out)
{
	struct lc__buf text = { 0 };
	char *path = lc__path_join(dir, LC__MANIFEST_NAME);
	lc_status status = path != NULL
	    ? lc__read_regular(path, LC__STORED_MANIFEST, &text)
	    : lc__no_memory(dir);

	if (status == LC_OK)
		status = lc__manifest_parse_any(text.data, text.size, path, out);
	lc__buf_free(&text);
	free(path);
	return status;
}

lc_status
lc__push_source_add(struct lc__push_source *source, const char *name,
    struct lc__push_part **out)
{
	struct lc__push_part *part;

	return_if_error(
	    lc__array_reserve(&source->parts, &source->room, source->n + 1, "parts"));
	part = &source->parts[source->n++];
	*part = (struct lc__push_part){ .name = strdup(name), .fingerprint = strdup("") };
	if (part->name == NULL || part->fingerprint == NULL)
		return lc__no_memory("parts");
	*out = part;
	return LC_OK;
}

void
lc__push_source_close(struct lc__push_source *source)
{
	if (source->close != NULL)
		source->close(source->ctx);
	for (size_t i = 0; i < source->n; i++) {
		free(source->parts[i].name);
		free(source->parts[i].fingerprint);
	}
	free(source->parts);
	free(source->options);
	memset(source, 0, sizeof(*source));
}
