/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the preloaded record_io writes and replay_log reads: the calls of a program
 * that change the files below one directory, in the order in which they took effect.
 *
 * RECORD_IO_ROOT names the directory, RECORD_IO_LOG the log. What the directory has at
 * the start is written to the log first, unless the log is not a regular file.
 * RECORD_IO_KILL=n: kill -9 of a process after its n-th record, or after half of that one,
 * if it is a write and RECORD_IO_HALFWAY is set.
 */
#ifndef T_RECORD_IO_H
#define T_RECORD_IO_H

#include <stddef.h>
#include <stdint.h>

enum record_kind {
	RECORD_ROOT = 1,  /* the directory is `file` */
	RECORD_CREATE,    /* name in dir is the new file */
	RECORD_MKDIR,     /* name in dir is the new directory `file` */
	RECORD_SYMLINK,   /* name in dir is the new symbolic link `file` to data */
	RECORD_LINK,      /* name in dir is file, too */
	RECORD_REMOVE,    /* name in dir is gone */
	RECORD_RENAME,    /* name in dir is name2 in dir2 now */
	RECORD_EXCHANGE,  /* name in dir and name2 in dir2 have changed places: name2 is file
	                     now, name is the file `offset` */
	RECORD_WRITE,     /* data at offset of file */
	RECORD_WRITTEN,   /* the last write to file was through O_DSYNC: it is durable */
	RECORD_RESIZE,    /* file has `offset` bytes now */
	RECORD_SYNC,      /* file, or the directory `file`, was synced */
	RECORD_SYNC_ALL,  /* everything was synced */
	RECORD_MAPPED,    /* file is mapped for writing: its bytes change unseen */
	RECORD_MARK,      /* the program's own data */
	RECORD_PROMISE,   /* the same, and more is promised from here on */
	RECORD_START      /* all before was there at the start, and is durable */
};

/** What a record starts with; the names with their NULs follow, then the data. Files
 *  and directories are inode numbers. */
struct record {
	uint32_t kind;
	uint32_t names; /* bytes of the names */
	uint64_t file, dir, dir2;
	uint64_t offset;
	uint64_t size;  /* bytes of the data */
};

/** Exported by record_io, for dlsym(): write a mark of @p kind. */
void record_io_mark(enum record_kind kind, const void *data, size_t size);

#endif
