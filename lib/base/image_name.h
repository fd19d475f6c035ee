/* SPDX-License-Identifier: BSD-2-Clause */
/* Which files are images, as far as the name tells: the kinds that are read, and other
 * kinds, which are ignored, counted and named. */
#ifndef LC_BASE_IMAGE_NAME_H
#define LC_BASE_IMAGE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/**
 * True for a name of @p size bytes that ends in .jpg, .jpeg, .png, .webp, .tif or .tiff,
 * in any case. This does not depend on the formats of this build: an image that it cannot
 * decode is an error, not a file to leave out.
 */
bool lc__is_image_name(const char *name, size_t size);

/** The same for a name that ends with a NUL; also for kinds that are not read. */
bool lc__is_any_image_name(const char *name);

/** Endings that can be counted apart. */
#define LC__IMAGE_ENDINGS 32

/** Images in formats that are not read, counted by extension. All zero if there are none. */
struct lc__images_ignored {
	uint64_t n;
	uint64_t by_ending[LC__IMAGE_ENDINGS];
};

/** Count @p name if it is an image of a kind that is not read; returns whether it is. */
bool lc__images_ignored_add(struct lc__images_ignored *ignored, const char *name);

/** The ending that by_ending[i] counts, ".gif"; NULL after the last. */
const char *lc__images_ignored_ending(size_t i);

/** Append "ignored 12 images of kinds that are not read: 2 .gif, 10 .webp", the endings
 *  in alphabetical order. */
void lc__images_ignored_text(const struct lc__images_ignored *ignored,
    struct lc__buf *out);

#endif
