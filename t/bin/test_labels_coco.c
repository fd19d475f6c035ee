/* SPDX-License-Identifier: BSD-2-Clause */
/* COCO's file: its forms, what is wrong with it, and its size. */
#include "run.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "label_files.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

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

static const char *
coco_root(const char *json)
{
	const char *root = run_scratch();
	char *text = unquote(json);

	label_file(root, "coco.json", text, strlen(text));
	free(text);
	return root;
}

/* All frames and their labels, checked against images of 100 x 50, and the hashes
 * mixed to one number. */
static char *
all_labels(const char *root, const char *labels, uint64_t *hash)
{
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_COCO, labels);
	struct lc__frame frame;
	struct lc__label label;
	char *text, *out;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	*hash = 0;
	for (uint64_t i = 0; i < lc__dataset_frames(dataset); i++) {
		lc__dataset_frame(dataset, i, &frame);
		ck_assert_ptr_null(frame.label_path);
		ck_assert_uint_ne(frame.label_hash, 0);
		*hash = *hash * 31 + frame.label_hash;
		label_read(dataset, root, i, &label);
		text = label_text(&label, "coco.json", 100, 50);
		fprintf(f, "%s|%s|%s\n", frame.run, frame.name, text);
		free(text);
		lc__label_free(&label);
	}
	fclose(f);
	lc__dataset_close(dataset);
	return out;
}

/* ---- one dataset in its forms -------------------------------------------------- */

static const char *const forms[] = {
	"{'images':[{'id':12,'file_name':'a10.jpg','width':100,'height':50,'license':4},"
	"{'id':-3,'file_name':'d/a9.jpg'}],'annotations':[{'id':1,'image_id':12,"
	"'category_id':90,'bbox':[10,10,20,5.5],'area':110.0,'iscrowd':0,"
	"'segmentation':[[1,2,3,4]]},{'id':2,'image_id':12,'category_id':7,'bbox':"
	"[0,0,100,50],'iscrowd':1}],'categories':[{'id':90,'name':'a \\\"b\\\\'},"
	"{'id':7,'name':'c'}]}",
	/* Annotations first, with blanks everywhere, other members in between. */
	" {\n 'info' : { 'a' : [ 1 , { 'x' : '\\\\' } ] , 'b' : 'no } here \\\" ' } ,\r\n"
	"\t'annotations' : [ { 'id' : 1 , 'image_id' : 12 ,\n 'category_id' : 90 , "
	"'bbox' : [ 10 , 10 , 20 , 5.5 ] , 'area' : 110.0 , 'iscrowd' : 0 , "
	"'segmentation' : [ [ 1 , 2 , 3 , 4 ] ] }\n , { 'id' : 2 , 'image_id' : 12 , "
	"'category_id' : 7 , 'bbox' : [ 0 , 0 , 100 , 50 ] , 'iscrowd' : 1 } ] , "
	"'x' : null , 'y' : -1.5e3 , 'z' : true,'categories' : [ { 'id' : 90 , 'name' : "
	"'a \\\"b\\\\' } , { 'id' : 7 , 'name' : 'c' } ] , 'images' : [ { 'id' : 12 , "
	"'file_name' : 'a10.jpg' , 'width' : 100 , 'height' : 50 , 'license' : 4 } , { "
	"'id' : -3 , 'file_name' : 'd/a9.jpg' } ] , 'licenses' : [ ] }\n\n",
	/* Other images and annotations in other orders. */
	"{'categories':[{'id':7,'name':'c'},{'id':90,'name':'a \\\"b\\\\'}],"
	"'annotations':[{'id':1,'image_id':12,'category_id':90,'bbox':[10,10,20,5.5],"
	"'area':110.0,'iscrowd':0,'segmentation':[[1,2,3,4]]},{'id':2,'image_id':12,"
	"'category_id':7,'bbox':[0,0,100,50],'iscrowd':1}],'images':[{'id':-3,"
	"'file_name':'d/a9.jpg'},{'id':12,'file_name':'a10.jpg','width':100,"
	"'height':50,'license':4}]}",
};

