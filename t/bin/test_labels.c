/* SPDX-License-Identifier: BSD-2-Clause */
/* Order of names, reasons, the check of boxes, and the capture layout. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "label_files.h"
#include "labels/names.h"
#include "labels/strings.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* ---- names --------------------------------------------------------------------- */

/* In order; each is compared with each. */
static const char *const ordered[] = {
	"", "0", "00", "01", "1", "1a", "2", "010", "10", "18446744073709551615",
	"18446744073709551616", "100000000000000000000000000000000000000000",
	"a", "a-1", "a0", "a1", "a01b", "a1b", "a1c", "a2", "a2.1", "a2.9", "a2.10",
	"a10", "b", "f2", "f10", "z", "\xc3\xa4"
};

START_TEST(natural_order)
{
	for (size_t i = 0; i < LENGTH(ordered); i++)
		for (size_t k = 0; k < LENGTH(ordered); k++) {
			const int order = lc__order_names(ordered[i], ordered[k]);
			ck_assert_msg((i < k) == (order < 0) && (i > k) ==
			    (order > 0), "'%s' and '%s': %d", ordered[i],
			    ordered[k], order);
		}
}
END_TEST

/* Of three random names none contradicts the others. */
START_TEST(order_is_total)
{
	uint64_t state = run_seed();

	for (int n = 0; n < 200000; n++) {
		char s[3][8] = { "", "", "" };
		for (int i = 0; i < 3; i++)
			for (uint64_t k = run_random(&state) % 6; k > 0; k--)
				s[i][strlen(s[i])] = "001279a-"[run_random(&state) % 8];
		const int ab = lc__order_names(s[0], s[1]);
		const int ba = lc__order_names(s[1], s[0]);
		ck_assert((ab < 0) == (ba > 0) && (ab == 0) == (ba == 0));
		ck_assert((ab == 0) == (strcmp(s[0], s[1]) == 0));
		if (ab <= 0 && lc__order_names(s[1], s[2]) <= 0)
			ck_assert_msg(lc__order_names(s[0], s[2]) <= 0, "%s %s %s",
			    s[0], s[1], s[2]);
	}
}
END_TEST

static const struct {
	const char *dir, *path, *out; /* NULL: outside */
} paths[] = {
	{ "a", "b.jpg", "a/b.jpg" }, { "", "b.jpg", "b.jpg" },
	{ "a/b", "../c.jpg", "a/c.jpg" }, { "a", "./x//y/", "a/x/y" },
	{ "a", "../b.jpg", "b.jpg" }, { "a", "../../b.jpg", NULL },
	{ "a", "../../a/b.jpg", NULL }, { "a", "/b.jpg", NULL },
	{ "", "..", NULL }, { "", "", NULL }, { "a", "..", NULL },
	{ "", "a/../../b", NULL }, { "", "...", "..." }, { "a", "..b", "a/..b" },
};

START_TEST(paths_below)
{
	bool inside;
	char *out = lc__path_below(paths[_i].dir, paths[_i].path, &inside);

	ck_assert(inside == (paths[_i].out != NULL));
	if (inside)
		ck_assert_str_eq(out, paths[_i].out);
	free(out);
}
END_TEST

START_TEST(printable_text)
{
	char out[64];

	ck_assert_uint_eq(lc__printable("a\n\xff\xc3\xa4\x7f\\", out, 64), 16);
	ck_assert_str_eq(out, "a\\x0a\\xff\xc3\xa4\\x7f\\");
	ck_assert_uint_eq(lc__printable("ab\xc3\xa4", out, 4), 2);
	ck_assert_str_eq(out, "ab");
	ck_assert_uint_eq(lc__printable("ab\n", out, 6), 2);
	ck_assert_uint_eq(lc__printable("a", out, 1), 0);
}
END_TEST

/* ---- reasons ------------------------------------------------------------------- */

