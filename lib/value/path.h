/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths into a value: names and positions between dots. */
#ifndef LC_VALUE_PATH_H
#define LC_VALUE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/** One step of a path, borrowed from it. */
struct lc__step {
	const char *at; /* as written */
	size_t size;
	bool escaped;   /* has a backslash */
};

/**
 * Take the first step off a path; @p path becomes the rest, NULL at the end.
 * False if a backslash stands before anything but a dot or a backslash.
 */
bool lc__path_step(const char **path, struct lc__step *out);

/** Is it this name? */
bool lc__step_is(const struct lc__step *step, const char *name);

/** The position that it is, in decimal without leading zeros; false if none. */
bool lc__step_position(const struct lc__step *step, size_t *out);

#endif
