/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB environments whose values are files: a key is a cache_id, a value a .npy file, an
 * image or bytes as they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "env/foreign.h"
#include "format/npy.h"
#include "formats/formats.h"
#include "formats/outfile.h"
#include "formats/outfile.h"

/* ---- in --------------------------------------------------------------------------- */

struct lmdb_in {
	char *path;
	struct lc__incoming_how how;
	struct lc__foreign *env;
	struct lc__foreign_entry entry; /* the current one */
	bool ended;                     /* after a failure nothing more can be read */
};

static lc_status
is_env(const char *path, const void *first, size_t size, bool *is)
{
	if (first == NULL)
		return lc__foreign_is_dir(path, is);
	*is = lc__foreign_is(first, size);
	return LC_OK;
}

static void
close_env(void *ctx)
{
	struct lmdb_in *in = ctx;

	lc__foreign_close(in->env);
	free(in->path);
	free(in);
}

static lc_status
open_env(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct lmdb_in *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in == NULL)
		return lc__no_memory(path);
	in->how = *how;
	in->path = strdup(path);
	status = in->path == NULL ? lc__no_memory(path)
				  : lc__foreign_open(path, &in->env);
	if (status == LC_OK)
		*out = in;
	else
		close_env(in);
	return status;
}

static lc_status
next_entry(void *ctx, lc_id *id)
{
	struct lmdb_in *in = ctx;
	const lc_status status = in->ended ? LC_END
					   : lc__foreign_next(in->env, &in->entry);

	in->ended = status != LC_OK;
	if (status == LC_OK)
		*id = in->entry.key;
	return status;
}

static lc_status
load_entry(void *ctx, struct lc__loaded *out)
{
	struct lmdb_in *in = ctx;
	const struct lc__slice *value = &in->entry.value;
	struct lc__buf bytes = { 0 };
	lc_status status;

	/* Copy the value: another process may change it, because no lock is held. */
	if (in->entry.table)
		status = lc__error(LC_UNSUPPORTED, 0, "a named table, no value");
	else if (value->size > in->how.limit)
		status = lc__error(LC_INVALID, 0, "larger than %llu bytes",
		    (unsigned long long)in->how.limit);
	else if (lc__buf_append(&bytes, value->data, value->size) == NULL)
		status = lc__no_memory(NULL);
	else
		status = lc__payload_load(&bytes, &in->how, out, &out->value);
	lc__buf_free(&bytes);
	/* Use the bytes only if the entry has not changed while they were copied. */
	return_if_error(lc__foreign_check(in->env));
	return status == LC_OK
	    ? LC_OK
	    : lc__error_prefix("%s: %s", in->path,
		  lc__quote_id(in->entry.key.data, in->entry.key.size));
}

static uint64_t
count_entries(const void *ctx)
{
	const struct lmdb_in *in = ctx;

	return lc__foreign_count(in->env);
}

const struct lc__incoming_format lc__incoming_lmdb = {
	.name = "lmdb",
	.what = "LMDB environments of files",
	.is = is_env,
	.open = open_env,
	.next = next_entry,
	.load = load_entry,
	.count = count_entries,
	.close = close_env,
};

/* ---- out: DIR/data.mdb, as the import takes it ------------------------------------ */

struct lmdb_out {
	struct lc__out_tree tree;          /* the directory */
	struct lc__newfile file;           /* data.mdb in it */
	struct lc__foreign_writer *writer; /* NULL in a dry run */
	struct lc__buf header;             /* of the .npy file that is written */
	char *data, *lock;                 /* paths of data.mdb and lock.mdb */
	bool bits, force;
	uint64_t bytes; /* of values */
};

static void
discard(void *ctx)
{
	struct lmdb_out *out = ctx;

	lc__foreign_discard(out->writer);
	lc__newfile_discard(&out->file);
	lc__out_tree_discard(&out->tree);
	lc__buf_free(&out->header);
	free(out->data);
	free(out->lock);
	free(out);
}

