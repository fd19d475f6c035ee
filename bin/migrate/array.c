/* SPDX-License-Identifier: BSD-2-Clause */
/* A record's array as a tensor. */
#include "base/error.h"
#include "formats/json_elements.h"
#include "migrate/migration.h"

lc_status
lc__migration_array(const struct lc__stage2 *how, const struct lc__line_entry *entry,
    struct lc__buf *elements, lc_tensor *out)
{
	const struct lc__json_slice array = entry->members[LC__ENTRY_ARRAY].value;
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;
	lc_status status;

	elements->size = 0;
	status = lc__json_elements(array, how->dtype, &ndim, shape, elements);
	if (status == LC_NO_MEMORY)
		return status;
	if (status != LC_OK)
		return lc__entry_error(entry, array.text, "%s: %s", how->field,
		    lc_last_error()->text);
	return_if_error(lc_tensor_init(out, how->dtype, ndim, shape, elements->data));
	if (lc__expect_tensor(&how->expect[LC__PASS_DINOV3], out) != LC_OK)
		return lc__entry_error(entry, array.text, "%s %s", how->field,
		    lc_last_error()->text);
	return LC_OK;
}
