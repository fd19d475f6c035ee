/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/warehouse_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash128.h"

#define KEY_DIGITS 12 /* of the recipe's key in a cache_id, before a slash */

/* A sample; its name leads into the shard's map. */
struct entry {
	lc_id name;
	uint64_t number; /* where it has no name */
	uint64_t hash[2];
};

struct entries {
	struct entry *all;
	uint64_t n;
	uint64_t done, total; /* bytes of both warehouses, for the progress */
};

/* "run/frame" of "0123456789ab/run/frame". */
static lc_id
without_key(lc_id id)
{
	const char *text = id.data;

	if (id.size <= KEY_DIGITS + 1 || text[KEY_DIGITS] != '/')
		return id;
	for (int i = 0; i < KEY_DIGITS; i++)
		if (memchr("0123456789abcdef", text[i], 16) == NULL)
			return id;
	return (lc_id){ text + KEY_DIGITS + 1, id.size - KEY_DIGITS - 1 };
}

/* What a tensor is, for a hash: no padding in it. */
struct digest {
	uint64_t dtype, ndim, shape[LC_MAX_NDIM], hash[2];
};

static void
digest_tensor(const lc_tensor *tensor, struct digest *out)
{
	memset(out, 0, sizeof(*out));
	out->dtype = (uint64_t)tensor->dtype;
	out->ndim = tensor->ndim;
	memcpy(out->shape, tensor->shape, tensor->ndim * sizeof(uint64_t));
	lc__hash128(tensor->data, tensor->nbytes, out->hash);
}

static void
make_entry(const lc_sample *sample, uint64_t i, struct entry *out)
{
	struct digest parts[3];

	digest_tensor(&sample->image, &parts[0]);
	digest_tensor(&sample->boxes, &parts[1]);
	digest_tensor(&sample->mask, &parts[2]);
	lc__hash128(parts, sizeof(parts), out->hash);
	out->name = without_key(sample->id);
	out->number = i;
}

static int
by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const size_t n = x->name.size < y->name.size ? x->name.size : y->name.size;
	const int order = n > 0 ? memcmp(x->name.data, y->name.data, n) : 0;

	if (order != 0)
		return order;
	if (x->name.size != y->name.size)
		return x->name.size < y->name.size ? -1 : 1;
	if (x->name.size > 0 || x->number == y->number)
		return 0;
	return x->number < y->number ? -1 : 1;
}

static lc_status
read_entries(lc_warehouse *w, const lc_progress *progress, struct entries *out)
{
	const uint64_t n = lc_warehouse_info_of(w)->samples;
	lc_sample sample;

	out->all = calloc(n ? (size_t)n : 1, sizeof(*out->all));
	if (out->all == NULL)
		return lc__no_memory(NULL);
	for (out->n = 0; out->n < n; out->n++) {
		return_if_error(lc_warehouse_sample(w, out->n, &sample));
		make_entry(&sample, out->n, &out->all[out->n]);
		out->done += sample.image.nbytes;
		if (progress->step != NULL && progress->step(progress->ctx,
		    out->done, out->total) != 0)
			return lc__error(LC_CANCELLED, 0, "cancelled");
		lc_warehouse_release(w, &sample);
	}
	if (n > 0)
		qsort(out->all, (size_t)n, sizeof(*out->all), by_name);
	return LC_OK;
}

static void
merge(const struct entries *old, const struct entries *new,
    void (*seen)(void *, lc_id, enum sample_change), void *ctx)
{
	uint64_t i = 0, j = 0;

	while (i < old->n || j < new->n) {
		const struct entry *a = i < old->n ? &old->all[i] : NULL;
		const struct entry *b = j < new->n ? &new->all[j] : NULL;
		const int order = a == NULL ? 1 : b == NULL ? -1 : by_name(a, b);

		i += order <= 0;
		j += order >= 0;
		if (order < 0)
			seen(ctx, a->name, SAMPLE_REMOVED);
		else if (order > 0)
			seen(ctx, b->name, SAMPLE_ADDED);
		else
			seen(ctx, a->name, memcmp(a->hash, b->hash,
			    sizeof(a->hash)) == 0 ? SAMPLE_SAME : SAMPLE_CHANGED);
	}
}

lc_status
warehouse_samples_compare(lc_warehouse *old, lc_warehouse *new,
    const lc_progress *progress,
    void (*seen)(void *ctx, lc_id name, enum sample_change change), void *ctx)
{
	const uint64_t total = lc_warehouse_info_of(old)->bytes +
	    lc_warehouse_info_of(new)->bytes;
	struct entries a = { .total = total }, b = { .total = total };
	lc_status status = read_entries(old, progress, &a);

	b.done = a.done;
	if (status == LC_OK)
		status = read_entries(new, progress, &b);
	if (status == LC_OK)
		merge(&a, &b, seen, ctx);
	free(a.all);
	free(b.all);
	return status;
}
