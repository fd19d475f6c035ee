/* SPDX-License-Identifier: BSD-2-Clause */
/* What the module has of a frame, and whether the frame's files are still the same. */
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "build/made.h"
#include "warehouse/sources.h"

/* Compare the content of a file with a note, which gets its new time. */
static lc_status
same_content(struct lc__maker *maker, struct lc__made *made,
    struct lc__source_note *note, bool *same)
{
	const char *path = note->path;
	const uint64_t size = note->size, hash[2] = { note->hash[0], note->hash[1] };
	enum lc__infile_fate fate;
	lc_status status;

	status = lc__maker_read(maker, made, path, size, note, &fate);
	lc__maker_let_go(maker);
	*same = status == LC_OK && fate == LC__INFILE_GOOD &&
	    note->size == size && note->hash[0] == hash[0] &&
	    note->hash[1] == hash[1];
	return status;
}

/**
 * Does the file of a note stand there with the same content? @p seen_ns is a later
 * time at which it did, 0 for none; it becomes the present one if the file was read.
 */
static lc_status
stands(struct lc__maker *maker, struct lc__made *made,
    struct lc__source_note *note, int64_t *seen_ns, bool *same)
{
	struct stat st;
	int64_t mtime;

	*same = fstatat(maker->making->root, note->path, &st, 0) == 0 &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size == note->size;
	if (!*same)
		return LC_OK;
	mtime = lc__sources_mtime(&st);
	if (!maker->making->rehash && ((note->settled && mtime == note->mtime_ns) ||
	        (*seen_ns != 0 && mtime == *seen_ns))) {
		note->mtime_ns = mtime;
		note->settled = true;
		return LC_OK;
	}
	return_if_error(same_content(maker, made, note, same));
	if (*same && note->settled && *seen_ns != note->mtime_ns) {
		made->touched = true;
		*seen_ns = note->mtime_ns;
	}
	return LC_OK;
}

lc_status
lc__kept_image(struct lc__maker *maker, struct lc__made *made, const char *path,
    bool *same)
{
	struct lc__kept *kept = &made->kept;

	*same = kept->any && kept->sample.image.path != NULL &&
	    strcmp(kept->sample.image.path, path) == 0;
	if (!*same)
		return LC_OK;
	if (!kept->image_looked)
		return_if_error(stands(maker, made, &kept->sample.image,
		    &kept->seen.image_ns, &kept->image_same));
	kept->image_looked = true;
	*same = kept->image_same;
	return LC_OK;
}

/* Whether the label is where it was, and what it was. */
static lc_status
same_label(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame, bool *same)
{
	struct lc__source_note *note = &made->kept.sample.label;

	*same = made->kept.sample.label_hash == frame->label_hash &&
	    (note->path != NULL) == (frame->label_path != NULL);
	if (!*same || note->path == NULL)
		return LC_OK;
	*same = strcmp(note->path, frame->label_path) == 0;
	return *same ? stands(maker, made, note, &made->kept.seen.label_ns, same) :
	    LC_OK;
}

/* The frame's image is where it was, as far as that is not the label's to say, and
 * what it was, as far as it mattered. */
static lc_status
same_image(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame, bool *same)
{
	const char *path = made->kept.sample.image.path;

	*same = true;
	if (path == NULL)
		return LC_OK;
	return lc__kept_image(maker, made,
	    frame->image_path != NULL ? frame->image_path : path, same);
}

lc_status
lc__kept_find(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	const struct lc__store *store = maker->making->store;
	const char *key = (const char *)made->key.data;
	struct lc__kept *kept = &made->kept;
	bool same = false;

	return_if_error(lc__store_get(store, key, &kept->about));
	kept->any = kept->about != NULL &&
	    lc__sample_read(kept->about, &kept->sample) &&
	    !lc__sample_is_passing(&kept->sample);
	if (!kept->any)
		return LC_OK;
	return_if_error(lc__store_seen(store, key, &kept->seen));
	return_if_error(same_label(maker, made, frame, &same));
	if (same)
		return_if_error(same_image(maker, made, frame, &same));
	made->reused = same;
	if (same)
		made->sample = kept->sample;
	return LC_OK;
}
