/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files: extensions, stems, their order, and paths that stay below the root. */
#ifndef CACHEX_LABELS_NAMES_H
#define CACHEX_LABELS_NAMES_H

#include <stdbool.h>

/** True for "x.json" and "x.JSON" with @p extension ".json", not for ".json". */
bool lc__name_has(const char *name, const char *extension);
/** As lc__is_image_name(). */
bool lc__name_is_image(const char *name);
/** The part after the last slash. */
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

/**
 * Compare names that people number: as strcmp() does, but runs of digits as numbers
 * of any length: "f2" before "f10". Names that differ only in zeros before their
 * numbers are ordered by their bytes, so that 0 is returned for equal names alone.
 */
int lc__order_names(const char *a, const char *b);

#endif
