/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at, and interfering with, the files of an export. All of it must work. */
#ifndef T_OUTDIR_FILES_H
#define T_OUTDIR_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

/** "dir/name", malloc'ed. */
char *outdir_join(const char *dir, const char *name);
bool outdir_exists(const char *dir, const char *name);
void outdir_put_file(const char *dir, const char *name, const char *text);
/** The file manifest.json, with the digest of this text in place of the one that it has: as
 *  a library that is mistaken would write it. */
void outdir_put_manifest(const char *dir, const char *text);
struct lc__buf outdir_get_file(const char *dir, const char *name);
void outdir_remove_file(const char *dir, const char *name);
/** Entries of a directory whose name ends so; dot files count. */
int outdir_count_files(const char *dir, const char *end);
/** Files that a writer has not put in their place. */
int outdir_count_unfinished(const char *dir);
/** The same names with the same bytes, in subdirectories too. */
void outdir_assert_same_dirs(const char *a, const char *b);
/** Mount a file system of its own there, if the test may. */
bool outdir_mount(const char *dir, const char *options);
/** Change one bit of a file. */
void outdir_flip(const char *dir, const char *name, off_t at);

#endif
