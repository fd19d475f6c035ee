/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is used again; what it held before is of no interest. */
#ifndef LC_ETL_SCRATCH_H
#define LC_ETL_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/** Zero-initialised is empty. */
struct lc__scratch {
	void *data;  /* 64-byte aligned */
	size_t room; /* bytes */
};

/** Room for @p count times @p size bytes, contents undefined; NULL without memory. */
void *lc__scratch_get(struct lc__scratch *scratch, uint64_t count, uint64_t size);
void lc__scratch_free(struct lc__scratch *scratch);

#endif
