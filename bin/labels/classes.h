/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of classes, read from files. */
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

/** The class with this name, -1 if there is none. */
int64_t lc__classes_find(const struct lc__dataset *dataset, const char *name);

/** The largest id of a class with a name. */
#define LC__YAML_CLASS_MAX 65535

/**
 * Find the member `names` of the outermost map of a YAML text and add what it holds to
 * @p out, by id: a list of names, or a map from ids to names. Nothing is added of anything
 * else, nor of what is not YAML.
 * @param text  ends with a NUL
 * @return LC_OK; LC_NO_MEMORY; LC_IO where libyaml cannot be loaded
 */
LC_CHECKED lc_status lc__yaml_names(const char *text, struct lc__strings *out);

#endif
