/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a batch: from records to the rows of its fields. */
#ifndef LC_STREAM_FETCH_H
#define LC_STREAM_FETCH_H

#include "stream/job.h"

/** Read all requests of a job into a batch whose first @p filled rows they are, and
 *  make the other rows padding. */
LC_CHECKED lc_status lc__fetch(struct lc__job *job, struct lc__batch *batch,
    size_t filled);

/** A batch of padding alone, of the shapes that a record has. */
LC_CHECKED lc_status lc__fetch_shapes(struct lc__job *job,
    const struct lc__request *record, struct lc__batch *batch);

/* Parts of it. */

/** Ask the system for all requests, and count them. */
LC_CHECKED lc_status lc__fetch_ask(struct lc__job *job);

/** Ask the processor for what is behind request @p i, which is read next. */
void lc__fetch_ahead(struct lc__job *job, size_t i);

/** The rows that request @p i needs of its record; NULL: all. */
const struct lc__row_span *lc__fetch_rows(const struct lc__job *job, size_t i,
    struct lc__row_span *room);

/** Read the record of a request: its tensors and its id; @p rows as of
 *  lc__cursor_read(). */
LC_CHECKED lc_status lc__fetch_record(struct lc__job *job,
    const struct lc__request *r, const struct lc__row_span *rows, lc_tensor *tensors,
    lc_id *id);

/** As above, and those read before are not needed any more. */
LC_CHECKED lc_status lc__fetch_instead(struct lc__job *job,
    const struct lc__request *r, const struct lc__row_span *rows, lc_tensor *tensors,
    lc_id *id);

/** A field of another dtype or shape than the others of the batch: LC_SCHEMA. */
lc_status lc__fetch_differs(const struct lc__job *job, uint32_t source, lc_id id,
    size_t field, const lc_tensor *tensor, const lc_tensor *others);

/** As lc__fetch(), of windows. */
LC_CHECKED lc_status lc__fetch_windows(struct lc__job *job,
    struct lc__batch *batch, size_t filled);

/** Dtype and shape of a field of windows. */
LC_CHECKED lc_status lc__fetch_window_shape(const struct lc__job *job,
    struct lc__batch *batch, size_t field, const lc_tensor *form);

#endif