#define FORMS_TEXT "|a10|a10.jpg 12 [10 10 30 15.5 #90] {\"license\":4,\"crowds\":1," \
    "\"labels\":[{\"id\":1,\"area\":110.0}]}\nd|a9|d/a9.jpg\n"

START_TEST(same_in_all_forms)
{
	uint64_t first = 0, hash;

	for (size_t i = 0; i < LENGTH(forms); i++) {
		char *text = all_labels(coco_root(forms[i]), NULL, &hash);
		ck_assert_str_eq(text, FORMS_TEXT);
		if (i == 0)
			first = hash;
		ck_assert_uint_eq(hash, first);
		free(text);
	}
}
END_TEST

/* What a label says is in its hash: a box, an image's row, a category's name. */
static const struct {
	const char *from, *to;
	bool changes;
} changes[] = {
	{ "5.5", "5.6", true }, { "'license':4", "'license':5", true },
	{ "a \\\"b", "a \\\"c", true }, { "'name':'c'", "'name':'d'", true },
	{ "'categories':[", "'categories':[{'id':1,'name':'new'},", false },
	{ "'images':[", "'info':{}, 'images':[", false },
};

START_TEST(hashes_change)
{
	const char *at = strstr(forms[0], changes[_i].from);
	uint64_t before, after;
	char json[2000];

	ck_assert_ptr_nonnull(at);
	snprintf(json, sizeof(json), "%.*s%s%s", (int)(at - forms[0]), forms[0],
	    changes[_i].to, at + strlen(changes[_i].from));
	free(all_labels(coco_root(forms[0]), NULL, &before));
	free(all_labels(coco_root(json), NULL, &after));
	ck_assert((before != after) == changes[_i].changes);
}
END_TEST

START_TEST(class_names)
{
	struct lc__dataset *dataset = label_open(coco_root("{'images':[{'id':1,"
	    "'file_name':'a'}],'annotations':[],'categories':[{'id':3,'name':'c'},"
	    "{'id':65536,'name':'far'},{'id':-1,'name':'neg'},{'id':0,'name':'z'}]}"),
	    LC__LAYOUT_AUTO, NULL);
	const char *const *shared;
	struct lc__label label;

	ck_assert_int_eq(lc__dataset_layout(dataset), LC__LAYOUT_COCO);
	label_read(dataset, "", 0, &label);
	ck_assert_uint_eq(label.n_classes, 4);
	ck_assert_str_eq(label.classes[0], "z");
	ck_assert_ptr_null(label.classes[1]);
	ck_assert_ptr_null(label.classes[2]);
	ck_assert_str_eq(label.classes[3], "c");
	ck_assert_uint_eq(lc__dataset_shared(dataset, &shared), 1);
	ck_assert_str_eq(shared[0], "coco.json");
	lc__label_free(&label);
	lc__dataset_close(dataset);
}
END_TEST

/* Every part of the file crosses the edge of what is read at once. */
START_TEST(across_windows)
{
	const char *root = run_scratch();
	char *json = unquote(forms[1]), *text, *all;
	uint64_t hash, first = 0;

	for (size_t pad = 65536 - strlen(json) - 40; pad < 65536; pad += 3) {
		struct lc__buf padded = { 0 };
		lc__buf_printf(&padded, "{\"pad\":\"");
		memset(lc__buf_append(&padded, NULL, pad), 'x', pad);
		lc__buf_printf(&padded, "\",%s", strchr(json, '{') + 1);
		label_file(root, "coco.json", padded.data, padded.size);
		lc__buf_free(&padded);
		text = all_labels(root, "coco.json", &hash);
		ck_assert_str_eq(text, FORMS_TEXT);
		first = first == 0 ? hash : first;
		ck_assert_uint_eq(hash, first);
		free(text);
	}
	all = all_labels(coco_root(forms[0]), NULL, &hash);
	ck_assert_uint_eq(hash, first);
	free(all);
	free(json);
}
END_TEST

/* ---- one image ----------------------------------------------------------------- */