START_TEST(reasons)
{
	struct lc__counts counts = { 0 };

	for (int i = 0; i < LC__REJECTS; i++)
		ck_assert_int_eq(lc__reject_parse(lc__reject_name(
		    (enum lc__reject)i)), i);
	ck_assert_str_eq(lc__reject_name(LC__REJECT_MIN_MAX), "min_max");
	ck_assert_ptr_null(lc__reject_name(LC__REJECTS));
	ck_assert_int_eq(lc__reject_parse("nothing"), LC__REJECTS);
	ck_assert_ptr_eq(lc__reject_counter(&counts, LC__REJECT_BLANK_IMAGE),
	    &counts.missing_image);
	ck_assert_ptr_eq(lc__reject_counter(&counts, LC__REJECT_NO_FILE),
	    &counts.missing_file);
	ck_assert_ptr_eq(lc__reject_counter(&counts, LC__REJECT_NO_LABELS),
	    &counts.empty);
	for (int i = LC__REJECT_NO_BOX; i < LC__REJECTS; i++)
		ck_assert_ptr_eq(lc__reject_counter(&counts,
		    (enum lc__reject)i), &counts.invalid);
	ck_assert_ptr_eq(lc__reject_counter(&counts, LC__REJECT_UNREADABLE),
	    &counts.invalid);
}
END_TEST

/* ---- one frame of the capture layout ------------------------------------------- */

