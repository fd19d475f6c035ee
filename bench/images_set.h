/* SPDX-License-Identifier: BSD-2-Clause */
/* Photographs as files of a labelled dataset. */
#ifndef BENCH_IMAGES_SET_H
#define BENCH_IMAGES_SET_H

#include <stddef.h>
#include <stdint.h>

enum image_size {
	IMAGES_HALF,        /* shrunk to 0.5 MP, quality 90, chroma halved */
	IMAGES_12,          /* nearest to 12 MP, the same coefficients as one scan */
	IMAGES_12_AS_STORED /* the same files as they are */
};

/** Files in the capture layout, with three boxes each. */
struct image_set {
	char root[4200];   /* of the dataset */
	char **paths;      /* of the images, n of them */
	unsigned n;
	unsigned distinct; /* the first ones; the others repeat them in turn */
	uint64_t bytes, pixels; /* of all images */
};

/**
 * Write a dataset of @p files images made of the photographs in @p photographs
 * (*.jpg of three colours that are stored upright). n is 0 if there are none for it.
 */
void image_set_make(struct image_set *set, enum image_size size,
    const char *photographs, const char *root, unsigned files);
void image_set_free(struct image_set *set);

/** A whole file in memory that is used again. */
struct image_file {
	unsigned char *bytes;
	size_t size, room;
};

/** Read it; ends the program if that fails. */
void image_file_read(struct image_file *file, const char *path);

#endif
