/* SPDX-License-Identifier: BSD-2-Clause */
/* Labelled datasets on disk: images that follow from a seed, labels, times. */
#ifndef T_DATASET_H
#define T_DATASET_H

#include <stddef.h>
#include <stdint.h>

/** A file with this text, its directories made. */
void dataset_file(const char *path, const char *text);
/** An RGB image; a path that ends in ".png" is a PNG, else a JPEG. */
void dataset_image(const char *path, uint32_t width, uint32_t height,
    uint64_t seed);

/** A JPEG whose EXIF data have this orientation. */
void dataset_turned(const char *path, uint32_t width, uint32_t height,
    uint64_t seed, unsigned orientation);

/** A frame in the capture layout, ROOT/RUN/labels/fN.json and
 *  ROOT/RUN/images/fN.png: @p boxes boxes, an image that follows from @p seed. */
void dataset_frame(const char *root, const char *run, unsigned n,
    uint32_t width, uint32_t height, unsigned boxes, uint64_t seed);
/** The path of its label or image; in a few buffers that are used in turn. */
const char *dataset_label(const char *root, const char *run, unsigned n);
const char *dataset_picture(const char *root, const char *run, unsigned n);

/**
 * Two runs, "a" and "b", of @p frames frames each, of several sizes; every fifth
 * has no boxes. All times are set back by dataset_settle().
 */
void dataset_make(const char *root, unsigned frames);
/** Set the times of all files below back to one hour of the past, as if nobody had
 *  touched them since, and those of directories to another one. */
void dataset_settle(const char *root);

#endif
