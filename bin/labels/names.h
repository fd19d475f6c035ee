/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files: extensions, stems, and paths that stay below the root. */
#ifndef CACHEX_LABELS_NAMES_H
#define CACHEX_LABELS_NAMES_H

#include <stdbool.h>

/** True for "x.json" and "x.JSON" with @p extension ".json", not for ".json". */
bool lc__name_has(const char *name, const char *extension);
/** As lc__is_image_name(). */
bool lc__name_is_image(const char *name);
/** What stands behind the last slash. */
const char *lc__name_base(const char *path);
/** The base without its last extension, malloc'ed; NULL without memory. */
char *lc__name_stem(const char *path);
/** "dir/STEM.ext" of a file's name and ".ext", malloc'ed; NULL without memory. */
char *lc__name_label(const char *dir, const char *name, const char *extension);
/** "dir/name", or "name" where dir is ""; malloc'ed, NULL without memory. */
char *lc__name_join(const char *dir, const char *name);
/** The directory of a path, "" if it has none; malloc'ed, NULL without memory. */
char *lc__name_dir(const char *path);

/**
 * @p path from @p dir without "." and "..", malloc'ed, NULL without memory. Not
 * *inside if it is absolute, empty, or leads out of what dir is relative to.
 */
char *lc__path_below(const char *dir, const char *path, bool *inside);

#endif
