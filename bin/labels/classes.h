/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of classes, read from files. */
#ifndef CACHEX_LABELS_CLASSES_H
#define CACHEX_LABELS_CLASSES_H

#include "labels/dataset_private.h"

/**
 * Fill dataset->classes from the first of these files in the root: classes.txt,
 * labels.txt (a name per line, from class 0 on), data.yaml. The file becomes one of the
 * shared files. Without any of them, nothing happens.
 * @return LC_OK; LC_CORRUPT for text that is not UTF-8; LC_IO, LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__classes_read(struct lc__dataset *dataset);

/** The id of the class with this name, or -1. */
int64_t lc__classes_find(const struct lc__dataset *dataset, const char *name);

/** The largest id of a class that has a name. */
#define LC__YAML_CLASS_MAX 65535

/**
 * Find the member `names` of the outermost map of a YAML text, and add the names in it
 * to @p out, by id. It is a list of names, or a map from ids to names; anything else,
 * and text that is not YAML, is ignored.
 * @param text  ends with a NUL
 * @return LC_OK; LC_NO_MEMORY; LC_IO if libyaml cannot be loaded
 */
LC_CHECKED lc_status lc__yaml_names(const char *text, struct lc__strings *out);

#endif
