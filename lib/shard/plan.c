/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/building.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/twh1.h"

/* A plan being made. */
struct planning {
	const struct lc__build *build;
	const struct lc__shard_series *series; /* the one being filled */
	/* Number of the next shard in the series. */
	uint64_t number;
	struct lc__buf row; /* scratch */
	struct lc__plan plan;
};

/* The hash begins with everything else that determines the bytes; then come the hashes of
 * the samples. */
static void
hash_form(const struct planning *p, const lc_shard_info *info, struct lc__hash128 *hash)
{
	unsigned char header[LC__TWH1_HEADER], metadata[4];

	lc__twh1_put_header(info, header);
	lc__set32(metadata, p->build->metadata);
	lc__hash128_update(hash, header + 4, 36);
	lc__hash128_update(hash, metadata, sizeof(metadata));
}

static lc_status
hash_samples(const struct planning *p, const struct lc__plan_shard *shard,
    struct lc__hash128 *hash)
{
	const struct lc__shard_source *source = p->series->source;

	hash_form(p, &shard->info, hash);
	for (uint64_t i = 0; i < shard->info.samples; i++) {
		unsigned char bytes[16];
		uint64_t sample[2];
		return_if_error(source->hash(source->ctx, shard->first + i, sample));
		lc__set64(bytes, sample[0]);
		lc__set64(bytes + 8, sample[1]);
		lc__hash128_update(hash, bytes, sizeof(bytes));
	}
	return LC_OK;
}

static lc_status
name_samples(const struct planning *p, struct lc__plan_shard *shard)
{
	struct lc__hash128 *hash;
	lc_status status;

	if (p->series->source->hash == NULL)
		return LC_OK;
	hash = lc__hash128_new();
	if (hash == NULL)
		return lc__no_memory("export");
	status = hash_samples(p, shard, hash);
	lc__hash128_hex(hash, shard->samples_hash);
	lc__hash128_free(hash);
	return status;
}

/* Close a shard and add it to the plan. */
static lc_status
add_shard(struct planning *p, const struct lc__plan_shard *shard)
{
	struct lc__plan *plan = &p->plan;

	return_if_error(
	    lc__array_reserve(&plan->shards, &plan->room, plan->n + 1, "export"));
	plan->shards[plan->n] = *shard;
	plan->shards[plan->n].number = p->number++;
	return_if_error(name_samples(p, &plan->shards[plan->n]));
	plan->n++;
	plan->samples += shard->info.samples;
	if (!lc__add64(plan->bytes, shard->info.file_size, &plan->bytes))
		return lc__error(LC_INVALID, 0, "export: size overflows");
	return LC_OK;
}

static struct lc__plan_shard
empty_shard(const struct planning *p, uint64_t first)
{
	struct lc__plan_shard shard = {
		.series = p->series,
		.info = *p->series->form,
		.first = first,
	};

	shard.info.samples = 0;
	return shard;
}

/* Add sample i to the shard. */
static lc_status
grow(struct planning *p, const struct lc__plan_shard *shard, uint64_t i,
    struct lc__plan_shard *out)
{
	const struct lc__shard_source *source = p->series->source;
	struct lc__twh1_row row;

	*out = *shard;
	out->info.samples++;
	if (p->build->metadata) {
		p->row.size = 0;
		return_if_error(source->row(source->ctx, i, &row));
		lc__twh1_row_encode(&row, &p->row);
		if (p->row.failed)
			return lc__no_memory("export");
		out->row_bytes += p->row.size;
	}
	return lc__twh1_layout(&out->info, p->build->metadata, out->row_bytes);
}

/* Each shard as large as allowed. */
static lc_status
fill_up(struct planning *p)
{
	struct lc__plan_shard open = empty_shard(p, 0), more;

	for (uint64_t i = 0; i < p->series->samples; i++) {
		return_if_error(grow(p, &open, i, &more));
		if (open.info.samples > 0 &&
		    more.info.file_size > p->build->shard_bytes) {
			return_if_error(add_shard(p, &open));
			open = empty_shard(p, i);
			return_if_error(grow(p, &open, i, &more));
		}
		open = more;
	}
	return add_shard(p, &open);
}

/* The rank of sample i in the order that decides where shards end. */
static lc_status
rank_of(const struct planning *p, uint64_t i, uint64_t *out)
{
	const struct lc__shard_source *source = p->series->source;
	uint64_t hash[2];

	return_if_error(source->hash(source->ctx, i, hash));
	*out = lc__hash64(hash, sizeof(hash));
	return LC_OK;
}

/* The shard that begins with sample first. Of all ends that make it neither too small nor
 * too large, take the one before the sample with the lowest rank. */
static lc_status
choose_shard(struct planning *p, uint64_t first, struct lc__plan_shard *out)
{
	const uint64_t target = p->build->shard_bytes;
	struct lc__plan_shard open = empty_shard(p, first), more;
	uint64_t lowest = 0, rank;
	bool chosen = false;

	for (uint64_t i = first; i < p->series->samples; i++) {
		return_if_error(grow(p, &open, i, &more));
		if (open.info.samples > 0 && more.info.file_size > target + target / 2) {
			if (!chosen)
				*out = open;
			return LC_OK;
		}
		open = more;
		if (open.info.file_size < target / 2 || i + 1 == p->series->samples)
			continue;
		return_if_error(rank_of(p, i + 1, &rank));
		if (!chosen || rank < lowest) {
			chosen = true;
			lowest = rank;
			*out = open;
		}
	}
	*out = open;
	return LC_OK;
}

static lc_status
fill_by_hash(struct planning *p)
{
	struct lc__plan_shard shard;

	for (uint64_t i = 0; i < p->series->samples; i += shard.info.samples) {
		return_if_error(choose_shard(p, i, &shard));
		return_if_error(add_shard(p, &shard));
	}
	return LC_OK;
}

lc_status
lc__plan_make(const struct lc__build *build, struct lc__plan *out)
{
	struct planning p = { .build = build };
	lc_status status = LC_OK;

	for (size_t i = 0; i < build->n_series && status == LC_OK; i++) {
		p.series = &build->series[i];
		p.number = 0;
		status = p.series->source->hash != NULL ? fill_by_hash(&p) : fill_up(&p);
	}
	lc__buf_free(&p.row);
	if (status == LC_OK)
		*out = p.plan;
	else
		lc__plan_free(&p.plan);
	return status;
}

void
lc__plan_free(struct lc__plan *plan)
{
	free(plan->shards);
	memset(plan, 0, sizeof(*plan));
}
