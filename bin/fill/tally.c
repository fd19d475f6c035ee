/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/tally.h"

/* Values are LC_MAX_DEPTH deep at most. */
uint64_t
lc__tally_bytes(const lc_value *value)
{
	uint64_t bytes = 0;
	lc_tensor tensor;

	if (lc_value_kind(value) == LC_TENSOR)
		return lc_value_as_tensor(value, &tensor) == LC_OK ? tensor.nbytes : 0;
	for (size_t i = 0; i < lc_value_count(value); i++)
		bytes += lc__tally_bytes(lc_value_at(value, i));
	return bytes;
}

bool
lc__tally_is_item(lc_status status)
{
	return status == LC_SCHEMA || status == LC_INVALID || status == LC_EXISTS ||
	    status == LC_UNSUPPORTED;
}
