/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/coco.h"

#include "base/error.h"
#include "labels/dataset_private.h"

lc_status
lc__coco_first(const char *root, char **out)
{
	(void)root;
	*out = NULL;
	return LC_OK;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return lc__error(LC_UNSUPPORTED, 0, "%s: COCO is not here yet", dataset->root);
}

const struct lc__layout_row lc__layout_coco = {
	LC__LAYOUT_COCO, "coco", list, NULL, NULL
};
