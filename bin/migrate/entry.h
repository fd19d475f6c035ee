/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An entry: one record of the file as its line has it, and the line with what a
 * record of version 2 has. All that is not told here stays byte for byte.
 */
#ifndef CACHEX_MIGRATE_ENTRY_H
#define CACHEX_MIGRATE_ENTRY_H

#include <stdbool.h>

#include "base/json_scan.h"

/** The members that a migration looks at. */
enum lc__entry_member {
	LC__ENTRY_ARRAY,   /* what is extracted; its name is the caller's */
	LC__ENTRY_PATH,    /* image_path */
	LC__ENTRY_HEIGHT,  /* height */
	LC__ENTRY_WIDTH,   /* width */
	LC__ENTRY_ID,      /* image_id */
	LC__ENTRY_BUCKET,  /* aspect_bucket */
	LC__ENTRY_VERSION, /* format_version */
	LC__ENTRY_MEMBERS
};

struct lc__line_entry {
	struct lc__json_slice line;
	struct lc__json_member
	    members[LC__ENTRY_MEMBERS]; /* name.text is NULL for one that
	                                                   is not there */
	struct lc__json_member first, second,
	    last;               /* of the object; second may be none */
	size_t count;           /* members of the object */
	struct lc__buf path;    /* image_path as UTF-8 */
	struct lc__buf id;      /* image_id likewise; empty if there is none */
	uint32_t width, height; /* 0 if they are not there */
	bool array;             /* the array is there, and not null */
	bool v2;                /* format_version is 2, and the members of a record of
	                             version 2 are there */
	bool newer;             /* format_version is above 2: nothing but members and
	                             count is known of it */
	bool named;             /* image_id is there, and neither null nor "" */
};

/**
 * Read a line. @p out is zero-initialised or has been read before: its memory is used
 * again.
 * @return LC_OK; LC_CORRUPT if it is no JSON object; LC_INVALID if it is one that
 * cannot be migrated. Both with "column N: " at the start of the error.
 */
LC_CHECKED lc_status lc__entry_read(const char *line, size_t size, const char *array,
    struct lc__line_entry *out);
void lc__entry_free(struct lc__line_entry *entry);

/** Is its aspect_bucket WIDTHxHEIGHT? */
bool lc__entry_has_bucket(const struct lc__line_entry *entry);

/** LC_INVALID as lc__entry_read() returns it, of a place in the line. */
lc_status lc__entry_error(const struct lc__line_entry *entry, const char *at,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/** What a line is to have. */
struct lc__entry_news {
	bool cut;     /* without the array */
	bool upgrade; /* with the members below; those that are there get new values */
	bool name;    /* with image_id, if not upgrade */
	lc_id id;     /* image_id; UTF-8 */
	const char *bucket; /* aspect_bucket */
};

/** Append the line. Of a line that is ASCII the new text is ASCII too. */
LC_CHECKED lc_status lc__entry_write(const struct lc__line_entry *entry,
    const struct lc__entry_news *news, struct lc__buf *out);

#endif
