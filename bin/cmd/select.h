/* SPDX-License-Identifier: BSD-2-Clause */
/* Which samples are looked at. */
#ifndef CACHEX_CMD_SELECT_H
#define CACHEX_CMD_SELECT_H

#include "ui/opt.h"
#include "cmd/samples.h"

/** How they are chosen: one of `ids`, `random` and, if both are unset, `from`. */
struct select {
	uint64_t most;              /* how many at most; not of ids */
	uint64_t from;              /* the first one */
	uint64_t random;            /* the seed of a random choice, or OPT_UNSET */
	const struct opt_list *ids; /* cache_ids, or what they end in behind a "/" */
};

/** A sample that is not there. */
#define SELECT_NONE UINT64_MAX

struct selected {
	uint64_t *items; /* numbers of samples; SELECT_NONE for an id that is not there */
	size_t count;
};

/** Choose; reports; an exit status. */
int select_samples(const struct select *how, const struct samples *samples,
    struct selected *out);
void selected_free(struct selected *selected);

#endif
