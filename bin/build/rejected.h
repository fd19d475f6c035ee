/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of frames that are not in a version, a JSON object a line. */
#ifndef CACHEX_BUILD_REJECTED_H
#define CACHEX_BUILD_REJECTED_H

#include "build/samples.h"

/**
 * Write the list of all frames of the dataset that are not among the samples.
 * @param path    NULL only computes the SHA-256
 */
LC_CHECKED lc_status lc__rejected_write(const struct lc__samples *samples,
    const char *path, char sha256[65]);

#endif