static const struct {
	const char *image, *annotations, *text;
} images[] = {
	{ "'id':1,'file_name':'x/../a.jpg'", "", "|a|a.jpg 1\n" },
	{ "'id':1,'file_name':'a.jpg','width':0,'height':null",
	  "{'image_id':1,'bbox':[-1,0,101.5,51]}", "|a|a.jpg 1 [0 0 100 50]\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'id':5,'image_id':1,'category_id':-2,"
	  "'bbox':[1,2,3,4],'caption':'x','score':0.5,'keypoints':[1],'rle':{},"
	  "'u':18446744073709551615},{'image_id':1,'category_id':2,'bbox':[1,2,3,4],"
	  "'iscrowd':false}", "|a|a.jpg 1 [1 2 4 6] [1 2 4 6 #2] {\"labels\":[{\"id\":5,"
	  "\"category_id\":-2,\"caption\":\"x\",\"score\":0.5,"
	  "\"u\":18446744073709551615},{}]}\n" },
	{ "'id':1,'file_name':'a.jpg','labels':1,'n':{'a':[1]}", "{'image_id':1,"
	  "'iscrowd':true},{'image_id':1,'iscrowd':1}",
	  "|a|a.jpg 1 {\"n\":{\"a\":[1]},\"crowds\":2}\n" },
	/* What is left out ends where it ends. */
	{ "'id':1,'file_name':'a.jpg'", "{'x':{'bbox':[9],'s':'\\\\\\\"]}'},'y':[[{}],"
	  "'}'],'\\u0062box':[1,2,3,4],'image_id':1,'z':5}",
	  "|a|a.jpg 1 [1 2 4 6] {\"labels\":[{\"z\":5}]}\n" },
	/* Rejected. */
	{ "'id':1", "", "|1|blank_image: coco.json: image 1: no file_name\n" },
	{ "'id':-1,'file_name':' '", "",
	  "|-1|blank_image: coco.json: image -1: no file_name\n" },
	{ "'id':1,'file_name':'../a.jpg'", "", "|1|unparsable: coco.json: image 1: "
	  "file_name '../a.jpg' is outside of the dataset\n" },
	{ "'id':1,'file_name':'/a.jpg'", "", "|1|unparsable: coco.json: image 1: "
	  "file_name '/a.jpg' is outside of the dataset\n" },
	{ "'id':1,'file_name':'a.jpg','width':1.5", "",
	  "|a|unparsable: coco.json: image 1: width is not a number of pixels\n" },
	{ "'id':1,'file_name':'a.jpg','width':100,'height':51", "",
	  "|a|size_mismatch: coco.json: the label is of an image of 100x51, the image "
	  "is 100x50\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'image_id':1,'bbox':[0,0,1,1]},"
	  "{'id':6,'image_id':1,'bbox':[]}",
	  "|a|no_box: coco.json: image 1: label 2: annotation 6: no bbox\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'id':6,'image_id':1}",
	  "|a|no_box: coco.json: image 1: label 1: annotation 6: no bbox\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'id':6,'image_id':1,'bbox':[1,2,3]}",
	  "|a|unparsable: coco.json: image 1: label 1: annotation 6: bbox is not a list of "
	  "4 numbers\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'image_id':1,'bbox':[1,2,1e999,3]}",
	  "|a|not_finite: coco.json: label 1: bbox_px: x1 inf is not finite\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'image_id':1,'bbox':[1,2,0,3]}",
	  "|a|min_max: coco.json: label 1: bbox_px: x0 1 is not below x1 1\n" },
	{ "'id':1,'file_name':'a.jpg'", "{'image_id':1,'bbox':[-1.5,2,9,3]}",
	  "|a|out_of_range: coco.json: label 1: bbox_px: x0 -1.5 is below 0\n" },
};

START_TEST(one_image)
{
	char json[1000], *text;
	uint64_t hash;

	snprintf(json, sizeof(json), "{'images':[{%s}],'annotations':[%s]}",
	    images[_i].image, images[_i].annotations);
	text = all_labels(coco_root(json), NULL, &hash);
	ck_assert_str_eq(text, images[_i].text);
	free(text);
}
END_TEST

