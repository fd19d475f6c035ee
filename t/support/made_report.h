/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts of a warehouse that was never built. */
#ifndef T_MADE_REPORT_H
#define T_MADE_REPORT_H

#include "report/facts.h"

/** What the made-up warehouse is like. */
struct made_report {
	const char *dir;      /* the version's directory; rejected.jsonl is written there */
	uint64_t seed;
	uint64_t samples;
	unsigned runs;
	double shift;         /* moves and shrinks boxes, darkens images */
	const char *run_name; /* of the first run, NULL for a plain one */
};

/** Fill; free with made_report_free(). */
void made_report(const struct made_report *how, struct lc__facts *out);
void made_report_free(struct lc__facts *facts);

/** An observation of a sample of 640 x 640 pixels with these boxes. */
struct lc__observation made_observation(const struct lc__box *boxes, uint32_t n);

#endif
