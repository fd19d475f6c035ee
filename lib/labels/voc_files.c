/* SPDX-License-Identifier: BSD-2-Clause */
/* <root>/[<run>/]Annotations/ *.xml: finding them; voc.c reads them. */
#include <stdlib.h>

#include "base/error.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/voc.h"

static lc_status
add_label(struct lc__dataset *dataset, const char *run, const char *dir,
    const char *file, bool images)
{
	char *name = lc__name_stem(file), *path = lc__name_join(dir, file);
	const struct lc__frame frame = { .run = run, .name = name,
		.label_path = path,
		.number = images ? LC__VOC_IMAGES : LC__VOC_FOLDER };
	lc_status status;

	if (name == NULL || path == NULL)
		status = lc__label_no_memory(dir);
	else
		status = lc__dataset_add(dataset, &frame);
	free(name);
	free(path);
	return status;
}

static lc_status
add_labels(struct lc__dataset *dataset, const char *run, const char *dir,
    const struct lc__listing *listing)
{
	char *images = lc__name_join(run, "JPEGImages");
	lc_status status = LC_OK;
	bool have;

	if (images == NULL)
		return lc__label_no_memory(dir);
	have = lc__tree_is_dir(dataset->root, images);
	free(images);
	for (size_t i = 0; i < listing->n && status == LC_OK; i++)
		if (!listing->entries[i].dir &&
		    lc__name_has(listing->entries[i].name, ".xml"))
			status = add_label(dataset, run, dir,
			    listing->entries[i].name, have);
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return_if_error(lc__classes_read(dataset));
	return lc__dataset_runs(dataset, "Annotations", add_labels);
}

const struct lc__layout_row lc__layout_voc = {
	LC__LAYOUT_VOC, "voc", list, lc__voc_read, NULL
};
