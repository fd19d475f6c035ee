/* SPDX-License-Identifier: BSD-2-Clause */
/* safetensors on their way in: a tensor is a record under its own name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "formats/incoming.h"
#include "formats/safetensors.h"

struct infile {
	char *path;
	int fd;              /* -1 if it is not open */
	uint64_t size, data; /* of the file; where the tensors begin */
	uint64_t limit;      /* bytes of one tensor */
	struct lc__safetensors table;
	size_t next; /* the record that next() goes to */
};

static bool
has_suffix(const char *path)
{
	static const char suffix[] = ".safetensors";
	const size_t size = strlen(path), n = sizeof(suffix) - 1;

	return size > n && strcmp(path + size - n, suffix) == 0;
}

static lc_status
is_safetensors(const char *path, const void *first, size_t size, bool *is)
{
	*is = first != NULL && (has_suffix(path) || lc__safetensors_is(first, size));
	return LC_OK;
}

static void
close_infile(void *file)
{
	struct infile *in = file;

	if (in == NULL)
		return;
	if (in->fd != -1)
		close(in->fd);
	lc__safetensors_free(&in->table);
	free(in->path);
	free(in);
}

static lc_status
read_at(const struct infile *in, uint64_t offset, void *out, size_t size)
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
open_file(struct infile *in)
{
	struct stat st;

	return_if_error(lc__open_regular(in->path, &in->fd));
	if (fstat(in->fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", in->path);
	in->size = (uint64_t)st.st_size;
	return LC_OK;
}

static lc_status
read_header(struct infile *in)
{
	unsigned char prefix[LC__SAFETENSORS_PREFIX];
	void *header;
	size_t size;
	lc_status status;

	if (in->size < sizeof(prefix))
		return lc__error(LC_CORRUPT, 0,
		    "%s: %" PRIu64 " bytes are no safetensors file", in->path, in->size);
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
	return status;
}

/* All names before the first record: a file goes in as a whole. */
static lc_status
check_names(const struct infile *in)
{
	for (size_t i = 0; i < in->table.count; i++) {
		const lc_id name = lc__safetensors_at(&in->table, i).name;

		if (name.size == 0 || name.size > LC_MAX_ID)
			return lc__error(LC_UNSUPPORTED, 0,
			    "%s: the name %s of %zu "
			    "bytes is no cache_id, which has 1 to %d",
			    in->path, lc__quote_id(name.data, name.size), name.size,
			    LC_MAX_ID);
	}
	return LC_OK;
}

static lc_status
open_infile(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct infile *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in == NULL)
		return lc__no_memory(path);
	in->fd = -1;
	in->limit = how->limit;
	in->path = strdup(path);
	status = in->path != NULL ? open_file(in) : lc__no_memory(path);
	if (status == LC_OK)
		status = read_header(in);
	if (status == LC_OK)
		status = check_names(in);
	if (status != LC_OK) {
		close_infile(in);
		return status;
	}
	*out = in;
	return LC_OK;
}

static lc_status
next_tensor(void *file, lc_id *id)
{
	struct infile *in = file;

	if (in->next == in->table.count)
		return LC_END;
	*id = lc__safetensors_at(&in->table, in->next++).name;
	return LC_OK;
}

static lc_status
load_tensor(void *file, struct lc__loaded *out)
{
	struct infile *in = file;
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
	return ((const struct infile *)file)->table.count;
}

static lc_id
metadata_of(const void *file)
{
	const struct infile *in = file;

	return (lc_id){ in->table.metadata.data, in->table.metadata.size };
}

const struct lc__incoming_format lc__incoming_safetensors = {
	.name = "safetensors",
	.what = "safetensors files",
	.is = is_safetensors,
	.open = open_infile,
	.next = next_tensor,
	.load = load_tensor,
	.count = count_tensors,
	.metadata = metadata_of,
	.close = close_infile,
};
