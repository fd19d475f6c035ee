/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store of objects in a directory of any POSIX file system, a shared one as well: object
 * "a/b" is the file a/b below it. A put writes NAME.tmp.XXXXXX beside it, syncs that, and
 * gives it its name with link(2), which fails where there is one, or with rename(2). A time
 * is that of the file's last change.
 */
#ifndef LC_OBJECTS_DIRECTORY_H
#define LC_OBJECTS_DIRECTORY_H

#include "objects/objects.h"

/**
 * Open a directory; one that is not there is made by the first put.
 * @param url  for messages; copied
 * @param out  to be closed with lc__objects_close()
 * @return LC_OK; LC_INVALID for something else than a directory; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__directory_open(const char *path, const char *url,
    struct lc__objects **out);

#endif
