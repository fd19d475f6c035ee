/* SPDX-License-Identifier: BSD-2-Clause */
/* An import: its sources, what it counts, its files and its containers. */
#ifndef CACHEX_CMD_IMPORT_H
#define CACHEX_CMD_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image_name.h"
#include "formats/formats.h"
#include "lmdbcache.h"
#include "ui/opt.h"
#include "ui/task.h"

/* ---- The files of an import: found, named, and free of duplicates ------------------ */

struct source {
	char *path;   /* path to open */
	size_t below; /* offset in it of the part below the given directory */
	char *id;     /* cache_id of the file */
	size_t id_size;
	size_t order; /* number in the import */
	/* The user named the file: it may be a pipe or a device, which in a directory
	 * it may not. */
	bool named;
};

struct sources {
	struct source *items;
	size_t count, room;
	const struct job_task *task; /* only files of this task are taken */
	uint64_t found;              /* number of files and containers so far */
	bool keep_going;             /* continue after directories that cannot be read */
	uint64_t unreadable; /* number of these, and of names that may be directories */
	struct lc__images_ignored ignored; /* images of other kinds in directories */
};

/** Count one more file or container. Returns whether it is for the task. */
bool sources_count(struct sources *sources);
/**
 * Append a file, or all .npy files and images of kinds that are read below a directory in
 * byte order; images of other kinds are counted. Reports what cannot be read; an exit
 * status. Anything else than a regular file is appended as well: its reader reports it.
 */
int sources_add(struct sources *sources, const char *path);
/**
 * Give each source its cache_id. Reports ids that are empty, too long or duplicate;
 * returns an exit status.
 */
int sources_name(struct sources *sources, const char *pattern);
void sources_free(struct sources *sources);

/* ---- The part of an import that are files and directories of many records each ----- */

struct import {
	const char *module;
	struct lc__incoming_how how;
	bool strict;                      /* stop at the first bad file or record */
	bool keep_going;                  /* continue after files that cannot be read */
	bool dry_run;                     /* store nothing: a dry run */
	const struct opt_list *skip_keys; /* records of containers that are left out */
	lc_cache *cache;                  /* NULL until the first good record comes */
	lc_cache *there;          /* the module as it was, for --skip-existing; NULL if it
	                             does not exist or nothing is skipped */
	uint64_t stored, skipped; /* number of records */
	uint64_t bad;             /* number of bad records and files */
	uint64_t unreadable;      /* number of files without permission to read */
	uint64_t ignored;         /* number of images of kinds that are not read */
	/* Number of files and containers; those of this task. */
	uint64_t found, taken;
	struct lc__buf
	    metadata;       /* of containers: "PATH":{...}, and so on, without brackets */
	uint64_t bytes;     /* of tensors and bytes stored */
	uint64_t done, all; /* records seen, and all of them; 0: not known */
};

/** Whether the record is stored already and is to be skipped. */
bool import_passes(const struct import *import, lc_id id);

/**
 * Store a value, for messages that of the file @p path. Reports; an exit status:
 * EXIT_DATA is one bad record, after which the import may continue.
 */
int import_store(struct import *import, const char *path, lc_id id,
    const lc_value *value);

/**
 * Report what is wrong with a file or record and count it; an exit status: EXIT_DATA
 * for bad data, EXIT_SYSTEM for what the system refused; where the import keeps going,
 * EXIT_DATA for that too, if it concerns one file.
 */
int import_bad(struct import *import, lc_status status);

/** Whether the import may continue after this exit status. */
bool import_goes_on(const struct import *import, int status);

/** Count a record. Returns an exit status: EXIT_DONE, or that of an interrupt. */
int import_step(struct import *import);

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
int import_containers(struct import *import, const struct containers *containers,
    const struct sources *sources);

/* ---- The part of an import that are files of one tensor each ----------------------- */

/** With --skip-existing, take out those that are stored already. */
void import_drop_files(struct import *import, struct sources *sources);

/** Store them; an exit status. */
int import_files(struct import *import, const struct sources *sources, unsigned threads);

#endif