/* ---- annotations that are bad -------------------------------------------------- */

#define TWO "{'images':[{'id':1,'file_name':'a.jpg'},{'id':2,'file_name':'b.jpg'}],"
#define GOOD "{'id':5,'image_id':2,'bbox':[0,0,10,10],'category_id':3}"

static const struct {
	const char *json, *text, *note;
} bad_ones[] = {
	/* Each is the reason of its frame, or a frame of its own; the others go on. */
	{ TWO "'annotations':[{'id':4,'image_id':1},{'id':6,'image_id':1,'bbox':[1]},"
	  GOOD ",{},{'id':77,'image_id':9},{'image_id':'2'},7,[1,}]]}",
	  NULL, NULL },
	{ TWO "'annotations':[{'id':4,'image_id':1},{'id':6,'image_id':1,'bbox':[1]},"
	  GOOD ",{},{'id':77,'image_id':9},{'image_id':'2'},7]}",
	  "|a|no_box: coco.json: image 1: label 1: annotation 4: no bbox (and 1 more of its "
	  "annotations)\n"
	  "|annotation@197|unparsable: coco.json: annotation at byte 197: image_id is not an "
	  "integer\n"
	  "|annotation@200|blank_image: coco.json: annotation 77 at byte 200: there is no "
	  "image 9\n"
	  "|annotation@223|unparsable: coco.json: annotation at byte 223: image_id is not an "
	  "integer\n"
	  "|annotation@240|unparsable: coco.json: annotation at byte 240: not an object\n"
	  "|b|b.jpg 2 [0 0 10 10 #3] {\"labels\":[{\"id\":5}]}\n", NULL },
	/* The image of one that is not JSON is still found. */
	{ TWO "'annotations':[{'id':4,'image_id':1,'bbox':[0,0,NaN,1]},"
	  "{'bbox':[NaN],'image_id': 9}," GOOD "]}",
	  "|a|unparsable: coco.json: image 1: annotation at byte 85: not JSON: no such word in "
	  "JSON (line 1, column 34)\n"
	  "|annotation@126|blank_image: coco.json: annotation at byte 126: there is no image "
	  "9\n"
	  "|b|b.jpg 2 [0 0 10 10 #3] {\"labels\":[{\"id\":5}]}\n", NULL },
	{ TWO "'annotations':[" GOOD ",{'id':5,'image_id':1,'bbox':[0,0,1,1],'category_id':4}"
	  "],'categories':[{'id':3,'name':'x'}]}",
	  "|a|unknown_class: coco.json: image 1: label 1: annotation 5: there is no category "
	  "4\n|b|b.jpg 2 [0 0 10 10 #3] {\"labels\":[{\"id\":5}]}\n",
	  "coco.json: 1 id of annotations is there more than once, such as 5" },
	{ TWO "'annotations':[" GOOD "," GOOD "," GOOD ",{'id':1,'image_id':1,'iscrowd':1},"
	  "{'id':1,'image_id':1,'iscrowd':1}]}", NULL,
	  "coco.json: 2 ids of annotations are there more than once, such as 1" },
};

START_TEST(bad_annotations)
{
	const char *root = coco_root(bad_ones[_i].json);
	struct lc__dataset *dataset;
	const char *const *notes;
	uint64_t hash;
	char *text;

	/* Brackets that do not fit are of the file. */
	if (_i == 0) {
		ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_COCO, NULL,
		    &dataset), LC_CORRUPT);
		return;
	}
	text = all_labels(root, NULL, &hash);
	if (bad_ones[_i].text != NULL)
		ck_assert_str_eq(text, bad_ones[_i].text);
	dataset = label_open(root, LC__LAYOUT_COCO, NULL);
	ck_assert_uint_eq(lc__dataset_notes(dataset, &notes),
	    bad_ones[_i].note != NULL);
	if (bad_ones[_i].note != NULL)
		ck_assert_str_eq(notes[0], bad_ones[_i].note);
	lc__dataset_close(dataset);
	free(text);
}
END_TEST

