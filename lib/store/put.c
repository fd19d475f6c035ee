/* SPDX-License-Identifier: BSD-2-Clause */
/* put, put batch, delete, flush: tensor -> pending -> commit. */
#include "base/error.h"
#include "store/cache.h"
#include "store/flush.h"
#include "value/tensor.h"

static lc_status
check_writable(const struct lc_cache *cache, const char *operation)
{
	if (cache->options.flags & LC_RDONLY)
		return lc__error(LC_READONLY, 0,
		    "%s: module %s is open read-only", operation,
		    cache->module_id);
	return LC_OK;
}

lc_status
lc_put(lc_cache *cache, const void *id, size_t id_size,
    const lc_tensor *tensor)
{
	return_if_error(check_writable(cache, "put"));
	return_if_error(lc__check_id("put", id, id_size));
	if (lc__tensor_check(tensor) != LC_OK)
		return lc__error_prefix("put: %s", lc__quote_id(id, id_size));
	return lc__flush_add(cache, id, id_size, tensor);
}

lc_status
lc_put_batch(lc_cache *cache, size_t n, const lc_id *ids,
    const lc_tensor *tensors, lc_status *statuses)
{
	lc_error first = { .status = LC_OK };

	for (size_t i = 0; i < n; i++) {
		const lc_status status =
		    lc_put(cache, ids[i].data, ids[i].size, &tensors[i]);
		if (statuses != NULL)
			statuses[i] = status;
		if (status != LC_OK && first.status == LC_OK)
			first = *lc_last_error();
	}
	return first.status == LC_OK ? LC_OK : lc__error_raise(&first);
}

lc_status
lc_delete(lc_cache *cache, const void *id, size_t id_size)
{
	return_if_error(check_writable(cache, "delete"));
	return_if_error(lc__check_id("delete", id, id_size));
	return_if_error(lc_contains(cache, id, id_size));
	return lc__flush_add(cache, id, id_size, NULL);
}

lc_status
lc_flush(lc_cache *cache)
{
	return lc__flush_all(cache);
}
