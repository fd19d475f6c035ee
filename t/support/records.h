/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of a JSONL file as other programs write them, awkward ones among them, and
 * what a migration to version 2 is to make of each: a generator that knows both, since
 * it puts the lines together from parts.
 */
#ifndef T_RECORDS_H
#define T_RECORDS_H

#include <stdbool.h>

#include "base/buf.h"

#define RECORDS_DIMS_MAX 1024

/** Set random and dims; the rest zero. */
struct records {
	uint64_t random;      /* the seed */
	unsigned dims;        /* elements of an array */
	bool plain;           /* no bad lines, blank lines, missing arrays, equal names */
	uint64_t line;        /* made so far */
	void *ids;            /* tree of those given */
};

enum records_kind {
	RECORDS_GOOD,
	RECORDS_MISSING,      /* good, without an array */
	RECORDS_V2,           /* is of version 2 already */
	RECORDS_BAD,
	RECORDS_BLANK
};

struct records_line {
	enum records_kind kind;
	struct lc__buf v1, v2;   /* with their ends; equal for those that stay */
	char id[400];            /* image_id, for the first three kinds */
	bool longer;             /* it is not the simplest one */
	unsigned width, height;
	float values[RECORDS_DIMS_MAX]; /* for RECORDS_GOOD */
};

/** The next line; @p out is zero, or was used before. */
void records_next(struct records *records, struct records_line *out);
/** A last line that ends too early. */
void records_cut(struct records *records, struct records_line *out);
void records_line_free(struct records_line *line);
void records_free(struct records *records);

#endif
