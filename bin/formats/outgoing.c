/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/outgoing.h"

#include <string.h>

const struct lc__outgoing_format *const lc__outgoing_formats[] = { &lc__outgoing_lmdb,
	&lc__outgoing_mds, &lc__outgoing_npy, &lc__outgoing_npz,
	&lc__outgoing_safetensors, &lc__outgoing_webdataset, NULL };

const struct lc__outgoing_format *
lc__outgoing_named(const char *name)
{
	for (size_t i = 0; lc__outgoing_formats[i] != NULL; i++)
		if (strcmp(lc__outgoing_formats[i]->name, name) == 0)
			return lc__outgoing_formats[i];
	return NULL;
}

static bool
ends(const char *path, const char *suffix)
{
	const size_t size = strlen(path), n = strlen(suffix);

	return size > n && path[size - n - 1] != '/' &&
	    strcmp(path + size - n, suffix) == 0;
}

const struct lc__outgoing_format *
lc__outgoing_of(const char *path)
{
	for (size_t i = 0; lc__outgoing_formats[i] != NULL; i++)
		if (lc__outgoing_formats[i]->suffix != NULL &&
		    ends(path, lc__outgoing_formats[i]->suffix))
			return lc__outgoing_formats[i];
	return NULL;
}
