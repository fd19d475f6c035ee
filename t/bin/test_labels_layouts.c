/* SPDX-License-Identifier: BSD-2-Clause */
/* The YOLO, Pascal VOC and unlabelled layouts. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "label_files.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* The only frame of a dataset, checked for an image of 100 x 50. */
static char *
only_label(const char *root, enum lc__label_layout layout, const char *name)
{
	struct lc__dataset *dataset = label_open(root, layout, NULL);
	struct lc__label label;
	char *text;

	ck_assert_uint_eq(lc__dataset_frames(dataset), 1);
	label_read(dataset, root, 0, &label);
	text = label_text(&label, name, 100, 50);
	lc__label_free(&label);
	lc__dataset_close(dataset);
	return text;
}

static void
check_layout(const char *root, enum lc__label_layout layout, const char *frames,
    const char *dirs)
{
	struct lc__dataset *dataset = label_open(root, layout, NULL);
	const char *const *list;
	char *text = label_frames(dataset), *joined;
	const size_t n = lc__dataset_dirs(dataset, &list);

	joined = label_list(list, n);
	ck_assert_str_eq(text, frames);
	ck_assert_str_eq(joined, dirs);
	lc__dataset_close(dataset);
	free(joined);
	free(text);
}

/* ---- YOLO ---------------------------------------------------------------------- */

static const struct {
	const char *txt, *text;
} lines[] = {
	{ "", "images/a.jpg" },
	{ "\n \t\r\n", "images/a.jpg" },
	{ "2 0.5 0.5 1 0.5", "images/a.jpg [0 12.5 100 37.5 #2]" },
	{ "0 0.25 0.5 0.5 1\r\n\r\n 7.0\t.75 5e-1 0.5 1.0 \n",
	  "images/a.jpg [0 0 50 50 #0] [50 0 100 50 #7]" },
	/* Within the tolerance they are cut. */
	{ "1 0.5 0.5 1.019 1", "images/a.jpg [0 0 100 50 #1]" },
	{ "1 0.5 0.5 1.03 1",
	  "out_of_range: labels/a.txt: label 1: bbox_norm: x0 -0.015 is below 0" },
	{ "1 0.9 0.5 0.3 1",
	  "out_of_range: labels/a.txt: label 1: bbox_norm: x1 1.05 is above 1" },
	/* Polygons. */
	{ "3 0.1 0.2 0.5 0.9 0.3 0.1", "images/a.jpg [10 5 50 45 #3]" },
	{ "3 0.1 0.2 0.5 0.9 0.3 0.1 0.05 0.5", "images/a.jpg [5 5 50 45 #3]" },
	{ "3 0.1 0.2 0.1 0.9 0.1 0.1", "min_max: labels/a.txt: label 1: bbox_norm: "
	  "x0 0.1 is not below x1 0.1" },
	{ "3 0.1 0.2 0.5 nan 0.3 0.1", "not_finite: labels/a.txt: label 1: bbox_norm: "
	  "y0 nan is not finite" },
	{ "3 0.1 nan 0.5 0.9 0.3 0.1", "not_finite: labels/a.txt: label 1: bbox_norm: "
	  "y0 nan is not finite" },
	/* Not what it must be. */
	{ "0 0.5 0.5 1 1\n1 0.5 0.5 1 1 0.9", "unparsable: labels/a.txt: line 2: 6 "
	  "columns: a box has 5, a polygon 7, 9, 11 and so on" },
	{ "1 0.5 0.5 1", "unparsable: labels/a.txt: line 1: 4 columns: a box has 5, a "
	  "polygon 7, 9, 11 and so on" },
	{ "1", "unparsable: labels/a.txt: line 1: 1 columns: a box has 5, a polygon 7, "
	  "9, 11 and so on" },
	{ "1 0 0 0 0 0 0 0", "unparsable: labels/a.txt: line 1: 8 columns: a box has 5, "
	  "a polygon 7, 9, 11 and so on" },
	{ "\n\ncat 0.5 0.5 1 1",
	  "unparsable: labels/a.txt: line 3: 'cat' is not a class id" },
	{ "-1 0.5 0.5 1 1", "unparsable: labels/a.txt: line 1: '-1' is not a class id" },
	{ "1.5 0.5 0.5 1 1", "unparsable: labels/a.txt: line 1: '1.5' is not a class id" },
	{ "nan 0.5 0.5 1 1", "unparsable: labels/a.txt: line 1: 'nan' is not a class id" },
	{ "4294967296 0.5 0.5 1 1",
	  "unparsable: labels/a.txt: line 1: '4294967296' is not a class id" },
	{ "1 0.5 0x1p-1 1 1",
	  "unparsable: labels/a.txt: line 1: '0x1p-1' is not a number" },
	{ "1 0.5,0.5 1 1 1",
	  "unparsable: labels/a.txt: line 1: '0.5,0.5' is not a number" },
	{ "1 0.5 \x01\xff 1 1",
	  "unparsable: labels/a.txt: line 1: '\\x01\\xff' is not a number" },
	{ "1 0.50000000000000000000000000000000000000000000000000000000000000 0 1 1",
	  "unparsable: labels/a.txt: line 1: '0.5000000000000000000000000000000000000000"
	  "00000000000000000000\?' is not a number" },
	{ "1 inf 0.5 1 1", "not_finite: labels/a.txt: label 1: bbox_norm: x0 inf is not "
	  "finite" },
	{ "1 1e999 0.5 1 1", "not_finite: labels/a.txt: label 1: bbox_norm: x0 inf is "
	  "not finite" },
	{ "1 0.5 0.5 0 1", "min_max: labels/a.txt: label 1: bbox_norm: x0 0.5 is not "
	  "below x1 0.5" },
	{ "1 0.5 0.5 -0.1 1", "min_max: labels/a.txt: label 1: bbox_norm: x0 0.55 is not "
	  "below x1 0.45" },
};

