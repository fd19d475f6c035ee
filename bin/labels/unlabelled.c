/* SPDX-License-Identifier: BSD-2-Clause */
/* Images anywhere below the root. */
#include <stdlib.h>

#include "base/error.h"
#include "base/image_name.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"

static lc_status
visit(void *ctx, const char *dir, struct lc__listing *listing)
{
	struct lc__dataset *dataset = ctx;
	lc_status status = lc__strings_add(&dataset->dirs, dir);

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		char *path;
		if (entry->dir ||
		    lc__images_ignored_add(&dataset->ignored, entry->name) ||
		    !lc__name_is_image(entry->name))
			continue;
		path = lc__name_join(dir, entry->name);
		if (path == NULL)
			return lc__no_memory(dir);
		status = lc__dataset_add_files(dataset, dir, NULL, path);
		free(path);
	}
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return lc__tree_walk(dataset->root, visit, dataset);
}

static lc_status
read_none(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	(void)dataset;
	(void)bytes;
	(void)size;
	return lc__label_image(out, frame->image_path, "", frame->image_path);
}

const struct lc__label_layout_row lc__layout_unlabelled = { LC__LAYOUT_UNLABELLED,
	"unlabelled", list, read_none, NULL };
