/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of a module's data.mdb that is mended beside it, and then takes its place.
 *
 * The copy is recover.part/data.mdb in the module's directory: an environment of its
 * own, which nobody else opens. What a killed process left there is removed by the next
 * one. data.mdb is replaced by one rename, after the old file got a second name,
 * data.mdb.damaged-N: at every moment data.mdb is either the old file or the new one.
 */
#ifndef LC_ENV_MEND_H
#define LC_ENV_MEND_H

#include "lmdbcache.h"

/** The directory of the copy, in that of the module. */
#define LC__MEND_NAME "recover.part"

struct lc__mend;

/**
 * Lock everybody else out of the module in @p dir and copy its data.mdb.
 * @return LC_OK; LC_BUSY if anybody has the module open, this process too;
 * LC_CANCELLED; LC_NO_SPACE, LC_IO: then nothing was changed.
 */
LC_CHECKED lc_status lc__mend_begin(const char *dir, const lc_progress *progress,
    struct lc__mend **out);

/** The directory that the copy is opened in, as a module. */
const char *lc__mend_dir(const struct lc__mend *mend);

/**
 * Put the copy, which nobody has open any more, in the place of data.mdb; durable on
 * LC_OK. The old file stays as data.mdb.damaged-N, where *kept gets N.
 * @return LC_OK; LC_NO_SPACE, LC_IO: data.mdb is as it was.
 */
LC_CHECKED lc_status lc__mend_replace(struct lc__mend *mend, uint64_t *kept);

/** Remove the copy unless it took the place, let others in, and free. NULL is
 *  harmless. */
void lc__mend_end(struct lc__mend *mend);

#endif