START_TEST(yolo_lines)
{
	const struct label_file files[] = { { "images/a.jpg", "" },
		{ "labels/a.txt", lines[_i].txt }, { 0 } };
	const char *root = label_root(files);
	char *text = only_label(root, LC__LAYOUT_YOLO, "labels/a.txt");

	ck_assert_str_eq(text, lines[_i].text);
	free(text);
}
END_TEST

/* A NUL among the bytes ends nothing. */
START_TEST(yolo_nul)
{
	static const struct label_file files[] = { { "images/a.jpg", "" }, { 0 } };
	const char *root = label_root(files);
	char *text;

	label_file(root, "labels/a.txt", "1 0.5 0.5 1 1\0""9", 15);
	text = only_label(root, LC__LAYOUT_YOLO, "labels/a.txt");
	ck_assert_str_eq(text, "unparsable: labels/a.txt: line 1: '1\?9' is not a number");
	free(text);
}
END_TEST

static const struct {
	struct label_file files[12];
	const char *frames, *dirs;
} trees[] = {
	{ { { "images/b10.png", "" }, { "images/b9.JPEG", "" }, { "images/x.gif", "" },
	    { "labels/b9.txt", "" }, { "labels/none.txt", "" } },
	  "|b9|labels/b9.txt|images/b9.JPEG\n|b10|-|images/b10.png\n"
	  "|none|labels/none.txt|-\n", ",images,labels," },
	{ { { "images/train/a.jpg", "" }, { "images/val/a.jpg", "" },
	    { "labels/train/a.txt", "" }, { "labels/val/b.txt", "" } },
	  "train|a|labels/train/a.txt|images/train/a.jpg\n"
	  "val|a|-|images/val/a.jpg\nval|b|labels/val/b.txt|-\n",
	  ",images,images/train,images/val,labels,labels/train,labels/val," },
	{ { { "train/images/a.jpg", "" }, { "train/labels/a.txt", "" },
	    { "val/images/sub/a.jpg", "" } },
	  "train|a|train/labels/a.txt|train/images/a.jpg\n"
	  "val/sub|a|-|val/images/sub/a.jpg\n",
	  ",train,train/images,train/labels,val,val/images,val/images/sub," },
	/* Labels of a directory that no images are beside; lists of classes are none. */
	{ { { "images/train/a.jpg", "" }, { "labels/val/b.txt", "" },
	    { "labels/classes.txt", "cat" }, { "labels/train/Classes.txt", "cat" } },
	  "train|a|-|images/train/a.jpg\nval|b|labels/val/b.txt|-\n",
	  ",images,images/train,labels,labels/train,labels/val," },
	/* An image of a kind that is not read is no image, and one that is comes first. */
	{ { { "images/a.jxl", "" }, { "labels/a.txt", "" }, { "images/b.jxl", "" },
	    { "images/b.jpg", "" }, { "labels/b.txt", "" }, { "images/c.gif", "" } },
	  "|a|labels/a.txt|-\n|b|labels/b.txt|images/b.jpg\n", ",images,labels," },
	/* The last `images` of a path is the one. */
	{ { { "images/x/images/a.jpg", "" }, { "images/x/labels/a.txt", "" },
	    { "imagesx/a.jpg", "" } },
	  "images/x|a|images/x/labels/a.txt|images/x/images/a.jpg\n",
	  ",images,images/x,images/x/images,images/x/labels,imagesx," },
	/* One label for two images: both keep their extensions. */
	{ { { "images/a.jpg", "" }, { "images/a.png", "" }, { "images/a.b.jpg", "" },
	    { "labels/a.txt", "" } },
	  "|a.b|-|images/a.b.jpg\n|a.jpg|labels/a.txt|images/a.jpg\n"
	  "|a.png|labels/a.txt|images/a.png\n", ",images,labels," },
};

