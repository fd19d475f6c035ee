/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of many records: their types, shapes and values. */
#ifndef CACHEX_REPORT_RECORD_FIELDS_H
#define CACHEX_REPORT_RECORD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "report/histogram.h"
#include "report/texts.h"
#include "value/moments.h"

/** Fields that are looked at; those met later are only counted. */
#define LC__RECORD_FIELDS 64
/** The children of a list that are looked at. */
#define LC__FIELD_CHILDREN 1000
/** The elements of a tensor that are looked at, spread evenly. */
#define LC__FIELD_ELEMENTS (1u << 18)
/** The numbers of a field that are kept for its histogram. */
#define LC__FIELD_NUMBERS (1u << 16)

/**
 * A part of the records of one path, kind, dtype and rank. The path has the names of maps, and
 * "*" for the children of lists, joined by dots: "boxes.*.score"; "" is the record.
 */
struct lc__record_field {
	char *path;
	lc_kind kind;
	lc_dtype dtype;           /* of tensors, */
	uint32_t ndim;            /* and their rank */
	uint64_t records, values; /* that have it, and how many there are in them */
	uint64_t last;            /* the record that had it last */

	uint64_t least[LC_MAX_NDIM],
	    most[LC_MAX_NDIM];      /* of each dimension of a tensor; the
	                                                   first of bytes or children */
	uint64_t elements;          /* of tensors, */
	bool some;                  /* of which not all were looked at */
	bool integers;              /* the numbers are integers */
	struct lc__moments numbers; /* looked at; of complex ones their absolute values */
	double *kept;               /* of the finite ones, spread evenly */
	size_t n_kept, kept_room;
	size_t kept_before;     /* n_kept when this record began */
	struct lc__texts texts; /* of strings */
};

struct lc__record_fields {
	struct lc__record_field *all; /* by path, of one in the order of their first */
	size_t n, room;
	uint64_t records; /* looked at */
	size_t share;     /* numbers of a field kept of a record */
	uint64_t others;  /* parts that were met when there were too many fields */
};

/** For about @p records records. */
void lc__record_fields_init(struct lc__record_fields *fields, uint64_t records);
/** Look at the next record. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__record_fields_add(struct lc__record_fields *fields,
    const lc_value *value);
/** The same for a record that is a tensor. */
LC_CHECKED lc_status lc__record_fields_add_tensor(struct lc__record_fields *fields,
    const lc_tensor *tensor);
/** After the last record: order the fields by path, and their texts. */
void lc__record_fields_end(struct lc__record_fields *fields);
/** How many of the records have nothing at the path of field @p i. */
uint64_t lc__record_fields_missing(const struct lc__record_fields *fields, size_t i);
/**
 * The histogram of the numbers of a field: bins of whole numbers for integers. Where few
 * numbers are far away from all others, these are outside of the bins.
 * @return false if there are not two different numbers. LC_NO_MEMORY counts as that.
 */
bool lc__record_field_histogram(const struct lc__record_field *field,
    struct lc__histogram *out);
/** Its type, "f32[3,64..512,*]": sizes that differ as the least and the most of them. */
void lc__record_field_type(const struct lc__record_field *field, char *out, size_t room);
void lc__record_fields_free(struct lc__record_fields *fields);

#endif
