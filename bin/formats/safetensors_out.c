/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into one safetensors file. The plan places every tensor; then each is written
 * at its place, in whatever order they come. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/names.h"
#include "formats/outfile.h"
#include "formats/safetensors.h"

struct outfile {
	struct lc__out_file file;
	struct lc__flat_names planned, written;
	struct lc__safetensors table;
	uint64_t data; /* where the tensors begin; 0 before the header is written */
	size_t count;  /* tensors written */
};

static void
free_outfile(struct outfile *out)
{
	lc__names_free(&out->planned);
	lc__names_free(&out->written);
	lc__safetensors_free(&out->table);
	free(out);
}

static lc_status
note_all(struct outfile *out, const struct lc__outgoing_how *how)
{
	for (size_t i = 0; i < how->n_metadata; i++) {
		const char *text = strchr(how->metadata[i], '=');
		const lc_id name = { how->metadata[i],
			(size_t)(text - how->metadata[i]) };

		return_if_error(
		    lc__safetensors_note(&out->table, name, lc_id_of(text + 1)));
	}
	return LC_OK;
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **file)
{
	const struct lc__flat_names names = { .rule = LC__NAME_TEXT, .suffix = "" };
	struct outfile *out;
	lc_status status;

	if (how->group != NULL)
		return lc__error(LC_INVALID, 0,
		    "%s: one file cannot be divided into buckets", path);
	out = calloc(1, sizeof(*out));
	if (out == NULL)
		return lc__no_memory(path);
	out->file = (struct lc__out_file)LC__OUT_FILE_NONE;
	out->planned = out->written = names;
	status = note_all(out, how);
	if (status == LC_OK)
		status = lc__out_file_open(path, how, &out->file);
	if (status == LC_OK)
		*file = out;
	else
		free_outfile(out);
	return status;
}

static lc_status
plan_tensor(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct outfile *out = ctx;

	return lc__safetensors_add(&out->table, lc_id_of(name), tensor);
}

static lc_status
plan(void *file, lc_id id, const lc_value *value)
{
	struct outfile *out = file;

	return lc__names_each(&out->planned, id, value, plan_tensor, out);
}

/* A disk that is too full is known before hours of writing. */
static lc_status
reserve(const struct outfile *out)
{
	const uint64_t size = out->data + out->table.data_size;

	if (out->file.fd == -1 || fallocate(out->file.fd, 0, 0, (off_t)size) == 0 ||
	    (errno != ENOSPC && errno != EFBIG && errno != EDQUOT))
		return LC_OK;
	return lc__error_sys(errno, "%s: %llu bytes", out->file.path,
	    (unsigned long long)size);
}

static lc_status
write_header(struct outfile *out)
{
	struct lc__buf header = { 0 };
	lc_status status;

	if (out->data > 0)
		return LC_OK;
	status = lc__safetensors_encode(&out->table, &header);
	if (status != LC_OK)
		status = lc__error_prefix("%s", out->file.path);
	else
		status = lc__out_file_write(&out->file, header.data, header.size);
	out->data = header.size;
	lc__buf_free(&header);
	return status == LC_OK ? reserve(out) : status;
}

static lc_status
put_tensor(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct outfile *out = ctx;
	struct lc__safetensor planned;
	size_t i;

	if (!lc__safetensors_find(&out->table, lc_id_of(name), &i))
		return lc__error(LC_INVALID, 0, "came after the file was planned");
	planned = lc__safetensors_at(&out->table, i);
	if (planned.type.dtype != tensor->dtype || planned.type.ndim != tensor->ndim ||
	    memcmp(planned.type.shape, tensor->shape,
		tensor->ndim * sizeof(*tensor->shape)) != 0)
		return lc__error(LC_INVALID, 0, "changed after the file was planned");
	out->count++;
	return lc__out_file_rewrite(&out->file, out->data + planned.begin, tensor->data,
	    tensor->nbytes);
}

static lc_status
put(void *file, lc_id id, const lc_value *value)
{
	struct outfile *out = file;

	return_if_error(write_header(out));
	return lc__names_each(&out->written, id, value, put_tensor, out);
}

static void
discard(void *file)
{
	struct outfile *out = file;

	lc__out_file_discard(&out->file);
	free_outfile(out);
}

static lc_status
finish(void *file, uint64_t *bytes)
{
	struct outfile *out = file;
	lc_status status = write_header(out);

	if (status == LC_OK && out->count != out->table.count)
		status = lc__error(LC_INVALID, 0, "%s: %zu of %zu tensors came",
		    out->file.path, out->count, out->table.count);
	if (status != LC_OK) {
		discard(out);
		return status;
	}
	*bytes = out->data + out->table.data_size;
	status = lc__out_file_finish(&out->file);
	free_outfile(out);
	return status;
}

const struct lc__outgoing_format lc__outgoing_safetensors = {
	.name = "safetensors",
	.suffix = ".safetensors",
	.what = "one safetensors file",
	.begin = begin,
	.plan = plan,
	.put = put,
	.finish = finish,
	.discard = discard,
};
