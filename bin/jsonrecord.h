/* SPDX-License-Identifier: BSD-2-Clause */
/* One record as a line of JSON, the format of dump and load. */
#ifndef BIN_JSONRECORD_H
#define BIN_JSONRECORD_H

#include <stdio.h>

#include "lmdbcache.h"

/** Write a line. */
void jsonrecord_write(FILE *out, lc_id id, const lc_tensor *tensor);

/** A line that has been read. */
struct jsonrecord {
	lc_id id;          /* in `root` or `decoded_id` */
	lc_tensor tensor;  /* its data in `data` */
	void *root, *data, *decoded_id; /* memory */
};

/** Read a line. LC_INVALID says what is wrong with it; nothing to free then. */
LC_CHECKED lc_status jsonrecord_read(const char *line, size_t size,
    struct jsonrecord *out);
void jsonrecord_free(struct jsonrecord *record);

#endif
