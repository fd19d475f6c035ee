/* SPDX-License-Identifier: BSD-2-Clause */
/* A migration in progress: what its parts share. */
#ifndef CACHEX_MIGRATE_MIGRATION_H
#define CACHEX_MIGRATE_MIGRATION_H

#include "base/lines.h"
#include "migrate/entry.h"
#include "migrate/stage2.h"

/** A longer line is an error. */
#define LC__MIGRATE_LINE_MAX ((size_t)256 << 20)

/** A reader of the lines of a file of records. */
static inline struct lc__lines
lc__migrate_lines(int fd, const char *path)
{
	return (struct lc__lines){
		.fd = fd,
		.path = path,
		.limit = LC__MIGRATE_LINE_MAX,
		.skip_mark = true,
	};
}

struct lc__migration {
	const struct lc__stage2 *how;
	struct lc__stage2_state state;
	struct lc__stage2_done *done;
	char *temporary;       /* path of the new file */
	int in, out;           /* the file; the new one, or -1 */
	int lock;              /* held while it runs, or -1 */
	uint64_t size;         /* of the file */
	lc_cache *state_cache; /* module "stage2"; NULL in a dry run without one */
	lc_cache *modules[LC__PASS_MODULES]; /* what is stored there; NULL: nothing yet */
	struct lc__stage2_counts before;     /* the value of state.counts at in */
	bool changed;                        /* conditions that are not in the stored
	                                      * state */
};

/** Open the file and the module "stage2" and lock both; LC_BUSY. A dry run locks nothing. */
LC_CHECKED lc_status lc__migration_open(struct lc__migration *run);
/** Load the state. LC_INVALID if it belongs to another file, unless forced. */
LC_CHECKED lc_status lc__migration_same_file(struct lc__migration *run);
/** Close what lc__migration_open() opened. After a failure pending writes are dropped.
 *  Returns @p status, or if that is LC_OK the status of closing. */
lc_status lc__migration_close(struct lc__migration *run, lc_status status);

/** Open modules as they are needed: to put arrays, and to check what is stored. */
LC_CHECKED lc_status lc__migration_open_modules(struct lc__migration *run);
/** Close them; returns the first error. */
LC_CHECKED lc_status lc__migration_close_modules(struct lc__migration *run);

/** Process the lines, from state.in to the end. */
LC_CHECKED lc_status lc__migration_lines(struct lc__migration *run);
/** Replace the old file by the new one. */
LC_CHECKED lc_status lc__migration_swap(struct lc__migration *run);
/** Put wrong tensors again, from the originals that were kept. */
LC_CHECKED lc_status lc__migration_restore(struct lc__migration *run);
/** Run the encoders. */
LC_CHECKED lc_status lc__migration_fill(struct lc__migration *run);

/** Begin the new file: keep the original, and copy its first @p size bytes. */
LC_CHECKED lc_status lc__migration_begin_file(struct lc__migration *run, uint64_t size);

/** The width and height of an entry, from its image if it does not have them. LC_INVALID
 *  as from lc__entry_read() if they are unknown. */
LC_CHECKED lc_status lc__migration_sides(const struct lc__stage2 *how,
    struct lc__line_entry *entry);

/** Check what is stored of a record: LC_SCHEMA, LC_INVALID ... if it is wrong. */
LC_CHECKED lc_status lc__migration_check_value(const struct lc__stage2 *how,
    enum lc__stage2_pass p, struct lc__line_entry *entry, const lc_view *view);

/** LC_CHANGED if the path no longer leads to the file that was read.
 *  @param stamp  identifies the file */
LC_CHECKED lc_status lc__migration_check_unchanged(const struct lc__migration *run,
    char stamp[LC__STAMP_ROOM]);

/** Give the new file the owner and mode of the old one. */
LC_CHECKED lc_status lc__migration_take_mode(const struct lc__migration *run, int fd,
    const char *path);

/** Is the line, counted from 1, for this task? */
static inline bool
lc__migration_has_line(const struct lc__stage2 *how, uint64_t number)
{
	return how->tasks == 0 || (number - 1) % how->tasks == how->task;
}

/** Has the record an image_id that is not derived from its path, without being of version
 *  2? */
bool lc__migration_is_foreign(const struct lc__line_entry *entry);
/** The image_id that it has, quoted for messages; see lc__quote_id(). */
const char *lc__migration_id_text(const struct lc__line_entry *entry);

/** An entry's array, which must exist. LC_INVALID as above if it is not as required.
 *  @param elements  memory for the tensor's data */
LC_CHECKED lc_status lc__migration_array(const struct lc__stage2 *how,
    const struct lc__line_entry *entry, struct lc__buf *elements, lc_tensor *out);

/** LC_SCHEMA if these are not the latents of an image of this size. */
LC_CHECKED lc_status lc__migration_check_latents(const lc_tensor *tensor, uint32_t width,
    uint32_t height);

/* ---- the original of a file that will be replaced -------------------------------- */

/** LC_INVALID if @p wanted, which may be NULL, is the name of the file or of the one that
 *  replaces it: the original would be lost. LC_NO_FILE, LC_IO and others if that cannot
 *  be determined. */
LC_CHECKED lc_status lc__backup_check(const char *wanted, const char *file,
    const char *temporary);
/** The n'th name for the original of a file, from 1: FILE.stage1.backup,
 *  FILE.stage1.backup.2 and on. False if it does not fit. */
bool lc__backup_name(const char *file, unsigned stage, unsigned n, char *out,
    size_t room);
/** Choose a name for it: @p wanted, or the first of those above that is unused or leads
 *  to this file. LC_EXISTS if @p wanted is another file. */
LC_CHECKED lc_status lc__backup_choose(const char *file, unsigned stage,
    const char *wanted, char *out, size_t room);
/** Make the file appear there, as a link or a copy, durably. Does nothing if it is
 *  there. */
LC_CHECKED lc_status lc__backup_make(const char *file, const char *backup);
/** Copy the first @p size bytes of a file to the start of another one. */
LC_CHECKED lc_status lc__backup_copy(int from, const char *from_path, uint64_t size,
    int to, const char *to_path);

#endif
