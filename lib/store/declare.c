/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls for inputs: declaring, listing and finishing them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/change.h"
#include "store/chunk_order.h"
#include "store/flush.h"
#include "store/inputs.h"

/* ---- declaring ------------------------------------------------------------ */

static lc_status
check_input(const lc_input *input, size_t at)
{
	const unsigned char *name = (const unsigned char *)input->name;
	const size_t size = name == NULL ? 0 : strlen(input->name);

	if (size == 0 || size > LC_INPUT_NAME_MAX)
		return lc__error(LC_INVALID, 0,
		    "declare: input %zu: its name must be 1 to %d bytes", at,
		    LC_INPUT_NAME_MAX);
	for (size_t i = 0; i < size; i++)
		if (name[i] < 0x20 || name[i] == 0x7f)
			return lc__error(LC_INVALID, 0,
			    "declare: input %zu: its name %s has control characters", at,
			    lc__quote_id(name, size));
	if (input->fingerprint.size > LC_INPUT_FINGERPRINT_MAX ||
	    (input->fingerprint.size > 0 && input->fingerprint.data == NULL))
		return lc__error(LC_INVALID, 0,
		    "declare: input %s: its fingerprint must be at most %d bytes",
		    input->name, LC_INPUT_FINGERPRINT_MAX);
	return LC_OK;
}

static int
by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static lc_status
check_inputs(const lc_input *inputs, size_t n)
{
	const char **names;
	lc_status status = LC_OK;

	if (n == 0 || n > LC__INPUTS_MAX || inputs == NULL)
		return lc__error(LC_INVALID, 0, "declare: must be 1 to %d inputs",
		    LC__INPUTS_MAX);
	for (size_t i = 0; i < n; i++)
		return_if_error(check_input(&inputs[i], i));
	names = malloc(n * sizeof(*names));
	if (names == NULL)
		return lc__no_memory("declare");
	for (size_t i = 0; i < n; i++)
		names[i] = inputs[i].name;
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 1; i < n && status == LC_OK; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			status = lc__error(LC_INVALID, 0,
			    "declare: input %s is there twice", names[i]);
	free(names);
	return status;
}

/* The inputs to declare, or to compare with the declared ones. */
struct declaration {
	const lc_input *inputs;
	size_t n;
};

static bool
same_bytes(const lc_id *a, const lc_id *b)
{
	return a->size == b->size &&
	    (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Compare with the declared inputs: first all names, then the fingerprints known on both
 * sides. *news is set if some are known here only. */
static lc_status
compare(struct lc__snapshot *s, const struct declaration *d, bool *news)
{
	const char *dir = lc__env_dir(s->env);
	struct lc__input_row row;
	struct lc__fill_row fill;

	return_if_error(lc__fill_get(s, &fill));
	if (fill.inputs != d->n)
		return lc__error(LC_INVALID, 0, "declare: %s has %llu inputs, not %zu",
		    dir, (unsigned long long)fill.inputs, d->n);
	for (uint32_t i = 0; i < d->n; i++) {
		const lc_id name = { d->inputs[i].name, strlen(d->inputs[i].name) };

		return_if_error(lc__input_get(s, i, &row));
		if (!same_bytes(&row.name, &name))
			return lc__error(LC_INVALID, 0,
			    "declare: %s: input %u is %s there, not %s", dir, i,
			    lc__quote_id(row.name.data, row.name.size),
			    d->inputs[i].name);
	}
	*news = false;
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->inputs[i].fingerprint.size == 0)
			continue;
		return_if_error(lc__input_get(s, i, &row));
		if (row.fingerprint.size == 0)
			*news = true;
		else if (!same_bytes(&row.fingerprint, &d->inputs[i].fingerprint))
			return lc__error(LC_STALE, 0,
			    "declare: %s: input %s has "
			    "another fingerprint than when it was declared",
			    dir, d->inputs[i].name);
	}
	return LC_OK;
}

