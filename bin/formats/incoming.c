/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/incoming.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"

#define FIRST 4096 /* bytes that tell what a file is */

const struct lc__incoming_format *const lc__incoming_formats[] = {
	&lc__incoming_lmdb,
	&lc__incoming_mds,
	&lc__incoming_npz,
	&lc__incoming_safetensors,
	&lc__incoming_webdataset,
	NULL
};

const struct lc__incoming_format *
lc__incoming_named(const char *name)
{
	for (size_t i = 0; lc__incoming_formats[i] != NULL; i++)
		if (strcmp(lc__incoming_formats[i]->name, name) == 0)
			return lc__incoming_formats[i];
	return NULL;
}

static lc_status
find(const char *path, const void *first, size_t size,
    const struct lc__incoming_format **out)
{
	bool is = false;

	*out = NULL;
	for (size_t i = 0; lc__incoming_formats[i] != NULL && !is; i++) {
		return_if_error(lc__incoming_formats[i]->is(path, first, size, &is));
		if (is)
			*out = lc__incoming_formats[i];
	}
	return LC_OK;
}

static lc_status
find_by_content(const char *path, const struct lc__incoming_format **out)
{
	unsigned char first[FIRST];
	size_t size = 0;
	lc_status status;
	int fd;

	return_if_error(lc__open_regular(path, &fd));
	status = lc__read_full(fd, first, sizeof(first), &size, path);
	close(fd);
	return status == LC_OK ? find(path, first, size, out) : status;
}

/* A pipe is of no format: what is read of it to look is gone. */
lc_status
lc__incoming_of(const char *path, const struct lc__incoming_format **out)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (S_ISREG(st.st_mode))
		return find_by_content(path, out);
	if (S_ISDIR(st.st_mode))
		return find(path, NULL, 0, out);
	*out = NULL;
	return LC_OK;
}
