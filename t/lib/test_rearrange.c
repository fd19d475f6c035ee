/* SPDX-License-Identifier: BSD-2-Clause */
/* Compaction, clearing and eviction beside readers and a writer, killed at any moment. */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "store/cache.h"
#include "store/evict.h"

#define KEYS 120
#define OPS 24        /* writes a batch */
#define CLEAR_EVERY 6 /* batches */
#define BUDGET 150000

static const struct sample_range sizes = { 8, 6000 };

enum mode { compacting, clearing, evicting, MODES };

struct round {
	enum mode mode;
	const char *root;
	uint64_t seed, first; /* the first batch to write */
	int acks[2];
};

/* The writes of a batch follow from the seed: both processes know them. */
struct op {
	unsigned key;
	uint64_t version; /* 0: a delete */
};

static void
batch_ops(struct op ops[OPS], const struct round *r, uint64_t batch)
{
	uint64_t random = r->seed ^ (batch * 0x9E3779B97F4A7C15u);

	for (unsigned i = 0; i < OPS; i++) {
		ops[i].key = (unsigned)(run_random(&random) % KEYS);
		ops[i].version = run_random(&random) % 5 == 0 ? 0 :
		    1 + batch * OPS + i;
	}
}

struct state {
	uint64_t versions[KEYS]; /* 0: not stored */
};

static void
apply(struct state *state, const struct round *r, uint64_t batch)
{
	struct op ops[OPS];

	batch_ops(ops, r, batch);
	for (unsigned i = 0; i < OPS; i++)
		state->versions[ops[i].key] = ops[i].version;
}

static bool
clears(const struct round *r, uint64_t batch)
{
	return r->mode == clearing && batch % CLEAR_EVERY == CLEAR_EVERY - 1;
}

/* ---- the children --------------------------------------------------------- */

static lc_options
options_of(const struct round *r)
{
	lc_options options = sample_options();

	options.flush_every = r->mode == evicting ? 10 : 100000;
	return options;
}

static lc_status
evict(struct lc__change *change, void *nothing)
{
	struct lc__evicted evicted = { 0 };

	(void)nothing;
	return lc__evict(change, BUDGET, LC_EVICT_OLDEST, &evicted);
}

static void
write_batch(lc_cache *cache, const struct round *r, uint64_t batch)
{
	struct op ops[OPS];
	char id[SAMPLE_ID_ROOM];

	batch_ops(ops, r, batch);
	for (unsigned i = 0; i < OPS; i++) {
		const size_t size = sample_id(id, ops[i].key);
		lc_status status;

		if (ops[i].version != 0) {
			need_ok(sample_put(cache, id, size, ops[i].version, sizes));
			continue;
		}
		status = lc_delete(cache, id, size);
		need(status == LC_OK || status == LC_NOT_FOUND);
	}
	need_ok(lc_flush(cache));
	if (clears(r, batch))
		need_ok(lc_clear(cache));
	if (r->mode == evicting)
		need_ok(lc__change_run(cache->env, LC_DURABLE_FULL, evict, NULL));
}

static void
write_for_ever(void *ctx)
{
	const struct round *r = ctx;
	const lc_options options = options_of(r);
	lc_cache *cache = sample_open(r->root, "m", &options);

	for (uint64_t batch = r->first;; batch++) {
		write_batch(cache, r, batch);
		need(write(r->acks[1], "x", 1) == 1);
	}
}

static void
compact_for_ever(void *ctx)
{
	const struct round *r = ctx;
	const lc_options options = options_of(r);
	lc_cache *cache = sample_open(r->root, "m", &options);
	lc_compact_options compact;

	lc_compact_options_init(&compact);
	compact.live_ratio = 1;
	compact.chunk_bytes = 65536;
	for (;;)
		need_ok(lc_compact(cache, &compact, NULL));
}

/* Whatever is there is whole: some version of what its key may hold. */
static void
read_for_ever(void *ctx)
{
	const struct round *r = ctx;
	const lc_options options = options_of(r);
	lc_cache *cache = sample_open(r->root, "m", &options);
	uint64_t random = r->seed;
	char id[SAMPLE_ID_ROOM];
	lc_iter *iter;
	lc_item item;
	lc_view view;

	for (;;) {
		const size_t size = sample_id(id, run_random(&random) % KEYS);
		lc_status status = lc_get(cache, id, size, &view);

		need(status == LC_OK || status == LC_NOT_FOUND);
		if (status == LC_OK) {
			need(sample_is(&view.tensor, id, size,
			    sample_version(&view.tensor), sizes));
			lc_view_release(&view);
		}
		if (run_random(&random) % 50 != 0)
			continue;
		need_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
		while ((status = lc_iter_next(iter, &item)) == LC_OK)
			need(sample_is(&item.tensor, item.id.data, item.id.size,
			    sample_version(&item.tensor), sizes));
		need(status == LC_END);
		lc_iter_close(iter);
	}
}