/* Store the fingerprints that were not known. */
static lc_status
add_fingerprints(struct lc__change *change, const struct declaration *d)
{
	struct lc__input_row row;

	for (uint32_t i = 0; i < d->n; i++) {
		return_if_error(lc__input_get(&change->snapshot, i, &row));
		if (row.fingerprint.size > 0 || d->inputs[i].fingerprint.size == 0)
			continue;
		row.fingerprint = d->inputs[i].fingerprint;
		return_if_error(lc__input_put(change, i, &row));
	}
	return LC_OK;
}

static lc_status
declare(struct lc__change *change, void *ctx)
{
	const struct declaration *d = ctx;
	const struct lc__fill_row fill = { .inputs = d->n };
	struct lc__snapshot *s = &change->snapshot;
	bool filled, news;

	return_if_error(lc__has_inputs(s, &filled));
	if (filled) {
		return_if_error(compare(s, d, &news));
		return news ? add_fingerprints(change, d) : LC_OK;
	}
	if (s->state.live > 0)
		return lc__error(LC_INVALID, 0,
		    "declare: %s holds %llu records of plain puts", lc__env_dir(s->env),
		    (unsigned long long)s->state.live);
	for (size_t i = 0; i < d->n; i++) {
		const lc_input *input = &d->inputs[i];
		const struct lc__input_row row = {
			.name = { input->name, strlen(input->name) },
			.fingerprint = input->fingerprint,
		};

		return_if_error(lc__input_put(change, (uint32_t)i, &row));
	}
	return lc__fill_put(change, &fill);
}

/* LC_NOT_FOUND, without an error, if no inputs are declared or some fingerprints are
 * new. */
static lc_status
compare_now(lc_cache *cache, const struct declaration *d)
{
	struct lc__snapshot *s;
	bool news = true;
	lc_status status = LC_OK;

	return_if_error(lc__snapshot_take(cache->env, &s));
	if (s->filled)
		status = compare(s, d, &news);
	lc__snapshot_give(s, 0);
	return status == LC_OK && news ? LC_NOT_FOUND : status;
}

lc_status
lc_inputs_declare(lc_cache *cache, size_t n, const lc_input *inputs)
{
	struct declaration d = { inputs, n };
	lc_status status;

	return_if_error(lc__check_writable(cache, "declare"));
	return_if_error(check_inputs(inputs, n));
	status = compare_now(cache, &d);
	if (status != LC_NOT_FOUND)
		return status;
	return_if_error(lc__flush_all(cache));
	return_if_error(
	    lc__change_run(cache->env, cache->options.durability, declare, &d));
	/* Learn it at once, so that this process refuses puts from now on. */
	return compare_now(cache, &d);
}

/* ---- listing -------------------------------------------------------------- */

static lc_status
tell(struct lc__snapshot *s, uint32_t index, int held,
    int (*fn)(void *ctx, const lc_input_info *info), void *ctx)
{
	char name[LC_INPUT_NAME_MAX + 1];
	struct lc__input_row row;
	lc_input_info info;

	return_if_error(lc__input_get(s, index, &row));
	memcpy(name, row.name.data, row.name.size);
	name[row.name.size] = '\0';
	info = (lc_input_info){
		.index = index,
		.name = name,
		.fingerprint = row.fingerprint,
		.cursor = row.cursor,
		.chunks = row.chunks,
		.records = row.records,
		.length = row.length,
		.finished = row.finished,
		.held = held,
	};
	return fn(ctx, &info) == 0 ? LC_OK
				   : lc__error(LC_CANCELLED, 0, "inputs: cancelled");
}

