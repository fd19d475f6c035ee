/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation and each system call of opening a dataset and reading its labels fails
 * once: the call says so, and what there is can be freed. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail_io.h"
#include "fail_malloc.h"
#include "label_files.h"

static const struct {
	struct label_file files[6];
	enum lc__label_layout layout;
	const char *label; /* of every frame */
} datasets[] = {
	{ { { "r/labels/f.json", "{\"image\":\"f.jpg\",\"a\":18446744073709551615,"
	    "\"labels\":[{\"bbox_px\":[1,2,3,4],\"x\":[1]}]}" },
	    { "r/labels/g.json", "{}" } }, LC__LAYOUT_CAPTURE, "r/labels/f.json" },
	{ { { "images/t/a.jpg", "" }, { "images/t/a.png", "" },
	    { "labels/t/a.txt", "1 .5 .5 1 1\n1 0 0 1 1 1 0" },
	    { "classes.txt", "a\nb\n" }, { "map", "x: \"b\"\n*\n" } }, LC__LAYOUT_AUTO,
	  "labels/t/a.txt" },
	{ { { "annotations/i_s.json", "{\"images\":[{\"id\":1,\"file_name\":\"a.jpg\","
	    "\"x\":1},{\"id\":2}],\"annotations\":[{\"id\":4,\"image_id\":1,\"bbox\":"
	    "[1,2,3,4]}],\"categories\":[{\"id\":3,\"name\":\"c\"}]}" },
	    { "images/s/a.jpg", "" } }, LC__LAYOUT_AUTO, NULL },
	{ { { "VOC/Annotations/a.xml", "<annotation><filename>a.jpg</filename><folder>f"
	    "</folder><object><name>b</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9"
	    "</xmax><ymax>9</ymax></bndbox></object></annotation>" },
	    { "VOC/f", NULL }, { "data.yaml", "names: [a, b]\n" } }, LC__LAYOUT_AUTO,
	  "VOC/Annotations/a.xml" },
	/* Names are learned: a file that cannot be read is a note. */
	{ { { "Annotations/a.xml", "<annotation><filename>a.jpg</filename><object><name>b"
	    "</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
	    "</bndbox></object></annotation>" }, { "JPEGImages", NULL } },
	  LC__LAYOUT_VOC, "Annotations/a.xml" },
	{ { { "a/a.jpg", "" }, { "b/c/a.png", "" }, { "b/c/d.png", "" } },
	  LC__LAYOUT_UNLABELLED, NULL },
};

enum { MAX_FRAMES = 4 };

/* What a pass comes to. */
struct outcome {
	struct lc__dataset *dataset;
	struct lc__label labels[MAX_FRAMES];
	lc_status status;
	bool noted;       /* a file that could not be read, in the dataset's notes */
	long hits;        /* calls that failed */
	const char *call; /* the first of them, NULL if it was an allocation */
};

/* What fails: the error of a system call, 0: an allocation. */
static const struct {
	int error;
	lc_status status;
	const char *text;
} faults[] = {
	{ 0, LC_NO_MEMORY, NULL },
	{ EIO, LC_IO, "Input/output error" },
	{ EACCES, LC_PERMISSION, "Permission denied" },
};
#define FAULTS ((int)(sizeof(faults) / sizeof(faults[0])))

/* Let the n-th allocation or system call fail, 0 for none. check itself may not run
 * meanwhile. */
static struct outcome
pass(int i, const char *root, const char *label, int error, long n)
{
	struct outcome o = { 0 };
	struct lc__class_map map = { .n = 0 };
	const char *const *notes;
	struct lc__frame frame;
	char map_path[400];
	bool mapped;

	snprintf(map_path, sizeof(map_path), "%s/map", root);
	mapped = access(map_path, F_OK) == 0;
	if (error != 0)
		fail_io(n, error, false);
	else
		fail_malloc(n, false);
	o.status = lc__dataset_open(root, datasets[i].layout, NULL, &o.dataset);
	if (o.status == LC_OK && mapped) {
		o.status = lc__class_map_read(map_path, &map);
		if (o.status == LC_OK)
			o.status = lc__dataset_map_classes(o.dataset, &map);
	}
	if (o.status == LC_OK && lc__dataset_notes(o.dataset, &notes) > 0)
		o.noted = strstr(notes[0], "could not be read") != NULL;
	for (uint64_t k = 0; o.status == LC_OK && k <
	    lc__dataset_frames(o.dataset); k++) {
		lc__dataset_frame(o.dataset, k, &frame);
		o.status = lc__label_read(o.dataset, &frame, label, strlen(label),
		    &o.labels[k]);
	}
	o.hits = fail_malloc_hits() + fail_io_hits();
	o.call = fail_io_name();
	fail_malloc(0, false);
	fail_io(0, 0, false);
	lc__class_map_free(&map);
	return o;
}

/* As text, and freed; NULL if it is none. */
static char *
finish(struct outcome *o, lc_status failed)
{
	struct lc__frame frame;
	char *text, *part;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_msg(o->status == LC_OK || o->status == failed, "%s: %s",
	    o->call != NULL ? o->call : "allocation", lc_last_error()->text);
	for (uint64_t k = 0; k < MAX_FRAMES; k++) {
		if (o->status == LC_OK && k < lc__dataset_frames(o->dataset)) {
			lc__dataset_frame(o->dataset, k, &frame);
			part = label_text(&o->labels[k], frame.name, 10, 10);
			fprintf(out, "%s|%s|%s\n", frame.run, frame.name, part);
			free(part);
		}
		lc__label_free(&o->labels[k]);
	}
	lc__dataset_close(o->dataset);
	fclose(out);
	if (o->status == LC_OK)
		return text;
	free(text);
	return NULL;
}

static const char *
label_of(int i)
{
	const struct label_file *file = datasets[i].files;

	while (datasets[i].label != NULL && strcmp(file->path,
	    datasets[i].label) != 0)
		file++;
	return datasets[i].label != NULL ? file->text : "";
}

START_TEST(every_call)
{
	const int i = _i / FAULTS;
	const int error = faults[_i % FAULTS].error;
	const lc_status failed = faults[_i % FAULTS].status;
	const char *root = label_root(datasets[i].files), *label = label_of(i);
	struct outcome o = pass(i, root, label, error, 0);
	char *want = finish(&o, failed), *got, why[64];
	long n = 0, hits;
	bool noted;

	ck_assert_ptr_nonnull(want);
	ck_assert_ptr_null(strstr(want, "not JSON"));
	snprintf(why, sizeof(why), ": %s", faults[_i % FAULTS].text);
	do {
		o = pass(i, root, label, error, ++n);
		hits = o.hits;
		noted = o.noted;
		got = finish(&o, failed);
		/* Giving memory back is all that may fail unseen. Labels that cannot be read
		 * reject their frame, with the reason. */
		if (got != NULL && !noted && !(error != 0 && strstr(got, "|unreadable: ") != NULL &&
		    strstr(got, why) != NULL))
			ck_assert_msg(strcmp(got, want) == 0, "%ld (%s): %s, not %s", n,
			    o.call != NULL ? o.call : "allocation", got, want);
		free(got);
	} while (hits > 0);
	printf("# %ld %s\n", n - 1, error != 0 ? "system calls" : "allocations");
	ck_assert_int_gt(n, error != 0 ? 3 : 10);
	free(want);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("labels_chaos");
	TCase *tc = tcase_create("labels_chaos");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_call, 0,
	    FAULTS * (int)(sizeof(datasets) / sizeof(datasets[0])));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
