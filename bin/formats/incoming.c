/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/incoming.h"

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

/* A pipe is of no format: the bytes read to recognise it would be lost. */
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

static lc_status
load_image(struct lc__buf *bytes, const struct lc__incoming_how *how,
    struct lc__loaded *out, lc_tensor *tensor)
{
	const lc_status status = lc__image_decode(bytes->data, bytes->size, NULL,
	    &how->images, tensor);

	lc__buf_free(bytes);
	return status == LC_OK ? lc__loaded_own(out, (void *)tensor->data) : status;
}

static lc_status
load_bytes(struct lc__buf *bytes, lc_value **part)
{
	*part = lc_value_bytes(bytes->data, bytes->size);
	lc__buf_free(bytes);
	return *part != NULL ? LC_OK : lc__no_memory(NULL);
}

lc_status
lc__payload_load(struct lc__buf *bytes, const struct lc__incoming_how *how,
    struct lc__loaded *out, lc_value **part)
{
	const enum lc__payload_kind kind = lc__payload_kind_of(bytes->data, bytes->size);
	lc_tensor tensor;

	if (kind == LC__PAYLOAD_NPY) {
		return_if_error(lc__loaded_npy(out, bytes, how->raw_dtype, &tensor));
	} else if (how->raw) {
		return load_bytes(bytes, part);
	} else if (kind == LC__PAYLOAD_OTHER) {
		lc__buf_free(bytes);
		return lc__error(LC_UNSUPPORTED, 0,
		    "neither .npy nor a JPEG, PNG, WebP or TIFF image");
	} else {
		return_if_error(load_image(bytes, how, out, &tensor));
	}
	*part = lc_value_tensor(&tensor);
	return *part != NULL ? LC_OK : lc__no_memory(NULL);
}
