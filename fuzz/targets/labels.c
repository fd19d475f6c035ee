/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels of frames: labels/capture.c, yolo.c, voc.c, xml.c. Input: which
 * layout, then a label's file. What is read must be sound. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/utf8.h"
#include "labels/dataset.h"

enum { WIDTH = 640, HEIGHT = 480, LAYOUTS = 3 };

static const struct {
	enum lc__label_layout layout;
	const char *label, *image; /* from the root of the dataset */
} layouts[LAYOUTS] = {
	{ LC__LAYOUT_CAPTURE, "r/labels/f.json", "r/images/f.jpg" },
	{ LC__LAYOUT_YOLO, "labels/f.txt", "images/f.jpg" },
	{ LC__LAYOUT_VOC, "Annotations/f.xml", "JPEGImages/f.jpg" },
};

static void
make_file(const char *root, const char *name)
{
	char path[300], *slash;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	fuzz_require(lc__make_dirs(path) == LC_OK);
	*slash = '/';
	fuzz_require(lc__write_file_atomic(path, "0", 1) == LC_OK);
}

/* A dataset of one frame; the label that the fuzzer makes is never on disk. */
static struct lc__dataset *
open_dataset(int i)
{
	struct lc__dataset *dataset = NULL;
	char root[250];

	snprintf(root, sizeof(root), "%s/%d", fuzz_dir(), i);
	fuzz_require(mkdir(root, 0700) == 0);
	make_file(root, layouts[i].label);
	make_file(root, layouts[i].image);
	fuzz_require(lc__dataset_open(root, layouts[i].layout, NULL, &dataset) == LC_OK);
	return dataset;
}

static void
require_text(const char *text)
{
	fuzz_require(lc__utf8_valid(text, strlen(text)));
	for (; *text != '\0'; text++)
		fuzz_require((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void
check_label(struct lc__label *label)
{
	const char *image = label->image_path;

	lc__label_check(label, "f", WIDTH, HEIGHT);
	if (label->reason != LC__REJECT_NONE) {
		fuzz_require(label->n == 0 && label->extra.size == 0);
		require_text(label->detail);
		return;
	}
	fuzz_require(image[0] != '\0' && image[0] != '/' &&
	    strncmp(image, "../", 3) != 0 && strstr(image, "/../") == NULL);
	for (size_t i = 0; i < label->n; i++) {
		const double *v = label->boxes[i].px;

		fuzz_require(v[0] >= 0 && v[0] < v[2] && v[2] <= WIDTH);
		fuzz_require(v[1] >= 0 && v[1] < v[3] && v[3] <= HEIGHT);
		fuzz_require(label->boxes[i].class_id >= -1);
	}
	fuzz_touch(label->extra.data, label->extra.size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lc__dataset *datasets[LAYOUTS];
	struct fuzz_bytes in = { data, data + size };
	const int i = fuzz_u8(&in) % LAYOUTS;
	const size_t left = fuzz_left(&in);
	void *file = fuzz_copy(in.at, left);
	struct lc__frame frame;
	struct lc__label label;

	if (datasets[i] == NULL)
		datasets[i] = open_dataset(i);
	lc__dataset_frame(datasets[i], 0, &frame);
	fuzz_require(lc__label_read(datasets[i], &frame, file, left, &label) == LC_OK);
	check_label(&label);
	lc__label_free(&label);
	free(file);
	return 0;
}
