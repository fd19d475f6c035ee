/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sizes of many images, one after another: from image files, of which only the
 * headers are read, and directories of them; from JSON lines; or as they are given.
 * Memory does not grow with their number.
 */
#ifndef CACHEX_CMD_BUCKETS_SIZES_H
#define CACHEX_CMD_BUCKETS_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/image_name.h"
#include "lmdbcache.h"

/** Names of the members of JSON objects. */
struct image_sizes_fields {
	const char *width, *height; /* whole numbers, 1 to 2^32 - 1 */
	const char *name;           /* a string; may be missing */
};

/** Called for each image; an exit status: anything but EXIT_DONE ends the reading. */
typedef int image_size_fn(void *ctx, const char *name, uint32_t width, uint32_t height);

/** Zeros but for what the caller sets. */
struct image_sizes {
	struct image_sizes_fields fields; /* set by the caller */
	bool ignore_orientation, null;    /* and lists end their items with a NUL byte */
	bool keep_going;                  /* after files that the system refuses */
	image_size_fn *fn;
	void *ctx;
	uint64_t good;                     /* images */
	uint64_t bad;                      /* other files and lines: reported */
	uint64_t unreadable;               /* files without permission to read */
	struct lc__images_ignored ignored; /* in directories */
	uint64_t bytes;                    /* that were read */
	struct lc__buf head, name;         /* scratch */
};

/**
 * The images of an operand: "1920x1080", an image, a directory, a file of JSON lines,
 * or "-" for the items of standard input. Reports; an exit status, EXIT_DONE also with
 * bad files.
 */
int image_sizes_operand(struct image_sizes *sizes, const char *operand);

/** Each line of a file ("-": standard input): such an operand, or a JSON object. */
int image_sizes_list(struct image_sizes *sizes, const char *path);

void image_sizes_free(struct image_sizes *sizes);

#endif
