/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store of objects in a directory of any POSIX file system, including shared ones:
 * object "a/b" is the file a/b below it. A put writes NAME.tmp.XXXXXX next to it, syncs
 * that, and gives it its name with link(2), which fails if the name exists, or with
 * rename(2). An object's time is that of the file's last change.
 */
#ifndef LC_OBJECTS_DIRECTORY_H
#define LC_OBJECTS_DIRECTORY_H

#include "objects/objects.h"

/**
 * Open a directory; if it is missing, the first put creates it.
 * @param url  for messages; copied
 * @param out  close it with lc__objects_close()
 * @return LC_OK; LC_INVALID for anything but a directory; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__directory_open(const char *path, const char *url,
    struct lc__objects **out);

#endif