/* Labels of r/labels/f.json, their image 100 x 50, and what becomes of them. */
static const struct {
	const char *json, *text;
} frames[] = {
	/* Boxes. */
	{ "{'frame_id':7,'image':'i/f.jpg','image_present':true,'labels':["
	  "{'bbox_norm':[0.1,0.2,0.5,1],'bbox_px':[10,10,50,50],'class_id':3}]}",
	  "r/i/f.jpg 7 [10 10 50 50 #3]" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[1,2,3,4]},"
	  "{'bbox_norm':[0,0,1,1],'class':0}]}",
	  "r/f.jpg [1 2 3 4] [0 0 100 50 #0]" },
	{ "{'image':'f.jpg','labels':[]}", "r/f.jpg" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[-0.0000009,0,1.0000009,1],"
	  "'bbox_px':[-0.5,0,100.5,50]}]}", "r/f.jpg [0 0 100 50]" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':null,'bbox_px':[0,0,1,1]}]}",
	  "r/f.jpg [0 0 1 1]" },
	/* norm decides, within the pixels that both may differ. */
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0.1,0.2,0.5,1],"
	  "'bbox_px':[12,12,48,49]}]}", "r/f.jpg [10 10 50 50]" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0.1,0.2,0.5,1],"
	  "'bbox_px':[12.5,10,50,50]}]}",
	  "size_mismatch: r/labels/f.json: label 1: bbox_px: x0 12.5 differs from bbox_norm, 10" },
	/* Metadata: in order, exact. */
	{ "{'z':1,'frame_id':'f7','image':'f.jpg','t':1.0,'labels':[{'bbox_px':"
	  "[1,2,3,4],'class':'cat','score':0.1,'n':{'a':[null,true,-5]}},"
	  "{'bbox_px':[1,2,3,4]}],'big':18446744073709551615,'min':"
	  "-9223372036854775808,'huge':1e999,'past':18446744073709551616}",
	  "r/f.jpg [1 2 3 4] [1 2 3 4] {\"z\":1,\"frame_id\":\"f7\",\"t\":1.0,"
	  "\"labels\":[{\"class\":\"cat\",\"score\":0.10000000000000001,"
	  "\"n\":{\"a\":[null,true,-5]}},{}],\"big\":18446744073709551615,"
	  "\"min\":-9223372036854775808,\"huge\":inf,"
	  "\"past\":1.8446744073709552e+19}" },
	{ "{'frame_id':18446744073709551615,'image':'f.jpg','labels':[]}",
	  "r/f.jpg 18446744073709551615" },
	{ "{'n':18446744073709551615,'s':'\\\" 1e999 \\\\','image':'f.jpg','labels':[]}",
	  "r/f.jpg {\"n\":18446744073709551615,\"s\":\"\" 1e999 \\\"}" },
	{ "{'frame_id':-1,'image':'f.jpg','labels':[]}",
	  "r/f.jpg {\"frame_id\":-1}" },
	{ "{'frame_id':18446744073709551616,'image':'f.jpg','labels':[]}",
	  "r/f.jpg {\"frame_id\":1.8446744073709552e+19}" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[1,2,3,4],'class_id':-2,"
	  "'category':5}]}",
	  "r/f.jpg [1 2 3 4 #5] {\"labels\":[{\"class_id\":-2}]}" },
	/* No image. */
	{ "{'labels':[]}", "blank_image: r/labels/f.json: no image" },
	{ "{'image':null,'labels':[]}", "blank_image: r/labels/f.json: no image" },
	{ "{'image':' \\n','labels':[]}", "blank_image: r/labels/f.json: no image" },
	{ "{'image':'f.jpg','image_present':false,'labels':[]}",
	  "blank_image: r/labels/f.json: image_present is false" },
	/* Not what it must be. */
	{ "{'image':'f.jpg','labels':[]", "unparsable: r/labels/f.json: not JSON: the "
	  "text ends too early (line 1, column 29)" },
	{ "", "unparsable: r/labels/f.json: not JSON: the text ends too early (line 1, "
	  "column 1)" },
	{ "[]", "unparsable: r/labels/f.json: not an object" },
	{ "{'image':'f.jpg'}", "unparsable: r/labels/f.json: no member labels" },
	{ "{'image':'f.jpg','labels':{}}",
	  "unparsable: r/labels/f.json: labels is not a list" },
	{ "{'image':'f.jpg','labels':null}",
	  "unparsable: r/labels/f.json: labels is not a list" },
	{ "{'image':5,'labels':[]}",
	  "unparsable: r/labels/f.json: image is not a string" },
	{ "{'image':18446744073709551615,'labels':[]}",
	  "unparsable: r/labels/f.json: image is not a string" },
	{ "{'image':'f.jpg','image_present':1,'labels':[]}",
	  "unparsable: r/labels/f.json: image_present is neither true nor false" },
	{ "{'image':'../../f.jpg','labels':[]}", "unparsable: r/labels/f.json: image "
	  "'../../f.jpg' is outside of the dataset" },
	{ "{'image':'/f\\n.jpg','labels':[]}", "unparsable: r/labels/f.json: image "
	  "'/f\\x0a.jpg' is outside of the dataset" },
	{ "{'image':'../s/f.jpg','labels':[]}", "s/f.jpg" },
	{ "{'image':'f.jpg','image':'g.jpg','labels':[]}",
	  "unparsable: r/labels/f.json: not JSON: the name 'image' occurs twice (line "
	  "1, column 24)" },
	{ "{'a':18446744073709551615,'b':'\\u0000','image':'f.jpg','labels':[]}",
	  "unparsable: r/labels/f.json: not JSON: \\u0000 in a string (line 1, column "
	  "31)" },
	{ "{'a':018446744073709551615,'image':'f.jpg','labels':[]}",
	  "unparsable: r/labels/f.json: not JSON: a number begins with 0 (line 1, "
	  "column 7)" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[NaN,0,1,1]}]}",
	  "unparsable: r/labels/f.json: not JSON: no such word in JSON (line 1, column "
	  "40)" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[0,0,1,1]},7]}",
	  "unparsable: r/labels/f.json: label 2: not an object" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0,0,1]}]}",
	  "unparsable: r/labels/f.json: label 1: bbox_norm is not a list of 4 numbers" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[0,0,1,'1']}]}",
	  "unparsable: r/labels/f.json: label 1: bbox_px is not a list of 4 numbers" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[0,0,1,1]},{'class_id':1}]}",
	  "no_box: r/labels/f.json: label 2: neither bbox_norm nor bbox_px" },
	/* Bad boxes. */
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0,1e999,1,1]}]}",
	  "not_finite: r/labels/f.json: label 1: bbox_norm: y0 inf is not finite" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[-1e999,0,1,1]}]}",
	  "not_finite: r/labels/f.json: label 1: bbox_px: x0 -inf is not finite" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[0,0,1e10,1]}]}",
	  "not_finite: r/labels/f.json: label 1: bbox_px: x1 1e+10 is beyond 1e+09" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0,0,1.00001,1]}]}",
	  "out_of_range: r/labels/f.json: label 1: bbox_norm: x1 1.00001 is above 1" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0,-0.1,1,1]}]}",
	  "out_of_range: r/labels/f.json: label 1: bbox_norm: y0 -0.1 is below 0" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[0,0,100.51,50]}]}",
	  "out_of_range: r/labels/f.json: label 1: bbox_px: x1 100.51 is above 100" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[0,0,1,1]},"
	  "{'bbox_norm':[0.7,0,0.7,1]}]}",
	  "min_max: r/labels/f.json: label 2: bbox_norm: x0 0.7 is not below x1 0.7" },
	{ "{'image':'f.jpg','labels':[{'bbox_norm':[0,0,1,1],'bbox_px':[0,9,100,8]}]}",
	  "min_max: r/labels/f.json: label 1: bbox_px: y0 9 is not below y1 8" },
	{ "{'image':'f.jpg','labels':[{'bbox_px':[-0.5,0,-0.1,8]}]}",
	  "min_max: r/labels/f.json: label 1: bbox_px: x0 0 is not below x1 0" },
};

