/* SPDX-License-Identifier: BSD-2-Clause */
/* A module as a directory: drop, rename, share, shrink. */
#include <stdlib.h>

#include "base/error.h"
#include "base/fileio.h"
#include "env/env.h"
#include "env/share.h"
#include "store/cache.h"

static lc_status
directory_of(const char *root, const char *module_id, char **out)
{
	if (root == NULL || *root == '\0' || module_id == NULL)
		return lc__error(LC_INVALID, 0, "no root or module");
	return_if_error(lc__check_module_id(module_id));
	*out = lc__path_join(root, module_id);
	return *out != NULL ? LC_OK : lc__no_memory(NULL);
}

lc_status
lc_drop(const char *root, const char *module_id)
{
	lc_status status;
	char *dir;

	return_if_error(directory_of(root, module_id, &dir));
	status = lc__env_remove(dir);
	free(dir);
	return status;
}

lc_status
lc_rename(const char *root, const char *module_id, const char *new_id)
{
	char *dir, *to;
	lc_status status;

	return_if_error(directory_of(root, module_id, &dir));
	status = directory_of(root, new_id, &to);
	if (status == LC_OK) {
		status = lc__env_rename(dir, to);
		free(to);
	}
	free(dir);
	return status;
}

lc_status
lc_share_get(const char *root, const char *module_id, lc_share *out)
{
	lc_status status;
	char *dir;

	return_if_error(directory_of(root, module_id, &dir));
	status = lc__share_read(dir, out);
	free(dir);
	return status;
}

lc_status
lc_share_set(const char *root, const char *module_id, lc_share share)
{
	lc_share before;
	lc_status status;
	char *dir;

	if ((unsigned)share > LC_SHARE_ALL)
		return lc__error(LC_INVALID, 0, "share: no such value: %d", (int)share);
	return_if_error(directory_of(root, module_id, &dir));
	/* Only in an existing module. */
	status = lc__share_read(dir, &before);
	if (status == LC_OK)
		status = lc__share_write(dir, share);
	free(dir);
	return status;
}

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
