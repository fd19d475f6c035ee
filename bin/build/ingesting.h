/* SPDX-License-Identifier: BSD-2-Clause */
/* A build in progress; shared by the files that implement its steps. */
#ifndef CACHEX_BUILD_INGESTING_H
#define CACHEX_BUILD_INGESTING_H

#include "build/ingest.h"
#include "build/publish.h"
#include "build/samples.h"
#include "build/store.h"
#include "labels/dataset.h"
#include "warehouse/sources.h"

/* ---- results of the frames, in order, as a summary ------------------------------- */

/** A summary being counted. */
struct lc__counting {
	const struct lc__recipe *recipe;
	struct lc__summary *summary;   /* runs and counts are valid at any time */
	uint64_t reasons[LC__REJECTS]; /* of frames that are not written */
};

/** Is a frame written, and if not, why: NO_LABELS if empty ones are left out. */
enum lc__reject lc__counting_fate(const struct lc__recipe *recipe,
    const struct lc__sample *sample);

/**
 * Why a frame is not written, in one line that names the file.
 * @param label  memory for the line
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
	struct lc__recipe *recipe; /* those of ingest */
	struct lc__ingest_result *out;
	struct lc__ingest_state *state; /* those of out */
	uint64_t start;                 /* ns, monotonic */
	unsigned threads;

	struct lc__dataset *dataset;
	int root;        /* its directory */
	char *root_path; /* the same, absolute */
	int lock;        /* the locked file, -1 if none */
	struct lc__store store;
	struct lc__counting counting;
	struct lc__samples samples;
	struct lc__sources sources;
	uint64_t space_next; /* bytes_stored at the next check of free space */
	bool rebuild;        /* ignore what exists */
	struct lc__edition edition;
};

/** Report progress; LC_CANCELLED if the callback requests it. */
LC_CHECKED lc_status lc__ingesting_step(struct lc__ingesting *b);
/** Add the time since @p start, which becomes now. */
void lc__ingesting_spent(struct lc__ingesting *b, enum lc__phase phase, uint64_t *start);

/** List the frames, learn buckets, compute the keys. */
LC_CHECKED lc_status lc__ingesting_scan(struct lc__ingesting *b);
/** Process all frames into the module, the summary and the sources. */
LC_CHECKED lc_status lc__ingesting_frames(struct lc__ingesting *b);
/** Delete what is stored of frames that the dataset no longer has. */
LC_CHECKED lc_status lc__ingesting_forget(struct lc__ingesting *b);
/** Write all samples to shards, unless that has been done already. */
LC_CHECKED lc_status lc__ingesting_export(struct lc__ingesting *b);

#endif
