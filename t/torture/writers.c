/* SPDX-License-Identifier: BSD-2-Clause */
#include "writers.h"

#include <string.h>

#include "need.h"
#include "run.h"

static const struct sample_range sizes = { 8, 6000 };

void
writer_init(struct writer *w, const char *root, unsigned number, uint64_t *random)
{
	w->root = root;
	w->number = number;
	w->seed = run_random(random);
	w->options = sample_options();
	w->options.flush_every = run_random(random) % 2 == 0 ? 100000 : 5;
	if (run_random(random) % 4 == 0)
		w->options.durability = LC_DURABLE_RELAXED;
}

struct op {
	unsigned key;
	uint64_t version;
};

/* The changes of a batch follow from its number. */
static void
batch_ops(const struct writer *w, uint64_t batch, struct op ops[WRITER_OPS])
{
	uint64_t random = w->seed ^ batch * 0x9E3779B97F4A7C15u;

	for (unsigned i = 0; i < WRITER_OPS; i++) {
		ops[i].key = (unsigned)(run_random(&random) % WRITER_KEYS);
		ops[i].version = run_random(&random) % 4 == 0 ? 0 : batch * WRITER_OPS + i + 1;
	}
}

static size_t
key_id(const struct writer *w, unsigned key, char id[SAMPLE_ID_ROOM])
{
	return sample_id(id, w->number * WRITER_KEYS + key);
}

void
writer_run(void *ctx)
{
	struct writer *w = ctx;
	lc_cache *cache = sample_open(w->root, "m", &w->options);
	struct op ops[WRITER_OPS];
	char id[SAMPLE_ID_ROOM];

	for (;;) {
		const uint64_t batch = w->done;

		batch_ops(w, batch, ops);
		w->begun++;
		for (unsigned i = 0; i < WRITER_OPS; i++) {
			const size_t size = key_id(w, ops[i].key, id);

			if (ops[i].version != 0)
				need_ok(sample_put(cache, id, size, ops[i].version, sizes));
			else
				need(lc_delete(cache, id, size) != LC_CORRUPT);
		}
		need_ok(lc_flush(cache));
		w->done = batch + 1;
		w->begun = 0;
	}
}

/* Does a key have this version? */
static bool
key_is(const struct writer *w, lc_cache *cache, unsigned key, uint64_t version)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = key_id(w, key, id);
	lc_view view;
	const lc_status status = lc_get(cache, id, size, &view);
	bool same;

	need(status == LC_OK || status == LC_NOT_FOUND);
	if (status == LC_NOT_FOUND)
		return version == 0;
	same = version != 0 && sample_is(&view.tensor, id, size, version, sizes);
	lc_view_release(&view);
	return same;
}

static bool
keys_are(const struct writer *w, lc_cache *cache, const uint64_t versions[WRITER_KEYS])
{
	for (unsigned key = 0; key < WRITER_KEYS; key++)
		if (!key_is(w, cache, key, versions[key]))
			return false;
	return true;
}

/* Find the version of each key: that of before, or one that the batch gives it. */
static void
find_each(struct writer *w, lc_cache *cache, const struct op ops[WRITER_OPS])
{
	for (unsigned key = 0; key < WRITER_KEYS; key++)
		for (unsigned i = 0; i < WRITER_OPS &&
		    !key_is(w, cache, key, w->versions[key]); i++)
			if (ops[i].key == key)
				w->versions[key] = ops[i].version;
}

uint64_t
writer_check(struct writer *w, lc_cache *cache)
{
	struct op ops[WRITER_OPS];
	uint64_t live = 0;
	unsigned n = 0;

	for (; w->checked < w->done; w->checked++) {
		batch_ops(w, w->checked, ops);
		for (unsigned i = 0; i < WRITER_OPS; i++)
			w->versions[ops[i].key] = ops[i].version;
	}
	batch_ops(w, w->done, ops);
	if (w->begun > 1)
		find_each(w, cache, ops);
	for (; n < WRITER_OPS && !keys_are(w, cache, w->versions); n++)
		w->versions[ops[n].key] = ops[n].version;
	need(keys_are(w, cache, w->versions));
	w->begun = 0;
	for (unsigned key = 0; key < WRITER_KEYS; key++)
		live += w->versions[key] != 0;
	return live;
}

bool
writer_knows(const struct writer *w, unsigned n, const lc_id *id, const lc_tensor *tensor)
{
	char own[SAMPLE_ID_ROOM];
	struct op ops[WRITER_OPS];

	for (unsigned i = 0; i < n; i++)
		for (unsigned key = 0; key < WRITER_KEYS; key++) {
			const uint64_t version = sample_version(tensor);
			const size_t size = key_id(&w[i], key, own);

			if (size != id->size || memcmp(own, id->data, size) != 0)
				continue;
			batch_ops(&w[i], (version - 1) / WRITER_OPS, ops);
			return version > 0 && ops[(version - 1) % WRITER_OPS].key == key &&
			    ops[(version - 1) % WRITER_OPS].version == version &&
			    sample_is(tensor, own, size, version, sizes);
		}
	return false;
}
