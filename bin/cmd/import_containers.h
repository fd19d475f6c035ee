/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an import that are files and directories of many records each. */
#ifndef CACHEX_CMD_IMPORT_CONTAINERS_H
#define CACHEX_CMD_IMPORT_CONTAINERS_H

#include "cmd/importing.h"
#include "cmd/sources.h"

struct container {
	const char *path; /* borrowed */
	const struct lc__incoming_format *format;
};

struct containers {
	struct container *items;
	size_t count, room;
};

/** Append one; an exit status. */
int containers_add(struct containers *containers, const char *path,
    const struct lc__incoming_format *format);
void containers_free(struct containers *containers);

/** Store their records; @p sources are the files of the same import, whose cache_ids
 *  are taken. An exit status. */
int import_containers(struct importing *import, const struct containers *containers,
    const struct sources *sources);

#endif
