/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a frame of a labelled dataset does not become a sample. */
#ifndef CACHEX_LABELS_REJECT_H
#define CACHEX_LABELS_REJECT_H

#include "format/summary.h"

/** The numbers index counts; the names stand in reports and stay as they are. */
enum lc__reject {
	LC__REJECT_NONE = 0,    /* it is a sample */
	LC__REJECT_BLANK_IMAGE, /* the label names no image, or says that there is none */
	LC__REJECT_NO_FILE,     /* the image file is not there */
	LC__REJECT_UNREADABLE,  /* the label file cannot be read */
	LC__REJECT_UNPARSABLE,  /* the label is not what its layout demands */
	LC__REJECT_NO_LABELS,   /* an empty frame, where empty ones are passed over */
	LC__REJECT_NO_BOX,      /* a label without a box */
	LC__REJECT_NOT_FINITE,  /* a coordinate is NaN, infinite or too large */
	LC__REJECT_OUT_OF_RANGE, /* a box reaches outside of the image */
	LC__REJECT_MIN_MAX,      /* a box whose minimum is not below its maximum */
	LC__REJECT_UNDECODABLE,  /* the image is damaged, too large or of no known kind */
	LC__REJECT_SIZE_MISMATCH, /* the label is of an image of another size */
	LC__REJECT_UNKNOWN_CLASS, /* a class that is not among those of the dataset */
	LC__REJECTS
};

/** "blank_image" and so on; NULL for a number that is none. */
const char *lc__reject_name(enum lc__reject reason);
/** The reason of this name; LC__REJECTS if there is none. */
enum lc__reject lc__reject_parse(const char *name);
/**
 * The counter of a summary that a frame falls under: missing_image for
 * BLANK_IMAGE, missing_file for NO_FILE, empty for NO_LABELS, else invalid.
 * @p reason is not NONE.
 */
uint64_t *lc__reject_counter(struct lc__counts *counts, enum lc__reject reason);

#endif
