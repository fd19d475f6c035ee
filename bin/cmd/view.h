/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cachex view` can draw. Each function begins a picture, draws on it, and writes
 * what it drew as members of the open JSON object. It reports errors and returns an
 * exit status. EXIT_NO or EXIT_DATA with a picture that was begun mean that parts of it
 * are missing or damaged. If there is nothing to draw, the picture is not begun.
 */
#ifndef CACHEX_CMD_VIEW_H
#define CACHEX_CMD_VIEW_H

#include "cmd/samples.h"
#include "cmd/vectors.h"
#include "draw/picture.h"
#include "ui/json.h"
#include "ui/opt.h"

/** Which samples to draw, by one member: `ids`, `random` or, if both are unset,
 *  `from`. */
struct select {
	uint64_t most;              /* the most samples; ignored with ids */
	uint64_t from;              /* number of the first sample */
	uint64_t random;            /* seed of a random choice, or OPT_UNSET */
	const struct opt_list *ids; /* cache_ids, or their ends after a "/" */
};

/** In place of the number of a sample that does not exist. */
#define SELECT_NONE UINT64_MAX

struct selected {
	/* Numbers of samples; SELECT_NONE for an id that does not exist. */
	uint64_t *items;
	size_t count;
};

/** Choose among @p count items, which messages call @p what ("samples"), without ids.
 *  Reports errors; returns an exit status. */
int select_numbers(const struct select *how, uint64_t count, const char *what,
    struct selected *out);
/** Choose samples. Reports errors; returns an exit status. */
int select_samples(const struct select *how, const struct samples *samples,
    struct selected *out);

void selected_free(struct selected *selected);

/** How a contact sheet is laid out. */
struct view_grid {
	uint64_t columns; /* number of columns; OPT_UNSET: as many as look well */
	uint32_t cell;    /* side of a cell, in pixels */
};

/** The number of columns for a sheet of @p n cells. */
uint32_t view_columns(const struct view_grid *grid, size_t n);

/** How a tensor is drawn. */
struct view_tensor {
	const char *field; /* path of a part of a structured value, or NULL */
	bool heat;         /* draw an image as a heat map, too */
	uint32_t side;     /* most pixels of a side */
};

/** A cache_id without the recipe's key at its beginning, which tells a reader nothing.
 *  Borrows @p id. */
lc_id view_short_id(lc_id id);

/** A contact sheet of samples. */
int view_sheet(const char *path, const struct select *how, const struct view_grid *grid,
    struct lc__picture *picture, struct json *json);

/** Histograms of boxes: their sizes, their number per sample, their aspects. */
int view_histograms(const char *path, struct lc__picture *picture, struct json *json);

/** A page of charts, and a list of what it shows. */
struct view_page {
	/* A picture without a size; NULL if only the list is wanted. */
	struct lc__picture *picture;
	struct json *json; /* an open object that gets members */
	double width;      /* width of the page in pixels */
	bool list; /* print the list on standard output; each line is an object with
	                  --json */
};

/**
 * Draw what two modules, or two warehouses, have in common.
 * @param modules  both names are names of modules
 * @param field    path of plain data in the records whose values are counted, or NULL
 */
int view_coverage(const char *const names[2], bool modules, const char *field,
    const struct view_page *page);

/** Which records are duplicates. */
struct view_near {
	/* Path of the part that is compared; NULL: the whole record. */
	const char *field;
	bool exact;   /* look for equal records only */
	double limit; /* largest distance of near records; below 0: the defaults */
	size_t pairs; /* most pairs that are drawn */
};

/** A contact sheet of pairs of records that are equal or nearly equal. */
int view_duplicates(const char *module, const struct view_near *how,
    const struct view_grid *grid, const struct view_page *page);

/** Records on a sheet that the caller chose. */
struct view_cells {
	const lc_id *ids;
	/* Numbers of the records in key order; NULL: unknown. */
	const uint64_t *records;
	const char *notes; /* n texts for the captions, "" for none; NULL for none */
	size_t note_room;  /* bytes per text in `notes` */
	size_t n;
	const char *line; /* text below the title */
	bool pairs;       /* each two cells are a pair */
};

/** Draw the sheet of cells; EXIT_NO and EXIT_DATA if some are missing or damaged. */
int view_cells(lc_cache *cache, const char *module, const struct view_cells *cells,
    const struct view_grid *grid, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json);

/** The most vectors on a map, by default. */
#define VIEW_VECTORS 20000

/** A map of a module's vectors. */
int view_embedding(const char *module, const struct vectors_choice *choice,
    const struct view_page *page);

/** A map of a module's chunks. */
int view_chunks(const char *module, const struct view_page *page);

/** A contact sheet of a module's records. */
int view_module(const char *module, const struct select *select,
    const struct view_grid *grid, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json);

/** A tensor of a module. */
int view_record(const char *module, const char *cache_id, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json);

/** A .npy file, "-" for standard input. */
int view_npy(const char *path, const struct view_tensor *how, struct lc__picture *picture,
    struct json *json);

#endif