/* The tables have ' for ". */
static char *
unquote(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

START_TEST(capture_frames)
{
	char *json = unquote(frames[_i].json), *text;
	const struct label_file files[] = { { "r/labels/f.json", json }, { 0 } };
	const char *root = label_root(files);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_CAPTURE, NULL);
	struct lc__label label;

	label_read(dataset, root, 0, &label);
	text = label_text(&label, "r/labels/f.json", 100, 50);
	ck_assert_str_eq(text, frames[_i].text);
	lc__label_free(&label);
	lc__dataset_close(dataset);
	free(text);
	free(json);
}
END_TEST

START_TEST(deep_metadata)
{
	char json[10000] = "{\"image\":\"f.jpg\",\"labels\":[],\"a\":";
	const struct label_file files[] = { { "r/labels/f.json", json }, { 0 } };
	const struct {
		size_t depth;
		const char *text;
	} rows[] = {
		{ 32, "r/f.jpg {\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]"
		  "]]]]]]]]]]]]]]]]]]}" },
		{ 33, "unparsable: r/labels/f.json: metadata nested too deep" },
		{ 2000, "unparsable: r/labels/f.json: metadata nested too deep" },
		{ 3000, "unparsable: r/labels/f.json: not JSON: nested too deeply (line "
		  "1, column 2081)" },
	};
	const size_t start = strlen(json);

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct lc__dataset *dataset;
		struct lc__label label;
		const char *root;
		char *text;
		memset(json + start, '[', rows[i].depth);
		memset(json + start + rows[i].depth, ']', rows[i].depth);
		strcpy(json + start + 2 * rows[i].depth, "}");
		root = label_root(files);
		dataset = label_open(root, LC__LAYOUT_CAPTURE, NULL);
		label_read(dataset, root, 0, &label);
		text = label_text(&label, "r/labels/f.json", 100, 50);
		ck_assert_str_eq(text, rows[i].text);
		free(text);
		lc__label_free(&label);
		lc__dataset_close(dataset);
	}
}
END_TEST

/* ---- the check alone ----------------------------------------------------------- */

START_TEST(check_without_size)
{
	struct lc__label_box box = { .has_norm = true, .has_px = true,
		.norm = { 0, 0, 0.5, 1.004 }, .px = { 0, 0, 50, 80.5 },
		.tolerance = 0.01, .tolerance_px = 1 };
	struct lc__label label = { .boxes = &box, .n = 1, .height = 80 };

	/* The width is not known: px stays but for what the height says. */
	lc__label_check(&label, "f", 0, 0);
	ck_assert_int_eq(label.reason, LC__REJECT_NONE);
	ck_assert_double_eq(box.px[3], 80);
	ck_assert_double_eq(box.norm[3], 1);
	ck_assert_double_eq(box.px[2], 50);
	lc__label_check(&label, "f", 101, 80);
	ck_assert_int_eq(label.reason, LC__REJECT_NONE);
	ck_assert_double_eq(box.px[2], 50.5);
	label.boxes = NULL;
	label.n = 0;
	lc__label_check(&label, "f", 101, 81);
	ck_assert_int_eq(label.reason, LC__REJECT_SIZE_MISMATCH);
	ck_assert_str_eq(label.detail, "f: the label is of an image 80 high, the "
	    "image is 101x81");
}
END_TEST

