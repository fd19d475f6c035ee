/* SPDX-License-Identifier: BSD-2-Clause */
/* A log of record_io, read back. */
#ifndef T_REPLAY_LOG_H
#define T_REPLAY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record_io.h"

/** One record. Files and directories are positions in replay_log.files; an inode number
 *  that was used again is another file. */
struct replay_event {
	enum record_kind kind;
	size_t file, dir, dir2;
	size_t other;              /* of RECORD_EXCHANGE */
	const char *name, *name2;  /* NULL if it has none */
	uint64_t offset;
	const unsigned char *data;
	size_t size;
};

struct replay_file {
	uint64_t inode;
	bool is_dir, is_link;
	bool mapped; /* for writing, at some time */
};

struct replay_log {
	unsigned char *bytes;
	size_t size;
	struct replay_event *events;
	size_t count;
	struct replay_file *files; /* the first is the root */
	size_t nfiles;
	bool started; /* what was there at the start has been read */
};

/** Read a log; ends the process if it cannot be one. */
void replay_log_read(struct replay_log *log, const char *path);
void replay_log_free(struct replay_log *log);

#endif
