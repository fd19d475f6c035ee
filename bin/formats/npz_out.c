/* SPDX-License-Identifier: BSD-2-Clause */
/* One .npz file: a zip archive of NAME.npy, stored. */
#include "formats/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/names.h"
#include "formats/npy_file.h"
#include "formats/outfile.h"
#include "formats/archive.h"

struct npz_out {
	struct lc__flat_names names;
	struct lc__out_file file;
	struct lc__archive_writer *archive;
	struct lc__npy_file npy; /* the member that is written */
};

static lc_status
take(void *file, const void *data, size_t size)
{
	return lc__out_file_write(file, data, size);
}

static void
discard(void *ctx)
{
	struct npz_out *out = ctx;

	lc__archive_discard(out->archive);
	lc__out_file_discard(&out->file);
	lc__names_free(&out->names);
	lc__npy_file_free(&out->npy);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct npz_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	out->names.rule = LC__NAME_MEMBER;
	out->names.suffix = LC__NPY_SUFFIX;
	out->file = (struct lc__out_file)LC__OUT_FILE_NONE;
	out->npy.bits = how->bits;
	status = lc__out_file_open(path, how, &out->file);
	if (status == LC_OK)
		status = lc__archive_create(LC__ARCHIVE_ZIP, take, &out->file,
		    &out->archive);
	if (status == LC_OK)
		*result = out;
	else
		discard(out);
	return status;
}

static lc_status
put_tensor(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct npz_out *out = ctx;

	if (strchr(name, '\\') != NULL)
		return lc__error(LC_UNSUPPORTED, 0,
		    "a backslash in a name, which readers of zip take for a slash");
	return_if_error(lc__npy_file_begin(&out->npy, name, tensor));
	return_if_error(lc__archive_add(out->archive, lc__npy_file_name(&out->npy),
	    out->npy.header.size + tensor->nbytes));
	return_if_error(
	    lc__archive_append(out->archive, out->npy.header.data, out->npy.header.size));
	return lc__archive_append(out->archive, tensor->data, tensor->nbytes);
}

static lc_status
put(void *ctx, lc_id id, const lc_value *value)
{
	struct npz_out *out = ctx;

	return lc__names_each(&out->names, id, value, put_tensor, out);
}

static lc_status
finish(void *ctx, uint64_t *bytes)
{
	struct npz_out *out = ctx;
	struct lc__archive_writer *archive = out->archive;
	lc_status status;

	out->archive = NULL;
	status = lc__archive_finish(archive);
	if (status == LC_OK) {
		const uint64_t size = out->file.size;
		status = lc__out_file_finish(&out->file);
		if (status == LC_OK)
			*bytes = size;
	}
	discard(out);
	return status;
}

const struct lc__outgoing_format lc__outgoing_npz = {
	.name = "npz",
	.suffix = ".npz",
	.what = "one .npz file",
	.streams = true,
	.begin = begin,
	.put = put,
	.finish = finish,
	.discard = discard,
};
