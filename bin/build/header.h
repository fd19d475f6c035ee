/* SPDX-License-Identifier: BSD-2-Clause */
/* The size of a picture from its file's first bytes. */
#ifndef CACHEX_BUILD_HEADER_H
#define CACHEX_BUILD_HEADER_H

#include "base/buf.h"
#include "build/infile.h"

/** A picture as it is seen, turned as its EXIF data say unless they are ignored. */
struct lc__header {
	uint32_t width, height;
	bool ignore_orientation; /* set by the caller */
	uint64_t bytes_read;     /* added to, also on failure */
};

/**
 * Read no more of the file than its header needs: 256 KiB, or 16 MiB where metadata
 * are that long, or a whole TIFF or WebP file where they are at its end.
 * @param buf  scratch memory, used again for the next file
 * @return LC_OK; as lc__image_probe(); LC_IO.
 */
LC_CHECKED lc_status lc__header_read(const struct lc__infile *file,
    struct lc__buf *buf, struct lc__header *out);

#endif
