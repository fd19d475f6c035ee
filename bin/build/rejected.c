/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/rejected.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "build/counting.h"

/* The list being written, line by line. */
struct reject_list {
	FILE *out;              /* NULL: nowhere */
	struct lc__sha256 *sha;
	struct lc__buf key;
};

static void
put_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s\"%s\":", strcmp(name, "run") == 0 ? "{" : ",", name);
	if (text != NULL)
		lc__json_string(out, text, strlen(text));
	else
		fputs("null", out);
}

static lc_status
make_line(const struct lc__frame *frame, const struct lc__sample *s,
    enum lc__reject reason, struct lc__buf *text)
{
	FILE *out = lc__buf_stream(text);
	struct lc__label label;

	if (out == NULL)
		return lc__no_memory("build");
	put_member(out, "run", frame->run);
	put_member(out, "name", frame->name);
	put_member(out, "label", frame->label_path);
	put_member(out, "image", s->image.path != NULL ? s->image.path :
	    s->wanted != NULL ? s->wanted : frame->image_path);
	put_member(out, "reason", lc__reject_name(reason));
	put_member(out, "detail", lc__counting_detail(s, &label));
	fputs("}\n", out);
	if (!lc__buf_stream_end(out, text))
		return lc__no_memory("build");
	return LC_OK;
}

static lc_status
put_line(struct reject_list *list, const struct lc__frame *frame,
    const struct lc__sample *s, enum lc__reject reason)
{
	struct lc__buf text = { 0 };
	lc_status status = make_line(frame, s, reason, &text);

	if (status == LC_OK)
		status = lc__sha256_update(list->sha, text.data, text.size);
	/* Whether it was written is asked at the end. */
	if (status == LC_OK && list->out != NULL)
		fwrite(text.data, 1, text.size, list->out);
	lc__buf_free(&text);
	return status;
}

static lc_status
put_frame(struct reject_list *list, const struct lc__samples *samples, uint64_t i)
{
	lc_value *about = NULL;
	struct lc__sample s;
	struct lc__frame frame;
	lc_status status;

	lc__dataset_frame(samples->dataset, i, &frame);
	if (!lc__store_key(samples->store, frame.run, frame.name, &list->key))
		return lc__no_memory("build");
	return_if_error(lc__store_get(samples->store,
	    (const char *)list->key.data, &about));
	if (about != NULL && lc__sample_read(about, &s))
		status = put_line(list, &frame, &s,
		    lc__counting_fate(samples->recipe, &s));
	else
		status = lc__error(LC_CORRUPT, 0, "key %s: was stored and is not "
		    "there", lc__quote_id(list->key.data, list->key.size - 1));
	lc_value_free(about);
	return status;
}

/* Both are in the order of the frames. */
static lc_status
put_all(struct reject_list *list, const struct lc__samples *samples)
{
	const uint64_t frames = lc__dataset_frames(samples->dataset);
	uint64_t row = 0;

	for (uint64_t i = 0; i < frames; i++) {
		if (row < samples->n && samples->rows[row].frame == i)
			row++;
		else
			return_if_error(put_frame(list, samples, i));
	}
	return LC_OK;
}

static lc_status
finish(struct reject_list *list, const char *path)
{
	const bool good = !ferror(list->out) && fflush(list->out) == 0 &&
	    fsync(fileno(list->out)) == 0;
	const int sys = errno;

	return good ? LC_OK : lc__error_sys(sys != 0 ? sys : EIO, "%s: write", path);
}

lc_status
lc__rejected_write(const struct lc__samples *samples, const char *path,
    char sha256[65])
{
	struct reject_list list = { .out = NULL };
	lc_status status = lc__sha256_new(&list.sha);

	if (status != LC_OK)
		status = lc__error_prefix("build");
	if (status == LC_OK && path != NULL &&
	    ((unlink(path) == -1 && errno != ENOENT) ||
	        (list.out = lc__fopen(path, "wxe")) == NULL))
		status = lc__error_sys(errno, "%s: create", path);
	if (status == LC_OK)
		status = put_all(&list, samples);
	if (status == LC_OK)
		status = lc__sha256_hex(list.sha, sha256);
	if (status == LC_OK && list.out != NULL)
		status = finish(&list, path);
	if (list.out != NULL)
		fclose(list.out);
	lc__sha256_free(list.sha);
	lc__buf_free(&list.key);
	return status;
}
