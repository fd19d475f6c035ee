/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/digest.h"

#include "base/bytes.h"
#include "base/hash.h"

uint64_t
lc__digest(const struct lc__draft *draft)
{
	unsigned char shape[LC_MAX_NDIM * 8];
	uint64_t h = draft->schema->hash;

	h = lc__hash64_seed(draft->id.data, draft->id.size, h);
	h = lc__hash64_seed(draft->plain, draft->plain_size, h);
	for (uint32_t i = 0; i < draft->schema->tensors; i++) {
		const lc_tensor *tensor = draft->tensors[i];

		for (uint32_t d = 0; d < tensor->ndim; d++)
			lc__set64(shape + 8 * (size_t)d, tensor->shape[d]);
		h = lc__hash64_seed(shape, 8 * (size_t)tensor->ndim, h);
		h = lc__hash64_seed(tensor->data, tensor->nbytes, h);
	}
	return h;
}

uint64_t
lc__digest_add(uint64_t chunk, uint64_t record)
{
	unsigned char bytes[8];

	lc__set64(bytes, record);
	return lc__hash64_seed(bytes, sizeof(bytes), chunk);
}
