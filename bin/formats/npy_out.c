/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory of .npy files, DIR/NAME.npy. */
#include "formats/outgoing.h"

#include <stdlib.h>

#include "base/error.h"
#include "formats/names.h"
#include "formats/npy_file.h"
#include "formats/outtree.h"

struct npy_out {
	struct lc__flat_names names;
	struct lc__out_tree tree;
	struct lc__npy_file npy; /* the one that is written */
};

static void
release(struct npy_out *out)
{
	lc__names_free(&out->names);
	lc__npy_file_free(&out->npy);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct npy_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	out->names.rule = LC__NAME_FILE;
	out->names.suffix = LC__NPY_SUFFIX;
	out->npy.bits = how->bits;
	status = lc__out_tree_begin(path, how, &out->tree);
	if (status == LC_OK)
		*result = out;
	else
		release(out);
	return status;
}

static lc_status
put_tensor(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct npy_out *out = ctx;
	struct lc__out_file file = LC__OUT_FILE_NONE;
	lc_status status;

	return_if_error(lc__npy_file_begin(&out->npy, name, tensor));
	return_if_error(
	    lc__out_tree_open(&out->tree, lc__npy_file_name(&out->npy), &file));
	status = lc__out_file_write(&file, out->npy.header.data, out->npy.header.size);
	if (status == LC_OK)
		status = lc__out_file_write(&file, tensor->data, tensor->nbytes);
	if (status == LC_OK)
		status = lc__out_tree_place(&out->tree, &file);
	lc__out_file_discard(&file);
	return status;
}

static lc_status
put(void *ctx, lc_id id, const lc_value *value)
{
	struct npy_out *out = ctx;

	return lc__names_each(&out->names, id, value, put_tensor, out);
}

static lc_status
finish(void *ctx, uint64_t *bytes)
{
	struct npy_out *out = ctx;
	const lc_status status = lc__out_tree_finish(&out->tree, bytes);

	release(out);
	return status;
}

static void
discard(void *ctx)
{
	struct npy_out *out = ctx;

	lc__out_tree_discard(&out->tree);
	release(out);
}

const struct lc__outgoing_format lc__outgoing_npy = {
	.name = "npy",
	.what = "a directory of .npy files",
	.begin = begin,
	.put = put,
	.finish = finish,
	.discard = discard,
};
