/* SPDX-License-Identifier: BSD-2-Clause */
/* How many boxes there are of each class. */
#ifndef LC_REPORT_CLASSES_H
#define LC_REPORT_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Classes that are told apart; boxes of any further ones are counted together. */
#define LC__CLASSES_MOST 4096

struct lc__class_count {
	int64_t id; /* -1: boxes without a class */
	uint64_t boxes;
};

struct lc__classes {
	struct lc__class_count *rows; /* malloc'ed, by id */
	size_t n, room;
	uint64_t others; /* boxes of classes that came when there were so many */
	uint64_t boxes;  /* all */
};

LC_CHECKED lc_status lc__classes_add(struct lc__classes *classes, int64_t id);
/** Boxes of a class. */
uint64_t lc__classes_count(const struct lc__classes *classes, int64_t id);
void lc__classes_free(struct lc__classes *classes);

#endif