/* Replace only another environment of files, never a module. */
static lc_status
check_old(const struct lmdb_out *out, const char *path)
{
	struct lc__foreign *old = NULL;
	lc_status status;

	if (access(out->data, F_OK) == -1)
		return errno == ENOENT ? LC_OK
				       : lc__error_sys(errno, "%s: look at", out->data);
	status = lc__foreign_open(path, &old);
	lc__foreign_close(old);
	if (status == LC_INVALID)
		return lc__error(LC_INVALID, 0,
		    "%s: a module of cachex, which is never replaced", path);
	return status;
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct lmdb_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	out->file.fd = -1;
	out->bits = how->bits;
	out->force = how->force;
	out->data = lc__path_join(path, "data.mdb");
	out->lock = lc__path_join(path, "lock.mdb");
	status = out->data == NULL || out->lock == NULL
	    ? lc__no_memory(path)
	    : lc__out_tree_begin(path, how, &out->tree);
	if (status == LC_OK)
		status = check_old(out, path);
	if (status == LC_OK && !how->dry_run) {
		lc__newfile_tidy(out->data);
		status = lc__newfile_open(out->data, 0666, &out->file);
		if (status == LC_OK)
			status = lc__foreign_create(out->file.temporary, out->data,
			    &out->writer);
	}
	if (status == LC_OK)
		*result = out;
	else
		discard(out);
	return status;
}

static lc_status
put_bytes(struct lmdb_out *out, lc_id id, lc_id head, lc_id body)
{
	out->bytes += head.size + body.size;
	return out->writer == NULL ? LC_OK : lc__foreign_put(out->writer, id, head, body);
}

static lc_status
put_value(struct lmdb_out *out, lc_id id, const lc_value *value)
{
	const lc_id none = { NULL, 0 };
	lc_tensor tensor;
	lc_id bytes;

	if (id.size > LC__FOREIGN_KEY_MAX)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%zu bytes are too long for a key of LMDB, at most %d", id.size,
		    LC__FOREIGN_KEY_MAX);
	if (lc_value_as_bytes(value, &bytes.data, &bytes.size) == LC_OK)
		return put_bytes(out, id, none, bytes);
	if (lc_value_as_tensor(value, &tensor) != LC_OK)
		return lc__error(LC_UNSUPPORTED, 0,
		    "a %s, neither a tensor nor bytes; a field can be taken out",
		    lc_kind_name(lc_value_kind(value)));
	out->header.size = 0;
	return_if_error(lc__npy_encode_header(&tensor, out->bits, &out->header));
	return put_bytes(out, id, (lc_id){ out->header.data, out->header.size },
	    (lc_id){ tensor.data, tensor.nbytes });
}

static lc_status
put(void *ctx, lc_id id, const lc_value *value)
{
	const lc_status status = put_value(ctx, id, value);

	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s", lc__quote_id(id.data, id.size));
}

/* The lock file of the old environment does not belong to the new one. */
static lc_status
place(struct lmdb_out *out, uint64_t *bytes)
{
	struct lc__foreign_writer *writer = out->writer;
	struct stat st;

	out->writer = NULL;
	return_if_error(lc__foreign_finish(writer));
	if (fstat(out->file.fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", out->data);
	*bytes = (uint64_t)st.st_size;
	if (!out->force)
		return lc__newfile_add(&out->file);
	if (unlink(out->lock) == -1 && errno != ENOENT)
		return lc__error_sys(errno, "%s: remove", out->lock);
	return lc__newfile_replace(&out->file);
}

static lc_status
finish(void *ctx, uint64_t *bytes)
{
	struct lmdb_out *out = ctx;
	uint64_t size = out->bytes, below;
	lc_status status = LC_OK;

	if (out->writer != NULL)
		status = place(out, &size);
	if (status == LC_OK)
		status = lc__out_tree_finish(&out->tree, &below);
	if (status == LC_OK)
		*bytes = size;
	discard(out);
	return status;
}

const struct lc__outgoing_format lc__outgoing_lmdb = {
	.name = "lmdb",
	.suffix = ".lmdb",
	.what = "an LMDB environment of .npy files",
	.begin = begin,
	.put = put,
	.finish = finish,
	.discard = discard,
};
