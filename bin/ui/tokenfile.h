/* SPDX-License-Identifier: BSD-2-Clause */
/* A file with the token of a stream: where to go on. */
#ifndef CACHEX_UI_TOKENFILE_H
#define CACHEX_UI_TOKENFILE_H

#include <stdbool.h>

#include "lmdbcache.h"

struct tokenfile {
	const char *path;          /* NULL: none is kept */
	uint64_t every;            /* batches from one save to the next */
	uint64_t since;            /* batches delivered and not saved */
	bool loaded;               /* bytes are those of the file */
	unsigned char bytes[LC_TOKEN_SIZE];
};

/** Can it be written? Said before anything is read; reports; an exit status. */
int tokenfile_check(const struct tokenfile *file);

/** Read it, if there is one; reports a damaged one; an exit status. */
int tokenfile_load(struct tokenfile *file);

/** The message for a token that lc_stream_open() of @p source refused with
 *  @p status; an exit status. */
int tokenfile_refused(const struct tokenfile *file, lc_status status,
    const char *source);

/**
 * A batch was delivered: what was read stands before batch @p next. Saves every so
 * often; reports; an exit status.
 */
int tokenfile_step(struct tokenfile *file, lc_stream *stream, uint64_t next);

/** Save what was delivered since; reports; an exit status. */
int tokenfile_finish(struct tokenfile *file, lc_stream *stream, uint64_t next);

#endif
