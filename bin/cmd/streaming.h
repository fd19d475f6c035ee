/* SPDX-License-Identifier: BSD-2-Clause */
/* The sources that a command line names, and a stream over them. */
#ifndef CACHEX_CMD_STREAMING_H
#define CACHEX_CMD_STREAMING_H

#include <stdbool.h>

#include "cmd/streamopts.h"

/** One source. */
struct streaming_source {
	char *name;       /* as it was given */
	lc_cache *cache;  /* NULL for shards; of a join, the first module's */
	lc_cache **partners; /* of a join: the handles of the others */
	size_t n_partners;
	lc_source *source;
};

struct streaming {
	size_t n;
	struct streaming_source *sources;
	uint64_t *weights;    /* of them */
};

/** Is it a path outright, and no name of a module? */
bool streaming_is_path(const char *name);

/** Is it several modules, "a+b", and no file of that name? */
bool streaming_is_join(const char *name);

/** Open the modules of a join, s->name, as s->source. Says how many records are left
 *  out; reports; an exit status. To be closed also if it fails. */
int streaming_open_join(struct streaming_source *s, const lc_source_options *how,
    lc_missing missing);

/** Close it, its modules, and free its name; the worse exit status. */
int streaming_close_source(struct streaming_source *s, int status);

/**
 * Open the first source and those that --mix names. A name with a slash is a path,
 * of shards or of a directory of them; others are modules, and paths where there is
 * no such module; "a+b+c" is a join of modules. Reports; an exit status.
 */
int streaming_open(struct streaming *out, const char *first,
    const struct streamopts *opts, bool verify);

/** A stream over them. */
LC_CHECKED lc_status streaming_start(const struct streaming *streaming,
    lc_stream_options *how, lc_stream **out);

/** Close; the worse exit status. */
int streaming_close(struct streaming *streaming, int status);

#endif