/* ---- files that are none ------------------------------------------------------- */

#define ONE "{'images':[{'id':1,'file_name':'a'}],'annotations':["

static const struct {
	const char *json;
	lc_status status;
	const char *text; /* behind "ROOT/coco.json: " */
} corrupt[] = {
	{ "", LC_CORRUPT, "byte 0: not an object" },
	{ "[]", LC_CORRUPT, "byte 0: not an object" },
	{ "{", LC_CORRUPT, "byte 1: no name of a member" },
	{ "{}", LC_CORRUPT, "no member images" },
	{ "{'images':[]}", LC_CORRUPT, "no member annotations" },
	{ "{'images':{}", LC_CORRUPT, "byte 10: images is not a list" },
	{ "{'images':null}", LC_CORRUPT, "byte 10: images is not a list" },
	{ "{'images':[", LC_CORRUPT, "byte 11: the file ends within a value" },
	{ "{'images':[}", LC_CORRUPT, "byte 11: a value is missing" },
	{ "{'images':[,]}", LC_CORRUPT, "byte 11: a value is missing" },
	{ "{'images':[{}", LC_CORRUPT, "image at byte 11: id is not an integer" },
	{ "{'images':[{'id':1}}", LC_CORRUPT, "byte 19: neither , nor ]" },
	{ "{'images':[{'id':1]]", LC_CORRUPT, "byte 18: not JSON" },
	{ "{'images':[{'id':1},]", LC_CORRUPT, "byte 20: a value is missing" },
	{ "{'images':[{'id':1", LC_CORRUPT, "byte 18: the file ends within a value" },
	{ "{'images':[{'id':'", LC_CORRUPT, "byte 18: the file ends within a value" },
	{ "{'images':[{'id':1 2}]}", LC_CORRUPT, "image at byte 11: not JSON: a "
	  "comma or the end of what is open is missing (line 1, column 9)" },
	{ "{'images':[{'id':1,'id':2}]}", LC_CORRUPT, "image at byte 11: not JSON: "
	  "the name 'id' occurs twice (line 1, column 12)" },
	{ "{'images':[7]}", LC_CORRUPT, "image at byte 11: not an object" },
	{ "{'images':[{'id':'1'}]}", LC_CORRUPT, "image at byte 11: id is not an integer" },
	{ "{'images':[{'id':18446744073709551615}]}", LC_CORRUPT,
	  "image at byte 11: id is not an integer" },
	{ "{'images':[{'id':1,'file_name':5}]}", LC_CORRUPT,
	  "image at byte 11: file_name is not a string" },
	{ "{'images':[{'id':1},{'id':2},{'id':1}],'annotations':[]}", LC_CORRUPT,
	  "two images have the id 1" },
	{ "{'images':[],'images':[]}", LC_CORRUPT,
	  "byte 22: a member is there again" },
	{ ONE "],'categories':[{'id':1}]}", LC_CORRUPT,
	  "category at byte 68: name is not a string" },
	{ ONE "],'categories':[{'id':1,'name':'a'},{'id':1,'name':'b'}]}", LC_CORRUPT,
	  "category at byte 88: its id occurs twice" },
	{ ONE "],'categories':[{'id':-1,'name':'a'},{'id':-1,'name':'b'}]}", LC_CORRUPT,
	  "two categories have the id -1" },
	{ ONE "]} x", LC_CORRUPT, "byte 55: something follows the object" },
	{ ONE "],'x':}", LC_CORRUPT, "byte 58: a value is missing" },
	{ ONE "],'x':,'y':1}", LC_CORRUPT, "byte 58: a value is missing" },
	{ ONE "],'x' 1}", LC_CORRUPT, "byte 58: no : after a name" },
	{ ONE "],x:1}", LC_CORRUPT, "byte 54: no name of a member" },
	{ ONE "] 'x':1}", LC_CORRUPT, "byte 54: neither , nor }" },
};

