/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/shardset.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/team.h"
#include "format/twh1.h"
#include "shard/digest.h"
#include "shard/reader.h"

#define MAX_THREADS 8             /* more do not read faster */
#define PIECE ((uint64_t)1 << 20) /* hashed between two steps */

/* ---- what reading cost --------------------------------------------------------------- */

unsigned
lc__cost_stripe(void)
{
	static _Atomic unsigned threads;
	static _Thread_local unsigned mine; /* 0: none yet */

	if (mine == 0)
		mine = 1 +
		    atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) %
			LC__COST_STRIPES;
	return mine - 1;
}

uint64_t
lc__cost_sum(const struct lc__cost *cost, enum lc__cost_kind kind)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LC__COST_STRIPES; i++)
		sum += atomic_load_explicit(&cost->stripes[i][kind],
		    memory_order_relaxed);
	return sum;
}

/* ---- opening ------------------------------------------------------------------------- */

/* An opening on its way. */
struct opening {
	struct lc__shardset *set;
	const char *dir;
	const struct lc__manifest *manifest;
};

static lc_status
attach_sections(struct lc__wshard *shard)
{
	lc_status status;
	int fd;

	return_if_error(lc__wfile_open(shard->path, &shard->file, &fd));
	shard->memory_size = shard->file.size;
	if (shard->file.size == 0)
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a TWH1 shard", shard->path);
	else
		status = lc__load_sections(fd, shard->path, shard->file.size,
		    &shard->memory);
	close(fd);
	return_if_error(status);
	return lc__twh1_parse(shard->memory, shard->file.size, shard->path, &shard->twh1);
}

/* What is remembered of its blocks and samples, if there is anything to. */
static lc_status
make_memory(const struct lc__shardset *set, struct lc__wshard *shard)
{
	const struct lc__twh1 *t = &shard->twh1;
	const bool blocks = t->table != NULL && set->verify != LC_VERIFY_NEVER;

	shard->always = set->verify == LC_VERIFY_ALWAYS;
	if (blocks) {
		shard->good = calloc((size_t)(t->blocks / 64 + 1), sizeof(*shard->good));
		if (shard->good == NULL)
			return lc__no_memory(shard->path);
	}
	if ((blocks || t->rows != NULL) && t->info.samples > 0) {
		shard->known = calloc((size_t)t->info.samples, sizeof(*shard->known));
		if (shard->known == NULL)
			return lc__no_memory(shard->path);
	}
	return lc__twh1_form(t, &shard->form);
}

/* Failures of the system end the opening; all else is damage of this shard. */
static lc_status
judge(struct lc__wshard *shard, lc_status status)
{
	if (status == LC_OK || status == LC_CANCELLED || status == LC_IO ||
	    status == LC_NO_MEMORY || status == LC_PERMISSION)
		return status;
	shard->error = malloc(sizeof(*shard->error));
	if (shard->error == NULL)
		return lc__no_memory(shard->path);
	*shard->error = *lc_last_error();
	shard->error->status = LC_CORRUPT;
	return LC_OK;
}

static lc_status
attach_job(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct opening *o = team->ctx;
	struct lc__wshard *shard = &o->set->shards[i];
	const struct lc__manifest_shard *said = &o->manifest->shards[i];
	const uint64_t start = lc__clock_ns();
	lc_status status;

	(void)thread;
	shard->path = lc__path_join(o->dir, said->relative_path);
	if (shard->path == NULL)
		return lc__no_memory(o->dir);
	if (o->set->mode == LC_WAREHOUSE_MAP) {
		status = lc_shard_open(shard->path, &shard->mapped);
		if (status == LC_OK)
			shard->twh1 = *lc__shard_twh1(shard->mapped);
	} else {
		status = attach_sections(shard);
	}
	if (status == LC_OK)
		status = lc__shard_compare(shard->path, &shard->twh1, said);
	if (status == LC_OK)
		status = make_memory(o->set, shard);
	status = judge(shard, status);
	shard->open_ns = lc__clock_ns() - start;
	return status;
}

/* ---- its bytes -------------------------------------------------------------- */

static bool
has_digest(const struct lc__manifest_shard *said)
{
	return said->sha256[0] != '\0' || said->xxh3[0] != '\0';
}

/* Whether the file is compared with its checksum in the manifest now. */
static bool
needs_digest(const struct lc__shardset *set, const struct lc__wshard *shard,
    const struct lc__manifest_shard *said)
{
	if (set->verify_files)
		return true;
	return set->verify != LC_VERIFY_NEVER && shard->twh1.table == NULL &&
	    has_digest(said);
}