START_TEST(yolo_trees)
{
	check_layout(label_root(trees[_i].files), LC__LAYOUT_YOLO,
	    trees[_i].frames, trees[_i].dirs);
}
END_TEST

static const struct {
	const char *image, *text;
} without[] = {
	{ "images/b.jpg", "no_file: labels/a.txt: no image has its name" },
	{ "images/a.jxl",
	  "no_file: labels/a.txt: the image has a format that is not read" },
};

START_TEST(yolo_without_image)
{
	const struct label_file files[] = { { without[_i].image, "" },
		{ "labels/a.txt", "0 .5 .5 1 1" }, { 0 } };
	const char *root = label_root(files);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_YOLO, NULL);
	struct lc__label label;
	char *text;

	label_read(dataset, root, 0, &label);
	text = label_text(&label, "labels/a.txt", 100, 50);
	ck_assert_str_eq(text, without[_i].text);
	free(text);
	lc__label_free(&label);
	lc__dataset_close(dataset);
}
END_TEST

START_TEST(ignored_kinds)
{
	static const struct label_file files[] = { { "a.jpg", "" }, { "d/b.jxl", "" },
		{ "c.JXL", "" }, { "e.heic", "" }, { "f.txt", "" }, { 0 } };
	struct lc__dataset *dataset = label_open(label_root(files),
	    LC__LAYOUT_UNLABELLED, NULL);
	const char *const *notes;

	ck_assert_uint_eq(lc__dataset_frames(dataset), 1);
	ck_assert_uint_eq(lc__dataset_notes(dataset, &notes), 1);
	ck_assert_str_eq(notes[0],
	    "ignored 3 images of kinds that are not read: 1 .heic, 2 .jxl");
	lc__dataset_close(dataset);
}
END_TEST

START_TEST(only_ignored_kinds)
{
	static const struct label_file files[] = { { "images/b.jxl", "" }, { 0 } };
	const char *root = label_root(files);
	struct lc__dataset *dataset;

	ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_YOLO, NULL, &dataset),
	    LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, ": no frames of the layout "
	    "'yolo'; ignored 1 image of kinds that are not read: 1 .jxl"));
	ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_AUTO, NULL, &dataset),
	    LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, ": neither labels nor "
	    "images; ignored 1 image of kinds that are not read: 1 .jxl"));
}
END_TEST

START_TEST(yolo_auto_and_classes)
{
	static const struct label_file files[] = {
		{ "train/images/a.jpg", "" }, { "train/labels/a.txt", "1 .5 .5 1 1" },
		{ "train/labels/notes.json", NULL }, { "classes.txt",
		"\xef\xbb\xbf" "cat\r\n\nbig dog \n\n\n" }, { 0 }
	};
	const char *root = label_root(files);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_AUTO, NULL);
	const char *const *shared;
	struct lc__label label;

	ck_assert_int_eq(lc__dataset_layout(dataset), LC__LAYOUT_YOLO);
	label_read(dataset, root, 0, &label);
	ck_assert_uint_eq(label.n_classes, 3);
	ck_assert_str_eq(label.classes[0], "cat");
	ck_assert_str_eq(label.classes[1], "");
	ck_assert_str_eq(label.classes[2], "big dog");
	ck_assert_uint_eq(lc__dataset_shared(dataset, &shared), 1);
	ck_assert_str_eq(shared[0], "classes.txt");
	lc__label_free(&label);
	lc__dataset_close(dataset);
}
END_TEST

START_TEST(bad_classes)
{
	static const struct label_file files[] = { { "images/a.jpg", "" },
		{ "classes.txt", "cat\n\xff\n" }, { 0 } };
	const char *root = label_root(files);
	struct lc__dataset *dataset;

	ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_YOLO, NULL, &dataset),
	    LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "/classes.txt: not UTF-8"));
}
END_TEST

