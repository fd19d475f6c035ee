/* SPDX-License-Identifier: BSD-2-Clause */
/* .npz files: the member NAME.npy is the record NAME. */
#include "formats/incoming.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/npz.h"

#define SUFFIX ".npy"
#define SUFFIX_SIZE (sizeof(SUFFIX) - 1)

struct npz_in {
	char *path;
	struct lc__incoming_how how;
	struct lc__archive *archive;
	struct lc__archive_member member; /* the current one */
	bool ended;                       /* nothing can be read after what failed */
};

static lc_status
is(const char *path, const void *first, size_t size, bool *is)
{
	(void)path;
	*is = first != NULL && lc__npz_is(first, size);
	return LC_OK;
}

static void
close_file(void *ctx)
{
	struct npz_in *in = ctx;

	lc__archive_close(in->archive);
	free(in->path);
	free(in);
}

static lc_status
open_file(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct npz_in *in = calloc(1, sizeof(*in));
	lc_status status = LC_NO_MEMORY;

	if (in != NULL)
		in->path = strdup(path);
	if (in == NULL || in->path == NULL) {
		free(in);
		return lc__error(status, 0, "%s: out of memory", path);
	}
	in->how = *how;
	status = lc__archive_open_file(LC__ARCHIVE_ZIP, path, &in->archive);
	if (status == LC_OK)
		*out = in;
	else
		close_file(in);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s", path);
}

static bool
is_directory(const struct lc__archive_member *member)
{
	const size_t size = strlen(member->name);

	return !member->regular && size > 0 && member->name[size - 1] == '/';
}

/* A member that is not a .npy file is a record too, and load() refuses it: the members
 * after it are good. */
static lc_status
next(void *ctx, lc_id *id)
{
	struct npz_in *in = ctx;
	size_t size;
	lc_status status;

	if (in->ended)
		return LC_END;
	do {
		status = lc__archive_next(in->archive, &in->member);
	} while (status == LC_OK && is_directory(&in->member));
	in->ended = status != LC_OK;
	if (status == LC_END)
		return status;
	if (status != LC_OK)
		return lc__error_prefix("%s", in->path);
	size = strlen(in->member.name);
	if (size > SUFFIX_SIZE &&
	    memcmp(in->member.name + size - SUFFIX_SIZE, SUFFIX, SUFFIX_SIZE) == 0)
		size -= SUFFIX_SIZE;
	*id = (lc_id){ in->member.name, size };
	return LC_OK;
}

static lc_status
load_member(struct npz_in *in, struct lc__loaded *out)
{
	struct lc__buf bytes = { 0 };
	uint64_t left = in->how.limit;
	lc_tensor tensor;
	lc_status status;

	if (!in->member.regular)
		return lc__error(LC_UNSUPPORTED, 0, "not a file");
	if (in->member.encrypted)
		return lc__error(LC_UNSUPPORTED, 0, "encrypted");
	status = lc__npz_member(in->archive, &left, &bytes);
	if (status != LC_OK) {
		lc__buf_free(&bytes);
		return status;
	}
	return_if_error(lc__loaded_npy(out, &bytes, in->how.raw_dtype, &tensor));
	out->value = lc_value_tensor(&tensor);
	return out->value != NULL ? LC_OK : lc__no_memory(NULL);
}

static lc_status
load(void *ctx, struct lc__loaded *out)
{
	struct npz_in *in = ctx;
	const lc_status status = load_member(in, out);

	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s: %s", in->path, in->member.name);
}

const struct lc__incoming_format lc__incoming_npz = {
	.name = "npz",
	.what = ".npz files",
	.is = is,
	.open = open_file,
	.next = next,
	.load = load,
	.close = close_file,
};
