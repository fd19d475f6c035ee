/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the fields of many records: their types, shapes and values. */
#ifndef CACHEX_REPORT_RECORD_FIELDS_H
#define CACHEX_REPORT_RECORD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "report/histogram.h"
#include "report/texts.h"
#include "value/moments.h"

/** The most fields that are counted; later ones only add to `others`. */
#define LC__RECORD_FIELDS 64
/** The most children of a list that are read. */
#define LC__FIELD_CHILDREN 1000
/** About the most elements of a tensor that are read, spread evenly. */
#define LC__FIELD_ELEMENTS (1u << 18)
/** The most numbers of a field that are kept for its histogram. */
#define LC__FIELD_NUMBERS (1u << 16)

/**
 * The values at one path in the records that have one kind, dtype and rank. A path
 * joins the names of maps by dots, with "*" for the children of lists: "boxes.*.score".
 * The path of a record itself is "".
 */
struct lc__record_field {
	char *path;
	lc_kind kind;
	lc_dtype dtype; /* of tensors */
	uint32_t ndim;  /* rank, of tensors */
	/* Records with the field; its values in all of them. */
	uint64_t records, values;
	uint64_t last; /* number of the last record that had the field */

	/* Least and greatest size of each dimension of tensors; for bytes and lists,
	 * the first element has the number of bytes or children. */
	uint64_t least[LC_MAX_NDIM], most[LC_MAX_NDIM];
	uint64_t elements; /* elements of all tensors */
	bool some;         /* not all elements of some tensor were read */
	bool integers;     /* all numbers are integers */
	/* Of the numbers read; of the absolute values of complex ones. */
	struct lc__moments numbers;
	/* Finite numbers for the histogram, some of each record. */
	double *kept;
	size_t n_kept, kept_room;
	size_t kept_before;     /* n_kept before the current record */
	struct lc__texts texts; /* the strings */
};

struct lc__record_fields {
	/* In the order met; by path after lc__record_fields_end(). */
	struct lc__record_field *all;
	size_t n, room;
	uint64_t records; /* number of records read */
	size_t share;     /* most numbers kept from one field of one record */
	/* Values whose field was not counted, as there were too many. */
	uint64_t others;
};

/** Begin; about @p records records will follow. */
void lc__record_fields_init(struct lc__record_fields *fields, uint64_t records);
/** Count the fields of the next record. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__record_fields_add(struct lc__record_fields *fields,
    const lc_value *value);
/** Count the next record, which is a tensor. */
LC_CHECKED lc_status lc__record_fields_add_tensor(struct lc__record_fields *fields,
    const lc_tensor *tensor);
/** Call after the last record: sorts the fields by path, and the texts of each. */
void lc__record_fields_end(struct lc__record_fields *fields);
/** How many records have no value at the path of field @p i. */
uint64_t lc__record_fields_missing(const struct lc__record_fields *fields, size_t i);
/**
 * The histogram of the numbers of a field. The edges of its bins are integers if the
 * numbers are. If few numbers are far away from all others, they are outside of the
 * bins.
 * @return false if there are not two different numbers, or no memory.
 */
bool lc__record_field_histogram(const struct lc__record_field *field,
    struct lc__histogram *out);
/** Write the type of a field, "f32[3,64..512,*]"; a size that varies is written as its
 *  least and greatest value. */
void lc__record_field_type(const struct lc__record_field *field, char *out, size_t room);
void lc__record_fields_free(struct lc__record_fields *fields);

#endif