static const struct {
	const char *yaml, *names; /* "-" for an id without a name */
} yamls[] = {
	{ "names: [cat, 'a ''b''', \"c \\\" d\", big dog]\nnc: 4\n",
	  "cat|a 'b'|c \" d|big dog|" },
	{ "path: x\nnames:\n- cat\n# c\n\n-  dog # d\nnc: 2\n", "cat|dog|" },
	{ "names:\n    - cat\n    - 'dog'", "cat|dog|" },
	{ "names: # all\r\n  0: cat\r\n  3: dog:e\r\nx: 1\r\n", "cat|-|-|dog:e|" },
	{ "names: {0: cat,\n  1: \"dog\",\n }\n", "cat|dog|" },
	{ "names: [\n  cat,\n  dog\n]\n", "cat|dog|" },
	{ "names: []", "" },
	{ "xnames: [a]\n names: [b]\n", "" },
	{ "", "" },
	/* Not understood: no names at all. */
	{ "names: cat", "" }, { "names: [cat", "" }, { "names: [cat, [dog]]", "" },
	{ "names: [cat] x", "" }, { "names:\n  0: cat\n  0: dog\n", "" },
	{ "names:\n  - cat\n  - x: y\n", "" }, { "names:\n  70000: cat\n", "" },
	{ "names:\n  -1: c\n  cat: 1\n", "" },
	/* What only a parser of all of YAML reads. */
	{ "names:\n  - \"c\\n\\u00e9\"\n  - d\n", "c\n\xc3\xa9|d|" },
	{ "base: &base [cat, dog]\nnames: *base\n", "cat|dog|" },
	{ "names:\n  - &a cat\n  - *a\n  - >-\n    big\n    dog\n", "cat|cat|big dog|" },
	{ "{nc: 1, names: {0: cat}}\n", "cat|" },
	{ "? names\n: ? 1\n  : cat\n", "-|cat|" },
	{ "%YAML 1.1\n---\nnames: !!seq [cat]\n...\n", "cat|" },
	{ "names: \"", "" }, { "names: [\"a\\", "" }, { "names: ['a'", "" },
	{ "names:\n  - *alias\n", "" },
};

START_TEST(yaml_classes)
{
	const struct label_file files[] = { { "images/a.jpg", "" },
		{ "data.yaml", yamls[_i].yaml }, { 0 } };
	struct lc__dataset *dataset = label_open(label_root(files),
	    LC__LAYOUT_YOLO, NULL);
	char names[200] = "";
	struct lc__label label;

	label_read(dataset, "", 0, &label);
	for (size_t i = 0; i < label.n_classes; i++) {
		strcat(names, label.classes[i] != NULL ? label.classes[i] : "-");
		strcat(names, "|");
	}
	ck_assert_str_eq(names, yamls[_i].names);
	lc__label_free(&label);
	lc__dataset_close(dataset);
}
END_TEST

/* ---- unlabelled ---------------------------------------------------------------- */

START_TEST(unlabelled_tree)
{
	static const struct label_file files[] = {
		{ "b.jpg", "" }, { "a.PNG", "" }, { "a.jpg", "" }, { ".x.jpg", "" },
		{ "d10/a.jpeg", "" }, { "d9/e/a.jpg", "" }, { ".d/a.jpg", "" },
		{ "d9/x.txt", "" }, { "d9/jpg", "" }, { "d9/.jpg", "" }, { 0 }
	};

	check_layout(label_root(files), LC__LAYOUT_UNLABELLED,
	    "|a.PNG|-|a.PNG\n|a.jpg|-|a.jpg\n|b|-|b.jpg\n"
	    "d9/e|a|-|d9/e/a.jpg\nd10|a|-|d10/a.jpeg\n", ",d10,d9,d9/e,");
}
END_TEST

START_TEST(unlabelled_label)
{
	static const struct label_file files[] = { { "d/a.jpg", "" }, { 0 } };
	char *text = only_label(label_root(files), LC__LAYOUT_UNLABELLED, "d/a.jpg");

	ck_assert_str_eq(text, "d/a.jpg");
	free(text);
}
END_TEST

static void
link_to(const char *root, const char *target, const char *name)
{
	char *path = lc__path_join(root, name);

	ck_assert_int_eq(symlink(target, path), 0);
	free(path);
}

START_TEST(links)
{
	static const struct label_file files[] = { { "d/a.jpg", "" },
		{ "e/b.jpg", "" }, { 0 } };
	const char *root = label_root(files);

	link_to(root, "..", "d/up");
	link_to(root, ".", "self");
	link_to(root, "d", "also");
	link_to(root, "d/a.jpg", "c.jpg");
	link_to(root, "nowhere", "gone.jpg");
	link_to(root, "loop.jpg", "loop.jpg");
	check_layout(root, LC__LAYOUT_UNLABELLED,
	    "|c|-|c.jpg\n|gone|-|gone.jpg\n|loop|-|loop.jpg\n"
	    "also|a|-|also/a.jpg\nd|a|-|d/a.jpg\ne|b|-|e/b.jpg\n",
	    ",also,d,e,");
}
END_TEST

START_TEST(deep_directories)
{
	char path[400] = "";
	const struct label_file files[] = { { path, "" }, { 0 } };
	struct lc__dataset *dataset = NULL;

	for (int i = 0; i < 64; i++)
		strcat(path, "d/");
	strcat(path, "a.jpg");
	dataset = label_open(label_root(files), LC__LAYOUT_UNLABELLED, NULL);
	ck_assert_uint_eq(lc__dataset_frames(dataset), 1);
	lc__dataset_close(dataset);
	strcpy(path + 128, "d/a.jpg");
	ck_assert_int_eq(lc__dataset_open(label_root(files), LC__LAYOUT_UNLABELLED,
	    NULL, &dataset), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    ": directories nested deeper than 64"));
}
END_TEST

