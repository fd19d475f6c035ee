/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/space.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "base/error.h"

lc_status
lc__space_left(const char *path, uint64_t *out)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == -1)
		return lc__error_sys(errno, "%s: statvfs", path);
	*out = (uint64_t)fs.f_bavail * fs.f_frsize;
	return LC_OK;
}

lc_status
lc__space_check(const char *path, uint64_t needed, const char *what)
{
	uint64_t left = 0;

	return_if_error(lc__space_left(path, &left));
	if (needed <= left)
		return LC_OK;
	return lc__error(LC_NO_SPACE, 0, "%s: %s need %llu bytes, %llu are free", path,
	    what, (unsigned long long)needed, (unsigned long long)left);
}
