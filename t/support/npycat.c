/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * npycat [-d DTYPE] OUTDIR FILE...: read each .npy file and write what was read
 * to OUTDIR under the same name, as a .npy file again. A file that cannot be
 * read gets its message on standard output. For t/bin/npy.sh.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "format/npy.h"

/* Not atomic and not synced: there are thousands. */
static lc_status
write_file(const char *path, const struct lc__buf *bytes)
{
	FILE *file = fopen(path, "wb");

	if (file == NULL)
		return lc__error_sys(errno, "%s: open", path);
	if (fwrite(bytes->data, 1, bytes->size, file) != bytes->size ||
	    fclose(file) != 0)
		return lc__error_sys(errno, "%s: write", path);
	return LC_OK;
}

static lc_status
copy(const char *from, int dtype, const char *to)
{
	struct lc__buf in = { 0 }, out = { 0 };
	lc_tensor tensor;
	lc_status status;
	void *owned = NULL;

	status = lc__read_file(from, 1u << 30, &in);
	if (status == LC_OK)
		status = lc__npy_read(in.data, in.size, dtype, &tensor, &owned);
	if (status == LC_OK)
		status = lc__npy_encode_header(&tensor, true, &out);
	if (status == LC_OK) {
		lc__buf_append(&out, tensor.data, tensor.nbytes);
		status = write_file(to, &out);
	}
	free(owned);
	lc__buf_free(&in);
	lc__buf_free(&out);
	return status;
}

int
main(int argc, char **argv)
{
	int dtype = LC__NPY_ANY_DTYPE, option;
	lc_dtype given;

	while ((option = getopt(argc, argv, "d:")) != -1) {
		if (option != 'd' || lc_dtype_parse(optarg, &given) != LC_OK)
			return 2;
		dtype = (int)given;
	}
	if (argc - optind < 2)
		return 2;
	for (int i = optind + 1; i < argc; i++) {
		const char *name = strrchr(argv[i], '/');
		char *to = lc__path_join(argv[optind], name ? name + 1 : argv[i]);
		if (to == NULL)
			return 4;
		if (copy(argv[i], dtype, to) != LC_OK)
			printf("%s: %s\n", argv[i], lc_last_error()->text);
		free(to);
	}
	return 0;
}