START_TEST(corrupt_files)
{
	const char *root = coco_root(corrupt[_i].json);
	struct lc__dataset *dataset = NULL;
	char *path = lc__path_join(root, "coco.json: ");

	ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_COCO, "coco.json",
	    &dataset), corrupt[_i].status);
	ck_assert_ptr_null(dataset);
	ck_assert_mem_eq(lc_last_error()->text, path, strlen(path));
	ck_assert_str_eq(lc_last_error()->text + strlen(path), corrupt[_i].text);
	free(path);
}
END_TEST

/* Nesting in a member that is read, and in one that is not. */
START_TEST(deep_file)
{
	static const char *const before[] = {
		"{\"images\":[{\"id\":1,\"file_name\":\"a\",\"x\":", "{\"x\":"
	};
	static const char *const after[] = {
		"}],\"annotations\":[]}",
		",\"images\":[{\"id\":1,\"file_name\":\"a\"}],\"annotations\":[]}"
	};
	const char *root = run_scratch();
	struct lc__dataset *dataset;

	for (size_t i = 0; i < 4; i++) {
		const size_t depth = i < 2 ? 2000 : 100000;
		struct lc__buf json = { 0 };
		lc__buf_printf(&json, "%s", before[i % 2]);
		memset(lc__buf_append(&json, NULL, depth), '[', depth);
		memset(lc__buf_append(&json, NULL, depth), ']', depth);
		lc__buf_printf(&json, "%s", after[i % 2]);
		label_file(root, "coco.json", json.data, json.size);
		lc__buf_free(&json);
		dataset = NULL;
		ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_COCO, "coco.json",
		    &dataset), i < 2 ? LC_OK : LC_CORRUPT);
		if (i >= 2)
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
			    "nested too deep"));
		lc__dataset_close(dataset);
	}
}
END_TEST

/* ---- where the file and the images are ----------------------------------------- */

#define A_JSON "{\"images\":[{\"id\":1,\"file_name\":\"none.jpg\"},{\"id\":2," \
    "\"file_name\":\"a.jpg\"}],\"annotations\":[]}"

static const struct {
	struct label_file files[5];
	const char *labels, *image; /* of frame 0, a.jpg */
} places[] = {
	{ { { "annotations/instances_v.json", A_JSON }, { "a.jpg", "" },
	    { "images/a.jpg", "" } }, NULL, "a.jpg" },
	{ { { "x.json", A_JSON }, { "images/a.jpg", "" }, { "v/a.jpg", "" } }, NULL,
	  "images/a.jpg" },
	{ { { "annotations/instances_v.json", A_JSON }, { "t/a.jpg", "" },
	    { "v/a.jpg", "" } }, NULL, "v/a.jpg" },
	{ { { "annotations/instances_v.json", A_JSON }, { "images/t/a.jpg", "" },
	    { "images/v/a.jpg", "" } }, NULL, "images/v/a.jpg" },
	{ { { "annotations/x.json", A_JSON }, { "d10/a.jpg", "" }, { "d9/a.jpg", "" } },
	  NULL, "d9/a.jpg" },
	{ { { "annotations/x.json", A_JSON }, { "images/d/a.jpg", "" } }, NULL,
	  "images/d/a.jpg" },
	{ { { "train/_annotations.coco.json", A_JSON }, { "train/a.jpg", "" },
	    { "valid/a.jpg", "" } }, "train/_annotations.coco.json", "train/a.jpg" },
	{ { { "annotations/x.json", A_JSON }, { "annotations/y.json", A_JSON } },
	  "annotations/y.json", "a.jpg" },
	/* Others are no COCO files. */
	{ { { "annotations/x.json", A_JSON }, { "package.json", "{\"name\":1}" },
	    { "empty.json", "" }, { "list.json", "[]" } }, NULL, "a.jpg" },
};

START_TEST(image_places)
{
	const char *root = label_root(places[_i].files);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_COCO,
	    places[_i].labels);
	struct lc__frame frame;

	lc__dataset_frame(dataset, 0, &frame);
	ck_assert_str_eq(frame.image_path, places[_i].image);
	lc__dataset_close(dataset);
}
END_TEST

