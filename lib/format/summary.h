/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts of validation and the limits on them: structs to and from the JSON of a
 * manifest's summary and thresholds, lmdbcache_warehouse(5). */
#ifndef LC_FORMAT_SUMMARY_H
#define LC_FORMAT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Frames by outcome: total is the sum of all others. */
struct lc__counts {
	uint64_t total;
	uint64_t non_empty;     /* good, with at least one box */
	uint64_t empty;         /* good, without boxes; written or left out */
	uint64_t missing_image; /* the label names no image */
	uint64_t missing_file;  /* the image file is missing */
	uint64_t invalid;       /* every other reason */
};

/** A name and its count, in a list that is sorted by name. */
struct lc__tally {
	char *name; /* malloc'ed */
	uint64_t count;
};

/** Counts of one run. */
struct lc__run_summary {
	char *run_id; /* malloc'ed, UTF-8 */
	struct lc__counts counts;
};

/** All counts of a build. */
struct lc__summary {
	struct lc__counts totals; /* the sum of the runs */
	uint64_t written;         /* samples: non_empty, and empty unless left out */
	uint64_t boxes;           /* written */
	uint64_t clipped;         /* boxes cut at the edge of the frame, and written */
	uint64_t dropped;         /* boxes dropped because too little of them was inside
	                           * */
	uint64_t filtered; /* boxes of classes that are not kept, in all good frames */
	uint64_t overflow_boxes;   /* boxes above max_boxes, not written */
	uint64_t overflow_samples; /* samples that had such */
	struct lc__tally *reasons; /* of frames not written, by lc__reject_name() */
	size_t n_reasons;
	struct lc__run_summary *runs; /* in the order of their samples */
	size_t n_runs, runs_room;
};

/** A limit by count and by ratio to total; absent means no limit. */
struct lc__limit {
	bool has_count, has_ratio;
	uint64_t count; /* more than this violates it */
	double ratio;   /* 0 to 1; a larger share of total violates it */
};

struct lc__thresholds {
	struct lc__limit invalid; /* of counts.invalid */
	struct lc__limit missing; /* of missing_image + missing_file */
	struct lc__limit empty;   /* of counts.empty */
	bool warn;                /* a violation is reported, not an error */
};

/**
 * Append as JSON: {"totals":{"total",...},"runs":[{"run_id",...counts}],
 * "written","boxes","clipped","dropped","overflow_boxes","overflow_samples",
 * "filtered" unless it is 0, "reasons":{name:count}}. The same summary gives the same bytes.
 */
LC_CHECKED lc_status lc__summary_format(const struct lc__summary *summary,
    struct lc__buf *out);
/**
 * Read a summary; "null" is an empty one. Members that other programs omit are 0, except
 * total and totals, which are computed as sums; "missing" counts as missing_file if
 * neither missing_image nor missing_file is given. A summary with "written" is ours and
 * must be consistent. @p name is for messages.
 * @return LC_OK; LC_CORRUPT, naming the member; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__summary_parse(const char *text, const char *name,
    struct lc__summary *out);
void lc__summary_free(struct lc__summary *summary);

/** Append as JSON: {"max_invalid":N,"max_invalid_ratio":R,"max_missing",...,
 *  "max_empty",...,"mode":"fail"|"warn"}; absent limits are omitted. */
LC_CHECKED lc_status lc__thresholds_format(const struct lc__thresholds *limits,
    struct lc__buf *out);
LC_CHECKED lc_status lc__thresholds_parse(const char *text, const char *name,
    struct lc__thresholds *out);
/**
 * Compare counts with limits. LC_OK; LC_INVALID, naming every limit that is exceeded:
 * "invalid 12 of 100 frames (12.0 %), limit 5 %".
 */
LC_CHECKED lc_status lc__thresholds_check(const struct lc__thresholds *limits,
    const struct lc__counts *counts);

#endif
