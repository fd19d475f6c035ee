/* SPDX-License-Identifier: BSD-2-Clause */
/* A fill by inputs: the lines of shards, in order. */
#include "fill/inputs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "fill/feed.h"
#include "fill/fill.h"
#include "fill/shard.h"
#include "lmdbcache.h"
#include "store/tool.h"

/* ---- fingerprints ------------------------------------------------------------------ */

#define END ((uint64_t)1 << 20) /* bytes at each end that are hashed */

/* A file being hashed. */
struct print {
	const char *path;
	int fd;
	uint64_t size;
	unsigned char *room; /* END bytes */
	struct lc__hash128 *hash;
};

static lc_status
add(struct print *p, uint64_t offset)
{
	const size_t wanted = p->size < END ? (size_t)p->size : (size_t)END;
	size_t got;

	if (lseek(p->fd, (off_t)offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", p->path);
	return_if_error(lc__read_full(p->fd, p->room, wanted, &got, p->path));
	if (got != wanted)
		return lc__error(LC_CHANGED, 0, "%s: became shorter while it was read",
		    p->path);
	lc__hash128_update(p->hash, p->room, got);
	return LC_OK;
}

static lc_status
hash_all(struct print *p, unsigned char out[LC__FINGERPRINT])
{
	unsigned char size[8];
	uint64_t hash[2];

	p->room = malloc(END);
	p->hash = lc__hash128_new();
	if (p->room == NULL || p->hash == NULL)
		return lc__no_memory(p->path);
	lc__set64(size, p->size);
	lc__hash128_update(p->hash, size, sizeof(size));
	return_if_error(add(p, 0));
	return_if_error(add(p, p->size < END ? 0 : p->size - END));
	lc__hash128_end(p->hash, hash);
	hash[0] = htobe64(hash[0]);
	hash[1] = htobe64(hash[1]);
	memcpy(out, hash, LC__FINGERPRINT);
	return LC_OK;
}

lc_status
lc__fingerprint(const char *path, unsigned char out[LC__FINGERPRINT], uint64_t *size)
{
	/* A pipe would block until its writer opens it, and can be read only once. */
	struct print p = {
		.path = path,
		.fd = lc__open(path, O_RDONLY | O_NONBLOCK),
	};
	struct stat st;
	lc_status status;

	if (p.fd == -1 || fstat(p.fd, &st) == -1) {
		const int sys = errno;
		if (p.fd != -1)
			close(p.fd);
		return lc__error_sys(sys, "%s", path);
	}
	if (S_ISREG(st.st_mode)) {
		p.size = (uint64_t)st.st_size;
		status = hash_all(&p, out);
	} else {
		status = lc__error(LC_INVALID, 0, "%s: not a regular file", path);
	}
	*size = p.size;
	free(p.room);
	lc__hash128_free(p.hash);
	close(p.fd);
	return status;
}

/* ---- the fill ---------------------------------------------------------------------- */

/* A run in progress. */
struct run {
	const struct lc__inputs_fill *fill;
	struct lc__feeding feeding;
	struct lc__feed *feeds;   /* fill->n of them */
	struct lc__feed *current; /* the one whose chunk is being handed out, or NULL */
	uint64_t most;            /* most batches of one input in progress */
	uint64_t stands;          /* the chunk with which current began */
	bool asked_again;         /* held inputs were tried once more */
};

/* ---- declaring ---------------------------------------------------------------- */

/* Of the inputs filled here; also determines their sizes. */
static lc_status
read_fingerprints(struct run *run, unsigned char (*prints)[LC__FINGERPRINT],
    lc_input *inputs)
{
	for (size_t i = 0; i < run->fill->n; i++) {
		const char *path = run->fill->shards[i].path;
		uint64_t size;

		inputs[i] = (lc_input){ .name = path };
		if (run->fill->shards[i].elsewhere)
			continue;
		return_if_error(lc__fingerprint(path, prints[i], &size));
		run->feeding.filled.shard_bytes += size;
		inputs[i].fingerprint = (lc_id){ prints[i], LC__FINGERPRINT };
		if (run->fill->idle != NULL)
			return_if_error(
			    run->fill->idle(run->fill->ctx, &run->feeding.filled));
	}
	return LC_OK;
}

static lc_status
declare(struct run *run)
{
	const size_t n = run->fill->n;
	unsigned char(*prints)[LC__FINGERPRINT] = calloc(n, sizeof(*prints));
	lc_input *inputs = calloc(n, sizeof(*inputs));
	lc_status status = LC_OK;

	if (prints == NULL || inputs == NULL)
		status = lc__no_memory(NULL);
	if (status == LC_OK)
		status = read_fingerprints(run, prints, inputs);
	if (status == LC_OK && !run->fill->dry_run)
		status = lc_inputs_declare(run->fill->cache, n, inputs);
	free(prints);
	free(inputs);
	return status;
}

/* How far an input is filled. In a dry run nothing is declared: it may be another one. */
static int
learn(void *ctx, const lc_input_info *info)
{
	struct run *run = ctx;
	struct lc__feed *feed = &run->feeds[info->index];

	if (info->index >= run->fill->n || strcmp(info->name, feed->source->path) != 0)
		return 1;
	if (feed->state == LC__FEED_ELSEWHERE)
		return 0;
	feed->chunks = info->chunks;
	if (lc__cursor_decode(info->cursor, &feed->done) == LC_OK)
		feed->offset = feed->done.offset;
	run->feeding.filled.shard_before += feed->offset;
	if (info->finished) {
		feed->state = LC__FEED_FINISHED;
		if (!run->fill->dry_run)
			lc__stash_remove(run->feeding.dir, info->index);
		run->feeding.filled.finished++;
	}
	return 0;
}

static lc_status
prepare(struct run *run)
{
	const struct lc__inputs_fill *fill = run->fill;
	lc_status status;

	run->feeds = calloc(fill->n, sizeof(*run->feeds));
	if (run->feeds == NULL)
		return lc__no_memory(NULL);
	run->feeding.fill = fill;
	run->feeding.filled.declared = fill->n;
	for (size_t i = 0; i < fill->n; i++) {
		run->feeds[i].feeding = &run->feeding;
		run->feeds[i].source = &fill->shards[i];
		if (fill->shards[i].elsewhere)
			run->feeds[i].state = LC__FEED_ELSEWHERE;
		else
			run->feeding.filled.inputs++;
	}
	return_if_error(declare(run));
	if (fill->cache == NULL)
		return LC_OK;
	run->feeding.dir = lc__cache_dir(fill->cache);
	status = lc_inputs(fill->cache, learn, run);
	run->feeding.filled.shard_done = run->feeding.filled.shard_before;
	return status == LC_CANCELLED
	    ? lc__error(LC_INVALID, 0, "the module has different inputs")
	    : status;
}

/* ---- choosing the next input ----------------------------------------------------- */

/* Can it be asked for a batch? */
static bool
is_ready(const struct run *run, const struct lc__feed *feed)
{
	if (feed->state == LC__FEED_CLOSED)
		return true;
	return feed->state == LC__FEED_OPEN && !feed->ended && feed->sent < run->most;
}

/* An open input whose turn is over; the last one, since its next turn is furthest
 * away. */
static struct lc__feed *
find_idle(const struct run *run)
{
	struct lc__feed *found = NULL;

	for (size_t i = 0; i < run->fill->n; i++)
		if (run->feeds[i].state == LC__FEED_OPEN &&
		    lc__feed_is_idle(&run->feeds[i]))
			found = &run->feeds[i];
	return found;
}

/* The first ready one in the order of the chunks to come; NULL without one. */
static struct lc__feed *
find_first(const struct run *run, bool open_only)
{
	struct lc__feed *found = NULL;

	for (size_t i = 0; i < run->fill->n; i++) {
		struct lc__feed *feed = &run->feeds[i];

		if (!is_ready(run, feed) || (open_only && feed->state != LC__FEED_OPEN))
			continue;
		if (found == NULL || lc__feed_chunk(feed) < lc__feed_chunk(found))
			found = feed;
	}
	return found;
}

/* Open an input whose turn it is; another one may have to be closed first. NULL in @p
 * feed: not possible now. */
static lc_status
open_feed(struct run *run, struct lc__feed **feed)
{
	struct lc__feed *idle;

	if ((*feed)->state == LC__FEED_OPEN)
		return LC_OK;
	if (run->feeding.open >= LC__INPUTS_OPEN) {
		idle = find_idle(run);
		if (idle == NULL) {
			*feed = find_first(run, true);
			return LC_OK;
		}
		lc__feed_close(idle);
	}
	return lc__feed_open(*feed);
}

/* Inputs held by other processes may be free by now. True if there are any. */
static bool
ask_again(struct run *run)
{
	bool any = false;

	for (size_t i = 0; i < run->fill->n && !run->asked_again; i++) {
		if (run->feeds[i].state != LC__FEED_HELD)
			continue;
		run->feeds[i].state = LC__FEED_CLOSED;
		any = true;
	}
	run->asked_again = true;
	return any;
}

/* The input of the next batch: the same one until its chunk is handed out. NULL for none
 * now. */
static lc_status
choose(struct run *run, struct lc__feed **out)
{
	struct lc__feed *feed = run->current;

	if (feed == NULL || feed->state != LC__FEED_OPEN || !is_ready(run, feed) ||
	    lc__feed_chunk(feed) > run->stands)
		feed = find_first(run, false);
	*out = feed;
	if (feed == NULL)
		return LC_OK;
	return_if_error(open_feed(run, out));
	run->current = *out;
	run->stands = *out != NULL ? lc__feed_chunk(*out) : 0;
	return LC_OK;
}

/* ---- the producers' work ------------------------------------------------------------ */

static lc_status
next(void *ctx, struct lc__items **out)
{
	struct run *run = ctx;
	struct lc__feed *feed;

	*out = NULL;
	for (;;) {
		return_if_error(choose(run, &feed));
		if (feed == NULL && run->feeding.out > 0)
			return LC_BUSY;
		if (feed == NULL && !ask_again(run))
			return LC_END;
		if (feed != NULL && feed->state == LC__FEED_OPEN)
			return_if_error(lc__feed_next(feed, out));
		if (*out != NULL)
			return LC_OK;
	}
}

static lc_status
check(void *ctx, const struct lc__item *item, const lc_value *value)
{
	return lc__feed_check((void *)(uintptr_t)((const struct run *)ctx)->fill, item,
	    value);
}

static lc_status
done(void *ctx, struct lc__items *batch)
{
	(void)ctx;
	return lc__feed_back(batch);
}

static lc_status
idle(void *ctx)
{
	const struct run *run = ctx;

	return run->fill->idle == NULL
	    ? LC_OK
	    : run->fill->idle(run->fill->ctx, &run->feeding.filled);
}

/* ---- remaining lines ------------------------------------------------------------- */

static lc_status
count_lines(struct run *run, struct lc__shard *shard, struct lc__inputs_filled *filled)
{
	struct lc__line line = { .size = 0 };
	lc_status status = LC_OK;

	while (status != LC_END) {
		status = lc__shard_next(shard, &line);
		filled->items += status == LC_OK;
		filled->bad += status == LC_INVALID;
		if (status != LC_OK && status != LC_END && status != LC_INVALID)
			return status;
		if (line.number % 4096 == 0)
			return_if_error(idle(run));
	}
	return LC_OK;
}

static lc_status
count_all(struct run *run)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < run->fill->n && status == LC_OK; i++) {
		const struct lc__feed *feed = &run->feeds[i];
		struct lc__shard *shard = NULL;

		if (feed->state == LC__FEED_FINISHED || feed->state == LC__FEED_ELSEWHERE)
			continue;
		status = lc__shard_open(feed->source->path, feed->source->kind,
		    &feed->done, &shard);
		if (status == LC_OK)
			status = count_lines(run, shard, &run->feeding.filled);
		lc__shard_close(shard);
	}
	return status;
}

/* ---- the whole fill -------------------------------------------------------------- */

/* Enough that no producer waits while the oldest batch of a single input takes long. */
static uint64_t
most_of(const struct lc__producers *producers)
{
	return 2 * (uint64_t)producers->children * (1 + producers->ahead) + 2;
}

static void
free_run(struct run *run)
{
	for (size_t i = 0; run->feeds != NULL && i < run->fill->n; i++)
		lc__feed_free(&run->feeds[i]);
	free(run->feeds);
}

lc_status
lc__inputs_run(const struct lc__inputs_fill *fill, struct lc__inputs_filled *out)
{
	struct run run = { .fill = fill };
	const struct lc__work work = { next, check, done, idle, &run };
	lc_status status = prepare(&run);

	if (status == LC_OK && fill->dry_run)
		status = count_all(&run);
	if (status == LC_OK && !fill->dry_run) {
		run.most = most_of(fill->producers);
		status = lc__produce(fill->producers, &work,
		    &run.feeding.filled.produced);
	}
	for (size_t i = 0; run.feeds != NULL && i < fill->n; i++)
		run.feeding.filled.left += run.feeds[i].state == LC__FEED_HELD;
	*out = run.feeding.filled;
	free_run(&run);
	return status;
}
