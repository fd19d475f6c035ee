/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/formats.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"

#define FIRST 4096 /* bytes by which a file is recognised */

const struct lc__incoming_format *const lc__incoming_formats[] = { &lc__incoming_lmdb,
	&lc__incoming_mds, &lc__incoming_npz, &lc__incoming_safetensors,
	&lc__incoming_webdataset, NULL };

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

/* Do not read from a pipe to recognise its format: these bytes would be lost. */
lc_status
lc__incoming_of(const char *path, const struct lc__incoming_format **out)
{
	unsigned char first[FIRST];
	size_t size = 0;
	struct stat st;
	lc_status status;
	int fd;

	*out = NULL;
	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (S_ISDIR(st.st_mode))
		return find(path, NULL, 0, out);
	if (!S_ISREG(st.st_mode))
		return LC_OK;
	return_if_error(lc__open_regular(path, &fd));
	status = lc__read_full(fd, first, sizeof(first), &size, path);
	close(fd);
	return status == LC_OK ? find(path, first, size, out) : status;
}

/* ---- values by their first bytes --------------------------------------------- */

#define MAGIC "\x93NUMPY"

enum lc__payload_kind
lc__payload_kind_of(const void *bytes, size_t size)
{
	if (size >= sizeof(MAGIC) - 1 && memcmp(bytes, MAGIC, sizeof(MAGIC) - 1) == 0)
		return LC__PAYLOAD_NPY;
	return lc__image_sniff(bytes, size) != LC__IMAGE_NONE ? LC__PAYLOAD_IMAGE
							      : LC__PAYLOAD_OTHER;
}

lc_status
lc__payload_load(struct lc__buf *bytes, const struct lc__incoming_how *how,
    struct lc__loaded *out, lc_value **part)
{
	const enum lc__payload_kind kind = lc__payload_kind_of(bytes->data, bytes->size);
	lc_tensor tensor;
	lc_status status;

	if (kind == LC__PAYLOAD_NPY) {
		return_if_error(lc__loaded_npy(out, bytes, how->raw_dtype, &tensor));
		*part = lc_value_tensor(&tensor);
	} else if (how->raw) {
		*part = lc_value_bytes(bytes->data, bytes->size);
		lc__buf_free(bytes);
	} else if (kind == LC__PAYLOAD_OTHER) {
		lc__buf_free(bytes);
		return lc__error(LC_UNSUPPORTED, 0,
		    "neither .npy nor a JPEG, PNG, WebP or TIFF image");
	} else {
		status = lc__image_decode(bytes->data, bytes->size, NULL, &how->images,
		    &tensor);
		lc__buf_free(bytes);
		return_if_error(status);
		return_if_error(lc__loaded_own(out, (void *)tensor.data));
		*part = lc_value_tensor(&tensor);
	}
	return *part != NULL ? LC_OK : lc__no_memory(NULL);
}

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

const struct lc__outgoing_format *
lc__outgoing_of(const char *path)
{
	const size_t size = strlen(path);

	for (size_t i = 0; lc__outgoing_formats[i] != NULL; i++) {
		const char *suffix = lc__outgoing_formats[i]->suffix;
		const size_t n = suffix != NULL ? strlen(suffix) : size;

		if (size > n && path[size - n - 1] != '/' &&
		    strcmp(path + size - n, suffix) == 0)
			return lc__outgoing_formats[i];
	}
	return NULL;
}
