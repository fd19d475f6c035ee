/* SPDX-License-Identifier: BSD-2-Clause */
/* NumPy's .npy files: format/npy.c. Input: the dtype asked for, then a file. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "format/npy.h"

/* What was read can be written, and is read again as the same. */
static void
check_again(const lc_tensor *tensor)
{
	struct lc__buf file = { 0 };
	lc_tensor again;
	void *owned = NULL;

	if (lc__npy_encode_header(tensor, false, &file) != LC_OK) {
		lc__buf_free(&file);
		return;
	}
	lc__buf_append(&file, tensor->data, tensor->nbytes);
	fuzz_require(!file.failed);
	fuzz_require(lc__npy_read(file.data, file.size, LC__NPY_ANY_DTYPE, &again,
	    &owned) == LC_OK);
	fuzz_require(again.dtype == tensor->dtype && again.ndim == tensor->ndim &&
	    again.nbytes == tensor->nbytes);
	fuzz_require(again.nbytes == 0 ||
	    memcmp(again.data, tensor->data, again.nbytes) == 0);
	free(owned);
	lc__buf_free(&file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const uint8_t choice = fuzz_u8(&in);
	void *file = fuzz_copy(in.at, fuzz_left(&in)), *owned = NULL;
	struct lc__npy_info info;
	lc_tensor tensor;

	(void)!lc__npy_decode_header(file, fuzz_left(&in), &info);
	if (lc__npy_read(file, fuzz_left(&in), choice == 0 ? LC__NPY_ANY_DTYPE : choice,
	    &tensor, &owned) == LC_OK) {
		fuzz_touch_tensor(&tensor);
		check_again(&tensor);
	}
	free(owned);
	free(file);
	return 0;
}