START_TEST(check_nan)
{
	struct lc__label_box *box = calloc(1, sizeof(*box));
	struct lc__label label = { .boxes = box, .n = 1 };

	*box = (struct lc__label_box){ .has_px = true,
		.px = { 0, 0, 1, (double)NAN } };
	lc__label_check(&label, "f\n", 10, 10);
	ck_assert_int_eq(label.reason, LC__REJECT_NOT_FINITE);
	ck_assert_str_eq(label.detail,
	    "f\\x0a: label 1: bbox_px: y1 nan is not finite");
	/* A label that is rejected stays as it is. */
	lc__label_check(&label, "g", 10, 10);
	ck_assert_int_eq(label.detail[0], 'f');
}
END_TEST

START_TEST(long_names)
{
	struct lc__label label = { .width = 1 };
	char name[4001];

	for (size_t i = 0; i < 4000; i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	name[4000] = '\0';
	lc__label_check(&label, name + 1, 2, 2);
	ck_assert_int_eq(label.reason, LC__REJECT_SIZE_MISMATCH);
	ck_assert_mem_eq(label.detail, "…\xc3\xa4", 5);
	ck_assert_ptr_nonnull(strstr(label.detail, "\xc3\xa4: the label is of an "
	    "image 1 wide, the image is 2x2"));
}
END_TEST

/* ---- the dataset --------------------------------------------------------------- */

/* A label has the image of its stem, or the one that it names. */
START_TEST(capture_images)
{
	static const struct label_file files[] = {
		{ "a/labels/f1.json", "{}" }, { "a/images/f1.png", "" },
		{ "a/labels/f2.json", "{\"image\":\"images/x.png\",\"labels\":[]}" },
		{ "a/labels/f3.json", "not JSON" }, { "a/images/x.png", "" },
		{ "a/images/y.jpg", "" }, { "a/images/z.heic", "" },
		{ "a/labels/f4.json", "{\"image\":\"images/f4.jpg\",\"labels\":[]}" },
		{ "a/images/f4.jpg", "" }, { "a/images/f4.png", "" },
		{ "a/images/f1.heic", "" }, { 0 }
	};
	const char *root = label_root(files);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_CAPTURE, NULL);
	char *text = label_frames(dataset);
	const char *const *notes;
	struct lc__label label;

	ck_assert_str_eq(text, "a|f1|a/labels/f1.json|-\na|f2|a/labels/f2.json|-\n"
	    "a|f3|a/labels/f3.json|-\na|f4|a/labels/f4.json|-\n"
	    "a|f4.png|-|a/images/f4.png\na|y|-|a/images/y.jpg\n");
	ck_assert_uint_eq(lc__dataset_notes(dataset, &notes), 1);
	ck_assert_str_eq(notes[0],
	    "ignored 2 images of kinds that are not read: 2 .heic");
	label_read(dataset, root, 5, &label);
	ck_assert_int_eq(label.reason, LC__REJECT_NONE);
	ck_assert_str_eq(label.image_path, "a/images/y.jpg");
	ck_assert_uint_eq(label.n, 0);
	lc__label_free(&label);
	lc__dataset_close(dataset);
	free(text);
}
END_TEST

START_TEST(capture_dataset)
{
	static const struct label_file files[] = {
		{ "run10/labels/f1.json", "{}" }, { "run2/labels/f10.json", "{}" },
		{ "run2/labels/f9.JSON", "{}" }, { "run2/labels/.f1.json", "{}" },
		{ "run2/labels/f1.txt", "{}" }, { "run2/labels/dir.json", NULL },
		{ "run2/.hidden/labels/f.json", "{}" }, { ".x/labels/f.json", "{}" },
		{ "empty/images/a.jpg", "" }, { "labels/top.json", "{}" },
		{ "run2/labels/new\nline\xff.json", "{}" }, { 0 }
	};
	const char *const *dirs;
	const char *root = label_root(files);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_AUTO, NULL);
	char *text = label_frames(dataset);
	const size_t n = lc__dataset_dirs(dataset, &dirs);
	char *list = label_list(dirs, n);

	ck_assert_int_eq(lc__dataset_layout(dataset), LC__LAYOUT_CAPTURE);
	ck_assert_str_eq(lc__layout_name(LC__LAYOUT_CAPTURE), "capture");
	ck_assert_str_eq(lc__layout_name(LC__LAYOUT_AUTO), "auto");
	ck_assert_str_eq(text,
	    "|top|labels/top.json|-\n"
	    "empty|a|-|empty/images/a.jpg\n"
	    "run2|f9|run2/labels/f9.JSON|-\n"
	    "run2|f10|run2/labels/f10.json|-\n"
	    "run2|new\\x0aline\\xff|run2/labels/new\nline\xff.json|-\n"
	    "run10|f1|run10/labels/f1.json|-\n");
	ck_assert_str_eq(list, ",empty,empty/images,labels,run10,run10/labels,run2,run2/labels,");
	ck_assert_uint_eq(lc__dataset_shared(dataset, &dirs), 0);
	lc__dataset_close(dataset);
	free(list);
	free(text);
}
END_TEST

