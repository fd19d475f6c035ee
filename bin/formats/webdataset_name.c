/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/webdataset_name.h"

#include <string.h>
#include <strings.h>

static const struct {
	const char *extension;
	enum lc__wds_type type;
} types[] = {
	{ "npy", LC__WDS_NPY }, { "npz", LC__WDS_NPZ },
	{ "jpg", LC__WDS_IMAGE }, { "jpeg", LC__WDS_IMAGE }, { "png", LC__WDS_IMAGE },
	{ "webp", LC__WDS_IMAGE }, { "tif", LC__WDS_IMAGE }, { "tiff", LC__WDS_IMAGE },
	{ "txt", LC__WDS_TEXT }, { "text", LC__WDS_TEXT },
	{ "transcript", LC__WDS_TEXT },
	{ "json", LC__WDS_JSON }, { "jsn", LC__WDS_JSON },
	{ "cls", LC__WDS_INTEGER }, { "cls2", LC__WDS_INTEGER },
	{ "class", LC__WDS_INTEGER }, { "count", LC__WDS_INTEGER },
	{ "index", LC__WDS_INTEGER }, { "inx", LC__WDS_INTEGER },
	{ "id", LC__WDS_INTEGER },
	{ "bin", LC__WDS_BYTES },
	{ "pyd", LC__WDS_PICKLE }, { "pickle", LC__WDS_PICKLE },
	{ "pkl", LC__WDS_PICKLE }, { "pth", LC__WDS_PICKLE },
};

enum lc__wds_type
lc__wds_type_of(const char *extension)
{
	const char *dot = strrchr(extension, '.');
	const char *last = dot != NULL ? dot + 1 : extension;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcasecmp(last, types[i].extension) == 0)
			return types[i].type;
	return LC__WDS_OTHER;
}

bool
lc__wds_split(const char *name, size_t *key_size)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash != NULL ? slash + 1 : name;
	const char *dot = strchr(base, '.');

	if (dot == NULL || dot == base)
		return false;
	*key_size = (size_t)(dot - name);
	return true;
}

/* The package skips what begins with two underscores, then anything but a slash, two
 * underscores, and then ends or goes on with a slash. */
bool
lc__wds_is_meta(const char *name)
{
	const size_t first = strcspn(name, "/");

	return first >= 4 && strncmp(name, "__", 2) == 0 &&
	    strncmp(name + first - 2, "__", 2) == 0;
}
