/* SPDX-License-Identifier: BSD-2-Clause */
/* The label of a frame: its boxes, or why it does not become a sample. */
#ifndef CACHEX_LABELS_LABEL_H
#define CACHEX_LABELS_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/summary.h"
#include "lmdbcache.h"

/** The numbers index counts, and reports contain the names: neither may change. */
enum lc__reject {
	LC__REJECT_NONE = 0,    /* the frame is a sample */
	LC__REJECT_BLANK_IMAGE, /* the label names no image, or says that there is none */
	LC__REJECT_NO_FILE,     /* the image file is missing */
	LC__REJECT_UNREADABLE,  /* the label file cannot be read */
	LC__REJECT_UNPARSABLE,  /* the label does not match its layout */
	LC__REJECT_NO_LABELS,   /* an empty frame, if empty ones are left out */
	LC__REJECT_NO_BOX,      /* a label without a box */
	LC__REJECT_NOT_FINITE,  /* a coordinate is NaN, infinite or too large */
	LC__REJECT_OUT_OF_RANGE,  /* a box reaches outside of the image */
	LC__REJECT_MIN_MAX,       /* a box whose minimum is not below its maximum */
	LC__REJECT_UNDECODABLE,   /* the image is damaged, too large or unknown */
	LC__REJECT_SIZE_MISMATCH, /* the label is of an image of another size */
	LC__REJECT_UNKNOWN_CLASS, /* a class that is not among those of the dataset */
	LC__REJECTS
};

/** "blank_image" and so on; NULL for any other number. */
const char *lc__reject_name(enum lc__reject reason);
/** The reason of this name; LC__REJECTS if there is none. */
enum lc__reject lc__reject_parse(const char *name);
/**
 * The counter of a summary that a frame falls under: missing_image for
 * BLANK_IMAGE, missing_file for NO_FILE, empty for NO_LABELS, else invalid.
 * @p reason is not NONE.
 */
uint64_t *lc__reject_counter(struct lc__counts *counts, enum lc__reject reason);

/** One box, as its label has it. */
struct lc__label_box {
	bool has_norm, has_px;
	double norm[4]; /* x0, y0, x1, y1, of the image's width and height */
	/* The same in pixels of the source image, from 0; x1 and y1 are after the last
	 * pixel. */
	double px[4];
	double tolerance;    /* how far norm may reach outside; it is then clamped */
	double tolerance_px; /* how far px may reach outside */
	int64_t class_id;    /* -1 if it has none */
	bool filtered;       /* a class map drops it; it is checked all the same */
};

/** A label that was read. It owns its memory. */
struct lc__label {
	enum lc__reject reason; /* NONE, or why the other members are empty */
	char detail[512];       /* one line that names the file and what is wrong */
	/* Relative to the root, below it, without "." and "..". */
	char *image_path;
	bool has_frame_id;
	uint64_t frame_id;
	/* Size of the image according to the label; 0 if the label does not have it. */
	uint32_t width, height;
	struct lc__label_box *boxes;
	size_t n, room;
	/* Names by class id (NULL if an id has none), or NULL if the layout has none.
	 * Borrowed from the dataset. */
	char **classes;
	size_t n_classes;
	struct lc__buf extra; /* a MessagePack map of its other members, in the order of
	                       * the file; empty if there are none. Its member `labels`,
	                       * if any box has other members, is a list with a map for
	                       * each box */
};

void lc__label_free(struct lc__label *label);

/* ---- for the readers of layouts ------------------------------------------------- */

/**
 * Say why the frame is not a sample: "FILE: TEXT", as one line of UTF-8, and drop its
 * boxes and extra. The start of a very long FILE is left out.
 * @return LC_OK, so that a reader can write `return lc__label_reject(...)`
 */
lc_status lc__label_reject(struct lc__label *label, enum lc__reject reason,
    const char *file, const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Remove the boxes and the metadata. */
void lc__label_free_boxes(struct lc__label *label);

/** Append a new box, zero except for class_id -1; NULL without memory. */
struct lc__label_box *lc__label_add(struct lc__label *label);

/**
 * Set the path of the image: @p path as the label has it, below @p dir, both
 * from the root. An absolute path, or one that leaves the root, is a rejection.
 */
LC_CHECKED lc_status lc__label_image(struct lc__label *label, const char *file,
    const char *dir, const char *path);

/**
 * Check a label that was read against the size of its image, and leave boxes in
 * source pixels: every norm and px box is finite, in range within its tolerance
 * and clamped, has min < max; where both are there both are checked, and that
 * they are of one image (within 2 pixels or 1 % of the side). Sets px of every
 * box (norm decides where both are there) and reason and detail of what is wrong.
 * Before the image is decoded, with width and height 0, it checks what needs no
 * size.
 * @param name  of the file, for detail: label_path, or image_path where it is NULL
 */
void lc__label_check(struct lc__label *label, const char *name, uint32_t width,
    uint32_t height);

#endif