START_TEST(unreadable_directory)
{
	static const struct label_file files[] = { { "d/a.jpg", "" }, { 0 } };
	const char *root = label_root(files);
	struct lc__dataset *dataset = NULL;
	char *path = lc__path_join(root, "d");

	/* Root may read everything. */
	if (geteuid() != 0) {
		ck_assert_int_eq(chmod(path, 0), 0);
		ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_UNLABELLED, NULL,
		    &dataset), LC_PERMISSION);
		chmod(path, 0700);
	}
	free(path);
}
END_TEST

/* ---- Pascal VOC ---------------------------------------------------------------- */

#define BOX "<bndbox><xmin>11</xmin><ymin>1</ymin><xmax> 20.5 </xmax><ymax>50</ymax>" \
    "</bndbox>"

static const struct {
	const char *xml, *text;
} annotations[] = {
	{ "<annotation><filename>a.jpg</filename></annotation>",
	  "JPEGImages/a.jpg" },
	{ "<?xml version='1.0'?>\n<annotation>\n <folder>VOC2007</folder>\n"
	  " <filename> a.jpg\n</filename>\n <source><database>The &lt;VOC&gt; &#228;"
	  "</database></source>\n <size><width>100</width><height>50</height><depth>3"
	  "</depth></size>\n <segmented>0</segmented>\n <object>\n  <name>7</name>\n"
	  "  <pose>Left</pose><truncated>1</truncated><score>0.5</score><id>007</id>\n"
	  "  <difficult>0</difficult>" BOX "\n  <part><name>head</name>" BOX "</part>\n"
	  " </object>\n</annotation>\n",
	  "JPEGImages/a.jpg [10 0 20.5 50 #2] {\"folder\":\"VOC2007\",\"source\":"
	  "{\"database\":\"The <VOC> \xc3\xa4\"},\"size\":{\"depth\":3},\"segmented\":0,"
	  "\"labels\":[{\"name\":\"7\",\"pose\":\"Left\",\"truncated\":1,\"score\":"
	  "\"0.5\",\"id\":\"007\",\"difficult\":0}]}" },
	{ "<annotation><filename>a.jpg</filename><x>1</x><y/><x>2</x><labels>3</labels>"
	  "<object><name>dog</name>" BOX "<a k='v'><b>1</b><b>2</b></a></object><object>"
	  BOX "</object></annotation>",
	  "JPEGImages/a.jpg [10 0 20.5 50 #1] [10 0 20.5 50] {\"x\":[1,2],\"y\":\"\","
	  "\"labels\":[{\"name\":\"dog\",\"a\":{\"b\":[1,2]}},{}]}" },
	{ "<annotation><filename>a.jpg</filename><object><name>bird</name>" BOX
	  "</object></annotation>", "unknown_class: Annotations/a.xml: label 1: 'bird' is not "
	  "among the 3 names of classes" },
	/* Counted from 0, as some do. */
	{ "<annotation><filename>a.jpg</filename><object><bndbox><ymax>51</ymax><xmin>0"
	  "</xmin><ymin>0</ymin><xmax>101</xmax></bndbox></object></annotation>",
	  "JPEGImages/a.jpg [0 0 100 50] {\"labels\":[{}]}" },
	{ "<annotation><filename>a.jpg</filename><size><width>0</width><height/></size>"
	  "</annotation>", "JPEGImages/a.jpg" },
	/* Refused. */
	{ "<annotation><filename/></annotation>",
	  "blank_image: Annotations/a.xml: no filename" },
	{ "<annotation/>", "blank_image: Annotations/a.xml: no filename" },
	{ "<annotation><filename>../../a.jpg</filename></annotation>", "unparsable: "
	  "Annotations/a.xml: image '../../a.jpg' is outside of the dataset" },
	{ "<annotation><filename>a.jpg</filename><size><width>101</width><height>50"
	  "</height></size></annotation>", "size_mismatch: Annotations/a.xml: the label "
	  "is of an image of 101x50, the image is 100x50" },
	{ "<annotation><filename>a.jpg</filename><size><width>-1</width></size>"
	  "</annotation>",
	  "unparsable: Annotations/a.xml: width '-1' is not a number of pixels" },
	{ "<annotation><filename>a.jpg</filename><size><height>nan</height></size>"
	  "</annotation>",
	  "unparsable: Annotations/a.xml: height 'nan' is not a number of pixels" },
	{ "<annotation><filename>a.jpg</filename><object>" BOX "</object><object><name>a"
	  "</name></object></annotation>",
	  "no_box: Annotations/a.xml: label 2: no bndbox" },
	{ "<annotation><filename>a.jpg</filename><object><bndbox><xmin>1</xmin><ymin>1"
	  "</ymin><xmax>5</xmax></bndbox></object></annotation>",
	  "no_box: Annotations/a.xml: label 1: no ymax" },
	{ "<annotation><filename>a.jpg</filename><object><bndbox><xmin>l</xmin></bndbox>"
	  "</object></annotation>",
	  "unparsable: Annotations/a.xml: label 1: xmin 'l' is not a number" },
	{ "<annotation><filename>a.jpg</filename><object><bndbox><xmin>1</xmin><ymin>1"
	  "</ymin><xmax>5</xmax><ymax>Inf</ymax></bndbox></object></annotation>",
	  "not_finite: Annotations/a.xml: label 1: bbox_px: y1 inf is not finite" },
	{ "<annotation><filename>a.jpg</filename><object><bndbox><xmin>6</xmin><ymin>1"
	  "</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>",
	  "min_max: Annotations/a.xml: label 1: bbox_px: x0 5 is not below x1 5" },
	{ "<annotation><filename>a.jpg</filename><object><bndbox><xmin>1</xmin><ymin>1"
	  "</ymin><xmax>5</xmax><ymax>51.5</ymax></bndbox></object></annotation>",
	  "out_of_range: Annotations/a.xml: label 1: bbox_px: y1 51.5 is above 50" },
	{ "<annotation><filename>a.jpg</filename>", "unparsable: Annotations/a.xml: not "
	  "XML: no element found (line 1, column 39)" },
	{ "", "unparsable: Annotations/a.xml: not XML: no element found (line 1, column "
	  "1)" },
	{ "<labels/>", "unparsable: Annotations/a.xml: not an annotation, but 'labels'" },
	{ "<!DOCTYPE annotation [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>\n"
	  "<annotation>&b;</annotation>",
	  "unparsable: Annotations/a.xml: declares an entity (line 1)" },
	{ "<!DOCTYPE annotation [<!ENTITY a SYSTEM '/etc/passwd'>]>\n"
	  "<annotation><filename>&a;</filename></annotation>",
	  "unparsable: Annotations/a.xml: declares an entity (line 1)" },
	{ "<!DOCTYPE annotation SYSTEM 'x.dtd'>\n<annotation><filename>&a;</filename>"
	  "</annotation>", "unparsable: Annotations/a.xml: uses an entity that is not "
	  "declared (line 2)" },
	{ "<annotation><filename>&a;</filename></annotation>", "unparsable: "
	  "Annotations/a.xml: not XML: undefined entity (line 1, column 23)" },
};

