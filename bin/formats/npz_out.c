/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors as .npy files to export: NAME.npy in a directory, or stored in one .npz file. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/npy.h"
#include "formats/archive.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/outfile.h"

#define SUFFIX ".npy"

struct npy_out {
	struct lc__flat_names names;
	bool bits;                   /* dtypes that .npy cannot name as raw bits */
	struct lc__buf name, header; /* of the .npy file that is written */
	struct lc__out_tree tree;    /* of a directory */
	struct lc__out_file file;    /* of a .npz file */
	struct lc__archive_writer *archive;
};

/* Make the name, NAME.npy, and the header of the file that a tensor becomes. */
static lc_status
begin_npy(struct npy_out *out, const char *name, const lc_tensor *tensor)
{
	out->name.size = out->header.size = 0;
	return_if_error(lc__npy_encode_header(tensor, out->bits, &out->header));
	lc__buf_append(&out->name, name, strlen(name));
	return lc__buf_append(&out->name, SUFFIX, sizeof(SUFFIX)) != NULL
	    ? LC_OK
	    : lc__no_memory(NULL);
}

static void
discard(void *ctx)
{
	struct npy_out *out = ctx;

	lc__archive_discard(out->archive);
	lc__out_file_discard(&out->file);
	lc__out_tree_discard(&out->tree);
	lc__names_free(&out->names);
	lc__buf_free(&out->name);
	lc__buf_free(&out->header);
	free(out);
}

static struct npy_out *
new_out(enum lc__name_rule rule, const struct lc__outgoing_how *how)
{
	struct npy_out *out = calloc(1, sizeof(*out));

	if (out == NULL)
		return NULL;
	out->names.rule = rule;
	out->names.suffix = SUFFIX;
	out->bits = how->bits;
	out->file = (struct lc__out_file)LC__OUT_FILE_NONE;
	return out;
}

/* ---- a directory ------------------------------------------------------------------ */

static lc_status
begin_npy_files(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct npy_out *out = new_out(LC__NAME_FILE, how);
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	status = lc__out_tree_begin(path, how, &out->tree);
	if (status == LC_OK)
		*result = out;
	else
		discard(out);
	return status;
}

static lc_status
put_file(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct npy_out *out = ctx;
	struct lc__out_file file = LC__OUT_FILE_NONE;
	lc_status status;

	return_if_error(begin_npy(out, name, tensor));
	return_if_error(
	    lc__out_tree_open(&out->tree, (const char *)out->name.data, &file));
	status = lc__out_file_write(&file, out->header.data, out->header.size);
	if (status == LC_OK)
		status = lc__out_file_write(&file, tensor->data, tensor->nbytes);
	if (status == LC_OK)
		status = lc__out_tree_place(&out->tree, &file);
	lc__out_file_discard(&file);
	return status;
}

static lc_status
put_npy_files(void *ctx, lc_id id, const lc_value *value)
{
	struct npy_out *out = ctx;

	return lc__names_each(&out->names, id, value, put_file, out);
}

static lc_status
finish_npy_files(void *ctx, uint64_t *bytes)
{
	struct npy_out *out = ctx;
	const lc_status status = lc__out_tree_finish(&out->tree, bytes);

	discard(out);
	return status;
}

const struct lc__outgoing_format lc__outgoing_npy = {
	.name = "npy",
	.what = "a directory of .npy files",
	.begin = begin_npy_files,
	.put = put_npy_files,
	.finish = finish_npy_files,
	.discard = discard,
};

/* ---- one .npz file ---------------------------------------------------------------- */

static lc_status
take(void *file, const void *data, size_t size)
{
	return lc__out_file_write(file, data, size);
}

static lc_status
begin_npz(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct npy_out *out = new_out(LC__NAME_MEMBER, how);
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
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
put_member(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct npy_out *out = ctx;

	if (strchr(name, '\\') != NULL)
		return lc__error(LC_UNSUPPORTED, 0,
		    "a backslash in a name, which readers of zip take for a slash");
	return_if_error(begin_npy(out, name, tensor));
	return_if_error(lc__archive_add(out->archive, (const char *)out->name.data,
	    out->header.size + tensor->nbytes));
	return_if_error(
	    lc__archive_append(out->archive, out->header.data, out->header.size));
	return lc__archive_append(out->archive, tensor->data, tensor->nbytes);
}

static lc_status
put_npz(void *ctx, lc_id id, const lc_value *value)
{
	struct npy_out *out = ctx;

	return lc__names_each(&out->names, id, value, put_member, out);
}

static lc_status
finish_npz(void *ctx, uint64_t *bytes)
{
	struct npy_out *out = ctx;
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
	.begin = begin_npz,
	.put = put_npz,
	.finish = finish_npz,
	.discard = discard,
};
