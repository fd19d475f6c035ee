/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels of every layout with random damage: whatever is read of them is sound. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "label_files.h"

enum { WIDTH = 640, HEIGHT = 480 };

static const char capture[] =
    "{\"frame_id\":12,\"image\":\"../r/i/f.jpg\",\"image_present\":true,\"labels\":["
    "{\"bbox_norm\":[0.1,0.2,0.5,1e0],\"bbox_px\":[64,96,320,480],\"class_id\":3,"
    "\"x\":{\"a\":[1,-2.5,null,\"\\u00e4\\n\"]}},{\"bbox_px\":[-0.4,0,9,9]}],"
    "\"time\":18446744073709551615,\"tags\":[[[[]]]],\"\xc3\xa4\":\"\xc3\xa4\"}\n";
static const char yolo[] =
    "0 0.5 0.5 1 0.5\n1\t0.25 .75 5e-1 0.5\r\n\n2 0.1 0.2 0.5 0.9 0.3 0.1 0 1\n";
static const char voc[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- c --><annotation a=\"b\"><folder>"
    "f</folder><filename>a.jpg</filename><size><width>640</width><height>480</height>"
    "<depth>3</depth></size><object><name>a &amp; b</name><difficult>0</difficult>"
    "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>640</xmax><ymax>48.5</ymax></bndbox>"
    "<part><name>p</name></part></object><x><![CDATA[<]]></x><x>2</x></annotation>";
static const char coco[] =
    "{\"info\":{\"a\":[1,\"\\\"]\"]},\"images\":[{\"id\":5,\"file_name\":\"a.jpg\","
    "\"width\":640,\"height\":480},{\"id\":-1,\"file_name\":\"d/b.jpg\"}],"
    "\"annotations\":[{\"id\":1,\"image_id\":5,\"category_id\":2,\"bbox\":[1,2.5,3,4],"
    "\"segmentation\":[[1,2,3,4,5,6]],\"iscrowd\":0,\"score\":1e-3},{\"id\":2,"
    "\"image_id\":-1,\"bbox\":[0,0,640,480],\"iscrowd\":1}],\"categories\":"
    "[{\"id\":2,\"name\":\"c\"}]}";

static const struct {
	enum lc__label_layout layout;
	const char *path; /* of the label */
	const char *text;
	size_t size;
} samples[] = {
	{ LC__LAYOUT_CAPTURE, "r/labels/f.json", capture, sizeof(capture) - 1 },
	{ LC__LAYOUT_YOLO, "labels/f.txt", yolo, sizeof(yolo) - 1 },
	{ LC__LAYOUT_VOC, "Annotations/f.xml", voc, sizeof(voc) - 1 },
	{ LC__LAYOUT_COCO, "coco.json", coco, sizeof(coco) - 1 },
};

/* ---- damage -------------------------------------------------------------------- */

static const char *const words[] = {
	"1e999", "-1", "NaN", "nan", "inf", "18446744073709551616", "\"", "\\", "{", "}",
	"[", "]", "null", "\\u0000", "\xff", "\xc3", ",", ":", "../", "/", "<", ">",
	"</object>", "<object>", "&x;", "<!DOCTYPE a [<!ENTITY x \"y\">]>", "\n", " ",
	"0x1", "1e-400", "-0", "\"labels\"", "\"bbox_px\":", "[[[[[[[[[[[[[[[[",
	"\"id\":5", "\"iscrowd\":1"
};

static void
cut(struct lc__buf *text, size_t at, size_t size)
{
	memmove(text->data + at, text->data + at + size, text->size - at - size);
	text->size -= size;
}

static void
insert(struct lc__buf *text, size_t at, const char *bytes, size_t size)
{
	char copy[64];

	size = size < sizeof(copy) ? size : sizeof(copy);
	memcpy(copy, bytes, size);
	lc__buf_append(text, NULL, size);
	memmove(text->data + at + size, text->data + at, text->size - at - size);
	memcpy(text->data + at, copy, size);
}

static void
damage(struct lc__buf *text, uint64_t *state)
{
	const uint64_t what = run_random(state) % 6, n = run_random(state);
	const size_t at = run_random(state) % (text->size + 1);
	const size_t left = text->size - at;
	const char *word = words[n % (sizeof(words) / sizeof(words[0]))];

	if (what == 0 && left > 0)
		text->data[at] ^= (unsigned char)(1u << n % 8);
	else if (what == 1 && left > 0)
		text->data[at] = (unsigned char)n;
	else if (what == 2 && n % 8 == 0)
		text->size = at;
	else if (what == 3)
		cut(text, at, n % 20 < left ? n % 20 : left);
	else if (what == 4)
		insert(text, at, (char *)text->data + text->size - left,
		    n % 60 < left ? n % 60 : left);
	else
		insert(text, at, word, strlen(word));
}

/* ---- what must be true --------------------------------------------------------- */

static void
check_text(const char *text)
{
	ck_assert(lc__utf8_valid(text, strlen(text)));
	for (; *text != '\0'; text++)
		ck_assert((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void
check_boxes(const struct lc__label *label)
{
	for (size_t i = 0; i < label->n; i++) {
		const double *v = label->boxes[i].px;
		ck_assert(v[0] >= 0 && v[0] < v[2] && v[2] <= WIDTH);
		ck_assert(v[1] >= 0 && v[1] < v[3] && v[3] <= HEIGHT);
		ck_assert(label->boxes[i].class_id >= -1);
	}
}

static void
check_label(struct lc__label *label)
{
	const char *image = label->image_path;

	lc__label_check(label, "f", WIDTH, HEIGHT);
	if (label->reason != LC__REJECT_NONE) {
		ck_assert_uint_eq(label->n, 0);
		ck_assert_uint_eq(label->extra.size, 0);
		ck_assert_ptr_nonnull(strstr(label->detail, ": "));
		check_text(label->detail);
		return;
	}
	ck_assert(image[0] != '\0' && image[0] != '/' &&
	    strncmp(image, "../", 3) != 0 && strstr(image, "/../") == NULL);
	check_boxes(label);
	if (label->extra.size > 0)
		free(label_json(label->extra.data, label->extra.size));
}

static void
check_frames(const struct lc__dataset *dataset, const struct lc__buf *text)
{
	struct lc__frame frame;
	struct lc__label label;

	for (uint64_t i = 0; i < lc__dataset_frames(dataset); i++) {
		lc__dataset_frame(dataset, i, &frame);
		check_text(frame.name);
		check_text(frame.run);
		ck_assert_int_eq(lc__label_read(dataset, &frame, text->data,
		    text->size, &label), LC_OK);
		check_label(&label);
		lc__label_free(&label);
	}
}

/* The damaged text is a label, or the file that has them all. */
static bool
check_one(const char *root, const struct lc__buf *text,
    const struct lc__dataset *dataset)
{
	struct lc__dataset *own = NULL;

	if (dataset != NULL) {
		check_frames(dataset, text);
		return true;
	}
	label_file(root, "coco.json", text->data, text->size);
	if (lc__dataset_open(root, LC__LAYOUT_COCO, "coco.json", &own) == LC_OK) {
		check_frames(own, text);
		lc__dataset_close(own);
		return true;
	}
	ck_assert(lc_last_error()->status == LC_CORRUPT ||
	    lc_last_error()->status == LC_INVALID);
	return false;
}

START_TEST(damaged_labels)
{
	static const struct label_file files[] = { { "images/f.jpg", "" },
		{ "f/x.jpg", "" }, { 0 } };
	const int rounds = getenv("T_LONG") != NULL ? 200000 : 5000;
	const char *root = label_root(files);
	struct lc__dataset *dataset = NULL;
	uint64_t state = run_seed() + (uint64_t)_i;
	int opened = 0;

	label_file(root, samples[_i].path, samples[_i].text, samples[_i].size);
	if (samples[_i].layout != LC__LAYOUT_COCO)
		dataset = label_open(root, samples[_i].layout, NULL);
	for (int n = 0; n < rounds; n++) {
		struct lc__buf text = { 0 };
		lc__buf_append(&text, samples[_i].text, samples[_i].size);
		/* The first, and some others, are as they were. */
		for (uint64_t k = run_random(&state) % 4; k > 0 && n > 0; k--)
			damage(&text, &state);
		opened += check_one(root, &text, dataset);
		lc__buf_free(&text);
	}
	/* Something is left to read in some of them. */
	ck_assert_int_gt(opened, rounds / 10);
	lc__dataset_close(dataset);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("labels_fuzz");
	TCase *tc = tcase_create("labels_fuzz");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, damaged_labels, 0,
	    sizeof(samples) / sizeof(samples[0]));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