static lc_status
tell_all(struct lc__snapshot *s, int (*fn)(void *ctx, const lc_input_info *info),
    void *ctx)
{
	struct lc__fill_row fill;
	unsigned char *held;
	lc_status status;

	return_if_error(lc__fill_get(s, &fill));
	held = calloc(fill.inputs, 1);
	if (held == NULL)
		return lc__no_memory("inputs");
	status = lc__input_locks_list(s->env, (uint32_t)fill.inputs, held);
	for (uint32_t i = 0; i < fill.inputs && status == LC_OK; i++)
		status = tell(s, i, held[i], fn, ctx);
	free(held);
	return status == LC_NOT_FOUND ? lc__error_as(LC_CORRUPT) : status;
}

lc_status
lc_inputs(lc_cache *cache, int (*fn)(void *ctx, const lc_input_info *info), void *ctx)
{
	struct lc__snapshot *s;
	lc_status status = LC_OK;

	return_if_error(lc__snapshot_take(cache->env, &s));
	lc__snapshot_keep(s);
	if (s->filled)
		status = tell_all(s, fn, ctx);
	lc__snapshot_end_keep(s);
	return status;
}

lc_status
lc_fill_get(lc_cache *cache, lc_fill *out)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	struct lc__snapshot *s;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "fill: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &s));
	status = lc__fill_load(s, &fill);
	lc__snapshot_give(s, 0);
	if (status == LC_OK)
		*out = fill;
	return status;
}

/* ---- finishing ------------------------------------------------------------ */

static lc_status
finish(struct lc__change *change, void *ctx)
{
	struct lc__fill_row fill;
	struct lc__input_row row;
	lc_status status = lc__fill_get(&change->snapshot, &fill);

	(void)ctx;
	if (status == LC_NOT_FOUND)
		return lc__error(LC_INVALID, 0, "finish: %s has no inputs",
		    lc__env_dir(change->snapshot.env));
	return_if_error(status);
	for (uint32_t i = 0; i < fill.inputs; i++) {
		return_if_error(lc__input_get(&change->snapshot, i, &row));
		if (row.finished)
			continue;
		if (row.merging)
			return lc__error(LC_INVALID, 0,
			    "finish: %s: input %s is incomplete, from a merge that was "
			    "interrupted: merge again",
			    lc__env_dir(change->snapshot.env),
			    lc__quote_id(row.name.data, row.name.size));
		row.finished = true;
		return_if_error(lc__input_put(change, i, &row));
	}
	fill.finished = fill.inputs;
	return_if_error(lc__order_publish(change, &fill));
	return lc__fill_put(change, &fill);
}

lc_status
lc_inputs_finish(lc_cache *cache)
{
	unsigned char *locked = NULL; /* 1 for each input that is locked here */
	struct lc__fill_row fill = { 0 };
	struct lc__snapshot *s;
	lc_status status;

	return_if_error(lc__check_writable(cache, "finish"));
	return_if_error(lc__snapshot_take(cache->env, &s));
	status = lc__fill_get(s, &fill);
	if (status == LC_NOT_FOUND)
		status = lc__error(LC_INVALID, 0, "finish: %s has no inputs",
		    lc__env_dir(cache->env));
	if (status == LC_OK) {
		locked = calloc(fill.inputs, 1);
		status = locked == NULL ? lc__no_memory("finish") : LC_OK;
	}
	/* Lock the unfinished ones, so that no other writer opens one meanwhile. */
	for (uint32_t i = 0; i < fill.inputs && status == LC_OK; i++) {
		char name[LC_INPUT_NAME_MAX + 1];
		struct lc__input_row row;

		status = lc__input_get(s, i, &row);
		if (status != LC_OK || row.finished)
			continue;
		memcpy(name, row.name.data, row.name.size);
		name[row.name.size] = '\0';
		status = lc__input_lock(cache->env, i, name);
		locked[i] = status == LC_OK;
	}
	lc__snapshot_give(s, 0);

	if (status == LC_OK)
		status = lc__change_run(cache->env, cache->options.durability, finish,
		    NULL);
	for (uint32_t i = 0; locked != NULL && i < fill.inputs; i++)
		if (locked[i])
			lc__input_unlock(cache->env, i);
	free(locked);
	return status;
}
