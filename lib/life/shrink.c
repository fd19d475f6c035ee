/* SPDX-License-Identifier: BSD-2-Clause */
/* shrink, as the public API has it. */
#include <stdlib.h>

#include "base/error.h"
#include "base/fileio.h"
#include "store/cache.h"

lc_status
lc_shrink(const char *root, const char *module_id, uint64_t *bytes_before,
    uint64_t *bytes_after)
{
	uint64_t before = 0, after = 0;
	lc_options options;
	lc_status status;
	char *dir;

	if (root == NULL || *root == '\0' || module_id == NULL)
		return lc__error(LC_INVALID, 0, "shrink: no root or module");
	return_if_error(lc__check_module_id(module_id));
	dir = lc__path_join(root, module_id);
	if (dir == NULL)
		return lc__no_memory("shrink");
	lc_options_init(&options);
	options.flags = 0;
	status = lc__env_shrink(dir, &options, &before, &after);
	free(dir);
	if (status == LC_OK && bytes_before != NULL)
		*bytes_before = before;
	if (status == LC_OK && bytes_after != NULL)
		*bytes_after = after;
	return status;
}
