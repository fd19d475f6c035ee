/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "value/dtype.h"

/* The size in bytes of a shape. A zero dimension makes the product 0; the others must
 * still not overflow, because readers multiply them in any order. */
static lc_status
shape_bytes(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, size_t *out)
{
	uint64_t product = lc_dtype_size(dtype);
	bool empty = false;

	if (product == 0)
		return lc__error(LC_INVALID, 0, "unknown dtype %d", (int)dtype);
	if (ndim > LC_MAX_NDIM)
		return lc__error(LC_INVALID, 0, "rank %u is above %d", ndim, LC_MAX_NDIM);
	for (uint32_t i = 0; i < ndim; i++) {
		if (shape[i] == 0)
			empty = true;
		else if (!lc__mul64(product, shape[i], &product) || product > INT64_MAX)
			return lc__error(LC_INVALID, 0, "shape overflows at dimension %u",
			    i);
	}
	*out = empty ? 0 : (size_t)product;
	return LC_OK;
}

lc_status
lc_tensor_init(lc_tensor *out, lc_dtype dtype, uint32_t ndim, const uint64_t *shape,
    const void *data)
{
	size_t nbytes;

	return_if_error(shape_bytes(dtype, ndim, shape, &nbytes));
	memset(out, 0, sizeof(*out));
	out->dtype = dtype;
	out->ndim = ndim;
	if (ndim > 0)
		memcpy(out->shape, shape, ndim * sizeof(*shape));
	out->data = data;
	out->nbytes = nbytes;
	return LC_OK;
}

void
lc_tensor_free(lc_tensor *tensor)
{
	free((void *)tensor->data);
	memset(tensor, 0, sizeof(*tensor));
}

lc_status
lc__tensor_check(const lc_tensor *tensor)
{
	size_t nbytes;

	return_if_error(shape_bytes(tensor->dtype, tensor->ndim, tensor->shape, &nbytes));
	if (nbytes != tensor->nbytes)
		return lc__error(LC_INVALID, 0,
		    "tensor has %zu bytes, its shape says %zu", tensor->nbytes, nbytes);
	if (tensor->data == NULL && nbytes > 0)
		return lc__error(LC_INVALID, 0, "tensor has no data");
	return LC_OK;
}

char *
lc__tensor_describe(const lc_tensor *tensor, char *out, size_t room)
{
	const char *name = lc_dtype_name(tensor->dtype);
	size_t used = (size_t)snprintf(out, room, "%s[", name ? name : "?");

	for (uint32_t i = 0; i < tensor->ndim && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%llu", i ? "," : "",
		    (unsigned long long)tensor->shape[i]);
	if (used < room)
		snprintf(out + used, room - used, "]");
	return out;
}

/* "3,4" */
static bool
parse_dims(const char *at, const char *end, uint32_t *ndim, uint64_t *shape)
{
	*ndim = 0;
	if (at == end)
		return true;
	for (;; at++) {
		const char *first = at;
		uint64_t *size = &shape[*ndim];

		if ((*ndim)++ == LC_MAX_NDIM)
			return false;
		for (*size = 0; at < end && *at >= '0' && *at <= '9'; at++)
			if (!lc__mul64(*size, 10, size) ||
			    !lc__add64(*size, (uint64_t)(*at - '0'), size))
				return false;
		if (at == first)
			return false;
		if (at == end || *at != ',')
			return at == end;
	}
}

lc_status
lc__tensor_type_parse(const char *text, size_t size, lc_tensor *out)
{
	const char *bracket = memchr(text, '[', size);
	const size_t length = bracket != NULL ? (size_t)(bracket - text) : size;
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;
	char name[LC__DTYPE_TEXT];
	lc_dtype dtype;

	snprintf(name, sizeof(name), "%.*s",
	    (int)(length < sizeof(name) ? length : sizeof(name)), text);
	if (bracket == NULL || strlen(name) != length || text[size - 1] != ']' ||
	    lc_dtype_parse(name, &dtype) != LC_OK ||
	    !parse_dims(bracket + 1, text + size - 1, &ndim, shape))
		return lc__error(LC_INVALID, 0,
		    "%s is not a tensor type such as f32[3,4]", lc__quote_id(text, size));
	return lc_tensor_init(out, dtype, ndim, shape, NULL);
}

int
lc__tensor_same_type(const lc_tensor *a, const lc_tensor *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim &&
	    memcmp(a->shape, b->shape, a->ndim * sizeof(*a->shape)) == 0;
}

lc_status
lc__tensor_room(const lc_tensor *tensor, void *buf, size_t room, void **out)
{
	const size_t size = (tensor->nbytes + 63) / 64 * 64;

	if (buf != NULL && tensor->nbytes > room)
		return lc__error(LC_INVALID, 0, "needs %zu bytes, there is room for %zu",
		    tensor->nbytes, room);
	*out = buf != NULL ? buf : aligned_alloc(64, size > 0 ? size : 64);
	return *out != NULL ? LC_OK : lc__no_memory(NULL);
}
