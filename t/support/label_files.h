/* SPDX-License-Identifier: BSD-2-Clause */
/* Small datasets on disk, and what is read of them as text to compare. */
#ifndef T_LABEL_FILES_H
#define T_LABEL_FILES_H

#include <stddef.h>

#include "labels/dataset.h"

/** A file to make: its path from the root, its text; NULL text for a directory. */
struct label_file {
	const char *path, *text;
};

/** Write a file below @p root, with the directories that it needs. */
void label_file(const char *root, const char *path, const void *bytes,
    size_t size);

/** A new root with these files, up to one whose path is NULL. */
const char *label_root(const struct label_file *files);

/** Open what must open. */
struct lc__dataset *label_open(const char *root, enum lc__label_layout layout,
    const char *labels);

/** Every frame a line: "RUN|NAME|LABEL|IMAGE", "-" for NULL. Free it. */
char *label_frames(const struct lc__dataset *dataset);

/** Every string of a list and a comma. Free it. */
char *label_list(const char *const *items, size_t n);

/** Read the label of frame @p i, from its file. Free with lc__label_free(). */
void label_read(const struct lc__dataset *dataset, const char *root, uint64_t i,
    struct lc__label *out);

/**
 * A label as text, with its boxes checked for an image of this size: "REASON:
 * DETAIL", or "IMAGE ID [x0 y0 x1 y1 #class]... EXTRA" with boxes in px (norm, if
 * the size is 0) and the extra as JSON, left out if empty. Free it.
 */
char *label_text(struct lc__label *label, const char *name, uint32_t width,
    uint32_t height);

/** MessagePack as JSON: 1.0 is a float, 1 an integer. Free it. */
char *label_json(const void *bytes, size_t size);

#endif
