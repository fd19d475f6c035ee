/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/loaded.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "format/npy.h"

lc_status
lc__loaded_own(struct lc__loaded *loaded, void *block)
{
	lc_status status;

	if (block == NULL)
		return LC_OK;
	status = lc__array_reserve(&loaded->blocks, &loaded->room, loaded->count + 1, NULL);
	if (status == LC_OK)
		loaded->blocks[loaded->count++] = block;
	else
		free(block);
	return status;
}

lc_status
lc__loaded_npy(struct lc__loaded *loaded, struct lc__buf *file, int raw_dtype,
    lc_tensor *out)
{
	const struct lc__buf bytes = *file;
	struct lc__npy_info info;
	void *reordered = NULL;

	memset(file, 0, sizeof(*file));
	return_if_error(lc__loaded_own(loaded, bytes.data));
	return_if_error(lc__npy_decode_header(bytes.data, bytes.size, &info));
	return_if_error(lc__npy_read(bytes.data, bytes.size,
	    info.raw ? raw_dtype : LC__NPY_ANY_DTYPE, out, &reordered));
	return lc__loaded_own(loaded, reordered);
}

void
lc__loaded_free(struct lc__loaded *loaded)
{
	lc_value_free(loaded->value);
	for (size_t i = 0; i < loaded->count; i++)
		free(loaded->blocks[i]);
	free(loaded->blocks);
	memset(loaded, 0, sizeof(*loaded));
}
