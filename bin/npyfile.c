/* SPDX-License-Identifier: BSD-2-Clause */
#include "npyfile.h"

#include "format/npy.h"
#include "report.h"

/* The same bits as unsigned integers, where .npy has no type for them. */
static void
take_bits(lc_tensor *tensor)
{
	if (tensor->dtype == LC_BF16)
		tensor->dtype = LC_U16;
	if (tensor->dtype == LC_F8_E4M3 || tensor->dtype == LC_F8_E5M2)
		tensor->dtype = LC_U8;
}

int
npy_write(FILE *out, lc_tensor tensor, bool bits)
{
	struct lc__buf header = { 0 };
	lc_status status;

	if (bits)
		take_bits(&tensor);
	status = lc__npy_header(&tensor, &header);
	if (status == LC_UNSUPPORTED) {
		report_error(".npy has no %s; use --format raw, or --bits for the "
		    "same bits as integers", lc_dtype_name(tensor.dtype));
		return EXIT_DATA;
	}
	if (status != LC_OK)
		return report_status(status);
	fwrite(header.data, 1, header.size, out);
	fwrite(tensor.data, 1, tensor.nbytes, out);
	lc__buf_free(&header);
	return EXIT_DONE;
}
