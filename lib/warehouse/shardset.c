/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/shardset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/team.h"
#include "format/twh1.h"
#include "shard/digest.h"
#include "shard/reader.h"
#include "warehouse/verify.h"

#define MAX_THREADS 8             /* more do not read faster */
#define PIECE ((uint64_t)1 << 20) /* hashed between two steps */
#define RANGE ((uint64_t)8 << 20) /* requested from a supplier at once */

/* ---- statistics ------------------------------------------------------------------ */

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

/* A set that is being opened. */
struct opening {
	struct lc__shardset *set;
	const lc_progress *progress; /* may be NULL */
	/* First damaged shard of a large set; guarded by the team's lock. */
	uint64_t first_damaged;
	lc_error error; /* why that shard is damaged */
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

/* What is remembered of its blocks and samples, if needed. */
static lc_status
make_memory(const struct lc__shardset *set, struct lc__wshard *shard)
{
	const struct lc__twh1 *t = &shard->twh1;
	const bool blocks = t->table != NULL &&
	    (shard->ranged || set->verify != LC_VERIFY_NEVER);

	/* Bytes read by ranges are verified before they are stored. */
	shard->always = set->verify == LC_VERIFY_ALWAYS && !shard->ranged;
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

/* Did the system fail, rather than the shard? */
static bool
is_of_system(lc_status status)
{
	return status == LC_CANCELLED || status == LC_IO || status == LC_NO_MEMORY ||
	    status == LC_PERMISSION || status == LC_NO_SPACE || status == LC_TIMEOUT;
}

static lc_status
read_supplied(void *ctx, uint64_t from, uint64_t size, void *out)
{
	const struct lc__wshard *shard = ctx;

	return shard->supplier->read(shard->supplier, shard->number, from, (size_t)size,
	    out);
}

/* Memory for a shard that is read by ranges; one without block checksums is read
 * completely now. */
static lc_status
read_sections(uint64_t size, struct lc__wshard *shard)
{
	return_if_error(lc__load_sections_by(read_supplied, shard, shard->path, size,
	    &shard->memory));
	shard->memory_size = size;
	return_if_error(lc__twh1_parse(shard->memory, size, shard->path, &shard->twh1));
	if (mprotect(shard->memory, (size_t)size, PROT_READ | PROT_WRITE) == -1)
		return lc__no_memory(shard->path);
	shard->ranged = shard->twh1.table != NULL;
	shard->whole = !shard->ranged;
	for (uint64_t at = 0; shard->whole && at < size; at += RANGE) {
		const uint64_t n = size - at < RANGE ? size - at : RANGE;

		return_if_error(read_supplied(shard, at, n, shard->memory + at));
	}
	/* The shard may have changed completely. */
	return shard->whole
	    ? lc__twh1_parse(shard->memory, size, shard->path, &shard->twh1)
	    : LC_OK;
}

/* Sections that arrived damaged are requested once more. */
static lc_status
attach_ranges(const struct lc__manifest_shard *said, struct lc__wshard *shard)
{
	lc_status status;

	if (!said->has_bytes || said->bytes == 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: its manifest does not state its size", shard->path);
	for (int i = 0; i < 2; i++) {
		lc__load_free(shard->memory, shard->memory_size);
		shard->memory = NULL;
		shard->memory_size = 0;
		memset(&shard->twh1, 0, sizeof(shard->twh1));
		status = read_sections(said->bytes, shard);
		if (status == LC_OK)
			status = lc__shard_compare(shard->path, &shard->twh1, said);
		if (status == LC_OK || is_of_system(status))
			break;
	}
	return status;
}

/* Get its file, or LC_NO_SPACE. */
static lc_status
take_file(const struct lc__shardset *set, struct lc__wshard *shard)
{
	char *path;

	return_if_error(
	    set->supplier->take(set->supplier, shard->number, &path, &shard->taken));
	free(shard->path);
	shard->path = path;
	return LC_OK;
}

/* Map a shard or load its sections, and compare it with its entry. */
static lc_status
attach(const struct lc__shardset *set, size_t i, const struct lc__said *said,
    struct lc__wshard *shard)
{
	lc_status status = LC_OK;

	shard->number = i;
	shard->supplier = set->supplier;
	shard->path = lc__path_join(set->supplier != NULL ? set->supplier->url
							  : said->dir,
	    said->shard.relative_path);
	if (shard->path == NULL)
		return lc__no_memory(said->dir);
	if (set->supplier != NULL)
		status = take_file(set, shard);
	if (status == LC_NO_SPACE) {
		return_if_error(attach_ranges(&said->shard, shard));
	} else if (status != LC_OK) {
		return status;
	} else if (set->mode == LC_WAREHOUSE_MAP) {
		return_if_error(lc_shard_open(shard->path, &shard->mapped));
		shard->twh1 = *lc__shard_twh1(shard->mapped);
	} else {
		return_if_error(attach_sections(shard));
	}
	return_if_error(lc__shard_compare(shard->path, &shard->twh1, &said->shard));
	return make_memory(set, shard);
}

static void
detach(struct lc__wshard *shard)
{
	lc_shard_close(shard->mapped);
	lc__load_free(shard->memory, shard->memory_size);
	free((void *)shard->good);
	free((void *)shard->known);
	free(shard->error);
	if (shard->taken != NULL)
		shard->supplier->give(shard->supplier, shard->taken);
	free(shard->path);
}

/* System failures end the opening; everything else is damage of this shard. */
static lc_status
judge(struct lc__wshard *shard, lc_status status)
{
	if (status == LC_OK || is_of_system(status))
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
	const uint64_t start = lc__clock_ns();
	struct lc__said said;
	lc_status status;

	(void)thread;
	status = lc__setparts_said(&o->set->said, i, &said);
	if (status == LC_OK)
		status = attach(o->set, i, &said, shard);
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

/* A shard without block checksums is compared with its checksum in the manifest whenever
 * it is opened. */
static bool
lacks_blocks(const struct lc__shardset *set, const struct lc__wshard *shard,
    const struct lc__manifest_shard *said)
{
	return set->verify != LC_VERIFY_NEVER && shard->twh1.table == NULL &&
	    has_digest(said);
}

/* Is the file compared with its checksum in the manifest now? */
static bool
needs_digest(const struct lc__shardset *set, const struct lc__wshard *shard,
    const struct lc__manifest_shard *said)
{
	return set->verify_files || lacks_blocks(set, shard, said);
}

/* The sections become part of the whole; everything in it is checked again, and the
 * number of blocks must be the same. */
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
		status = lc__error(LC_CORRUPT, 0, "%s: changed while it was read",
		    shard->path);
	else
		status = lc__load_all(fd, shard->path, file.size, team, &memory);
	close(fd);
	return_if_error(status);
	lc__load_free(shard->memory, shard->memory_size);
	shard->memory = memory;
	shard->whole = true;
	lc__cost_add(&set->cost, LC__COST_BYTES_READ, file.size);
	return_if_error(lc__twh1_parse(memory, file.size, shard->path, &shard->twh1));
	if (shard->twh1.blocks != blocks)
		return lc__error(LC_CORRUPT, 0, "%s: changed while it was read",
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
compare_digest(const struct lc__wshard *shard, const struct lc__manifest_shard *said,
    struct lc__team *team)
{
	const bool sha256 = said->sha256[0] != '\0';
	struct lc__digest_text has;

	if (!has_digest(said))
		return lc__error(LC_CORRUPT, 0, "%s: the manifest has no checksum of it",
		    shard->path);
	return_if_error(shard->whole ? hash_memory(shard, !sha256, team, &has)
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
	const lc_status status = compare_digest(shard, said, team);

	lc__cost_add(&set->cost, LC__COST_VERIFY_NS, lc__clock_ns() - start);
	lc__cost_add(&set->cost, LC__COST_BYTES_VERIFIED, size);
	if (!shard->whole)
		lc__cost_add(&set->cost, LC__COST_BYTES_READ, size);
	return status;
}

static lc_status
read_job(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct opening *o = team->ctx;
	struct lc__wshard *shard = &o->set->shards[i];
	const uint64_t start = lc__clock_ns();
	struct lc__said said;
	lc_status status;

	(void)thread;
	if (shard->error != NULL)
		return LC_OK;
	status = lc__setparts_said(&o->set->said, i, &said);
	if (status == LC_OK && o->set->mode == LC_WAREHOUSE_MEMORY)
		status = load(o->set, shard, &said.shard, team);
	if (status == LC_OK && needs_digest(o->set, shard, &said.shard))
		status = digest(o->set, shard, &said.shard, team);
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
		struct lc__said said;

		/* A shard that was reported without an error is in memory. */
		if (shard->error != NULL ||
		    lc__setparts_said(&o->set->said, i, &said) != LC_OK)
			continue;
		total += o->set->mode == LC_WAREHOUSE_MEMORY ? size : 0;
		total += needs_digest(o->set, shard, &said.shard) ? size : 0;
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

/* Report what is damaged, in the manifest's order; the first is the error. */
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

/* About four entries for each shard, so that a search from one of them is short. */
static lc_status
make_jumps(struct lc__shardset *set, const char *dir)
{
	const uint64_t *first = set->said.first;
	uint64_t entries;
	uint32_t shard = 0;

	while (set->samples >> set->jump_shift > 4 * (uint64_t)set->n)
		set->jump_shift++;
	entries = (set->samples >> set->jump_shift) + 2;
	set->jump = calloc((size_t)entries, sizeof(*set->jump));
	if (set->jump == NULL)
		return lc__no_memory(dir);
	for (uint64_t i = 0; i < entries; i++) {
		while (shard + 1 < set->n && first[shard + 1] <= i << set->jump_shift)
			shard++;
		set->jump[i] = shard;
	}
	return LC_OK;
}

static lc_status
open_small(struct lc__shardset *set, const char *dir, const lc_progress *progress)
{
	const bool wants_all = progress != NULL && progress->damage != NULL;
	struct opening o = { .set = set, .progress = progress };
	bool damaged = false;
	uint64_t total;

	set->shards = calloc(set->n ? set->n : 1, sizeof(*set->shards));
	if (set->shards == NULL)
		return lc__no_memory(dir);
	/* Cheap checks come first: do not read for hours before a missing shard is
	 * noticed. */
	return_if_error(run(&o, attach_job, 0, NULL));
	for (size_t i = 0; i < set->n; i++)
		damaged = damaged || set->shards[i].error != NULL;
	total = bytes_to_read(&o);
	if (total > 0 && (!damaged || wants_all))
		return_if_error(run(&o, read_job, total, progress));
	return report(set, progress);
}

/* ---- a large set ------------------------------------------------------------ */

/* Value of lc__wplace.users: its shard is being replaced. */
#define CLOSING ((uint32_t)1 << 31)

/* A slot for an open shard. A thread that increments the users of a slot with the shard
 * that it needs, and which is not closing, has the shard until it decrements them again.
 * Only the holder of the lock closes a shard, and only without users. */
struct lc__wplace {
	_Atomic uint32_t users;
	_Atomic size_t number;  /* number of the shard */
	_Atomic uint64_t taken; /* when, by the set's clock */
	struct lc__wshard *shard;
	char line[64 - 2 * sizeof(uint64_t) - sizeof(size_t) - sizeof(void *)];
};

static bool
take_open(struct lc__shardset *set, size_t i, struct lc__wshard **out)
{
	const uint32_t at = atomic_load_explicit(&set->place_of[i], memory_order_acquire);
	struct lc__wplace *place;
	uint32_t users;

	if (at == 0)
		return false;
	place = &set->places[at - 1];
	users = atomic_fetch_add_explicit(&place->users, 1, memory_order_acq_rel);
	if ((users & CLOSING) != 0 ||
	    atomic_load_explicit(&place->number, memory_order_relaxed) != i) {
		atomic_fetch_sub_explicit(&place->users, 1, memory_order_release);
		return false;
	}
	atomic_store_explicit(&place->taken,
	    atomic_load_explicit(&set->clock, memory_order_relaxed),
	    memory_order_relaxed);
	*out = place->shard;
	return true;
}

/* Get a slot for a shard, closed to all other threads: a new one, or that of the least
 * recently used shard. NULL if all are in use. */
static struct lc__wplace *
find_place(struct lc__shardset *set)
{
	struct lc__wplace *oldest = NULL;
	uint32_t users = 0;

	if (set->used < set->limit)
		return &set->places[set->used++];
	/* One that was shut is closed already. */
	for (uint32_t i = 0; i < set->used; i++)
		if (set->places[i].shard == NULL)
			return &set->places[i];
	for (uint32_t i = 0; i < set->limit; i++) {
		struct lc__wplace *place = &set->places[i];

		if (atomic_load_explicit(&place->users, memory_order_relaxed) == 0 &&
		    (oldest == NULL ||
			atomic_load_explicit(&place->taken, memory_order_relaxed) <
			    atomic_load_explicit(&oldest->taken, memory_order_relaxed)))
			oldest = place;
	}
	if (oldest == NULL ||
	    !atomic_compare_exchange_strong_explicit(&oldest->users, &users, CLOSING,
		memory_order_acq_rel, memory_order_relaxed))
		return NULL;
	return oldest;
}

static void
destroy(struct lc__shardset *set, struct lc__wshard *shard)
{
	if (shard == NULL)
		return;
	/* An open file that cannot be closed refers to this slot: a process was forked
	 * meanwhile, and the leak is small. */
	if (set->mode == LC_WAREHOUSE_STREAM &&
	    !lc__wfiles_forget(&set->files, &shard->file))
		return;
	if (shard->twh1.file != NULL) {
		atomic_fetch_sub_explicit(&set->n_open, 1, memory_order_relaxed);
		atomic_fetch_sub_explicit(&set->bytes_open, shard->twh1.info.file_size,
		    memory_order_relaxed);
	}
	detach(shard);
	free(shard);
}

/* Put a shard into a slot, taken once; *old is the previous one, or NULL. */
static void
put(struct lc__shardset *set, struct lc__wplace *place, struct lc__wshard *shard,
    struct lc__wshard **old)
{
	*old = place->shard;
	if (*old != NULL)
		atomic_store_explicit(&set->place_of[(*old)->number], 0,
		    memory_order_release);
	shard->place = (uint32_t)(place - set->places) + 1;
	place->shard = shard;
	atomic_store_explicit(&place->number, shard->number, memory_order_relaxed);
	atomic_store_explicit(&place->taken,
	    atomic_fetch_add_explicit(&set->clock, 1, memory_order_relaxed) + 1,
	    memory_order_relaxed);
	atomic_fetch_sub_explicit(&place->users, CLOSING - 1, memory_order_acq_rel);
	atomic_store_explicit(&set->place_of[shard->number], shard->place,
	    memory_order_release);
}

/* Keep a shard that was just opened, or use the one that another thread has kept
 * meanwhile. */
static struct lc__wshard *
keep(struct lc__shardset *set, struct lc__wshard *shard)
{
	struct lc__wshard *kept = shard, *old = NULL;
	struct lc__wplace *place;

	if (!lc__trylock(&set->lock))
		return shard;
	if (take_open(set, shard->number, &kept)) {
		old = shard;
	} else {
		place = find_place(set);
		if (place != NULL)
			put(set, place, shard, &old);
	}
	lc__tryunlock(&set->lock);
	destroy(set, old);
	return kept;
}

/* Open a shard in the same way as in a small set. */
static lc_status
open_one(struct lc__shardset *set, size_t i, struct lc__wshard *shard)
{
	struct lc__said said;
	struct lc__team alone = { .jobs = 1 };
	lc_status status;

	return_if_error(lc__setparts_said(&set->said, i, &said));
	status = attach(set, i, &said, shard);
	if (shard->twh1.file != NULL) {
		atomic_fetch_add_explicit(&set->n_open, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&set->bytes_open, shard->twh1.info.file_size,
		    memory_order_relaxed);
	}
	if (status == LC_OK && lacks_blocks(set, shard, &said.shard)) {
		pthread_mutex_init(&alone.lock, NULL);
		status = digest(set, shard, &said.shard, &alone);
		pthread_mutex_destroy(&alone.lock);
	}
	return status == LC_OK || is_of_system(status) ? status
						       : lc__error_as(LC_CORRUPT);
}

/* Open a shard that is not in a slot. If what a supplier sends is damaged, it is fetched
 * once more. */
static lc_status
open_new(struct lc__shardset *set, size_t i, bool again, struct lc__wshard **out)
{
	struct lc__wshard *shard = calloc(1, sizeof(*shard));
	lc_status status;
	bool damaged;

	if (shard == NULL)
		return lc__no_memory(set->said.dir);
	shard->file.slot = -1;
	status = open_one(set, i, shard);
	if (status == LC_OK) {
		*out = shard;
		return LC_OK;
	}
	damaged = status == LC_CORRUPT && set->supplier != NULL;
	if (damaged && again && shard->taken != NULL)
		set->supplier->mend(set->supplier, shard->taken, 0, NULL, 0);
	destroy(set, shard);
	return damaged && again ? open_new(set, i, false, out) : status;
}

lc_status
lc__shardset_take_large(struct lc__shardset *set, size_t i, struct lc__wshard **out)
{
	struct lc__wshard *shard;

	if (take_open(set, i, out))
		return LC_OK;
	return_if_error(open_new(set, i, true, &shard));
	*out = keep(set, shard);
	return LC_OK;
}

void
lc__shardset_give_large(struct lc__shardset *set, struct lc__wshard *shard)
{
	struct lc__wplace *place;
	uint32_t users = 0;

	if (shard->place == 0) {
		destroy(set, shard);
		return;
	}
	place = &set->places[shard->place - 1];
	if (!shard->ranged) {
		atomic_fetch_sub_explicit(&place->users, 1, memory_order_release);
		return;
	}
	/* The last user's samples are no longer needed: memory is for those in use. While
	 * it is being closed, other threads open the shard for themselves. */
	if (atomic_fetch_sub_explicit(&place->users, 1, memory_order_acq_rel) == 1 &&
	    atomic_compare_exchange_strong_explicit(&place->users, &users, CLOSING,
		memory_order_acq_rel, memory_order_relaxed)) {
		if (place->shard == shard)
			lc__range_drop(shard);
		atomic_fetch_sub_explicit(&place->users, CLOSING, memory_order_release);
	}
}

bool
lc__shardset_shut(struct lc__shardset *set, bool (*wanted)(void *ctx, size_t i),
    void *ctx)
{
	bool all = true;

	if (set->shards != NULL)
		return true;
	if (!lc__trylock(&set->lock))
		return false;
	for (uint32_t i = 0; i < set->used; i++) {
		struct lc__wplace *place = &set->places[i];
		struct lc__wshard *shard = place->shard;
		uint32_t users = 0;

		if (shard == NULL || (!shard->ranged && wanted(ctx, shard->number)))
			continue;
		if (!atomic_compare_exchange_strong_explicit(&place->users, &users,
			CLOSING, memory_order_acq_rel, memory_order_relaxed)) {
			all = false;
			continue;
		}
		atomic_store_explicit(&set->place_of[shard->number], 0,
		    memory_order_release);
		place->shard = NULL;
		destroy(set, shard);
	}
	lc__tryunlock(&set->lock);
	return all;
}

/* ---- a whole large set, if its checksums are compared now ------------------------ */

static lc_status
check_one(struct opening *o, size_t i, struct lc__team *team)
{
	struct lc__said said;
	struct lc__wshard *shard;
	lc_status status;

	return_if_error(lc__shardset_take(o->set, i, &shard));
	status = lc__setparts_said(&o->set->said, i, &said);
	if (status == LC_OK)
		status = digest(o->set, shard, &said.shard, team);
	lc__shardset_give(o->set, shard);
	return status;
}

static lc_status
check_job(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct opening *o = team->ctx;
	const lc_status status = check_one(o, (size_t)i, team);

	(void)thread;
	if (status == LC_OK || is_of_system(status))
		return status;
	pthread_mutex_lock(&team->lock);
	if (o->error.status == LC_OK || i < o->first_damaged) {
		o->error = *lc_last_error();
		o->error.status = LC_CORRUPT;
		o->first_damaged = i;
	}
	if (o->progress != NULL && o->progress->damage != NULL)
		o->progress->damage(o->progress->ctx, lc_last_error()->text);
	pthread_mutex_unlock(&team->lock);
	return LC_OK;
}

static lc_status
open_large(struct lc__shardset *set, const char *dir, const lc_progress *progress)
{
	struct opening o = { .set = set, .progress = progress };
	uint64_t total = 0;

	set->places = calloc(set->limit, sizeof(*set->places));
	set->place_of = calloc(set->n, sizeof(*set->place_of));
	if (set->places == NULL || set->place_of == NULL)
		return lc__no_memory(dir);
	for (uint32_t i = 0; i < set->limit; i++)
		atomic_init(&set->places[i].users, CLOSING);
	if (!set->verify_files)
		return LC_OK;
	for (size_t i = 0; i < set->n; i++)
		total += lc__shardset_bytes(set, i);
	return_if_error(run(&o, check_job, total, progress));
	return o.error.status == LC_OK ? LC_OK : lc__error_raise(&o.error);
}

/* ---- opening and closing ------------------------------------------------------ */

lc_status
lc__shardset_open(struct lc__shardset *set, const char *dir,
    const struct lc__manifest *manifest, const lc_progress *progress)
{
	set->said.supplier = set->supplier;
	if (set->supplier != NULL)
		set->supplier->set = set;
	return_if_error(lc__setparts_open(dir, manifest, &set->said));
	set->n = set->said.n;
	set->samples = set->said.first[set->n];
	if (set->limit == 0)
		set->limit = LC__OPEN_SHARDS;
	return_if_error(set->supplier == NULL &&
		    (set->n <= set->limit || set->mode == LC_WAREHOUSE_MEMORY)
		? open_small(set, dir, progress)
		: open_large(set, dir, progress));
	return make_jumps(set, dir);
}

void
lc__shardset_close(struct lc__shardset *set)
{
	lc__wfiles_close(&set->files);
	for (size_t i = 0; set->shards != NULL && i < set->n; i++)
		detach(&set->shards[i]);
	for (uint32_t i = 0; i < set->used; i++)
		destroy(set, set->places[i].shard);
	free(set->shards);
	free(set->places);
	free((void *)set->place_of);
	free(set->jump);
	lc__setparts_close(&set->said);
}

size_t
lc__shardset_find(const struct lc__shardset *set, uint64_t i, uint64_t *at)
{
	const uint64_t entry = i >> set->jump_shift;
	const uint64_t *first = set->said.first;
	size_t low = set->jump[entry], high = set->jump[entry + 1];

	while (low < high) {
		const size_t middle = high - (high - low) / 2;

		if (first[middle] <= i)
			low = middle;
		else
			high = middle - 1;
	}
	*at = i - first[low];
	return low;
}

uint64_t
lc__shardset_bytes(const struct lc__shardset *set, size_t i)
{
	if (set->shards != NULL)
		return set->shards[i].twh1.info.file_size;
	/* The size of parts is known without reading them, but only in total. */
	return set->said.parts == NULL ? set->said.manifest->shards[i].bytes : 0;
}