/* The sections become part of the whole; everything in it is checked anew, and there
 * must be as many blocks as are remembered. */
static lc_status
load(struct lc__shardset *set, struct lc__wshard *shard,
    const struct lc__manifest_shard *said, struct lc__team *team)
{
	unsigned char *memory = NULL;
	const uint64_t blocks = shard->twh1.blocks;
	struct lc__wfile file;
	lc_status status;
	int fd;

	return_if_error(lc__wfile_open(shard->path, &file, &fd));
	if (file.size != shard->memory_size)
		status = lc__error(LC_CORRUPT, 0, "%s: changes while it is read",
		    shard->path);
	else
		status = lc__load_all(fd, shard->path, file.size, team, &memory);
	close(fd);
	return_if_error(status);
	lc__load_free(shard->memory, shard->memory_size);
	shard->memory = memory;
	lc__cost_add(&set->cost, LC__COST_BYTES_READ, file.size);
	return_if_error(lc__twh1_parse(memory, file.size, shard->path, &shard->twh1));
	if (shard->twh1.blocks != blocks)
		return lc__error(LC_CORRUPT, 0, "%s: changes while it is read",
		    shard->path);
	return lc__shard_compare(shard->path, &shard->twh1, said);
}

static lc_status
hash_memory(const struct lc__wshard *shard, bool no_sha256, struct lc__team *team,
    struct lc__digest_text *out)
{
	struct lc__digest digest = { 0 };
	lc_status status = lc__digest_begin(&digest, no_sha256);

	for (uint64_t at = 0; at < shard->memory_size && status == LC_OK; at += PIECE) {
		const uint64_t left = shard->memory_size - at;
		const uint64_t n = left < PIECE ? left : PIECE;

		status = lc__digest_update(&digest, shard->memory + at, (size_t)n);
		if (status == LC_OK)
			status = lc__team_step(team, n);
	}
	if (status == LC_OK)
		status = lc__digest_end(&digest, out);
	lc__digest_free(&digest);
	return status;
}

/* LC_CORRUPT if the file differs from its checksum in the manifest, or has none there. */
static lc_status
compare_digest(struct lc__shardset *set, const struct lc__wshard *shard,
    const struct lc__manifest_shard *said, struct lc__team *team)
{
	const bool sha256 = said->sha256[0] != '\0';
	struct lc__digest_text has;

	if (!has_digest(said))
		return lc__error(LC_CORRUPT, 0, "%s: the manifest has no checksum of it",
		    shard->path);
	return_if_error(set->mode == LC_WAREHOUSE_MEMORY
		? hash_memory(shard, !sha256, team, &has)
		: lc__file_digest(shard->path, !sha256, team, &has));
	if (strcmp(sha256 ? has.sha256 : has.xxh3, sha256 ? said->sha256 : said->xxh3) !=
	    0)
		return lc__error(LC_CORRUPT, 0, "%s: %s differs from the manifest",
		    shard->path, sha256 ? "SHA-256" : "XXH3");
	return LC_OK;
}

static lc_status
digest(struct lc__shardset *set, struct lc__wshard *shard,
    const struct lc__manifest_shard *said, struct lc__team *team)
{
	const uint64_t start = lc__clock_ns(), size = shard->twh1.info.file_size;
	const lc_status status = compare_digest(set, shard, said, team);

	lc__cost_add(&set->cost, LC__COST_VERIFY_NS, lc__clock_ns() - start);
	lc__cost_add(&set->cost, LC__COST_BYTES_VERIFIED, size);
	if (set->mode != LC_WAREHOUSE_MEMORY)
		lc__cost_add(&set->cost, LC__COST_BYTES_READ, size);
	return status;
}

static lc_status
read_job(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct opening *o = team->ctx;
	struct lc__wshard *shard = &o->set->shards[i];
	const struct lc__manifest_shard *said = &o->manifest->shards[i];
	const uint64_t start = lc__clock_ns();
	lc_status status = LC_OK;

	(void)thread;
	if (shard->error != NULL)
		return LC_OK;
	if (o->set->mode == LC_WAREHOUSE_MEMORY)
		status = load(o->set, shard, said, team);
	if (status == LC_OK && needs_digest(o->set, shard, said))
		status = digest(o->set, shard, said, team);
	status = judge(shard, status);
	shard->open_ns += lc__clock_ns() - start;
	return status;
}

