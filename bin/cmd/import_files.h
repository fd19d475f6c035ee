/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an import that are files of one tensor each. */
#ifndef CACHEX_CMD_IMPORT_FILES_H
#define CACHEX_CMD_IMPORT_FILES_H

#include "cmd/import_containers.h"
#include "cmd/sources.h"
#include "formats/incoming.h"

struct decode;

/** Take out those that are stored already, if the import passes over them. */
void import_drop_files(struct importing *import, struct sources *sources);

/** Store them; an exit status. */
int import_files(struct importing *import, const struct sources *sources,
    unsigned threads);

#endif