START_TEST(absolute_labels)
{
	static const struct label_file files[] = { { "d/a.jpg", "" }, { 0 } };
	const char *root = label_root(files), *other = run_scratch();
	char *path = lc__path_join(other, "x.json");
	const char *const *shared;
	struct lc__dataset *dataset;
	struct lc__frame frame;

	label_file(other, "x.json", A_JSON, strlen(A_JSON));
	dataset = label_open(root, LC__LAYOUT_AUTO, path);
	ck_assert_int_eq(lc__dataset_layout(dataset), LC__LAYOUT_COCO);
	lc__dataset_frame(dataset, 0, &frame);
	ck_assert_str_eq(frame.image_path, "d/a.jpg");
	ck_assert_uint_eq(lc__dataset_shared(dataset, &shared), 1);
	ck_assert_str_eq(shared[0], path);
	lc__dataset_close(dataset);
	free(path);
}
END_TEST

static const struct {
	struct label_file files[4];
	const char *labels;
	lc_status status;
	const char *text;
} refused[] = {
	{ { { "annotations/x.json", A_JSON }, { "y.json", A_JSON } }, NULL, LC_INVALID,
	  ": more than one COCO file: annotations/x.json, y.json; choose one with "
	  "--labels" },
	{ { { "y.json", "{}" } }, NULL, LC_INVALID, ": no COCO file among the JSON files "
	  "of the root and of annotations" },
	{ { { "y.json", A_JSON } }, "z.json", LC_NO_FILE,
	  "/z.json: open: No such file or directory" },
	{ { { "y.json", "{\"images\":[],\"annotations\":[]}" } }, NULL, LC_INVALID,
	  ": no frames of the layout 'coco'" },
	{ { { "y.json", "{\"images\":[{\"id\":1,\"file_name\":\"a.jpg\"},{\"id\":2,"
	    "\"file_name\":\"./a.jpg\"}],\"annotations\":[]}" } }, NULL, LC_INVALID,
	  ": two frames are named 'a.jpg': a.jpg and a.jpg" },
};

START_TEST(refused_roots)
{
	const char *root = label_root(refused[_i].files);
	struct lc__dataset *dataset = NULL;

	ck_assert_int_eq(lc__dataset_open(root, LC__LAYOUT_COCO, refused[_i].labels,
	    &dataset), refused[_i].status);
	ck_assert_mem_eq(lc_last_error()->text, root, strlen(root));
	ck_assert_str_eq(lc_last_error()->text + strlen(root), refused[_i].text);
}
END_TEST

/* ---- while it is open ---------------------------------------------------------- */

START_TEST(changed_file)
{
	const char *root = coco_root(forms[0]);
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_COCO, NULL);
	struct lc__label label;

	for (int i = 0; i < 2; i++) {
		label_file(root, "coco.json", "{}", i == 0 ? 2 : 0);
		label_read(dataset, root, 0, &label);
		ck_assert_int_eq(label.reason, LC__REJECT_UNPARSABLE);
		ck_assert_str_eq(label.detail,
		    "coco.json: was changed since it was listed");
		lc__label_free(&label);
	}
	lc__dataset_close(dataset);
}
END_TEST

/* ---- size ---------------------------------------------------------------------- */

enum { MANY = 20000 };

/* MANY images, those with odd ids have (id % 7) boxes; annotations stand image after
 * image in a stride of their own, with outlines that are larger than all else. */