static uint64_t
bytes_to_read(const struct opening *o)
{
	uint64_t total = 0;

	for (size_t i = 0; i < o->set->n; i++) {
		const struct lc__wshard *shard = &o->set->shards[i];
		const uint64_t size = shard->twh1.info.file_size;

		if (shard->error != NULL)
			continue;
		total += o->set->mode == LC_WAREHOUSE_MEMORY ? size : 0;
		total += needs_digest(o->set, shard, &o->manifest->shards[i]) ? size : 0;
	}
	return total;
}

/* ---- all of them ------------------------------------------------------------ */

static lc_status
run(struct opening *o, lc_status (*job)(struct lc__team *, unsigned, uint64_t),
    uint64_t total, const lc_progress *progress)
{
	struct lc__team team = {
		.work = job,
		.ctx = o,
		.jobs = o->set->n,
		.threads = lc__team_processors(MAX_THREADS),
		.total = total,
		.progress = progress,
	};

	return lc__team_run(&team);
}

/* Name what is damaged, in the manifest's order; the first is the error. */
static lc_status
report(const struct lc__shardset *set, const lc_progress *progress)
{
	const lc_error *first = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const lc_error *error = set->shards[i].error;

		if (error == NULL)
			continue;
		if (first == NULL)
			first = error;
		if (progress != NULL && progress->damage != NULL)
			progress->damage(progress->ctx, error->text);
	}
	return first == NULL ? LC_OK : lc__error_raise(first);
}

/* About four entries a shard, so that a search from one of them is short. */
static lc_status
make_jumps(struct lc__shardset *set, const char *dir)
{
	uint64_t entries;
	uint32_t shard = 0;

	while (set->samples >> set->jump_shift > 4 * (uint64_t)set->n)
		set->jump_shift++;
	entries = (set->samples >> set->jump_shift) + 2;
	set->jump = calloc((size_t)entries, sizeof(*set->jump));
	if (set->jump == NULL)
		return lc__no_memory(dir);
	for (uint64_t i = 0; i < entries; i++) {
		while (shard + 1 < set->n &&
		    set->shards[shard + 1].first <= i << set->jump_shift)
			shard++;
		set->jump[i] = shard;
	}
	return LC_OK;
}

lc_status
lc__shardset_open(struct lc__shardset *set, const char *dir,
    const struct lc__manifest *manifest, const lc_progress *progress)
{
	const bool wants_all = progress != NULL && progress->damage != NULL;
	struct opening o = { set, dir, manifest };
	bool damaged = false;
	uint64_t total;

	set->n = manifest->n;
	set->shards = calloc(set->n ? set->n : 1, sizeof(*set->shards));
	if (set->shards == NULL)
		return lc__no_memory(dir);
	/* All that is cheap comes first: no hours of reading before a shard that is
	 * not there is missed. */
	return_if_error(run(&o, attach_job, 0, NULL));
	for (size_t i = 0; i < set->n; i++)
		damaged = damaged || set->shards[i].error != NULL;
	total = bytes_to_read(&o);
	if (total > 0 && (!damaged || wants_all))
		return_if_error(run(&o, read_job, total, progress));
	return_if_error(report(set, progress));

	for (size_t i = 0; i < set->n; i++) {
		set->shards[i].first = set->samples;
		if (!lc__add64(set->samples, set->shards[i].twh1.info.samples,
			&set->samples))
			return lc__error(LC_CORRUPT, 0, "%s: too many samples", dir);
	}
	return make_jumps(set, dir);
}

void
lc__shardset_close(struct lc__shardset *set)
{
	lc__wfiles_close(&set->files);
	for (size_t i = 0; set->shards != NULL && i < set->n; i++) {
		struct lc__wshard *shard = &set->shards[i];

		lc_shard_close(shard->mapped);
		lc__load_free(shard->memory, shard->memory_size);
		free((void *)shard->good);
		free((void *)shard->known);
		free(shard->error);
		free(shard->path);
	}
	free(set->shards);
	free(set->jump);
}

struct lc__wshard *
lc__shardset_find(const struct lc__shardset *set, uint64_t i, uint64_t *at)
{
	const uint64_t entry = i >> set->jump_shift;
	size_t low = set->jump[entry], high = set->jump[entry + 1];

	while (low < high) {
		const size_t middle = high - (high - low) / 2;

		if (set->shards[middle].first <= i)
			low = middle;
		else
			high = middle - 1;
	}
	*at = i - set->shards[low].first;
	return &set->shards[low];
}
