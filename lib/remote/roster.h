/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table in which the processes of a host that share a directory of copies (copies.h)
 * write down what is in it: the file "roster" there, mapped. It is never the truth about a
 * byte, only about who uses what: one that is lost, damaged or of another boot is made
 * again from the files that are there.
 *
 * Locks are those of open file descriptions, fcntl(2), on bytes of the roster, so that they
 * end with their process, however it dies:
 *
 *	byte 0                 held while the table is read or written
 *	RANK + r               held by the handle that has column r
 *	ROW + i, shared        the copy in row i is pinned
 *	ROW + i, exclusively   it is being fetched
 *
 * A handle is used by one thread at a time, its caller's lock sees to that, and by the
 * process that opened it.
 */
#ifndef LC_REMOTE_ROSTER_H
#define LC_REMOTE_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "lmdbcache.h"

#define LC__ROSTER_ROWS 65536u /* most copies in a directory */
#define LC__ROSTER_RANKS 32u   /* most handles that publish what they will need */
#define LC__ROSTER_NAME 96u    /* most bytes of an object's name, with its terminator */
#define LC__ROSTER_TMP "tmp"   /* directory of partial files */

/** The position of a next use that is not known, or does not come. */
#define LC__NEVER UINT64_MAX

enum lc__row_state {
	LC__ROW_FREE,
	LC__ROW_COMING, /* its bytes are reserved; without a fetcher it is a partial one */
	LC__ROW_THERE,
	LC__ROW_GONE /* its file was removed, but whoever has pinned it may still map it */
};

struct lc__roster_row {
	char name[LC__ROSTER_NAME];
	uint64_t size;  /* size of the object, bytes */
	uint64_t done;  /* COMING: bytes fetched so far */
	uint64_t used;  /* when it was last taken, by the roster's own clock */
	uint32_t state; /* enum lc__row_state */
	uint32_t unused;
	uint64_t when[LC__ROSTER_RANKS]; /* next use by each rank, in its positions */
};

/** The first page of the file. */
struct lc__roster_head {
	char magic[16];
	char boot[48];                  /* boot id of the system that made the file */
	uint64_t clock;                 /* clock that row.used is set from */
	uint32_t n;                     /* rows that may be in use: the first ones */
	uint32_t added;                 /* number of rows ever added, by all handles */
	uint64_t now[LC__ROSTER_RANKS]; /* positions of the ranks */
};

struct lc__roster {
	const char *path;             /* of the directory; the caller's */
	bool shared;                  /* the directory has other users, on purpose */
	int dir;                      /* descriptor of the directory, or -1 */
	int fd;                       /* descriptor of the roster, or -1 */
	struct lc__roster_head *head; /* these two: valid while it is locked */
	struct lc__roster_row *rows;
	uint32_t *pins;       /* number of pins of each row by this handle */
	bool *mine;           /* rows that this handle fetches */
	int rank;             /* column of this handle, or -1 */
	bool wants_rank;      /* this handle is to have a column */
	uint64_t incarnation; /* number of rosters that this handle has seen */
	char boot[48];        /* boot id of the system; "" if it is unknown */
	/* Where names are, as far as this handle has seen. A row is compared with the name
	 * that is looked up, so names of rows that others have reused do no harm. */
	struct lc__idset places;
	bool placed;        /* all rows up to `added` are in it */
	uint32_t added;     /* head->added at that time */
	uint64_t placed_at; /* head->clock at that time */
};

/**
 * Open the directory's roster, and make both if they are not there: the directory with mode
 * 0700, its files with 0600; 0777 and 0666 less the umask if it is @p shared.
 * @param path  stays
 * @return LC_OK; LC_FILESYSTEM on NFS and SMB, whose locks are not those of one host;
 * LC_PERMISSION for a directory of another user, or one that others may write to, unless it
 * is @p shared; LC_TIMEOUT, LC_NO_SPACE, LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__roster_open(const char *path, bool shared,
    struct lc__roster *out);
/** Zeros with -1 for dir and fd are harmless. Its pins end. */
void lc__roster_close(struct lc__roster *roster);

/**
 * Begin to read and write the table. If the roster was removed since, another one is
 * opened or made: then the incarnation is another, and nothing is pinned in it.
 * @return LC_OK; LC_TIMEOUT if another process holds it for a minute; as lc__roster_open().
 */
LC_CHECKED lc_status lc__roster_lock(struct lc__roster *roster);
void lc__roster_unlock(struct lc__roster *roster);

/* ---- while it is locked ------------------------------------------------------------- */

/** Is this the name of an object that can be kept, "obj/AA/SHA256.twh1"? */
bool lc__roster_name_ok(const char *name);
/** The row of a copy that exists or is being fetched, or -1. A hash table finds it;
 *  rows are scanned only if another handle has added some since the last call. */
int lc__roster_find(struct lc__roster *roster, const char *name);
/** Add a row in state COMING. -1 if the table is full. */
int lc__roster_add(struct lc__roster *roster, const char *name, uint64_t size);
/** Bytes of all copies, each rounded up to blocks of 4 KiB. */
uint64_t lc__roster_bytes(const struct lc__roster *roster);
uint64_t lc__roster_blocks(uint64_t size);

void lc__roster_pin(struct lc__roster *roster, int row);
void lc__roster_unpin(struct lc__roster *roster, int row);
/** Take a row that is neither pinned nor being fetched, for this handle alone. */
bool lc__roster_claim(struct lc__roster *roster, int row);
/** Give such a row back. */
void lc__roster_release(struct lc__roster *roster, int row);
/** Whether any handle, this one included, has pinned the row or fetches it. */
bool lc__roster_in_use(const struct lc__roster *roster, int row);

/** Positions to go until the first of the ranks that live needs the copy; LC__NEVER.
 *  @param live  of lc__roster_live() */
uint64_t lc__roster_distance(const struct lc__roster *roster, int row, uint32_t live);
/** A bit for each rank whose process is alive. */
uint32_t lc__roster_live(const struct lc__roster *roster);

#endif
