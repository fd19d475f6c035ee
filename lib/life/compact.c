/* SPDX-License-Identifier: BSD-2-Clause */
/* compact: rewrites chunks with many dead records, and joins small neighbours. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "store/cache.h"
#include "store/flush.h"
#include "life/progress.h"
#include "life/remerge.h"
#include "life/rewrite.h"

#define MIN_CHUNK ((uint64_t)64 << 10)
#define MAX_CHUNK ((uint64_t)64 << 20)

/* Size of the index that is merged in one step. */
#define INDEX_STEP ((uint64_t)32 << 20)

struct compaction {
	struct lc_cache *cache;
	const lc_compact_options *options;
	lc_compact_result result;
	uint64_t looked; /* size of the chunks examined */
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
	/* Written so that a NaN is refused. */
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
	status = lc__txn_count(s->txn, LC__LEDGER, chunks);
	*bytes = s->state.bytes;
	lc__snapshot_give(s, 0);
	return status;
}

static lc_status
step(struct compaction *c)
{
	return lc__progress_step(&c->options->progress, c->looked, c->total, "compact");
}

/* Report damage that the last error names. */
static void
note_damage(struct compaction *c)
{
	c->result.damaged++;
	lc__progress_damage(&c->options->progress, "%s", lc_last_error()->text);
}

/* Count what would be done, based on the state of one commit. */
static lc_status
try_all(struct compaction *c, struct lc__chunk_group *group)
{
	struct lc__snapshot *s;
	uint64_t next = 1;
	lc_status status;

	c->result.chunks_after = c->result.chunks_before;
	c->result.bytes_after = c->result.bytes_before;
	return_if_error(lc__snapshot_take(c->cache->env, &s));
	lc__snapshot_keep(s);
	while ((status = lc__chunk_group_next(s, c->options, &next, &c->looked, group)) ==
	    LC_OK) {
		c->result.rewritten += group->count;
		c->result.moved += group->live;
		c->result.dropped += group->records - group->live;
		c->result.chunks_after -= group->count - (group->live > 0);
		c->result.bytes_after -= group->bytes - group->live_bytes;
		status = step(c);
		if (status != LC_OK)
			break;
	}
	lc__snapshot_end_keep(s);
	return status == LC_END ? LC_OK : status;
}

/* Each group is found in the newest commit, and rewritten in a commit of its own. */
static lc_status
rewrite_all(struct compaction *c, struct lc__chunk_group *group)
{
	uint64_t next = 1;

	for (;;) {
		struct lc__rewrite rewrite = { .group = group, .options = c->options };
		struct lc__snapshot *s;
		lc_status status;

		return_if_error(lc__snapshot_take(c->cache->env, &s));
		status = lc__chunk_group_next(s, c->options, &next, &c->looked, group);
		lc__snapshot_give(s, 0);
		if (status == LC_END)
			return LC_OK;
		return_if_error(status);

		status = lc__rewrite(c->cache->env, c->cache->options.durability,
		    &rewrite);
		if (status == LC_CORRUPT && rewrite.next > 0)
			note_damage(c);
		else
			return_if_error(status);
		if (status == LC_OK && !rewrite.needless) {
			c->result.rewritten += rewrite.rewritten;
			c->result.moved += rewrite.moved;
			c->result.dropped += rewrite.dropped;
		}
		next = rewrite.next;
		return_if_error(step(c));
	}
}

/* A damaged run is left alone: reads and verify report it. */
static lc_status
merge_index(struct compaction *c)
{
	struct lc__remerge merge = { .step_bytes = INDEX_STEP };
	lc_status status = LC_OK;

	while (status == LC_OK && !merge.done && !merge.needless) {
		status = lc__remerge_step(&merge, c->cache->env,
		    c->cache->options.durability);
		if (status == LC_OK && !merge.needless)
			status = step(c);
	}
	lc__remerge_free(&merge);
	if (status != LC_CORRUPT)
		return status;
	note_damage(c);
	return LC_OK;
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
