/* SPDX-License-Identifier: BSD-2-Clause */
/* Tar archives made by hand, good and bad ones; the good ones as they are exported. */
#ifndef T_MADE_TAR_H
#define T_MADE_TAR_H

#include "base/buf.h"

/** All zero is empty. */
struct made_tar {
	struct lc__buf bytes;
};

/** A file; a name of up to 99 bytes. */
void made_tar_add(struct made_tar *tar, const char *name, const void *data, size_t size);
/** A member of any type: '5' a directory, '2' a link, 'x' a pax header … */
void made_tar_add_type(struct made_tar *tar, const char *name, char type,
    const void *data, size_t size);
/** The two blocks that end it. */
void made_tar_end(struct made_tar *tar);
/** Write it to a file, and free it; or keep it. */
void made_tar_write(struct made_tar *tar, const char *path);
void made_tar_copy(const struct made_tar *tar, const char *path);

#endif
