/* SPDX-License-Identifier: BSD-2-Clause */
/* <root>/<run>/labels/ *.json: finding them; capture_json.c reads them. */
#include "labels/capture.h"

#include <stdlib.h>

#include "base/error.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/pictures.h"

/* Of RUN/images, those that no label has. */
static lc_status
add_pictures(struct lc__dataset *dataset, const char *run, const char *dir,
    const struct lc__listing *listing)
{
	char *images = lc__name_join(run, "images");
	const struct lc__labelled_dir labelled = {
		.run = run,
		.labels = dir,
		.listing = listing,
		.extension = ".json",
		.images = images,
	};
	lc_status status = images != NULL ? lc__dataset_add_pictures(dataset, &labelled)
					  : lc__no_memory(run);

	free(images);
	return status;
}

static lc_status
add_labels(struct lc__dataset *dataset, const char *run, const char *dir,
    const struct lc__listing *listing)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		char *path;
		if (entry->dir || !lc__name_has(entry->name, ".json"))
			continue;
		path = lc__name_join(dir, entry->name);
		if (path == NULL)
			return lc__no_memory(dir);
		status = lc__dataset_add_files(dataset, run, path, NULL);
		free(path);
	}
	return status == LC_OK ? add_pictures(dataset, run, dir, listing) : status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return_if_error(lc__classes_read(dataset));
	return lc__dataset_runs(dataset, "labels", add_labels);
}

const struct lc__label_layout_row lc__layout_capture = { LC__LAYOUT_CAPTURE, "capture",
	list, lc__capture_read, NULL };
