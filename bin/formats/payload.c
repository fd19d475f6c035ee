/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/payload.h"

#include <string.h>

#include "base/error.h"

#define MAGIC "\x93NUMPY"

enum lc__payload_kind
lc__payload_kind_of(const void *bytes, size_t size)
{
	if (size >= sizeof(MAGIC) - 1 && memcmp(bytes, MAGIC, sizeof(MAGIC) - 1) == 0)
		return LC__PAYLOAD_NPY;
	return lc__image_sniff(bytes, size) != LC__IMAGE_NONE ? LC__PAYLOAD_IMAGE :
	    LC__PAYLOAD_OTHER;
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
	const enum lc__payload_kind kind = lc__payload_kind_of(bytes->data,
	    bytes->size);
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
