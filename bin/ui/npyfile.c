/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/npyfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/npy.h"
#include "ui/report.h"

void
decoded_free(struct decoded *decoded)
{
	lc__buf_free(&decoded->file);
	free(decoded->owned);
	memset(decoded, 0, sizeof(*decoded));
}

bool
npy_is(const struct lc__buf *file)
{
	static const char magic[] = "\x93NUMPY";

	return file->size >= sizeof(magic) - 1 &&
	    memcmp(file->data, magic, sizeof(magic) - 1) == 0;
}

lc_status
npy_decode(struct decoded *out, const char *name, int dtype)
{
	const lc_status status = lc__npy_read(out->file.data, out->file.size,
	    dtype, &out->tensor, &out->owned);

	return status == LC_OK ? LC_OK : lc__error_prefix("%s", name);
}

int
npy_write(FILE *out, const lc_tensor *tensor, bool bits)
{
	struct lc__buf header = { 0 };
	const lc_status status = lc__npy_encode_header(tensor, bits, &header);

	if (status == LC_OK) {
		fwrite(header.data, 1, header.size, out);
		fwrite(tensor->data, 1, tensor->nbytes, out);
	}
	lc__buf_free(&header);
	if (status == LC_UNSUPPORTED)
		return report_error(EXIT_DATA, ".npy has no %s; use --format raw, or --bits",
		    lc_dtype_name(tensor->dtype));
	return status == LC_OK ? EXIT_DONE : report_status(status);
}
