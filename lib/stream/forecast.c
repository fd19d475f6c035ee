/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/forecast.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct lc__forecast {
	pthread_mutex_t lock; /* guards the visits, and what follows */
	struct lc__visits *visits;
	uint64_t chunks;
	uint64_t *current; /* of each chunk: its first visit that has not ended, as far as
	                         was looked; LC__NO_VISIT: none */
	uint32_t sources;
	uint64_t *begin; /* of each source: all visits before it have ended */
	uint64_t *at;    /* of each source, for a walk over all */
};

/* Its first visits are known once those of two epochs are. */
static lc_status
find_first(struct lc__forecast *f)
{
	for (uint64_t i = 0; i < f->chunks; i++)
		return_if_error(lc__visits_first(f->visits, i, &f->current[i]));
	return LC_OK;
}

lc_status
lc__forecast_new(struct lc__visits *visits, struct lc__forecast **out)
{
	const uint64_t chunks = lc__visits_chunks(visits);
	const uint32_t sources = lc__visits_sources(visits);
	struct lc__forecast *f = calloc(1, sizeof(*f));
	lc_status status = LC_OK;

	if (f == NULL) {
		lc__visits_free(visits);
		return lc__no_memory("forecast");
	}
	*f = (struct lc__forecast){
		.visits = visits,
		.chunks = chunks,
		.current = calloc(chunks + 1, sizeof(*f->current)),
		.sources = sources,
		.begin = calloc(sources, sizeof(*f->begin)),
		.at = calloc(sources, sizeof(*f->at)),
	};
	pthread_mutex_init(&f->lock, NULL);
	if (f->current == NULL || f->begin == NULL || f->at == NULL)
		status = lc__no_memory("forecast");
	if (status == LC_OK)
		status = find_first(f);
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
	free(f->current);
	free(f->begin);
	free(f->at);
	free(f);
}

/* The first visit of a chunk of a source that has not ended by a batch. */
static bool
current_locked(struct lc__forecast *f, uint32_t source, uint64_t chunk, uint64_t now,
    struct lc__visit *visit)
{
	while (f->current[chunk] != LC__NO_VISIT) {
		if (lc__visits_get(f->visits, source, f->current[chunk], visit) != LC_OK)
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
	for (uint32_t s = 0; s < f->sources; s++) {
		struct lc__visit visit;

		while (lc__visits_get(f->visits, s, f->begin[s], &visit) == LC_OK &&
		    visit.end <= now) {
			if (f->current[visit.chunk] == f->begin[s])
				f->current[visit.chunk] = visit.next;
			f->begin[s]++;
		}
		lc__visits_forget(f->visits, s, f->begin[s]);
	}
	memcpy(f->at, f->begin, f->sources * sizeof(*f->at));
}

static bool
next_locked(struct lc__forecast *f, uint64_t now, uint64_t k, uint64_t *chunk,
    uint64_t *batch)
{
	struct lc__visit visit, own;

	move_locked(f, now);
	while (lc__visits_next(f->visits, f->at, &visit) == LC_OK) {
		/* One that has ended, or whose chunk comes before. */
		if (visit.end <= now ||
		    !current_locked(f, visit.source, visit.chunk, now, &own) ||
		    f->current[visit.chunk] != f->at[visit.source] - 1)
			continue;
		if (k-- > 0)
			continue;
		*chunk = visit.chunk;
		*batch = visit.first > now ? visit.first : now;
		return true;
	}
	return false;
}

bool
lc__forecast_next(struct lc__forecast *f, uint64_t now, uint64_t k, uint64_t *chunk,
    uint64_t *batch)
{
	bool found;

	pthread_mutex_lock(&f->lock);
	found = next_locked(f, now, k, chunk, batch);
	pthread_mutex_unlock(&f->lock);
	return found;
}

uint64_t
lc__forecast_when(struct lc__forecast *f, uint64_t chunk, uint64_t now)
{
	struct lc__visit visit;
	bool found = false;

	if (chunk >= f->chunks)
		return LC__NO_BATCH;
	pthread_mutex_lock(&f->lock);
	found = current_locked(f, lc__visits_source(f->visits, chunk), chunk, now,
	    &visit);
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
	while (lc__visits_next(f->visits, f->at, &visit) == LC_OK) {
		/* Those that follow end later. */
		if (visit.first >= turn)
			break;
		if (visit.end > now && visit.end < turn)
			turn = visit.end;
	}
	pthread_mutex_unlock(&f->lock);
	return turn;
}
