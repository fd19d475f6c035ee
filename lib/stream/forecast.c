/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/forecast.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "stream/layout.h"

#define NO_CHUNK UINT64_MAX

struct lc__forecast {
	pthread_mutex_t lock; /* guards the visits, and what follows */
	struct lc__visits *visits;
	uint64_t shards, chunks;
	uint64_t *shard_of; /* by chunk */
	uint64_t *chunk_of; /* by shard; NO_CHUNK for one without examples */
	uint64_t *current; /* of each chunk: its first visit that has not ended, as far as
	                         was looked; LC__NO_VISIT: none */
	uint64_t begin;    /* all visits before it have ended */
};

/* Its first visits are known once those of two epochs are. */
static lc_status
number_all(struct lc__forecast *f, struct lc__layout *layout)
{
	struct lc__chunk_row row;

	for (uint64_t i = 0; i < f->shards; i++)
		f->chunk_of[i] = NO_CHUNK;
	for (uint64_t i = 0; i < f->chunks; i++) {
		return_if_error(lc__layout_row(layout, i, &row));
		if (row.id >= f->shards)
			return lc__error(LC_INVALID, 0, "there is no shard %llu",
			    (unsigned long long)row.id);
		f->shard_of[i] = row.id;
		f->chunk_of[row.id] = i;
		return_if_error(lc__visits_first(f->visits, i, &f->current[i]));
	}
	return LC_OK;
}

lc_status
lc__forecast_new(struct lc__visits *visits, uint64_t shards, struct lc__forecast **out)
{
	struct lc__layout *layout = lc__visits_layout(visits);
	const uint64_t chunks = lc__layout_info(layout)->chunks;
	struct lc__forecast *f = calloc(1, sizeof(*f));
	lc_status status = LC_OK;

	if (f == NULL) {
		lc__visits_free(visits);
		return lc__no_memory("forecast");
	}
	*f = (struct lc__forecast){
		.visits = visits,
		.shards = shards,
		.chunks = chunks,
		.shard_of = calloc(chunks + 1, sizeof(*f->shard_of)),
		.chunk_of = calloc(shards + 1, sizeof(*f->chunk_of)),
		.current = calloc(chunks + 1, sizeof(*f->current)),
	};
	pthread_mutex_init(&f->lock, NULL);
	if (f->shard_of == NULL || f->chunk_of == NULL || f->current == NULL)
		status = lc__no_memory("forecast");
	if (status == LC_OK)
		status = number_all(f, layout);
	if (status == LC_OK)
		*out = f;
	else
		lc__forecast_free(f);
	return status;
}

void
lc__forecast_free(struct lc__forecast *f)
{
	if (f == NULL)
		return;
	pthread_mutex_destroy(&f->lock);
	lc__visits_free(f->visits);
	free(f->shard_of);
	free(f->chunk_of);
	free(f->current);
	free(f);
}

/* The first visit of a chunk that has not ended by a batch. */
static bool
current_locked(struct lc__forecast *f, uint64_t chunk, uint64_t now,
    struct lc__visit *visit)
{
	while (f->current[chunk] != LC__NO_VISIT) {
		if (lc__visits_get(f->visits, f->current[chunk], visit) != LC_OK)
			return false;
		if (visit->end > now)
			return true;
		f->current[chunk] = visit->next;
	}
	return false;
}

/* Forget the visits that have ended, up to the first that has not. */
static void
move_locked(struct lc__forecast *f, uint64_t now)
{
	struct lc__visit visit;

	while (lc__visits_get(f->visits, f->begin, &visit) == LC_OK && visit.end <= now) {
		if (f->current[visit.chunk] == f->begin)
			f->current[visit.chunk] = visit.next;
		f->begin++;
	}
	lc__visits_forget(f->visits, f->begin);
}

static bool
next_locked(struct lc__forecast *f, uint64_t now, uint64_t k, uint64_t *shard,
    uint64_t *batch)
{
	struct lc__visit visit, own;

	move_locked(f, now);
	for (uint64_t i = f->begin; lc__visits_get(f->visits, i, &visit) == LC_OK; i++) {
		/* One that has ended, or whose chunk comes before. */
		if (visit.end <= now || !current_locked(f, visit.chunk, now, &own) ||
		    f->current[visit.chunk] != i)
			continue;
		if (k-- > 0)
			continue;
		*shard = f->shard_of[visit.chunk];
		*batch = visit.first > now ? visit.first : now;
		return true;
	}
	return false;
}

bool
lc__forecast_next(struct lc__forecast *f, uint64_t now, uint64_t k, uint64_t *shard,
    uint64_t *batch)
{
	bool found;

	pthread_mutex_lock(&f->lock);
	found = next_locked(f, now, k, shard, batch);
	pthread_mutex_unlock(&f->lock);
	return found;
}

uint64_t
lc__forecast_when(struct lc__forecast *f, uint64_t shard, uint64_t now)
{
	struct lc__visit visit;
	bool found = false;

	if (shard >= f->shards || f->chunk_of[shard] == NO_CHUNK)
		return LC__NO_BATCH;
	pthread_mutex_lock(&f->lock);
	found = current_locked(f, f->chunk_of[shard], now, &visit);
	pthread_mutex_unlock(&f->lock);
	if (!found)
		return LC__NO_BATCH;
	return visit.first > now ? visit.first : now;
}

uint64_t
lc__forecast_turn(struct lc__forecast *f, uint64_t now)
{
	uint64_t turn = LC__NO_BATCH;
	struct lc__visit visit;

	pthread_mutex_lock(&f->lock);
	move_locked(f, now);
	for (uint64_t i = f->begin; lc__visits_get(f->visits, i, &visit) == LC_OK; i++) {
		/* Those that follow end later. */
		if (visit.first >= turn)
			break;
		if (visit.end > now && visit.end < turn)
			turn = visit.end;
	}
	pthread_mutex_unlock(&f->lock);
	return turn;
}
