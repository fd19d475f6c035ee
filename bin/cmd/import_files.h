/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an import that are files of one tensor each. */
#ifndef BIN_IMPORT_FILES_H
#define BIN_IMPORT_FILES_H

#include "importing.h"
#include "sources.h"

/** Take out those that are stored already, if the import passes over them. */
void import_drop_files(struct importing *import, struct sources *sources);

/** Store them; an exit status. */
int import_files(struct importing *import, const struct sources *sources,
    unsigned threads);

#endif
