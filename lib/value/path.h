/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths into a value: names and positions between dots, as lc_value_find() reads them. */
#ifndef LC_VALUE_PATH_H
#define LC_VALUE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** One step of a path, borrowed from it. */
struct lc__step {
	const char *at; /* as written */
	size_t size;
	bool escaped; /* contains a backslash */
};

/**
 * Take the first step off a path; @p path becomes the rest, NULL at the end. False if a
 * backslash comes before anything but a dot or a backslash.
 */
bool lc__path_step(const char **path, struct lc__step *out);

/** Is the step this name? */
bool lc__step_is(const struct lc__step *step, const char *name);

/** The step as a position, in decimal without leading zeros; false if it is not one. */
bool lc__step_position(const struct lc__step *step, size_t *out);

/* The path of a part of a value, "boxes.0.score". */

/** Append a step to a path that ends with a NUL; an empty buffer is an empty path. */
void lc__path_name(struct lc__buf *path, const char *name);
void lc__path_index(struct lc__buf *path, size_t i);
/** The text of a path, "" for the root; "?" if memory ran out. */
const char *lc__path_text(const struct lc__buf *path);
/** Cut the path back to its state when the buffer's size was @p size. */
void lc__path_cut(struct lc__buf *path, size_t size);

/**
 * Take the next step of a path's text into @p name, without escapes.
 * @return LC_OK; LC_END at the end; LC_INVALID for an empty step or a backslash before
 * anything but a dot or a backslash; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__path_take(const char **text, struct lc__buf *name);

/** True if a name reads as a position, "0" or "12"; *out is the position. */
bool lc__path_position(const char *name, size_t *out);

#endif
