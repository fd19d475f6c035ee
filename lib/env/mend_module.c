/* SPDX-License-Identifier: BSD-2-Clause */
/* The module row of a copy that is mended: without it nothing else can be opened. */
#include "base/error.h"
#include "env/env_private.h"

/* Is it an intact module row, if perhaps of a later format? */
static bool
is_module_row(const void *bytes, size_t size)
{
	struct lc__module_row module;
	const lc_status status = lc__module_decode(bytes, size, &module);

	return status == LC_OK || status == LC_VERSION;
}

static lc_status
put_mended(struct lc__txn *txn, const struct lc__slice *row, bool *done)
{
	struct lc__buf copy = { 0 };
	lc_status status = LC_OK;

	lc__buf_append(&copy, row->data, row->size);
	if (copy.failed)
		status = lc__no_memory(txn->env->dir);
	else if (lc__row_mend(copy.data, copy.size, lc__row_seed("module")) &&
	    is_module_row(copy.data, copy.size))
		*done = true;
	if (status == LC_OK && *done)
		status = lc__txn_put_meta(txn, "module", copy.data, copy.size);
	lc__buf_free(&copy);
	return status;
}

/* It may be under another name: its checksum tells which row it is. */
static lc_status
find_renamed(struct lc__txn *txn, bool *done)
{
	struct lc__slice name, row;
	lc_status status = LC_OK;

	for (uint64_t i = 0; status == LC_OK && !*done; i++) {
		status = lc__txn_nth_meta(txn, i, &name, &row);
		*done = status == LC_OK && is_module_row(row.data, row.size);
	}
	if (*done)
		return lc__txn_rename_meta(txn, &name, "module");
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__env_mend_module_row(struct lc__txn *txn, enum lc__mended *mended)
{
	struct lc__slice row;
	bool done = false;
	lc_status status = lc__txn_get_meta(txn, "module", &row);

	*mended = LC__MENDED;
	if (status == LC_OK && is_module_row(row.data, row.size))
		return LC_OK;
	if (status == LC_OK || status == LC_NOT_FOUND)
		status = find_renamed(txn, &done);
	if (status == LC_OK && !done)
		status = lc__txn_get_meta(txn, "module", &row);
	if (status == LC_OK && !done)
		status = put_mended(txn, &row, &done);
	if ((status != LC_OK && status != LC_NOT_FOUND) || done)
		return status;
	*mended = LC__MENDED_LOST;
	return lc__env_put_module_row(txn);
}
