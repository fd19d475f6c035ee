/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of a module's data.mdb that is repaired next to it, and then replaces it. The
 * copy is recover.part/data.mdb in the module's directory: an environment of its own,
 * which no other process opens. A later recovery removes the files that a killed process
 * left there. data.mdb is replaced by one rename, after the old file got a second name,
 * data.mdb.damaged-N: at every moment data.mdb is either the old file or the new one.
 */
#ifndef LC_ENV_MEND_H
#define LC_ENV_MEND_H

#include "lmdbcache.h"

/** The directory of the copy, inside that of the module. */
#define LC__MEND_NAME "recover.part"

struct lc__mend;

/**
 * Lock all other users out of the module in @p dir and copy its data.mdb.
 * @return LC_OK; LC_BUSY if any process has the module open, this one included;
 * LC_CANCELLED; LC_NO_SPACE, LC_IO: then nothing was changed.
 */
LC_CHECKED lc_status lc__mend_begin(const char *dir, const lc_progress *progress,
    struct lc__mend **out);

/** The directory of the copy, which can be opened as a module. */
const char *lc__mend_dir(const struct lc__mend *mend);

/**
 * Replace data.mdb by the copy, which must be closed; durable on LC_OK. The old file
 * stays as data.mdb.damaged-N; *kept is N.
 * @return LC_OK; LC_NO_SPACE, LC_IO: data.mdb is unchanged.
 */
LC_CHECKED lc_status lc__mend_replace(struct lc__mend *mend, uint64_t *kept);

/** Remove the copy unless it replaced data.mdb, unlock the module, and free. NULL is
 *  allowed. */
void lc__mend_end(struct lc__mend *mend);

#endif
