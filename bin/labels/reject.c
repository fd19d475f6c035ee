/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/reject.h"

#include <assert.h>
#include <string.h>

static const char *const names[LC__REJECTS] = {
	[LC__REJECT_NONE] = "none",
	[LC__REJECT_BLANK_IMAGE] = "blank_image",
	[LC__REJECT_NO_FILE] = "no_file",
	[LC__REJECT_UNREADABLE] = "unreadable",
	[LC__REJECT_UNPARSABLE] = "unparsable",
	[LC__REJECT_NO_LABELS] = "no_labels",
	[LC__REJECT_NO_BOX] = "no_box",
	[LC__REJECT_NOT_FINITE] = "not_finite",
	[LC__REJECT_OUT_OF_RANGE] = "out_of_range",
	[LC__REJECT_MIN_MAX] = "min_max",
	[LC__REJECT_UNDECODABLE] = "undecodable",
	[LC__REJECT_SIZE_MISMATCH] = "size_mismatch",
	[LC__REJECT_UNKNOWN_CLASS] = "unknown_class",
};

const char *
lc__reject_name(enum lc__reject reason)
{
	return (unsigned)reason < LC__REJECTS ? names[reason] : NULL;
}

enum lc__reject
lc__reject_parse(const char *name)
{
	unsigned reason = 0;

	while (reason < LC__REJECTS && strcmp(names[reason], name) != 0)
		reason++;
	return (enum lc__reject)reason;
}

uint64_t *
lc__reject_counter(struct lc__counts *counts, enum lc__reject reason)
{
	assert(reason != LC__REJECT_NONE && (unsigned)reason < LC__REJECTS);
	switch (reason) {
	case LC__REJECT_BLANK_IMAGE: return &counts->missing_image;
	case LC__REJECT_NO_FILE: return &counts->missing_file;
	case LC__REJECT_NO_LABELS: return &counts->empty;
	default: return &counts->invalid;
	}
}
