/* SPDX-License-Identifier: BSD-2-Clause */
#include "label_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/mpack.h"
#include "run.h"

void
label_file(const char *root, const char *path, const void *bytes, size_t size)
{
	char *full = lc__path_join(root, path);
	char *slash = strrchr(full, '/');
	FILE *f;

	*slash = '\0';
	ck_assert_int_eq(lc__make_dirs(full), LC_OK);
	*slash = '/';
	f = fopen(full, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
	fclose(f);
	free(full);
}

static void
make_dir(const char *root, const char *path)
{
	char *full = lc__path_join(root, path);

	ck_assert_int_eq(lc__make_dirs(full), LC_OK);
	free(full);
}

const char *
label_root(const struct label_file *files)
{
	const char *root = run_scratch();

	for (; files->path != NULL; files++)
		if (files->text == NULL)
			make_dir(root, files->path);
		else
			label_file(root, files->path, files->text,
			    strlen(files->text));
	return root;
}

struct lc__dataset *
label_open(const char *root, enum lc__label_layout layout, const char *labels)
{
	struct lc__dataset *dataset;
	const lc_status status = lc__dataset_open(root, layout, labels, &dataset);

	ck_assert_msg(status == LC_OK, "%s", lc_last_error()->text);
	return dataset;
}

/* The text of a stream that is closed here. */
static char *
finish(FILE *out, char **text)
{
	fclose(out);
	return *text;
}

char *
label_frames(const struct lc__dataset *dataset)
{
	struct lc__frame f;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint64_t i = 0; i < lc__dataset_frames(dataset); i++) {
		lc__dataset_frame(dataset, i, &f);
		fprintf(out, "%s|%s|%s|%s\n", f.run, f.name,
		    f.label_path != NULL ? f.label_path : "-",
		    f.image_path != NULL ? f.image_path : "-");
	}
	return finish(out, &text);
}

char *
label_list(const char *const *items, size_t n)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s,", items[i]);
	return finish(out, &text);
}

void
label_read(const struct lc__dataset *dataset, const char *root, uint64_t i,
    struct lc__label *out)
{
	struct lc__buf bytes = { 0 };
	struct lc__frame frame;
	char *path;

	lc__dataset_frame(dataset, i, &frame);
	if (frame.label_path != NULL) {
		path = lc__path_join(root, frame.label_path);
		ck_assert_int_eq(lc__read_file(path, LC__LABEL_MAX_BYTES, &bytes),
		    LC_OK);
		free(path);
	}
	ck_assert_int_eq(lc__label_read(dataset, &frame, bytes.data, bytes.size,
	    out), LC_OK);
	lc__buf_free(&bytes);
}

/* ---- MessagePack --------------------------------------------------------------- */

static void put_next(struct lc__tokens *in, FILE *out);

static void
put_members(struct lc__tokens *in, uint32_t n, bool map, FILE *out)
{
	putc(map ? '{' : '[', out);
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			putc(',', out);
		put_next(in, out);
		if (map) {
			putc(':', out);
			put_next(in, out);
		}
	}
	putc(map ? '}' : ']', out);
}

static void
put_float(uint64_t bits, FILE *out)
{
	char text[40];
	double v;

	memcpy(&v, &bits, sizeof(v));
	snprintf(text, sizeof(text), "%.17g", v);
	fprintf(out, "%s%s", text, strpbrk(text, ".ein") == NULL ? ".0" : "");
}

static void
put_next(struct lc__tokens *in, FILE *out)
{
	struct lc__mpack_token t;

	ck_assert(lc__token_next(in, &t));
	if (t.kind == LC__TOKEN_NIL)
		fputs("null", out);
	else if (t.kind == LC__TOKEN_BOOLEAN)
		fputs(t.number ? "true" : "false", out);
	else if (t.kind == LC__TOKEN_UINT)
		fprintf(out, "%llu", (unsigned long long)t.number);
	else if (t.kind == LC__TOKEN_NEGATIVE)
		fprintf(out, "%lld", (long long)t.number);
	else if (t.kind == LC__TOKEN_FLOAT)
		put_float(t.number, out);
	else if (t.kind == LC__TOKEN_STR)
		fprintf(out, "\"%.*s\"", (int)t.size, (const char *)t.bytes);
	else if (t.kind == LC__TOKEN_ARRAY || t.kind == LC__TOKEN_MAP)
		put_members(in, t.size, t.kind == LC__TOKEN_MAP, out);
	else
		ck_abort_msg("a token of kind %d", (int)t.kind);
}

char *
label_json(const void *bytes, size_t size)
{
	struct lc__tokens in = { bytes, (const unsigned char *)bytes + size };
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	put_next(&in, out);
	ck_assert_ptr_eq(in.at, in.end);
	return finish(out, &text);
}

/* ---- labels -------------------------------------------------------------------- */

static void
put_box(const struct lc__label_box *box, bool px, FILE *out)
{
	const double *v = px ? box->px : box->norm;

	fprintf(out, " [%.9g %.9g %.9g %.9g", v[0], v[1], v[2], v[3]);
	if (box->class_id != -1)
		fprintf(out, " #%lld", (long long)box->class_id);
	putc(']', out);
}

char *
label_text(struct lc__label *label, const char *name, uint32_t width,
    uint32_t height)
{
	char *text, *extra;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	lc__label_check(label, name, 0, 0);
	lc__label_check(label, name, width, height);
	if (label->reason != LC__REJECT_NONE) {
		ck_assert_uint_eq(label->n, 0);
		fprintf(out, "%s: %s", lc__reject_name(label->reason),
		    label->detail);
		return finish(out, &text);
	}
	fputs(label->image_path, out);
	if (label->has_frame_id)
		fprintf(out, " %llu", (unsigned long long)label->frame_id);
	for (size_t i = 0; i < label->n; i++)
		put_box(&label->boxes[i], width != 0, out);
	if (label->extra.size > 0) {
		extra = label_json(label->extra.data, label->extra.size);
		fprintf(out, " %s", extra);
		free(extra);
	}
	return finish(out, &text);
}
