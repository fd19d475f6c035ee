/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/npy_file.h"

#include <string.h>

#include "base/error.h"
#include "format/npy.h"

lc_status
lc__npy_file_begin(struct lc__npy_file *file, const char *name, const lc_tensor *tensor)
{
	file->name.size = file->header.size = 0;
	return_if_error(lc__npy_encode_header(tensor, file->bits, &file->header));
	lc__buf_append(&file->name, name, strlen(name));
	if (lc__buf_append(&file->name, LC__NPY_SUFFIX, sizeof(LC__NPY_SUFFIX)) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

void
lc__npy_file_free(struct lc__npy_file *file)
{
	lc__buf_free(&file->name);
	lc__buf_free(&file->header);
}
