/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of classes in a dataset's YAML. */
#ifndef CACHEX_LABELS_YAML_NAMES_H
#define CACHEX_LABELS_YAML_NAMES_H

#include "labels/dataset_private.h"

/** Ids of classes that have names are no larger. */
#define LC__YAML_CLASS_MAX 65535

/**
 * Find the member `names` of the outermost map and add what it holds to @p out, by id: a
 * list of names, or a map from ids to names. Nothing is added of anything else, nor of what
 * is no YAML.
 * @param text  ends with a NUL
 * @return LC_OK; LC_NO_MEMORY; LC_IO where libyaml cannot be loaded
 */
LC_CHECKED lc_status lc__yaml_names(const char *text, struct lc__strings *out);

#endif
