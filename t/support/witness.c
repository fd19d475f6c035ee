/* SPDX-License-Identifier: BSD-2-Clause */
#include "witness.h"

#include <stdio.h>
#include <string.h>

#include "need.h"
#include "run.h"

void
witness_put(struct witness *w, lc_cache *cache, unsigned key)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);

	w->order[key] = w->versions[key] = ++w->puts;
	assert_ok(sample_put(cache, id, size, w->versions[key], w->range));
}

void
witness_delete(struct witness *w, lc_cache *cache, unsigned key)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);

	assert_status(lc_delete(cache, id, size),
	    w->versions[key] ? LC_OK : LC_NOT_FOUND);
	w->versions[key] = 0;
}

void
witness_change(struct witness *w, lc_cache *cache, unsigned n, uint64_t *random)
{
	while (n-- > 0) {
		const unsigned key = (unsigned)(run_random(random) % WITNESS_KEYS);

		if (run_random(random) % 10 == 0)
			witness_delete(w, cache, key);
		else
			witness_put(w, cache, key);
	}
}

uint64_t
witness_count(const struct witness *w)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < WITNESS_KEYS; i++)
		count += w->versions[i] != 0;
	return count;
}

static void
print_damage(void *ctx, const char *line)
{
	(void)ctx;
	printf("# %s\n", line);
}

/* The key that an item is; the test ends if it is none. */
static unsigned
key_of(const lc_item *item)
{
	char id[SAMPLE_ID_ROOM];

	for (unsigned i = 0; i < WITNESS_KEYS; i++)
		if (sample_id(id, i) == item->id.size &&
		    memcmp(id, item->id.data, item->id.size) == 0)
			return i;
	ck_abort_msg("the module holds a key that was never put");
	return 0;
}

static void
check_order(const struct witness *w, lc_cache *cache)
{
	uint64_t last = 0, last_chunk = 0, n = 0;
	lc_iter *iter;
	lc_item item;
	lc_status status;

	assert_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		const unsigned key = key_of(&item);

		ck_assert(sample_is(&item.tensor, item.id.data, item.id.size,
		    w->versions[key], w->range));
		ck_assert_uint_gt(w->order[key], last);
		ck_assert_uint_ge(item.chunk, last_chunk);
		last = w->order[key];
		last_chunk = item.chunk;
		n++;
	}
	ck_assert_int_eq(status, LC_END);
	lc_iter_close(iter);
	ck_assert_uint_eq(n, witness_count(w));
}

void
witness_check(const struct witness *w, lc_cache *cache)
{
	const lc_progress progress = { .damage = print_damage };
	lc_verify_result result;
	uint64_t count;

	assert_ok(lc_flush(cache));
	assert_ok(lc_verify(cache, &progress, &result));
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, witness_count(w));
	ck_assert_uint_eq(result.live, count);
	for (unsigned i = 0; i < WITNESS_KEYS; i++) {
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, i);
		lc_view view;

		if (w->versions[i] == 0) {
			assert_status(lc_get(cache, id, size, &view), LC_NOT_FOUND);
			continue;
		}
		assert_ok(lc_get(cache, id, size, &view));
		ck_assert(sample_is(&view.tensor, id, size, w->versions[i],
		    w->range));
		lc_view_release(&view);
	}
	check_order(w, cache);
}
