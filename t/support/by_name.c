/* SPDX-License-Identifier: BSD-2-Clause */
#include "by_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "run.h"
#include "sample.h"

char *
join(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

void
put(lc_cache *cache, const char *id, uint64_t version)
{
	assert_ok(sample_put(cache, id, strlen(id), version, SAMPLE_SMALL));
}

void
expect(lc_cache *cache, const char *id, uint64_t version)
{
	lc_view view;

	assert_ok(lc_get(cache, id, strlen(id), &view));
	ck_assert(sample_is(&view.tensor, id, strlen(id), version, SAMPLE_SMALL));
	lc_view_release(&view);
}

void
expect_missing(lc_cache *cache, const char *id)
{
	lc_view view;

	assert_status(lc_get(cache, id, strlen(id), &view), LC_NOT_FOUND);
	assert_status(lc_contains(cache, id, strlen(id)), LC_NOT_FOUND);
}

uint64_t
count_of(lc_cache *cache)
{
	uint64_t count = UINT64_MAX;

	assert_ok(lc_count(cache, &count));
	return count;
}

lc_stats
stats_of(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return stats;
}
