/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB environments whose values are files: a key is a cache_id. */
#include "formats/incoming.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "env/foreign.h"

struct lmdb_in {
	char *path;
	struct lc__incoming_how how;
	struct lc__foreign *env;
	struct lc__foreign_entry entry; /* the current one */
	bool ended;                     /* nothing can be read after what failed */
};

static lc_status
is(const char *path, const void *first, size_t size, bool *is)
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
next(void *ctx, lc_id *id)
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
copy_value(const struct lmdb_in *in, struct lc__buf *out)
{
	const struct lc__slice *value = &in->entry.value;

	if (in->entry.table)
		return lc__error(LC_UNSUPPORTED, 0, "a named table, no value");
	if (value->size > in->how.limit)
		return lc__error(LC_INVALID, 0, "larger than %llu bytes",
		    (unsigned long long)in->how.limit);
	if (lc__buf_append(out, value->data, value->size) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

/* Values are copied, as a writer that nothing holds off could change them. */
static lc_status
load_value(struct lmdb_in *in, struct lc__loaded *out)
{
	struct lc__buf bytes = { 0 };
	lc_status status = copy_value(in, &bytes);

	if (status == LC_OK)
		status = lc__payload_load(&bytes, &in->how, out, &out->value);
	lc__buf_free(&bytes);
	return status;
}

static lc_status
load(void *ctx, struct lc__loaded *out)
{
	struct lmdb_in *in = ctx;
	const lc_status status = load_value(in, out);

	/* The bytes count only if the entry is still the same. */
	return_if_error(lc__foreign_check(in->env));
	return status == LC_OK
	    ? LC_OK
	    : lc__error_prefix("%s: %s", in->path,
		  lc__quote_id(in->entry.key.data, in->entry.key.size));
}

static uint64_t
count(const void *ctx)
{
	const struct lmdb_in *in = ctx;

	return lc__foreign_count(in->env);
}

const struct lc__incoming_format lc__incoming_lmdb = {
	.name = "lmdb",
	.what = "LMDB environments of files",
	.is = is,
	.open = open_env,
	.next = next,
	.load = load,
	.count = count,
	.close = close_env,
};
