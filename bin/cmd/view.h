/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cachex view` can draw. Each function draws a picture and writes what it drew
 * as members of a JSON object that is open; it reports; an exit status. EXIT_NO with a
 * picture says that samples of it are missing or damaged; where there is no picture
 * the canvas is left alone.
 */
#ifndef CACHEX_CMD_VIEW_H
#define CACHEX_CMD_VIEW_H

#include "cmd/samples.h"
#include "image/canvas.h"
#include "ui/json.h"
#include "ui/opt.h"

/** How they are chosen: one of `ids`, `random` and, if both are unset, `from`. */
struct select {
	uint64_t most;              /* how many at most; not of ids */
	uint64_t from;              /* the first one */
	uint64_t random;            /* the seed of a random choice, or OPT_UNSET */
	const struct opt_list *ids; /* cache_ids, or their ends after a "/" */
};

/** A sample that is not there. */
#define SELECT_NONE UINT64_MAX

struct selected {
	uint64_t *items; /* numbers of samples; SELECT_NONE for an id that is not there */
	size_t count;
};

/** Choose; reports; an exit status. */
int select_samples(const struct select *how, const struct samples *samples,
    struct selected *out);

void selected_free(struct selected *selected);

/**
 * A contact sheet.
 * @param columns  cells beside each other, OPT_UNSET for as many as look well
 * @param cell     pixels of a cell's side
 */
int view_sheet(const char *path, const struct select *how, uint64_t columns,
    uint32_t cell, struct lc__canvas *out, struct json *json);

/** Histograms of boxes: their sizes, their number in a sample, their aspects. */
int view_histograms(const char *path, struct lc__canvas *out, struct json *json);

/** How a tensor is drawn. */
struct view_tensor {
	const char *field; /* a part of a structured value, or NULL */
	bool heat;         /* a heat map also of an image */
	uint32_t side;     /* pixels at most */
};

/** A tensor of a module. */
int view_record(const char *module, const char *cache_id, const struct view_tensor *how,
    struct lc__canvas *out, struct json *json);

/** A .npy file, "-" for standard input. */
int view_npy(const char *path, const struct view_tensor *how, struct lc__canvas *out,
    struct json *json);

#endif
