/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

void
lc__made_reject(struct lc__made *made, enum lc__reject reason, const char *detail)
{
	made->sample.reason = reason;
	if (detail != made->detail)
		snprintf(made->detail, sizeof(made->detail), "%.*s",
		    (int)sizeof(made->detail) - 1, detail);
	made->sample.detail = made->detail;
}

const char *
lc__frame_image(const struct lc__frame *frame, const struct lc__label *label)
{
	return label->image_path != NULL ? label->image_path : frame->image_path;
}

const char *
lc__frame_label(const struct lc__frame *frame)
{
	return frame->label_path != NULL ? frame->label_path : frame->image_path;
}

lc_status
lc__made_label(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	enum lc__infile_fate fate = LC__INFILE_GOOD;
	uint64_t start;
	lc_status status = LC_OK;

	made->sample.label_hash = frame->label_hash;
	if (frame->label_path != NULL)
		status = lc__maker_read(maker, made, frame->label_path,
		    LC__LABEL_MAX_BYTES, &made->sample.label, &fate);
	start = lc__clock_ns();
	if (status == LC_OK && fate == LC__INFILE_GOOD)
		status = lc__label_read(maker->making->dataset, frame,
		    frame->label_path != NULL ? maker->file.data : NULL,
		    maker->file.size, &made->label);
	lc__maker_let_go(maker);
	return_if_error(status);
	if (fate != LC__INFILE_GOOD) {
		lc__made_reject(made, fate == LC__INFILE_BAD ?
		    LC__REJECT_UNPARSABLE : LC__REJECT_UNREADABLE, made->detail);
		return LC_OK;
	}
	if (made->label.reason == LC__REJECT_NONE)
		lc__label_check(&made->label, lc__frame_label(frame), 0, 0);
	if (made->label.reason != LC__REJECT_NONE)
		lc__made_reject(made, made->label.reason, made->label.detail);
	made->ns[LC__PHASE_LABEL] += lc__clock_ns() - start;
	return LC_OK;
}

static lc_status
make_anew(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	struct lc__sample *s = &made->sample;
	uint64_t start;

	*s = (struct lc__sample){ .detail = "" };
	return_if_error(lc__made_label(maker, made, frame));
	if (s->reason == LC__REJECT_NONE)
		return_if_error(lc__made_image(maker, made, frame));
	if (s->reason != LC__REJECT_NONE)
		return LC_OK;
	start = lc__clock_ns();
	s->has_frame_id = made->label.has_frame_id;
	s->frame_id = made->label.frame_id;
	s->extra = (lc_id){ made->label.extra.data, made->label.extra.size };
	lc__sample_seal(s, (const char *)made->key.data);
	made->ns[LC__PHASE_STORE] += lc__clock_ns() - start;
	return LC_OK;
}

/* A frame that is rejected as it was before is not stored again. */
static bool
differs(const struct lc__made *made)
{
	lc_value *value;
	bool same;

	if (made->kept.about == NULL || made->sample.reason == LC__REJECT_NONE)
		return true;
	value = lc__sample_value(&made->sample);
	same = lc_value_equal(lc_value_find(value, LC__SAMPLE_ABOUT),
	    made->kept.about);
	lc_value_free(value);
	return !same;
}

static lc_status
run(struct lc__maker *maker, struct lc__made *made)
{
	struct lc__frame frame;

	lc__dataset_frame(maker->making->dataset, made->number, &frame);
	if (!lc__store_key(maker->making->store, frame.run, frame.name, &made->key))
		return lc__no_memory("build");
	return_if_error(lc__kept_find(maker, made, &frame));
	if (made->reused)
		return LC_OK;
	made->touched = false;
	return_if_error(make_anew(maker, made, &frame));
	made->put = differs(made);
	return LC_OK;
}

lc_status
lc__made_run(struct lc__maker *maker, struct lc__made *made)
{
	const lc_status status = run(maker, made);

	lc__maker_let_go(maker);
	return status;
}

void
lc__made_clear(struct lc__made *made)
{
	const struct lc__made kept = { .key = made->key, .planes = made->planes,
		.planes_room = made->planes_room, .boxes = made->boxes,
		.class_ids = made->class_ids, .clipped = made->clipped };

	lc_value_free(made->kept.about);
	lc__label_free(&made->label);
	*made = kept;
}

void
lc__made_free(struct lc__made *made)
{
	lc__made_clear(made);
	lc__buf_free(&made->key);
	lc__buf_free(&made->boxes);
	lc__buf_free(&made->class_ids);
	lc__buf_free(&made->clipped);
	free(made->planes);
}
