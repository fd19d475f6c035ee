/* SPDX-License-Identifier: BSD-2-Clause */
/* What a small picture of a record shows. */
#ifndef CACHEX_REPORT_PREVIEW_H
#define CACHEX_REPORT_PREVIEW_H

#include <stdbool.h>

#include "base/buf.h"
#include "draw/picture.h"
#include "image/tensor_image.h"
#include "lmdbcache.h"

enum lc__preview_kind { LC__PREVIEW_IMAGE, LC__PREVIEW_HEAT, LC__PREVIEW_TEXT };

/** What to show: of a map, a list or a tuple its first image, else its first tensor,
 *  else the value as text. */
struct lc__preview {
	enum lc__preview_kind kind;
	bool of_tensor;             /* `tensor` and `path` are set */
	lc_tensor tensor;           /* borrowed from the value */
	struct lc__image_form form; /* if `kind` is LC__PREVIEW_IMAGE */
	/* Path of the tensor, ended by a NUL; "" if the record itself is the tensor. */
	struct lc__buf path;
	struct lc__buf text; /* the text; UTF-8 if the record's bytes are */
	char note[800];      /* the type; after two blanks the path, if there is one */
};

/** Extend the path of a value by its child @p i: the name in a map, else the number. */
void lc__preview_path_add(struct lc__buf *path, const lc_value *value, size_t i);
/**
 * Choose what to show of a tensor. Few numbers, and elements that are not numbers, are
 * shown as text.
 * @param heat  show an image as a heat map, too
 * @param out   borrows the tensor's data; free with lc__preview_free(), also after a
 *              failure
 * @return LC_OK; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__preview_of_tensor(const lc_tensor *tensor, const char *path,
    bool heat, struct lc__preview *out);
/** Choose what to show of a value, which must outlive the use of @p out. */
LC_CHECKED lc_status lc__preview_of_value(const lc_value *value, bool heat,
    struct lc__preview *out);
/**
 * Draw an image or a heat map; the picture gets the size of the drawing.
 * @param picture  a picture without a size
 * @param side     most pixels of the longer side
 */
LC_CHECKED lc_status lc__preview_draw(const struct lc__preview *preview, uint32_t side,
    struct lc__picture *picture);
/**
 * The image that a contact sheet shows of a record, reduced to sides of @p side pixels.
 * @param out  free with lc__pixels_free(); its width is 0 for a record without an image
 */
LC_CHECKED lc_status lc__preview_image(lc_cache *cache, lc_id id, uint32_t side,
    struct lc__pixels *out);

void lc__preview_free(struct lc__preview *preview);

#endif
