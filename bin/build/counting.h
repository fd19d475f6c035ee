/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of the frames, one after the other, as a summary. */
#ifndef CACHEX_BUILD_COUNTING_H
#define CACHEX_BUILD_COUNTING_H

#include "format/summary.h"
#include "build/recipe.h"
#include "build/sample.h"
#include "labels/dataset.h"

/** A summary on its way. */
struct lc__counting {
	const struct lc__recipe *recipe;
	struct lc__summary *summary;   /* runs and counts are in it at any time */
	uint64_t reasons[LC__REJECTS]; /* of frames that are not written */
};

/** Whether a frame is written, and if not, why: NO_LABELS where empty ones are
 *  passed over. */
enum lc__reject lc__counting_fate(const struct lc__recipe *recipe,
    const struct lc__sample *sample);

/**
 * Why a frame is not written, in one line that names the file.
 * @param label  what the line may stand in
 */
const char *lc__counting_detail(const struct lc__sample *sample, struct lc__label *label);

/** Count the next frame. Frames come in the order of their runs. */
LC_CHECKED lc_status lc__counting_add(struct lc__counting *counting, const char *run,
    const struct lc__sample *sample);
/** Put the reasons into the summary. */
LC_CHECKED lc_status lc__counting_end(struct lc__counting *counting);

#endif
