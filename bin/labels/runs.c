/* SPDX-License-Identifier: BSD-2-Clause */
/* Datasets of runs: the root and the directories in it. */
#include <stdlib.h>

#include "base/error.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/order.h"

lc_status
lc__dataset_list(struct lc__dataset *dataset, const char *dir, struct lc__listing *out)
{
	return_if_error(lc__listing_read(dataset->root, dir, out));
	return lc__strings_add(&dataset->dirs, dir);
}

static lc_status
list_labels(struct lc__dataset *dataset, const char *run, const char *dir,
    lc__run_found found)
{
	struct lc__listing listing;
	lc_status status = lc__dataset_list(dataset, dir, &listing);

	if (status == LC_OK)
		status = found(dataset, run, dir, &listing);
	lc__listing_free(&listing);
	return status;
}

/* The run itself is listed, for a directory of labels may come later. */
static lc_status
look_into(struct lc__dataset *dataset, const char *run, const struct lc__listing *listing,
    const char *name, lc__run_found found)
{
	const struct lc__entry *entry = lc__listing_find(listing, name);
	const struct lc__listing none = { .n = 0 };
	char *dir = lc__name_join(run, name);
	lc_status status;

	if (dir == NULL)
		return lc__no_memory(run);
	status = entry != NULL && entry->dir ? list_labels(dataset, run, dir, found)
					     : found(dataset, run, dir, &none);
	free(dir);
	return status;
}

static lc_status
look_into_run(struct lc__dataset *dataset, const char *run, const char *name,
    lc__run_found found)
{
	struct lc__listing listing;
	lc_status status = lc__dataset_list(dataset, run, &listing);

	if (status == LC_OK)
		status = look_into(dataset, run, &listing, name, found);
	lc__listing_free(&listing);
	return status;
}

lc_status
lc__dataset_runs(struct lc__dataset *dataset, const char *name, lc__run_found found)
{
	struct lc__listing root;
	lc_status status = lc__dataset_list(dataset, "", &root);

	if (status == LC_OK)
		status = look_into(dataset, "", &root, name, found);
	for (size_t i = 0; status == LC_OK && i < root.n; i++)
		if (root.entries[i].dir &&
		    lc__order_names(root.entries[i].name, name) != 0)
			status = look_into_run(dataset, root.entries[i].name, name,
			    found);
	lc__listing_free(&root);
	return status;
}
