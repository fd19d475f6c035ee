/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the samples of a series out of the module, for the shards. */
#ifndef CACHEX_BUILD_SAMPLES_SOURCE_H
#define CACHEX_BUILD_SAMPLES_SOURCE_H

#include "build/samples.h"

/** Set the source of a series. */
void lc__samples_source(struct lc__samples_series *group);

/** Let threads read: each holds the record that it has read last. */
LC_CHECKED lc_status lc__samples_reading(struct lc__samples *samples);
/** End that, in the same thread; the others have ended. Harmless before. */
void lc__samples_reading_end(struct lc__samples *samples);

#endif
