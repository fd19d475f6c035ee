/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "labels/dataset_private.h"

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return lc__error(LC_UNSUPPORTED, 0, "%s: VOC is not here yet", dataset->root);
}

const struct lc__layout_row lc__layout_voc = {
	LC__LAYOUT_VOC, "voc", list, NULL, NULL
};