START_TEST(voc_annotations)
{
	const struct label_file files[] = { { "JPEGImages", NULL },
		{ "labels.txt", "cat\ndog\n7" }, { "Annotations/a.xml",
		annotations[_i].xml }, { 0 } };
	char *text = only_label(label_root(files), LC__LAYOUT_AUTO,
	    "Annotations/a.xml");

	ck_assert_str_eq(text, annotations[_i].text);
	free(text);
}
END_TEST

static const struct {
	struct label_file dirs[3];
	const char *folder, *image;
} folders[] = {
	{ { { "VOC/JPEGImages", NULL }, { "VOC/f", NULL } }, "f",
	  "VOC/JPEGImages/a.jpg" },
	{ { { "VOC/f", NULL } }, "f", "VOC/f/a.jpg" },
	{ { { "VOC/g", NULL } }, "f", "VOC/a.jpg" },
	{ { { "f", NULL } }, "../f", "f/a.jpg" },
	{ { { "f", NULL } }, "../../f", "VOC/a.jpg" },
	{ { { "f", NULL } }, "", "VOC/a.jpg" },
};

START_TEST(voc_folders)
{
	const char *root = label_root(folders[_i].dirs);
	char xml[200], *text;

	snprintf(xml, sizeof(xml), "<annotation><labels/><filename>a.jpg</filename>"
	    "<folder>%s</folder></annotation>", folders[_i].folder);
	label_file(root, "VOC/Annotations/x.xml", xml, strlen(xml));
	text = only_label(root, LC__LAYOUT_VOC, "VOC/Annotations/x.xml");
	ck_assert_int_eq(strncmp(text, folders[_i].image,
	    strlen(folders[_i].image)), 0);
	free(text);
}
END_TEST

/* "<OPEN>" n times, a text, and "</OPEN>" n times, in an annotation. */
static char *
many(const char *open, const char *close, int n, bool nested)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("<annotation><filename>a.jpg</filename>", out);
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%s", open, nested ? "" : close);
	for (int i = 0; i < n && nested; i++)
		fputs(close, out);
	fputs("</annotation>", out);
	fclose(out);
	return text;
}

