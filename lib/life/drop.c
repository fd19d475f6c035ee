/* SPDX-License-Identifier: BSD-2-Clause */
/* drop, rename and share, as the public API has them. */
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
	/* Only where there is a module. */
	status = lc__share_read(dir, &before);
	if (status == LC_OK)
		status = lc__share_write(dir, share);
	free(dir);
	return status;
}
