/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "need.h"
#include "run.h"

size_t
sample_id(char out[SAMPLE_ID_ROOM], uint64_t i)
{
	uint64_t state = i;
	size_t size = 0;

	switch (i % 8) {
	case 0: /* binary, with NULs */
		memset(out, 0, 8);
		memcpy(out + 4, &i, sizeof(i));
		return 12;
	case 1: /* longer than a key of LMDB may be */
		size = 480 + run_random(&state) % 200;
		memset(out, 'k', size);
		break;
	case 2: /* a prefix that many share */
		size = 30;
		memset(out, '/', size);
		break;
	default:
		break;
	}
	return size + (size_t)snprintf(out + size, SAMPLE_ID_ROOM - size,
	    "%llx-%llu", (unsigned long long)(run_random(&state) & 0xff),
	    (unsigned long long)i);
}

void
sample_fill(void *data, size_t size, uint64_t seed)
{
	unsigned char *at = data;
	uint64_t word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		word = run_random(&seed);
		memcpy(at, &word, sizeof(word));
	}
	word = run_random(&seed);
	memcpy(at, &word, size);
}

void
sample_make(lc_tensor *out, const void *id, size_t id_size, uint64_t version,
    struct sample_range range)
{
	uint64_t state = lc__hash64_seed(id, id_size, version);
	const uint64_t span = range.max - range.min + 1;
	const lc_dtype dtype = (lc_dtype)(1 + run_random(&state) % (LC_DTYPE_COUNT - 1));
	const size_t unit = lc_dtype_size(dtype);
	const uint64_t count =
	    (range.min + run_random(&state) % span + unit - 1) / unit;
	const uint64_t shapes[3][3] = { { count }, { 1, count }, { count, 1, 1 } };
	const uint32_t rank = 1 + (uint32_t)(run_random(&state) % 3);
	unsigned char *data = malloc(count * unit + 1);

	need(data != NULL);
	sample_fill(data, count * unit, state);
	if (count * unit >= sizeof(version))
		memcpy(data, &version, sizeof(version));
	need_ok(lc_tensor_init(out, dtype, rank, shapes[rank - 1], data));
}

void
sample_free(lc_tensor *tensor)
{
	free((void *)(uintptr_t)tensor->data);
	tensor->data = NULL;
}

uint64_t
sample_version(const lc_tensor *tensor)
{
	uint64_t version;

	need(tensor->nbytes >= sizeof(version));
	memcpy(&version, tensor->data, sizeof(version));
	return version;
}

bool
sample_same(const lc_tensor *a, const lc_tensor *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim &&
	    a->nbytes == b->nbytes &&
	    memcmp(a->shape, b->shape, a->ndim * sizeof(a->shape[0])) == 0 &&
	    (a->nbytes == 0 || memcmp(a->data, b->data, a->nbytes) == 0);
}

bool
sample_is(const lc_tensor *tensor, const void *id, size_t id_size,
    uint64_t version, struct sample_range range)
{
	lc_tensor want;
	bool same;

	sample_make(&want, id, id_size, version, range);
	same = sample_same(tensor, &want);
	sample_free(&want);
	return same;
}

lc_status
sample_put(lc_cache *cache, const void *id, size_t id_size, uint64_t version,
    struct sample_range range)
{
	lc_tensor tensor;
	lc_status status;

	sample_make(&tensor, id, id_size, version, range);
	status = lc_put(cache, id, id_size, &tensor);
	sample_free(&tensor);
	return status;
}

lc_tensor
sample_bytes(const void *data, size_t size)
{
	const uint64_t shape[1] = { size };
	lc_tensor tensor;

	need_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, data));
	return tensor;
}

unsigned
sample_times(unsigned times)
{
	if (getenv("T_SLOW") != NULL)
		return times / 20 > 0 ? times / 20 : 1;
	return getenv("T_LONG") != NULL ? times * 20 : times;
}

lc_options
sample_options(void)
{
	lc_options options;

	lc_options_init(&options);
	options.flush_interval_ms = 0;
	return options;
}

lc_cache *
sample_open(const char *root, const char *module, const lc_options *options)
{
	lc_cache *cache = NULL;

	need_ok(lc_open(root, module, options, &cache));
	return cache;
}

void
sample_set_length(lc_cache *cache, const char *field)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	need_ok(lc_settings_get(cache, &settings));
	if (strcmp(settings.length_field, field) == 0)
		return;
	snprintf(settings.length_field, sizeof(settings.length_field), "%s", field);
	need_ok(lc_settings_set(cache, &settings));
}
