/* SPDX-License-Identifier: BSD-2-Clause */
/* The leaves of a JSON text by their paths, and what two texts differ in. */
#ifndef CACHEX_UI_JSONFIELDS_H
#define CACHEX_UI_JSONFIELDS_H

/**
 * Call @p differs for each path, "transform.target_size.0", at which two texts have
 * other values; @p old or @p new is NULL where one has none. Values are JSON. A text
 * that is no JSON is one value. Reports; an exit status.
 */
int jsonfields_compare(const char *old_text, const char *new_text,
    void (*differs)(void *ctx, const char *path, const char *old, const char *new),
    void *ctx);

#endif
