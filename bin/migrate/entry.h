/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An entry: one record of the file, parsed from its line, and the line with the members
 * of a record of version 2. Everything else in the line is kept byte for byte.
 */
#ifndef CACHEX_MIGRATE_ENTRY_H
#define CACHEX_MIGRATE_ENTRY_H

#include <stdbool.h>

#include "base/json_scan.h"

/** The members that matter for a migration. */
enum lc__entry_member {
	LC__ENTRY_ARRAY,   /* the array to extract; the caller gives its name */
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
	    members[LC__ENTRY_MEMBERS]; /* name.text is NULL for a missing member */
	struct lc__json_member first, second,
	    last;               /* of the object; second may be none */
	size_t count;           /* members of the object */
	struct lc__buf path;    /* image_path as UTF-8 */
	struct lc__buf id;      /* image_id likewise; empty if there is none */
	uint32_t width, height; /* 0 if they are missing */
	bool array;             /* the array exists and is not null */
	bool v2;                /* format_version is 2, and all members of a record of
	                         * version 2 exist */
	bool newer;             /* format_version is above 2: only members and count are
	                         * known */
	bool named;             /* image_id exists, and is neither null nor "" */
};

/**
 * Parse a line. @p out is zero-initialised or was filled before: its memory is reused.
 * @return LC_OK; LC_CORRUPT if it is not a JSON object; LC_INVALID if it is one that
 * cannot be migrated. Both errors begin with "column N: ".
 */
LC_CHECKED lc_status lc__entry_read(const char *line, size_t size, const char *array,
    struct lc__line_entry *out);
void lc__entry_free(struct lc__line_entry *entry);

/** Is its aspect_bucket WIDTHxHEIGHT? */
bool lc__entry_has_bucket(const struct lc__line_entry *entry);

/** LC_INVALID as from lc__entry_read(), for a position in the line. */
lc_status lc__entry_error(const struct lc__line_entry *entry, const char *at,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/** The changes to a line. */
struct lc__entry_news {
	bool cut;           /* without the array */
	bool upgrade;       /* with the members below; existing ones get new values */
	bool name;          /* with image_id, if not upgrade */
	lc_id id;           /* image_id; UTF-8 */
	const char *bucket; /* aspect_bucket */
};

/** Append the new line. If the old line is ASCII, so is the new text. */
LC_CHECKED lc_status lc__entry_write(const struct lc__line_entry *entry,
    const struct lc__entry_news *news, struct lc__buf *out);

#endif
