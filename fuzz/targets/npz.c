/* SPDX-License-Identifier: BSD-2-Clause */
/* NumPy's .npz archives: format/npz.c, format/archive.c, format/parts.c. Input: the
 * dtype of raw bits, then a file. */
#include "fuzz.h"

#include <stdlib.h>

#include "format/npy.h"
#include "formats/npz.h"

/* What a member inflates to, together. */
#define LIMIT (1 << 20)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const uint8_t choice = fuzz_u8(&in);
	const size_t left = fuzz_left(&in);
	void *file = fuzz_copy(in.at, left);
	struct lc__loaded loaded = { 0 };

	(void)lc__npz_is(file, left);
	if (lc__npz_read(file, left, choice == 0 ? LC__NPY_ANY_DTYPE : choice, LIMIT,
	    &loaded) == LC_OK) {
		fuzz_touch_value(loaded.value);
		if (lc__npz_check(loaded.value, true) == LC_OK)
			fuzz_require(lc__npz_write(fuzz_null(), loaded.value, true) == LC_OK);
	}
	lc__loaded_free(&loaded);
	free(file);
	return 0;
}
