/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cachex view` can draw. Each function begins a picture, draws on it and writes what
 * it drew as members of a JSON object that is open; it reports; an exit status. EXIT_NO and
 * EXIT_DATA with a picture that was begun say that parts of it are missing or damaged;
 * where there is nothing to draw the picture was not begun.
 */
#ifndef CACHEX_CMD_VIEW_H
#define CACHEX_CMD_VIEW_H

#include "cmd/samples.h"
#include "cmd/vectors.h"
#include "draw/picture.h"
#include "ui/json.h"
#include "ui/opt.h"

/** How samples are chosen: one of `ids`, `random` and, if both are unset, `from`. */
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

/** Choose among @p count of @p what ("samples"), without ids; reports; an exit status. */
int select_numbers(const struct select *how, uint64_t count, const char *what,
    struct selected *out);
/** Choose; reports; an exit status. */
int select_samples(const struct select *how, const struct samples *samples,
    struct selected *out);

void selected_free(struct selected *selected);

/** How a contact sheet is laid out. */
struct view_grid {
	uint64_t
	    columns;   /* cells beside each other, OPT_UNSET for as many as look well */
	uint32_t cell; /* pixels of a cell's side */
};

/** The columns of a sheet of @p n cells. */
uint32_t view_columns(const struct view_grid *grid, size_t n);

/** How a tensor is drawn. */
struct view_tensor {
	const char *field; /* a part of a structured value, or NULL */
	bool heat;         /* a heat map also of an image */
	uint32_t side;     /* pixels at most */
};

/** A cache_id without the key of the recipe at its beginning, which is of no use to a
 *  reader; borrows it. */
lc_id view_short_id(lc_id id);

/** A contact sheet of samples. */
int view_sheet(const char *path, const struct select *how, const struct view_grid *grid,
    struct lc__picture *picture, struct json *json);

/** Histograms of boxes: their sizes, their number in a sample, their aspects. */
int view_histograms(const char *path, struct lc__picture *picture, struct json *json);

/** A page of charts, and a list of what it shows. */
struct view_page {
	struct lc__picture *picture; /* without a size yet; NULL for the list alone */
	struct json *json;           /* gets members of an object that is open */
	double width;                /* pixels of the page */
	bool list; /* print the list on standard output; each line is an object with
	                  --json */
};

/**
 * What two modules, or two warehouses, have in common.
 * @param modules  both names are those of modules
 * @param field    a part of the records, plain data, whose values are counted, or NULL
 */
int view_coverage(const char *const names[2], bool modules, const char *field,
    const struct view_page *page);

/** Which records are duplicates. */
struct view_near {
	const char *field; /* the part that is compared; NULL for the whole record */
	bool exact;        /* only equal ones */
	double limit;      /* distance of near ones; below 0 for the defaults */
	size_t pairs;      /* drawn at most */
};

/** A contact sheet of pairs of records that are equal or nearly equal. */
int view_duplicates(const char *module, const struct view_near *how,
    const struct view_grid *grid, const struct view_page *page);

/** Records on a sheet that the caller chose. */
struct view_cells {
	const lc_id *ids;
	const uint64_t *records; /* their numbers in key order; NULL for unknown */
	const char *notes; /* n texts for the captions, "" for none; NULL for none */
	size_t note_room;  /* bytes of each */
	size_t n;
	const char *line; /* below the title */
	bool pairs;       /* every two cells belong together */
};

/** The sheet of cells; EXIT_NO and EXIT_DATA if some are missing or damaged. */
int view_cells(lc_cache *cache, const char *module, const struct view_cells *cells,
    const struct view_grid *grid, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json);

/** Vectors of a module that a map of them has by default, at most. */
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