static char *
write_many(const char *root, size_t *boxes, size_t *bytes)
{
	char *path = lc__path_join(root, "many.json");
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs("{\"info\":{},\"annotations\":[", f);
	*boxes = 0;
	for (int k = 0; k < MANY; k++) {
		const int id = (int)((long long)k * 7919 % MANY);
		for (int b = 0; id % 2 == 1 && b < id % 7; b++) {
			fprintf(f, "%s{\"id\":%zu,\"image_id\":%d,\"category_id\":%d,"
			    "\"bbox\":[%d,%d,5,5],\"segmentation\":[[",
			    *boxes > 0 ? ",\n" : "", *boxes, id, b, b, id % 40);
			for (int i = 0; i < 60; i++)
				fprintf(f, "%s%d.25", i > 0 ? "," : "", i * b);
			fputs("]]}", f);
			++*boxes;
		}
	}
	fputs("],\"images\":[", f);
	for (int k = 0; k < MANY; k++)
		fprintf(f, "%s{\"id\":%d,\"file_name\":\"%06d.jpg\",\"width\":100,"
		    "\"height\":50}", k > 0 ? "," : "", MANY - 1 - k, MANY - 1 - k);
	fputs("]}", f);
	*bytes = (size_t)ftell(f);
	fclose(f);
	return path;
}

/* Bytes allocated; 0 where the C library does not say. */
static size_t
heap_used(void)
{
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#endif
#endif
	return 0;
}

struct reading {
	const struct lc__dataset *dataset;
	uint64_t from;  /* the frame to begin with */
	size_t boxes;
	bool good;
};

static bool
is_right(const struct lc__label *label, const struct lc__frame *frame)
{
	const int id = atoi(frame->name);

	if (label->reason != LC__REJECT_NONE || label->frame_id != (uint64_t)id ||
	    label->n != (size_t)(id % 2 == 1 ? id % 7 : 0))
		return false;
	for (size_t b = 0; b < label->n; b++)
		if (label->boxes[b].class_id != (int64_t)b ||
		    label->boxes[b].px[0] != (double)b ||
		    label->boxes[b].px[3] != id % 40 + 5)
			return false;
	return true;
}

static void *
read_many(void *ctx)
{
	struct reading *r = ctx;
	struct lc__frame frame;
	struct lc__label label;

	r->good = true;
	for (uint64_t i = 0; i < MANY; i++) {
		lc__dataset_frame(r->dataset, (r->from + i) % MANY, &frame);
		if (lc__label_read(r->dataset, &frame, NULL, 0, &label) != LC_OK ||
		    !is_right(&label, &frame))
			r->good = false;
		r->boxes += label.n;
		lc__label_free(&label);
	}
	return NULL;
}

START_TEST(many_images)
{
	const char *root = run_scratch();
	size_t boxes, bytes;
	char *path = write_many(root, &boxes, &bytes);
	const size_t before = heap_used();
	struct lc__dataset *dataset = label_open(root, LC__LAYOUT_COCO, NULL);
	const size_t used = heap_used() - before;
	struct reading readings[2] = { { dataset, 0, 0, false },
		{ dataset, MANY / 2, 0, false } };
	pthread_t threads[2];

	ck_assert_uint_eq(lc__dataset_frames(dataset), MANY);
	printf("# %zu bytes of JSON, %zu boxes: %zu bytes of memory\n", bytes, boxes,
	    used);
	/* Under a sanitizer nothing is counted. */
	ck_assert_uint_lt(used, MANY * 120 + boxes * 16);
	ck_assert_uint_lt(used, bytes / 3);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_many,
		    &readings[i]), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		ck_assert(readings[i].good);
		ck_assert_uint_eq(readings[i].boxes, boxes);
	}
	lc__dataset_close(dataset);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("labels_coco");
	TCase *tc = tcase_create("labels_coco");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, same_in_all_forms);
	tcase_add_loop_test(tc, hashes_change, 0, LENGTH(changes));
	tcase_add_test(tc, class_names);
	tcase_add_test(tc, across_windows);
	tcase_add_loop_test(tc, one_image, 0, LENGTH(images));
	tcase_add_loop_test(tc, bad_annotations, 0, LENGTH(bad_ones));
	tcase_add_loop_test(tc, corrupt_files, 0, LENGTH(corrupt));
	tcase_add_test(tc, deep_file);
	tcase_add_loop_test(tc, image_places, 0, LENGTH(places));
	tcase_add_test(tc, absolute_labels);
	tcase_add_loop_test(tc, refused_roots, 0, LENGTH(refused));
	tcase_add_test(tc, changed_file);
	tcase_add_test(tc, many_images);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
