/* SPDX-License-Identifier: BSD-2-Clause */
/* COCO's file of annotations: bin/labels/coco*.c, label_json.c. Input: a file. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/dataset.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lc__dataset *dataset = NULL;
	struct lc__frame frame;
	struct lc__label label;

	fuzz_file("a.jpg", "", 0);
	fuzz_file("coco.json", data, size);
	if (lc__dataset_open(fuzz_dir(), LC__LAYOUT_COCO, "coco.json", &dataset) != LC_OK)
		return 0;
	for (uint64_t i = 0; i < lc__dataset_frames(dataset); i++) {
		lc__dataset_frame(dataset, i, &frame);
		fuzz_require(lc__label_read(dataset, &frame, NULL, 0, &label) == LC_OK);
		lc__label_check(&label, "f", 640, 480);
		if (label.reason == LC__REJECT_NONE)
			fuzz_touch(label.extra.data, label.extra.size);
		else
			fuzz_require(label.n == 0);
		lc__label_free(&label);
	}
	lc__dataset_close(dataset);
	return 0;
}