/* ---- the parent ----------------------------------------------------------- */

static void
kill_child(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	    "a child ended by itself");
}

/* Let the writer acknowledge some batches, kill it and the others a little later;
 * how many it has acknowledged. */
static uint64_t
run_and_kill(struct round *r, uint64_t *random)
{
	const uint64_t wait_for = run_random(random) % 5;
	uint64_t acks = 0;
	pid_t writer, compactor, reader;
	char byte;

	ck_assert_int_eq(pipe(r->acks), 0);
	writer = child_start(write_for_ever, r);
	compactor = child_start(compact_for_ever, r);
	reader = child_start(read_for_ever, r);
	close(r->acks[1]);
	while (acks < wait_for && read(r->acks[0], &byte, 1) == 1)
		acks++;
	usleep((useconds_t)(run_random(random) % 4000));
	if (run_random(random) % 2)
		kill_child(compactor);
	else
		compactor = -compactor;
	usleep((useconds_t)(run_random(random) % 2000));
	kill_child(writer);
	if (compactor < 0)
		kill_child(-compactor);
	kill_child(reader);
	while (read(r->acks[0], &byte, 1) == 1)
		acks++;
	close(r->acks[0]);
	return acks;
}

static void
advance(struct state *state, const struct round *r, uint64_t batch)
{
	if (clears(r, batch))
		memset(state, 0, sizeof(*state));
	else
		apply(state, r, batch);
}

/* What is stored under a key; 0 for nothing. */
static uint64_t
stored(lc_cache *cache, unsigned key)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	uint64_t version;
	lc_view view;
	const lc_status status = lc_get(cache, id, size, &view);

	if (status == LC_NOT_FOUND)
		return 0;
	assert_ok(status);
	version = sample_version(&view.tensor);
	ck_assert(sample_is(&view.tensor, id, size, version, sizes));
	lc_view_release(&view);
	return version;
}

static bool
same(const struct state *a, const struct state *b, bool evicted)
{
	for (unsigned i = 0; i < KEYS; i++)
		if (a->versions[i] != b->versions[i] &&
		    !(evicted && a->versions[i] == 0))
			return false;
	return true;
}

/* The module is in this state, or in the one after the next batch, whole; true
 * then. Where commits happen within a batch, each key counts by itself, and the
 * batch is never written again. */
static bool
check_module(struct round *r, struct state *state)
{
	const lc_options options = options_of(r);
	lc_cache *cache = sample_open(r->root, "m", &options);
	struct state found, applied = *state, next = *state;
	lc_verify_result result;
	bool old = false, new = false;

	assert_ok(lc_verify(cache, NULL, &result));
	for (unsigned i = 0; i < KEYS; i++)
		found.versions[i] = stored(cache, i);
	assert_ok(lc_close(cache));
	apply(&applied, r, r->first);
	advance(&next, r, r->first);
	if (r->mode == evicting) {
		for (unsigned i = 0; i < KEYS; i++)
			ck_assert(found.versions[i] == 0 ||
			    found.versions[i] >= state->versions[i]);
		*state = found;
		return true;
	}
	old = same(&found, state, false) || (clears(r, r->first) &&
	    same(&found, &applied, false));
	new = same(&found, &next, false);
	ck_assert_msg(old || new, "after batch %llu: neither it nor the next",
	    (unsigned long long)r->first);
	*state = found;
	return new;
}

START_TEST(killed)
{
	struct round r = { .mode = (enum mode)_i, .root = run_scratch() };
	uint64_t random = run_seed() + (uint64_t)_i;
	const unsigned points = sample_times(30);
	struct state state = { { 0 } };

	r.seed = run_random(&random);
	for (unsigned i = 0; i < points; i++) {
		for (uint64_t acks = run_and_kill(&r, &random); acks > 0; acks--)
			advance(&state, &r, r.first++);
		r.first += check_module(&r, &state);
	}
	ck_assert_uint_gt(r.first, points / 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("rearrange");
	TCase *tc = tcase_create("rearrange");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, killed, 0, MODES);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