static const struct {
	const char *open, *close;
	int n;
	bool nested;
	const char *text; /* how it begins */
} sizes[] = {
	{ "<a>", "</a>", 31, true, "JPEGImages/a.jpg {\"a\":{" },
	{ "<a>", "</a>", 32, true, "unparsable: Annotations/a.xml: elements nested too "
	  "deep (line 1)" },
	{ "<a>", "</a>", 100000, true, "unparsable: Annotations/a.xml: elements nested "
	  "too deep (line 1)" },
	{ "<a/>", "", 256, false, "JPEGImages/a.jpg {\"a\":[\"\"," },
	{ "<a/>", "", 257, false,
	  "unparsable: Annotations/a.xml: more than 256 elements in one" },
	{ "<object><name>x</name>" BOX "</object>", "", 10000, false,
	  "JPEGImages/a.jpg [10 0 20.5 50 #0] [10" },
	{ "<a/>", "", 1000000, false, "unparsable: Annotations/a.xml: too many elements "
	  "(line 1)" },
};

START_TEST(voc_sizes)
{
	char *xml = many(sizes[_i].open, sizes[_i].close, sizes[_i].n,
	    sizes[_i].nested);
	const struct label_file files[] = { { "JPEGImages", NULL },
		{ "Annotations/a.xml", xml }, { 0 } };
	char *text = only_label(label_root(files), LC__LAYOUT_VOC,
	    "Annotations/a.xml");

	ck_assert_msg(strncmp(text, sizes[_i].text, strlen(sizes[_i].text)) == 0,
	    "%.200s", text);
	free(text);
	free(xml);
}
END_TEST

START_TEST(voc_dataset)
{
	static const struct label_file files[] = {
		{ "VOC2012/Annotations/b.xml", "" }, { "VOC2007/JPEGImages/a.jpg", "" },
		{ "VOC2007/Annotations/000010.xml", "" },
		{ "VOC2007/Annotations/9.xml", "" }, { "Annotations/x.txt", "" }, { 0 }
	};

	check_layout(label_root(files), LC__LAYOUT_AUTO,
	    "VOC2007|9|VOC2007/Annotations/9.xml|-\n"
	    "VOC2007|000010|VOC2007/Annotations/000010.xml|-\n"
	    "VOC2007|a|-|VOC2007/JPEGImages/a.jpg\n"
	    "VOC2012|b|VOC2012/Annotations/b.xml|-\n",
	    ",Annotations,VOC2007,VOC2007/Annotations,VOC2007/JPEGImages,VOC2012,"
	    "VOC2012/Annotations,");
}
END_TEST

/* An annotation has the image that it names; where there is no JPEGImages, those beside
 * Annotations are looked at. */
START_TEST(voc_images)
{
	static const struct label_file files[] = {
		{ "r/Annotations/1.xml", "<annotation><filename>one.jpg</filename>"
		  "</annotation>" }, { "r/JPEGImages/one.jpg", "" },
		{ "r/Annotations/2.xml", "<a" }, { "r/JPEGImages/2.jpg", "" },
		{ "r/JPEGImages/3.jpg", "" }, { "r/SegmentationClass/3.png", "" },
		{ "s/JPEGImages/4.jpg", "" }, { "t/Annotations/5.xml", "<annotation>"
		  "<filename>6.jpg</filename></annotation>" }, { "t/6.jpg", "" },
		{ "t/7.jpg", "" }, { "u/8.jpg", "" }, { 0 }
	};

	check_layout(label_root(files), LC__LAYOUT_VOC,
	    "r|1|r/Annotations/1.xml|-\nr|2|r/Annotations/2.xml|-\n"
	    "r|3|-|r/JPEGImages/3.jpg\ns|4|-|s/JPEGImages/4.jpg\n"
	    "t|5|t/Annotations/5.xml|-\nt|7|-|t/7.jpg\n",
	    ",r,r/Annotations,r/JPEGImages,s,s/JPEGImages,t,t/Annotations,u,");
}
END_TEST

/* What a class is, or where an image is, may change without the label's file. */
START_TEST(voc_hashes)
{
	static const struct label_file files[] = {
		{ "Annotations/a.xml", "" }, { "r/Annotations/a.xml", "" },
		{ "r/JPEGImages", NULL }, { 0 }
	};
	static const struct {
		const char *path, *text;
		bool changes[2]; /* the frame of the root, that of r */
	} steps[] = {
		{ "x.txt", "", { false, false } }, { "f/x.txt", "", { true, false } },
		{ "r/f/x.txt", "", { false, false } },
		{ "classes.txt", "a\nb\n", { true, true } },
		{ "classes.txt", "b\na\n", { true, true } },
		{ "JPEGImages/x.txt", "", { true, false } },
	};
	const char *root = label_root(files);
	uint64_t last[2] = { 0 };

	for (size_t i = 0; i <= LENGTH(steps); i++) {
		struct lc__dataset *dataset = label_open(root, LC__LAYOUT_VOC, NULL);
		for (uint64_t k = 0; k < 2; k++) {
			struct lc__frame frame;
			lc__dataset_frame(dataset, k, &frame);
			if (i == 0)
				ck_assert((frame.label_hash == 0) == (k == 1));
			else
				ck_assert((frame.label_hash != last[k]) ==
				    steps[i - 1].changes[k]);
			last[k] = frame.label_hash;
		}
		lc__dataset_close(dataset);
		if (i < LENGTH(steps))
			label_file(root, steps[i].path, steps[i].text,
			    strlen(steps[i].text));
	}
}
END_TEST

