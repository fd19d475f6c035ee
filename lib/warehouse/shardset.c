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
#include "shard/reader.h"
#include "warehouse/digests.h"
#include "warehouse/load.h"

#define MAX_THREADS 8 /* more do not read faster */

/* An opening on its way. */
struct opening {
	struct lc__shardset *set;
	const char *dir;
	const struct lc__manifest *manifest;
};

/* ---- its header and sections ------------------------------------------------ */

static lc_status
attach_map(struct lc__wshard *shard)
{
	return_if_error(lc_shard_open(shard->path, &shard->mapped));
	shard->twh1 = *lc__shard_twh1(shard->mapped);
	return LC_OK;
}

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
	const bool blocks = t->table != NULL && set->verify != LC_VERIFY_NONE;

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

static lc_status
attach(const struct opening *o, struct lc__wshard *shard,
    const struct lc__manifest_shard *said)
{
	return_if_error(o->set->mode == LC_WAREHOUSE_MAP ? attach_map(shard)
							 : attach_sections(shard));
	return_if_error(lc__shard_compare(shard->path, &shard->twh1, said));
	return make_memory(o->set, shard);
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
	status = judge(shard, attach(o, shard, said));
	shard->open_ns = lc__clock_ns() - start;
	return status;
}

/* ---- its bytes -------------------------------------------------------------- */

/* Whether the file is compared with its checksum in the manifest now. */
static bool
needs_digest(const struct lc__shardset *set, const struct lc__wshard *shard,
    const struct lc__manifest_shard *said)
{
	if (set->verify == LC_VERIFY_LAZY)
		return shard->twh1.table == NULL && lc__digest_known(said);
	return set->verify == LC_VERIFY_FULL;
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
digest(struct lc__shardset *set, struct lc__wshard *shard,
    const struct lc__manifest_shard *said, struct lc__team *team)
{
	const uint64_t start = lc__clock_ns();
	lc_status status;

	if (set->mode == LC_WAREHOUSE_MEMORY)
		status = lc__digest_memory(shard->path, shard->memory, shard->memory_size,
		    said, team);
	else
		status = lc__digest_file(shard->path, said, team);
	lc__cost_add(&set->cost, LC__COST_VERIFY_NS, lc__clock_ns() - start);
	lc__cost_add(&set->cost, LC__COST_BYTES_VERIFIED, shard->twh1.info.file_size);
	if (set->mode != LC_WAREHOUSE_MEMORY)
		lc__cost_add(&set->cost, LC__COST_BYTES_READ, shard->twh1.info.file_size);
	return status;
}

static lc_status
read_shard(const struct opening *o, struct lc__wshard *shard,
    const struct lc__manifest_shard *said, struct lc__team *team)
{
	if (o->set->mode == LC_WAREHOUSE_MEMORY)
		return_if_error(load(o->set, shard, said, team));
	if (needs_digest(o->set, shard, said))
		return_if_error(digest(o->set, shard, said, team));
	return LC_OK;
}

static lc_status
read_job(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct opening *o = team->ctx;
	struct lc__wshard *shard = &o->set->shards[i];
	const uint64_t start = lc__clock_ns();
	lc_status status;

	(void)thread;
	if (shard->error != NULL)
		return LC_OK;
	status = judge(shard, read_shard(o, shard, &o->manifest->shards[i], team));
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
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct lc__team team = {
		.work = job,
		.ctx = o,
		.jobs = o->set->n,
		.threads = processors < 1      ? 1
		    : processors > MAX_THREADS ? MAX_THREADS
					       : (unsigned)processors,
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

/* Whether something is damaged and nobody wants to hear of more. */
static bool
stop_here(const struct lc__shardset *set, const lc_progress *progress)
{
	bool damaged = false;

	for (size_t i = 0; i < set->n; i++)
		damaged = damaged || set->shards[i].error != NULL;
	return damaged && (progress == NULL || progress->damage == NULL);
}

static lc_status
number_samples(struct lc__shardset *set, const char *dir)
{
	for (size_t i = 0; i < set->n; i++) {
		set->shards[i].first = set->samples;
		if (!lc__add64(set->samples, set->shards[i].twh1.info.samples,
			&set->samples))
			return lc__error(LC_CORRUPT, 0, "%s: too many samples", dir);
	}
	return LC_OK;
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
	struct opening o = { set, dir, manifest };
	uint64_t total;

	set->n = manifest->n;
	set->shards = calloc(set->n ? set->n : 1, sizeof(*set->shards));
	if (set->shards == NULL)
		return lc__no_memory(dir);
	/* All that is cheap comes first: no hours of reading before a shard that is
	 * not there is missed. */
	return_if_error(run(&o, attach_job, 0, NULL));
	total = bytes_to_read(&o);
	if (total > 0 && !stop_here(set, progress))
		return_if_error(run(&o, read_job, total, progress));
	return_if_error(report(set, progress));
	return_if_error(number_samples(set, dir));
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
