/* SPDX-License-Identifier: BSD-2-Clause */
/* A build on its way; shared by the files that do its steps. */
#ifndef CACHEX_BUILD_INGESTING_H
#define CACHEX_BUILD_INGESTING_H

#include "build/ingest.h"
#include "build/publish.h"
#include "build/samples.h"
#include "build/store.h"
#include "labels/dataset.h"
#include "warehouse/sources.h"

/* ---- what became of the frames, one after the other, as a summary ---------------- */

/** A summary on its way. */
struct lc__counting {
	const struct lc__recipe *recipe;
	struct lc__summary *summary;   /* runs and counts are in it at any time */
	uint64_t reasons[LC__REJECTS]; /* of frames that are not written */
};

/** Whether a frame is written, and if not, why: NO_LABELS where empty ones are
 *  left out. */
enum lc__reject lc__counting_fate(const struct lc__recipe *recipe,
    const struct lc__sample *sample);

/**
 * Why a frame is not written, in one line that names the file.
 * @param label  what the line may be written into
 */
const char *lc__counting_detail(const struct lc__sample *sample, struct lc__label *label);

/** Count the next frame. Frames come in the order of their runs. */
LC_CHECKED lc_status lc__counting_add(struct lc__counting *counting, const char *run,
    const struct lc__sample *sample);
/** Put the reasons into the summary. */
LC_CHECKED lc_status lc__counting_end(struct lc__counting *counting);

/* ---- the build ------------------------------------------------------------------- */

struct lc__ingesting {
	const struct lc__ingest *ingest;
	struct lc__recipe *recipe; /* ingest's */
	struct lc__ingest_result *out;
	struct lc__ingest_state *state; /* out's */
	uint64_t start;                 /* ns, monotonic */
	unsigned threads;

	struct lc__dataset *dataset;
	int root;        /* its directory */
	char *root_path; /* the same, absolute */
	int lock;        /* the file that is locked, -1 if none */
	struct lc__store store;
	struct lc__counting counting;
	struct lc__samples samples;
	struct lc__sources sources;
	uint64_t space_next; /* bytes_stored at the next look at the disk */
	bool rebuild;        /* nothing that stands there counts */
	struct lc__edition edition;
};

/** Tell the watch where the build stands; LC_CANCELLED if it says so. */
LC_CHECKED lc_status lc__ingesting_step(struct lc__ingesting *b);
/** Count what was spent since @p start, which becomes now. */
void lc__ingesting_spent(struct lc__ingesting *b, enum lc__phase phase, uint64_t *start);

/** List the frames, learn buckets, find the keys. */
LC_CHECKED lc_status lc__ingesting_scan(struct lc__ingesting *b);
/** All frames to the module, the summary and the sources. */
LC_CHECKED lc_status lc__ingesting_frames(struct lc__ingesting *b);
/** Forget what is stored of frames that the dataset no longer has. */
LC_CHECKED lc_status lc__ingesting_forget(struct lc__ingesting *b);
/** All samples to shards, unless that has been done already. */
LC_CHECKED lc_status lc__ingesting_export(struct lc__ingesting *b);

#endif
