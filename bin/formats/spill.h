/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that wait on disk, in a file without a name, until all of them are known. */
#ifndef CACHEX_FORMATS_SPILL_H
#define CACHEX_FORMATS_SPILL_H

#include <stdint.h>

#include "base/buf.h"
#include "formats/outfile.h"

struct lc__spill {
	int fd;              /* -1 if it is closed */
	struct lc__buf wait; /* small writes */
	uint64_t size;       /* bytes in all */
};

#define LC__SPILL_NONE \
	{ \
		.fd = -1 \
	}

/** @param dir  where the file is; NULL for where temporary files go */
LC_CHECKED lc_status lc__spill_open(const char *dir, struct lc__spill *out);
LC_CHECKED lc_status lc__spill_write(struct lc__spill *spill, const void *data,
    size_t size);
/** Have all bytes in the file, which @p spill->fd reads. */
LC_CHECKED lc_status lc__spill_flush(struct lc__spill *spill);
/** Append them to a file, and begin anew. */
LC_CHECKED lc_status lc__spill_move(struct lc__spill *spill, struct lc__out_file *to);
/** Harmless on a closed one. */
void lc__spill_close(struct lc__spill *spill);

#endif
