/* SPDX-License-Identifier: BSD-2-Clause */
/* safetensors files to import and to export: a tensor is a record under its own name. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/outfile.h"
#include "formats/safetensors.h"

/* ---- in --------------------------------------------------------------------------- */

struct safetensors_in {
	char *path;
	int fd;              /* -1 if it is not open */
	uint64_t size, data; /* of the file; where the tensors begin */
	uint64_t limit;      /* bytes of one tensor */
	struct lc__safetensors table;
	size_t next; /* the record that next() goes to */
};

static lc_status
is_safetensors(const char *path, const void *first, size_t size, bool *is)
{
	static const char suffix[] = ".safetensors";
	const size_t length = strlen(path), n = sizeof(suffix) - 1;

	*is = first != NULL &&
	    ((length > n && strcmp(path + length - n, suffix) == 0) ||
		lc__safetensors_is(first, size));
	return LC_OK;
}

static void
close_in(void *file)
{
	struct safetensors_in *in = file;

	if (in == NULL)
		return;
	if (in->fd != -1)
		close(in->fd);
	lc__safetensors_free(&in->table);
	free(in->path);
	free(in);
}

static lc_status
read_at(const struct safetensors_in *in, uint64_t offset, void *out, size_t size)
{
	size_t got;

	if (lseek(in->fd, (off_t)offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", in->path);
	return_if_error(lc__read_full(in->fd, out, size, &got, in->path));
	if (got != size)
		return lc__error(LC_CORRUPT, 0, "%s: ends early", in->path);
	return LC_OK;
}

static lc_status
read_header(struct safetensors_in *in)
{
	unsigned char prefix[LC__SAFETENSORS_PREFIX];
	void *header;
	size_t size;
	struct stat st;
	lc_status status;

	if (fstat(in->fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", in->path);
	in->size = (uint64_t)st.st_size;
	if (in->size < sizeof(prefix))
		return lc__error(LC_CORRUPT, 0,
		    "%s: %" PRIu64 " bytes are not a safetensors file", in->path,
		    in->size);
	return_if_error(read_at(in, 0, prefix, sizeof(prefix)));
	if (lc__safetensors_header_size(prefix, in->size, &size) != LC_OK)
		return lc__error_prefix("%s", in->path);
	header = malloc(size + 1);
	if (header == NULL)
		return lc__no_memory(in->path);
	in->data = sizeof(prefix) + size;
	status = read_at(in, sizeof(prefix), header, size);
	if (status == LC_OK &&
	    lc__safetensors_decode(header, size, in->size - in->data, &in->table) !=
		LC_OK)
		status = lc__error_prefix("%s", in->path);
	free(header);
	return_if_error(status);
	/* Check all names before the first record, so that a file is imported as a whole
	 * or not at all. */
	for (size_t i = 0; i < in->table.count; i++) {
		const lc_id name = lc__safetensors_at(&in->table, i).name;

		if (name.size == 0 || name.size > LC_MAX_ID)
			return lc__error(LC_UNSUPPORTED, 0,
			    "%s: the name %s of %zu "
			    "bytes is not a cache_id of 1 to %d bytes",
			    in->path, lc__quote_id(name.data, name.size), name.size,
			    LC_MAX_ID);
	}
	return LC_OK;
}

static lc_status
open_in(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct safetensors_in *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in == NULL)
		return lc__no_memory(path);
	in->fd = -1;
	in->limit = how->limit;
	in->path = strdup(path);
	status = in->path != NULL ? lc__open_regular(path, &in->fd) : lc__no_memory(path);
	if (status == LC_OK)
		status = read_header(in);
	if (status == LC_OK)
		*out = in;
	else
		close_in(in);
	return status;
}

static lc_status
next_tensor(void *file, lc_id *id)
{
	struct safetensors_in *in = file;

	if (in->next == in->table.count)
		return LC_END;
	*id = lc__safetensors_at(&in->table, in->next++).name;
	return LC_OK;
}

static lc_status
load_tensor(void *file, struct lc__loaded *out)
{
	struct safetensors_in *in = file;
	struct lc__safetensor tensor = lc__safetensors_at(&in->table, in->next - 1);
	void *data;

	if (tensor.type.nbytes > in->limit)
		return lc__error(LC_INVALID, 0,
		    "%s: %s: %zu bytes, more than the limit of %" PRIu64, in->path,
		    lc__quote_id(tensor.name.data, tensor.name.size), tensor.type.nbytes,
		    in->limit);
	data = malloc(tensor.type.nbytes + 1);
	if (data == NULL)
		return lc__no_memory(in->path);
	return_if_error(lc__loaded_own(out, data));
	return_if_error(read_at(in, in->data + tensor.begin, data, tensor.type.nbytes));
	tensor.type.data = data;
	out->value = lc_value_tensor(&tensor.type);
	return out->value != NULL ? LC_OK : lc__no_memory(in->path);
}

static uint64_t
count_tensors(const void *file)
{
	return ((const struct safetensors_in *)file)->table.count;
}

static lc_id
metadata_of(const void *file)
{
	const struct safetensors_in *in = file;

	return (lc_id){ in->table.metadata.data, in->table.metadata.size };
}

const struct lc__incoming_format lc__incoming_safetensors = {
	.name = "safetensors",
	.what = "safetensors files",
	.is = is_safetensors,
	.open = open_in,
	.next = next_tensor,
	.load = load_tensor,
	.count = count_tensors,
	.metadata = metadata_of,
	.close = close_in,
};

/* ---- out -------------------------------------------------------------------------- */

/* The plan places every tensor; then each is written at its place, in whatever order they
 * come. */

struct safetensors_out {
	struct lc__out_file file;
	struct lc__flat_names planned, written;
	struct lc__safetensors table;
	uint64_t data; /* where the tensors begin; 0 before the header is written */
	size_t count;  /* tensors written */
};

static void
free_out(struct safetensors_out *out)
{
	lc__names_free(&out->planned);
	lc__names_free(&out->written);
	lc__safetensors_free(&out->table);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **file)
{
	const struct lc__flat_names names = { .rule = LC__NAME_TEXT, .suffix = "" };
	struct safetensors_out *out;
	lc_status status = LC_OK;

	if (how->group != NULL)
		return lc__error(LC_INVALID, 0,
		    "%s: one file cannot be divided into buckets", path);
	out = calloc(1, sizeof(*out));
	if (out == NULL)
		return lc__no_memory(path);
	out->file = (struct lc__out_file)LC__OUT_FILE_NONE;
	out->planned = out->written = names;
	for (size_t i = 0; status == LC_OK && i < how->n_metadata; i++) {
		const char *text = strchr(how->metadata[i], '=');
		const lc_id name = { how->metadata[i],
			(size_t)(text - how->metadata[i]) };

		status = lc__safetensors_note(&out->table, name, lc_id_of(text + 1));
	}
	if (status == LC_OK)
		status = lc__out_file_open(path, how, &out->file);
	if (status == LC_OK)
		*file = out;
	else
		free_out(out);
	return status;
}

static lc_status
plan_tensor(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct safetensors_out *out = ctx;

	return lc__safetensors_add(&out->table, lc_id_of(name), tensor);
}

static lc_status
plan(void *file, lc_id id, const lc_value *value)
{
	struct safetensors_out *out = file;

	return lc__names_each(&out->planned, id, value, plan_tensor, out);
}

static lc_status
write_header(struct safetensors_out *out)
{
	struct lc__buf header = { 0 };
	uint64_t size;
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
	return_if_error(status);

	/* Reserve the space now: a full disk is reported before hours of writing. */
	size = out->data + out->table.data_size;
	if (out->file.fd != -1 && fallocate(out->file.fd, 0, 0, (off_t)size) == -1 &&
	    (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
		return lc__error_sys(errno, "%s: %llu bytes", out->file.path,
		    (unsigned long long)size);
	return LC_OK;
}

static lc_status
put_tensor(void *ctx, const char *name, const lc_tensor *tensor)
{
	struct safetensors_out *out = ctx;
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
	struct safetensors_out *out = file;

	return_if_error(write_header(out));
	return lc__names_each(&out->written, id, value, put_tensor, out);
}

static void
discard(void *file)
{
	struct safetensors_out *out = file;

	lc__out_file_discard(&out->file);
	free_out(out);
}

static lc_status
finish(void *file, uint64_t *bytes)
{
	struct safetensors_out *out = file;
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
	free_out(out);
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
