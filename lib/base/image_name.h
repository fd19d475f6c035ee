/* SPDX-License-Identifier: BSD-2-Clause */
/* Which files are images, as far as their names tell. */
#ifndef LC_BASE_IMAGE_NAME_H
#define LC_BASE_IMAGE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/**
 * True for a name of @p size bytes that ends in .jpg, .jpeg, .png, .webp, .tif or
 * .tiff, in any case. The answer is the same whether or not this build decodes the
 * format: what it cannot decode is an error that is told, not a file that is left out.
 */
bool lc__is_image_name(const char *name, size_t size);

#endif
