/* SPDX-License-Identifier: BSD-2-Clause */
/* The length of a record: the first axis of one of its tensors. */
#ifndef LC_STORE_LENGTH_H
#define LC_STORE_LENGTH_H

#include "store/record.h"

/** Can a field name a tensor? A path as for lc_value_find() without empty steps,
 *  "." for a record that is a tensor, or "" for none. */
bool lc__is_length_field(const char *field);

/** Measures many records of a few schemas. Zero-initialised but for the field. */
struct lc__measure {
	const char *field;              /* "" or NULL for none */
	const struct lc__schema *schema; /* of the record measured last */
	uint32_t dim;                   /* in it, the axis; or LC__NO_AXIS */
	uint64_t fixed;                 /* the length without an axis */
};
#define LC__NO_AXIS UINT32_MAX

static inline bool
lc__measures(const struct lc__measure *measure)
{
	return measure->field != NULL && *measure->field != '\0';
}

/** The length of a record by the field, 0 if it has no such tensor, 1 if that is a
 *  scalar. Reads the record's head only. An axis above the size of any tensor with
 *  elements counts as 0, so that sums do not overflow. Schemas that it was given live on
 *  meanwhile. */
uint64_t lc__measure(struct lc__measure *measure,
    const struct lc__record *record, const struct lc__schema *schema);

#endif
