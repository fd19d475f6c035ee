/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of classes that stand in files of their own. */
#ifndef CACHEX_LABELS_CLASSES_H
#define CACHEX_LABELS_CLASSES_H

#include "labels/dataset_private.h"

/**
 * Fill dataset->classes from the first of classes.txt, labels.txt (a name a line from
 * class 0 on) and data.yaml in the root, which becomes one of the shared files.
 * Nothing happens without such a file.
 * @return LC_OK; LC_CORRUPT for what is not UTF-8; LC_IO, LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__classes_read(struct lc__dataset *dataset);

/** The class of this name, -1 if there is none. */
int64_t lc__classes_find(const struct lc__dataset *dataset, const char *name);

#endif