#define OBJECT(name) "<object><name>" name "</name>" BOX "</object>"

/* Without a list the names are those of the annotations, by bytes; what no name has has
 * no class, and what is no annotation has no names. */
START_TEST(voc_learned)
{
	static const struct label_file files[] = {
		{ "JPEGImages", NULL }, { "Annotations/b.xml", "<annotation>"
		  "<filename>b.jpg</filename>" OBJECT("dog") OBJECT("") OBJECT("Dog")
		  OBJECT("dog") "</annotation>" },
		{ "r/Annotations/a.xml", "\xef\xbb\xbf<annotation><filename>a.jpg</filename>"
		  OBJECT("cat") "<object>" BOX "</object></annotation>" },
		{ "r/Annotations/c.xml", "<annotation>" OBJECT("lost") },
		{ "r/Annotations/d.xml", "<other>" OBJECT("lost") "</other>" }, { 0 }
	};
	const char *root = label_root(files);
	const char *const *names, *const *notes;
	uint64_t hash[2];

	for (int round = 0; round < 2; round++) {
		struct lc__dataset *dataset = label_open(root, LC__LAYOUT_VOC, NULL);
		const size_t n = lc__dataset_classes(dataset, &names);
		char *list = label_list(names, n), *text;
		struct lc__frame frame;
		struct lc__label label;

		ck_assert_str_eq(list, round == 0 ? "Dog,cat,dog," : "Dog,bat,cat,dog,");
		ck_assert(lc__dataset_learned(dataset));
		ck_assert_uint_eq(lc__dataset_notes(dataset, &notes), 1);
		ck_assert_str_eq(notes[0], "2 objects have no name: their boxes have no "
		    "class");
		lc__dataset_frame(dataset, 0, &frame);
		hash[round] = frame.label_hash;
		label_read(dataset, root, 0, &label);
		text = label_text(&label, frame.label_path, 100, 50);
		*strstr(text, " {") = '\0';
		ck_assert_str_eq(text, round == 0 ?
		    "JPEGImages/b.jpg [10 0 20.5 50 #2] [10 0 20.5 50] [10 0 20.5 50 #0] "
		    "[10 0 20.5 50 #2]" :
		    "JPEGImages/b.jpg [10 0 20.5 50 #3] [10 0 20.5 50] [10 0 20.5 50 #0] "
		    "[10 0 20.5 50 #3]");
		lc__label_free(&label);
		lc__dataset_close(dataset);
		free(text);
		free(list);
		label_file(root, "Annotations/n.xml", "<annotation>" OBJECT("bat")
		    "</annotation>", strlen("<annotation>" OBJECT("bat") "</annotation>"));
	}
	ck_assert(hash[0] != hash[1]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("labels_layouts");
	TCase *tc = tcase_create("labels_layouts");

	tcase_add_loop_test(tc, yolo_lines, 0, LENGTH(lines));
	tcase_add_test(tc, yolo_nul);
	tcase_add_loop_test(tc, yolo_trees, 0, LENGTH(trees));
	tcase_add_loop_test(tc, yolo_without_image, 0, LENGTH(without));
	tcase_add_test(tc, ignored_kinds);
	tcase_add_test(tc, only_ignored_kinds);
	tcase_add_test(tc, yolo_auto_and_classes);
	tcase_add_test(tc, bad_classes);
	tcase_add_loop_test(tc, yaml_classes, 0, LENGTH(yamls));
	tcase_add_test(tc, unlabelled_tree);
	tcase_add_test(tc, unlabelled_label);
	tcase_add_test(tc, links);
	tcase_add_test(tc, deep_directories);
	tcase_add_test(tc, unreadable_directory);
	tcase_add_loop_test(tc, voc_annotations, 0, LENGTH(annotations));
	tcase_add_loop_test(tc, voc_folders, 0, LENGTH(folders));
	tcase_add_loop_test(tc, voc_sizes, 0, LENGTH(sizes));
	tcase_add_test(tc, voc_dataset);
	tcase_add_test(tc, voc_images);
	tcase_add_test(tc, voc_hashes);
	tcase_add_test(tc, voc_learned);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