static const struct {
	struct label_file files[5];
	enum lc__label_layout layout;
	const char *labels;
	lc_status status;
	const char *text; /* behind "ROOT: " */
} refused[] = {
	{ { { "r/labels", NULL } }, LC__LAYOUT_CAPTURE, NULL, LC_INVALID,
	  "no frames of the layout 'capture'" },
	{ { { "r/labels/a.json", "" }, { "r/labels/a.JSON", "" } },
	  LC__LAYOUT_CAPTURE, NULL, LC_INVALID,
	  "two frames are named 'r/a': r/labels/a.JSON and r/labels/a.json" },
	{ { { "x", NULL } }, LC__LAYOUT_AUTO, NULL, LC_INVALID,
	  "neither labels nor images" },
	{ { { "x/y/a.jpg", "" }, { "x/y/b.jpg", "" } }, LC__LAYOUT_AUTO, NULL,
	  LC_INVALID, "images (x/y/a.jpg), but no labels; --layout=unlabelled uses them "
	  "without labels" },
	{ { { "a/labels/f.json", "" }, { "b/labels/x/g.txt", "" },
	    { "b/images/x/g.jpg", "" }, { "Annotations/v.xml", "" } },
	  LC__LAYOUT_AUTO, NULL, LC_INVALID,
	  "labels of more than one layout: capture (a/labels/f.json), yolo "
	  "(b/labels/x/g.txt), voc (Annotations/v.xml); choose one with --layout" },
	{ { { "x", NULL } }, (enum lc__label_layout)99, NULL, LC_INVALID,
	  "no layout has the number 99" },
};

START_TEST(refused_datasets)
{
	const char *root = label_root(refused[_i].files);
	struct lc__dataset *dataset = NULL;

	ck_assert_int_eq(lc__dataset_open(root, refused[_i].layout,
	    refused[_i].labels, &dataset), refused[_i].status);
	ck_assert_ptr_null(dataset);
	ck_assert_mem_eq(lc_last_error()->text, root, strlen(root));
	ck_assert_str_eq(lc_last_error()->text + strlen(root) + 2,
	    refused[_i].text);
}
END_TEST

START_TEST(no_dataset)
{
	struct lc__dataset *dataset = NULL;

	ck_assert_int_eq(lc__dataset_open("/nonexistent", LC__LAYOUT_AUTO, NULL,
	    &dataset), LC_NO_FILE);
	ck_assert_str_eq(lc_last_error()->text,
	    "/nonexistent: No such file or directory");
	ck_assert_int_eq(lc__dataset_open("/", LC__LAYOUT_YOLO, "x.json", &dataset),
	    LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "x.json: the layout 'yolo' does not have a single file of labels");
	lc__dataset_close(NULL);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("labels");
	TCase *tc = tcase_create("labels");

	tcase_add_test(tc, natural_order);
	tcase_add_test(tc, order_is_total);
	tcase_add_loop_test(tc, paths_below, 0, LENGTH(paths));
	tcase_add_test(tc, printable_text);
	tcase_add_test(tc, reasons);
	tcase_add_loop_test(tc, capture_frames, 0, LENGTH(frames));
	tcase_add_test(tc, deep_metadata);
	tcase_add_test(tc, check_without_size);
	tcase_add_test(tc, check_nan);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, capture_dataset);
	tcase_add_test(tc, capture_images);
	tcase_add_loop_test(tc, refused_datasets, 0, LENGTH(refused));
	tcase_add_test(tc, no_dataset);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
