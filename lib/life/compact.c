/* SPDX-License-Identifier: BSD-2-Clause */
/* compact: chunks with many dead records, and small neighbours, become whole ones. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "store/cache.h"
#include "store/flush.h"
#include "life/remerge.h"
#include "life/rewrite.h"

#define MIN_CHUNK ((uint64_t)64 << 10)
#define MAX_CHUNK ((uint64_t)64 << 20)

/* Bytes of the index that are merged at once. */
#define INDEX_STEP ((uint64_t)32 << 20)

struct compaction {
	struct lc_cache *cache;
	const lc_compact_options *options;
	lc_compact_result result;
	uint64_t looked; /* bytes of the chunks looked at */
	uint64_t total;  /* bytes of all chunks at the start */
};

void
lc_compact_options_init(lc_compact_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->live_ratio = 0.5;
	options->chunk_bytes = (uint64_t)4 << 20;
	options->recode = LC_CODEC_DEFAULT;
}

static lc_status
check_options(const lc_compact_options *o)
{
	if (o->struct_size != sizeof(*o))
		return lc__error(LC_INVALID, 0,
		    "compact: option struct_size: "
		    "not set by lc_compact_options_init() of this version");
	/* So that a NaN is none of these. */
	if (!(o->live_ratio >= 0 && o->live_ratio <= 1))
		return lc__error(LC_INVALID, 0,
		    "compact: option live_ratio: must be 0 to 1");
	if (o->chunk_bytes < MIN_CHUNK || o->chunk_bytes > MAX_CHUNK)
		return lc__error(LC_INVALID, 0,
		    "compact: option chunk_bytes: must be 64 KiB to 64 MiB");
	return lc__codec_check("compact", o->recode, o->level);
}

/* Chunks and bytes in the module. */
static lc_status
count(struct compaction *c, uint64_t *chunks, uint64_t *bytes)
{
	struct lc__snapshot *s;
	lc_status status;

	return_if_error(lc__snapshot_take(c->cache->env, &s));
	status = lc__txn_count(s->txn, LC__CHUNK, chunks);
	*bytes = s->state.bytes;
	lc__snapshot_give(s, 0);
	return status;
}

static lc_status
step(struct compaction *c)
{
	const lc_progress *progress = &c->options->progress;

	if (progress->step != NULL &&
	    progress->step(progress->ctx, c->looked, c->total) != 0)
		return lc__error(LC_CANCELLED, 0, "compact: cancelled");
	return LC_OK;
}

static void
note_damage(struct compaction *c)
{
	const lc_progress *progress = &c->options->progress;

	c->result.damaged++;
	if (progress->damage != NULL)
		progress->damage(progress->ctx, lc_last_error()->text);
}

/* ---- a trial -------------------------------------------------------------- */

static lc_status
count_groups(struct compaction *c, struct lc__snapshot *s, struct lc__chunk_group *group)
{
	uint64_t next = 1;
	lc_status status;

	while ((status = lc__chunk_group_next(s, c->options, &next, &c->looked, group)) ==
	    LC_OK) {
		c->result.rewritten += group->count;
		c->result.moved += group->live;
		c->result.dropped += group->records - group->live;
		c->result.chunks_after -= group->count - (group->live > 0);
		c->result.bytes_after -= group->bytes - group->live_bytes;
		return_if_error(step(c));
	}
	return status == LC_END ? LC_OK : status;
}

static lc_status
try_all(struct compaction *c, struct lc__chunk_group *group)
{
	struct lc__snapshot *s;
	lc_status status;

	c->result.chunks_after = c->result.chunks_before;
	c->result.bytes_after = c->result.bytes_before;
	return_if_error(lc__snapshot_take(c->cache->env, &s));
	lc__snapshot_keep(s);
	status = count_groups(c, s, group);
	lc__snapshot_end_keep(s);
	return status;
}

/* ---- the real thing ------------------------------------------------------- */

/* The next group in the newest commit. */
static lc_status
find_group(struct compaction *c, uint64_t *next, struct lc__chunk_group *group)
{
	struct lc__snapshot *s;
	lc_status status;

	return_if_error(lc__snapshot_take(c->cache->env, &s));
	status = lc__chunk_group_next(s, c->options, next, &c->looked, group);
	lc__snapshot_give(s, 0);
	return status;
}

static lc_status
rewrite_group(struct compaction *c, const struct lc__chunk_group *group, uint64_t *next)
{
	struct lc__rewrite rewrite = { .group = group, .options = c->options };
	const lc_status status = lc__change_run(c->cache->env,
	    c->cache->options.durability, lc__rewrite, &rewrite);

	if (status == LC_CORRUPT && rewrite.next > 0)
		note_damage(c);
	else if (status != LC_NOT_FOUND)
		return_if_error(status);
	if (status == LC_OK) {
		c->result.rewritten += rewrite.rewritten;
		c->result.moved += rewrite.moved;
		c->result.dropped += rewrite.dropped;
	}
	*next = rewrite.next;
	return LC_OK;
}

static lc_status
rewrite_all(struct compaction *c, struct lc__chunk_group *group)
{
	uint64_t next = 1;
	lc_status status;

	while ((status = find_group(c, &next, group)) == LC_OK) {
		return_if_error(rewrite_group(c, group, &next));
		return_if_error(step(c));
	}
	return status == LC_END ? LC_OK : status;
}

/* A damaged run stays as it is: reads and verify report it. */
static lc_status
merge_index(struct compaction *c)
{
	struct lc__remerge merge = { .step_bytes = INDEX_STEP };
	lc_status status = LC_OK;

	while (status == LC_OK && !merge.done) {
		status = lc__remerge_step(&merge, c->cache->env,
		    c->cache->options.durability);
		if (status == LC_OK)
			status = step(c);
	}
	lc__remerge_free(&merge);
	if (status == LC_CORRUPT)
		note_damage(c);
	return status == LC_NOT_FOUND || status == LC_CORRUPT ? LC_OK : status;
}

static lc_status
compact(struct compaction *c, struct lc__chunk_group *group)
{
	return_if_error(count(c, &c->result.chunks_before, &c->result.bytes_before));
	c->total = c->result.bytes_before;
	if (c->options->dry_run)
		return try_all(c, group);
	return_if_error(rewrite_all(c, group));
	return_if_error(merge_index(c));
	return count(c, &c->result.chunks_after, &c->result.bytes_after);
}

lc_status
lc_compact(lc_cache *cache, const lc_compact_options *options, lc_compact_result *out)
{
	struct compaction c = { .cache = cache, .options = options };
	lc_compact_options defaults;
	struct lc__chunk_group *group;
	lc_status status;

	if (options == NULL) {
		lc_compact_options_init(&defaults);
		c.options = &defaults;
	}
	return_if_error(check_options(c.options));
	if (!c.options->dry_run)
		return_if_error(lc__check_writable(cache, "compact"));
	return_if_error(lc__flush_all(cache));
	group = malloc(sizeof(*group));
	if (group == NULL)
		return lc__no_memory("compact");
	status = compact(&c, group);
	free(group);
	if (status == LC_OK && out != NULL)
		*out = c.result;
	return status;
}
