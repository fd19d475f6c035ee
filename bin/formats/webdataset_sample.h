/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members of a WebDataset's sample on their way to become one value.
 *
 * One member whose extension has no dot is the sample's value itself. Of several the
 * names make a map: "seg" for "seg.png", "png" for "png" alone, and where names have
 * dots, "a.b.npy", maps in it, or lists for 0 … n-1, as parts.h has them. What is
 * kept as bytes, or has no type, keeps its whole extension. Where that gives two
 * members one name, or one that is part of another, the map is flat, and the names
 * are the whole extensions.
 */
#ifndef CACHEX_FORMATS_WEBDATASET_SAMPLE_H
#define CACHEX_FORMATS_WEBDATASET_SAMPLE_H

#include <stddef.h>

#include "lmdbcache.h"

/** All zero is empty. */
struct lc__wds_sample {
	struct lc__wds_member *members; /* in their order */
	size_t count, room;
};

/** The most members that a sample has. */
#define LC__WDS_MEMBERS 65536

/** Add a member; @p value is owned from then on, also on failure. */
LC_CHECKED lc_status lc__wds_sample_add(struct lc__wds_sample *sample,
    const char *extension, lc_value *value);

/** Make the value. LC_INVALID for an extension that is there twice, whatever its
 *  case. Empties @p sample. */
LC_CHECKED lc_status lc__wds_sample_build(struct lc__wds_sample *sample,
    lc_value **out);

void lc__wds_sample_free(struct lc__wds_sample *sample);

#endif
