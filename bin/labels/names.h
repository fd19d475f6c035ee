/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files: extensions, stems, their order, and paths that stay below the root. */
#ifndef CACHEX_LABELS_NAMES_H
#define CACHEX_LABELS_NAMES_H

#include <stdbool.h>

/** True for "x.json" and "x.JSON" with @p extension ".json", not for ".json". */
bool lc__name_has(const char *name, const char *extension);
/** The same as lc__is_image_name(). */
bool lc__name_is_image(const char *name);
/** The path's last component. */
const char *lc__name_base(const char *path);
/** The last component without its extension, malloc'ed; NULL if there is no memory. */
char *lc__name_stem(const char *path);
/** Join "dir/STEM.ext" from the stem of @p name; malloc'ed, NULL if there is no
 *  memory. */
char *lc__name_label(const char *dir, const char *name, const char *extension);
/** Join "dir/name", or "name" if dir is ""; malloc'ed, NULL if there is no memory. */
char *lc__name_join(const char *dir, const char *name);
/** The directory of a path, "" if it has none; malloc'ed, NULL if there is no
 *  memory. */
char *lc__name_dir(const char *path);

/**
 * @p path, which is relative to @p dir, without "." and ".."; malloc'ed, NULL if there
 * is no memory. *inside becomes false if the path is absolute or empty, or leaves the
 * directory that dir is relative to.
 */
char *lc__path_below(const char *dir, const char *path, bool *inside);

/**
 * Compare names with numbers in them: like strcmp(), but runs of digits compare as
 * numbers of any length, so that "f2" precedes "f10". Names that differ only in leading
 * zeros are ordered by their bytes: only equal names give 0.
 */
int lc__order_names(const char *a, const char *b);

#endif
