/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an import that are files and directories of many records each. */
#ifndef CACHEX_CMD_IMPORT_CONTAINERS_H
#define CACHEX_CMD_IMPORT_CONTAINERS_H

#include "cmd/sources.h"
#include "formats/incoming.h"
#include "ui/opt.h"

struct importing {
	const char *module;
	struct lc__incoming_how how;
	bool strict;              /* stop at the first bad file or record */
	bool keep_going;          /* go on after files that cannot be read */
	bool dry_run;             /* store nothing */
	const struct opt_list *skip_keys; /* records of containers that are left out */
	lc_cache *cache;          /* NULL until the first good record comes */
	lc_cache *there;          /* the module as it stands, to look into; NULL if it
	                             does not exist or nothing is passed over */
	uint64_t stored, skipped; /* records */
	uint64_t bad;             /* records, and files that are none */
	uint64_t unreadable;      /* files that the system did not let be read */
	uint64_t ignored;         /* images of kinds that are not read */
	struct lc__buf metadata;  /* of containers: "PATH":{...}, and so on, without brackets */
	uint64_t bytes;           /* of tensors and bytes stored */
	uint64_t done, all;       /* records gone by, and to come if that is known, else 0 */
};

/** Is it stored already, and to be passed over? */
bool importing_passes(const struct importing *import, lc_id id);

/**
 * Store a value, for messages that of the file @p path. Reports; an exit status:
 * EXIT_DATA is one bad record, after which the import may go on.
 */
int importing_store(struct importing *import, const char *path, lc_id id,
    const lc_value *value);

/**
 * Report what is wrong with a file or record and count it; an exit status: EXIT_DATA
 * for bad data, EXIT_SYSTEM for what the system refused; where the import keeps going,
 * EXIT_DATA for that too, if it concerns one file.
 */
int importing_bad(struct importing *import, lc_status status);

/** May the import go on after this exit status? */
bool importing_goes_on(const struct importing *import, int status);

/** Count a record that has gone by; an exit status, of an interrupt if not EXIT_DONE. */
int importing_step(struct importing *import);

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
