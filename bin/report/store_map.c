/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/store_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "draw/axes.h"

#define HEAD 50      /* height of title and line, in pixels */
#define MAP_HEAD 24  /* height of the title above the rows */
#define MAP_FOOT 34  /* height of the legend below the rows */
#define AGE 50       /* width of the ages to the left of the rows */
#define ROW 12       /* height of a row */
#define ROW_APART 15 /* from the top of a row to the top of the next */
#define ROWS_MOST 20
#define ROW_CHUNKS 12 /* chunks per row, while there are few */
#define SEEN 5        /* least width of a chunk that gets a line after it */
#define GAP 28        /* pixels between two charts */
#define CHART_HEIGHT 230
#define CHART_FOOT 22   /* height of the legend below a chart */
#define TWO_COLUMNS 700 /* from this width on charts are side by side */
#define BINS 40

/* Colours of live and dead bytes in charts: the ends of lc__store_colour(). */
#define ALL_LIVE lc__store_colour(0)
#define ALL_DEAD lc__store_colour(1)

struct lc__store_sums
lc__store_sums_of(const struct lc__chunk_facts *chunks, size_t n)
{
	struct lc__store_sums sums = { .oldest_ms = UINT64_MAX };

	for (size_t i = 0; i < n; i++) {
		const struct lc__chunk_facts *c = &chunks[i];
		sums.damaged += c->damaged;
		if (c->damaged)
			continue;
		sums.records += c->records;
		sums.live += c->live;
		sums.bytes += c->bytes;
		sums.live_bytes += c->live_bytes;
		if (c->time_ms > sums.newest_ms)
			sums.newest_ms = c->time_ms;
		if (c->time_ms < sums.oldest_ms)
			sums.oldest_ms = c->time_ms;
		if (c->read_ms > sums.newest_ms)
			sums.newest_ms = c->read_ms;
		sums.reads |= c->read_ms > 0;
	}
	if (sums.oldest_ms > sums.newest_ms)
		sums.oldest_ms = sums.newest_ms;
	return sums;
}

uint32_t
lc__store_colour(double dead)
{
	const double t = fmin(fmax(dead, 0), 1);
	/* A straight line from blue to red would pass through grey; this one passes
	 * through sand. */
	static const struct lc__oklab by[] = { { 0.83, -0.025, -0.06 },
		{ 0.68, 0.055, 0.075 }, { 0.46, 0.145, 0.085 } };
	const int i = t < 0.5 ? 0 : 1;
	const double part = 2 * t - i;

	return lc__colour_of((struct lc__oklab){ by[i].l + part * (by[i + 1].l - by[i].l),
	    by[i].a + part * (by[i + 1].a - by[i].a),
	    by[i].b + part * (by[i + 1].b - by[i].b) });
}

static double
dead_share(const struct lc__chunk_facts *chunk)
{
	return chunk->bytes > 0 && chunk->live_bytes <= chunk->bytes
	    ? 1 - (double)chunk->live_bytes / (double)chunk->bytes
	    : 0;
}

/* Age in seconds, at the time of the newest commit or read. */
static double
age(const struct lc__store_sums *sums, uint64_t ms)
{
	return ms < sums->newest_ms ? (double)(sums->newest_ms - ms) / 1000 : 0;
}

/* ---- the head ------------------------------------------------------------------- */

static void
draw_head(struct lc__picture *picture, const struct lc__store_map *map,
    const struct lc__store_sums *sums)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const struct lc__font small = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double width = lc__picture_width(picture) - 2 * LC__MARGIN;
	char chunks[LC__TICKS_TEXT], records[LC__TICKS_TEXT], bytes[LC__TICKS_TEXT];
	char file[LC__TICKS_TEXT], spare[LC__TICKS_TEXT], line[8 * LC__TICKS_TEXT];
	const double dead = sums->bytes > 0
	    ? 1 - (double)sums->live_bytes / (double)sums->bytes
	    : 0;

	snprintf(line, sizeof(line), "%s records in %s chunk%s of %s, %.3g %% dead",
	    lc__ticks_text((double)sums->live, records, sizeof(records)),
	    lc__ticks_text((double)map->n, chunks, sizeof(chunks)),
	    map->n == 1 ? "" : "s",
	    lc__unit_text(LC__UNIT_BYTES, (double)sums->bytes, bytes), 100 * dead);
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 14, &large,
	    lc_id_of(map->module), width);
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 33, &small, lc_id_of(line),
	    width);
	snprintf(line, sizeof(line), "file of %s, %s of it free%s",
	    lc__unit_text(LC__UNIT_BYTES, (double)map->file_bytes, file),
	    lc__unit_text(LC__UNIT_BYTES, (double)map->free_bytes, spare),
	    sums->damaged > 0 ? "; rows of the ledger are damaged" : "");
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 48, &small, lc_id_of(line),
	    width);
}

/* ---- the chunks one after another -------------------------------------------------- */

struct lc__store_rows
lc__store_rows_of(size_t n, double width)
{
	const unsigned rows = n > (ROWS_MOST - 1) * ROW_CHUNKS
	    ? ROWS_MOST
	    : (unsigned)((n + ROW_CHUNKS - 1) / ROW_CHUNKS);

	return (struct lc__store_rows){
		.area = { LC__MARGIN + AGE, LC__MARGIN + HEAD + MAP_HEAD + 12,
		    fmax(floor(width) - 2 * LC__MARGIN - AGE, 1), ROW },
		.apart = ROW_APART,
		.n = rows > 0 ? rows : 1,
	};
}

/* All rows as one line of pixels: the bytes in each, and those of them that are
 * dead. */
struct line {
	float *bytes, *dead;
	bool *end; /* a chunk that is wide enough for a line after it ends here */
	size_t n;
};

static void
add_chunk(struct line *line, double begin, double end, double dead)
{
	const size_t last = line->n - 1;

	for (size_t i = (size_t)begin; i <= last && (double)i < end; i++) {
		const double part = fmin(end, (double)i + 1) - fmax(begin, (double)i);
		line->bytes[i] += (float)part;
		line->dead[i] += (float)(part * dead);
	}
	if (end - begin >= SEEN && end < (double)line->n)
		line->end[(size_t)(end - 0.5)] = true;
}

static lc_status
draw_line(struct lc__picture *picture, const struct lc__store_rows *rows,
    const struct line *line)
{
	const uint32_t width = (uint32_t)rows->area.width;
	struct lc__pixels pixels;
	struct lc__rect place = rows->area;

	for (unsigned row = 0; row < rows->n; row++) {
		return_if_error(lc__pixels_new(width, ROW, LC__WASH, &pixels));
		for (uint32_t x = 0; x < width; x++) {
			const size_t i = (size_t)row * width + x;
			const uint32_t colour = line->end[i] ? LC__PAPER
			    : line->bytes[i] > 0
			    ? lc__store_colour(line->dead[i] / line->bytes[i])
			    : LC__WASH;
			for (uint32_t y = 0; y < ROW; y++)
				lc__pixels_set(&pixels, x, y, colour);
		}
		lc__picture_image(picture, place, &pixels);
		lc__pixels_free(&pixels);
		place.y += rows->apart;
	}
	return LC_OK;
}

/* Write an age as "2.1 d". */
static void
draw_age(struct lc__picture *picture, const struct lc__store_rows *rows, unsigned row,
    double seconds)
{
	const struct lc__font font = { .size = LC__SMALL,
		.colour = LC__DIM_INK,
		.align = LC__RIGHT };
	static const struct {
		double size;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	char text[LC__TICKS_TEXT] = "0 s";

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (seconds >= units[i].size * 0.995) {
			const double n = seconds / units[i].size;
			snprintf(text, sizeof(text), n < 9.95 ? "%.1f %s" : "%.0f %s", n,
			    units[i].name);
			break;
		}
	lc__picture_text(picture, rows->area.x - 6, rows->area.y + row * rows->apart + 10,
	    &font, lc_id_of(text), AGE - 6);
}

/* Draw the legend, "dead share 0 % [colours] 100 %". */
static void
draw_scale(struct lc__picture *picture, double x, double y)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };
	struct lc__rect area = { 0, round(y) - 9, 2, 10 };

	x += lc__picture_text(picture, x, y, &font, lc_id_of("dead share of a chunk:"),
		 0) +
	    10;
	x += lc__picture_text(picture, x, y, &font, lc_id_of("0 %"), 0) + 6;
	area.x = round(x);
	for (int i = 0; i < 50; i++, area.x += 2)
		lc__picture_fill(picture, area, lc__store_colour(i / 49.0));
	lc__picture_text(picture, area.x + 6, y, &font, lc_id_of("100 %"), 0);
}

static lc_status
draw_chunks(struct lc__picture *picture, const struct lc__store_map *map,
    const struct lc__store_sums *sums)
{
	const struct lc__font title = { .size = LC__HEADING, .colour = LC__INK };
	const struct lc__font dim = { .size = LC__SMALL,
		.colour = LC__DIM_INK,
		.align = LC__RIGHT };
	const struct lc__store_rows rows = lc__store_rows_of(map->n,
	    lc__picture_width(picture));
	const size_t pixels = rows.n * (size_t)rows.area.width;
	struct line line = {
		.bytes = calloc(pixels, sizeof(*line.bytes)),
		.dead = calloc(pixels, sizeof(*line.dead)),
		.end = calloc(pixels, sizeof(*line.end)),
		.n = pixels,
	};
	const double scale = sums->bytes > 0 ? (double)pixels / (double)sums->bytes : 0;
	unsigned aged = 0; /* rows whose age is drawn */
	double at = 0;
	lc_status status = LC_OK;

	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + HEAD + 23, &title,
	    lc_id_of("Chunks from oldest to newest, by their bytes"),
	    lc__picture_width(picture) - 2 * LC__MARGIN);
	if (line.bytes == NULL || line.dead == NULL || line.end == NULL)
		status = lc__no_memory("view");
	for (size_t i = 0; i < map->n && status == LC_OK; i++) {
		const double end = at + (double)map->chunks[i].bytes * scale;
		for (; aged < rows.n && end > aged * rows.area.width + 0.5; aged++)
			draw_age(picture, &rows, aged, age(sums, map->chunks[i].time_ms));
		add_chunk(&line, at, end, dead_share(&map->chunks[i]));
		at = end;
	}
	if (status == LC_OK)
		status = draw_line(picture, &rows, &line);
	free(line.bytes);
	free(line.dead);
	free(line.end);
	at = rows.area.y + (rows.n - 1) * rows.apart + ROW + 18;
	lc__picture_text(picture, rows.area.x - 6, at, &dim, lc_id_of("age"), 0);
	draw_scale(picture, rows.area.x, at);
	return status;
}

/* ---- charts --------------------------------------------------------------------- */

/* A chart of stacked bars: each has a first part, and a second part on top of it. */
struct bars {
	double first[BINS], second[BINS];
	unsigned n;
	double most;
};

static void
add(struct bars *bars, double share, double first, double second)
{
	const unsigned i = (unsigned)fmin(fmax(share * bars->n, 0), bars->n - 1);

	bars->first[i] += first;
	bars->second[i] += second;
	bars->most = fmax(bars->most, bars->first[i] + bars->second[i]);
}

static void
draw_bars(struct lc__picture *picture, const struct bars *bars,
    const struct lc__axes *axes, uint32_t first, uint32_t second)
{
	const double step = (axes->x.high - axes->x.low) / bars->n;

	for (unsigned i = 0; i < bars->n; i++) {
		const double all = bars->first[i] + bars->second[i];
		const double low = axes->x.low + i * step;
		struct lc__rect lower = lc__axes_rect(axes, low, low + step, 0,
		    bars->first[i]);
		struct lc__rect upper = lc__axes_rect(axes, low, low + step,
		    bars->first[i], all);
		if (!(all > 0))
			continue;
		if (lower.height + upper.height < 1)
			upper.y -= 1, upper.height = 1;
		lower.width = upper.width -= upper.width >= 4;
		lc__picture_fill(picture, lower, first);
		lc__picture_fill(picture, upper,
		    bars->first[i] > 0 && bars->second[i] <= 0 ? first : second);
	}
}

static void
draw_legends(struct lc__picture *picture, const struct lc__axes *axes, const char *first,
    const char *second)
{
	const double y = axes->area.y + axes->area.height + 14;
	const double x = axes->plot.x;

	lc__legend(picture, x + lc__legend(picture, x, y, ALL_LIVE, first), y, ALL_DEAD,
	    second);
}

/* Draw axes and bars. The caller has set the axes' titles and the range of x. */
static void
draw_chart(struct lc__picture *picture, struct lc__axes *axes, const struct bars *bars,
    const char *first, const char *second)
{
	axes->y.high = lc__axis_top(axes->y.unit, bars->most);
	axes->area.height -= CHART_FOOT;
	lc__axes_lay(picture, axes);
	lc__axes_grid(picture, axes);
	draw_bars(picture, bars, axes, ALL_LIVE, ALL_DEAD);
	lc__axes_draw(picture, axes);
	draw_legends(picture, axes, first, second);
}

static void
draw_ages(struct lc__picture *picture, const struct lc__store_map *map,
    const struct lc__store_sums *sums, struct lc__rect area)
{
	const double span = fmax(age(sums, sums->oldest_ms), 1);
	struct bars bars = { .n = BINS };
	struct lc__axes axes = {
		.area = area,
		.title = "Bytes by the time of their commit",
		.x = { "time before the newest", -span, 0, LC__UNIT_SECONDS,
		    .no_grid = true },
		.y = { .unit = LC__UNIT_BYTES },
	};

	for (size_t i = 0; i < map->n; i++) {
		const struct lc__chunk_facts *c = &map->chunks[i];
		if (!c->damaged)
			add(&bars, 1 - age(sums, c->time_ms) / span,
			    (double)c->live_bytes, (double)(c->bytes - c->live_bytes));
	}
	draw_chart(picture, &axes, &bars, "live", "dead");
}

static void
draw_sizes(struct lc__picture *picture, const struct lc__store_map *map,
    struct lc__rect area)
{
	struct bars bars = { 0 };
	struct lc__axes axes = {
		.area = area,
		.title = "Chunks by their size",
		.x = { "bytes of records in a chunk", 64, 0, LC__UNIT_BYTES2,
		    .no_grid = true },
		.y = { .unit = LC__UNIT_COUNT },
	};

	for (size_t i = 0; i < map->n; i++) {
		const double size = log2(fmax((double)map->chunks[i].bytes, 1));
		axes.x.low = fmin(axes.x.low, floor(size));
		axes.x.high = fmax(axes.x.high, floor(size) + 1);
	}
	/* Two bars per power of two, if there is room. */
	bars.n = (unsigned)(axes.x.high - axes.x.low);
	bars.n *= bars.n <= BINS / 2 ? 2 : 1;
	bars.n = bars.n > BINS ? BINS : bars.n;
	for (size_t i = 0; i < map->n; i++) {
		const struct lc__chunk_facts *c = &map->chunks[i];
		const double size = log2(fmax((double)c->bytes, 1));
		const bool dead = c->live < c->records;
		add(&bars, (size - axes.x.low) / (axes.x.high - axes.x.low), !dead, dead);
	}
	draw_chart(picture, &axes, &bars, "all records live", "some dead");
}

static void
draw_dead(struct lc__picture *picture, const struct lc__store_map *map,
    struct lc__rect area)
{
	struct bars bars = { .n = 20 };
	struct lc__axes axes = {
		.area = area,
		.title = "Bytes by the dead share of their chunk",
		.x = { "dead share", 0, 1, LC__UNIT_SHARE, .no_grid = true },
		.y = { .unit = LC__UNIT_BYTES },
	};

	for (size_t i = 0; i < map->n; i++) {
		const struct lc__chunk_facts *c = &map->chunks[i];
		if (!c->damaged)
			add(&bars, dead_share(c), (double)c->live_bytes,
			    (double)(c->bytes - c->live_bytes));
	}
	draw_chart(picture, &axes, &bars, "live", "dead");
}

/* Tell the reader why no reads are drawn. */
static void
draw_no_reads(struct lc__picture *picture, struct lc__rect area)
{
	const struct lc__font title = { .size = LC__HEADING, .colour = LC__INK };
	const struct lc__font dim = { .size = LC__SMALL, .colour = LC__DIM_INK };

	lc__picture_text(picture, area.x, area.y + 13, &title,
	    lc_id_of("Bytes by last read"), area.width);
	lc__picture_text_lines(picture, area.x, area.y + 36, &dim,
	    lc_id_of("Not recorded in this module. With evict=unread, handles that write "
		     "record the time at which each chunk was last read."),
	    fmin(area.width, 320), 6);
}

static void
draw_reads(struct lc__picture *picture, const struct lc__store_map *map,
    const struct lc__store_sums *sums, struct lc__rect area)
{
	const double span = fmax(age(sums, sums->oldest_ms), 1);
	struct bars bars = { .n = BINS };
	struct lc__axes axes = {
		.area = area,
		.title = "Bytes by last read",
		.x = { "time before the newest", -span, 0, LC__UNIT_SECONDS,
		    .no_grid = true },
		.y = { .unit = LC__UNIT_BYTES },
	};
	char text[LC__TICKS_TEXT + 40], bytes[LC__TICKS_TEXT];
	double unread = 0;

	if (!sums->reads) {
		draw_no_reads(picture, area);
		return;
	}
	for (size_t i = 0; i < map->n; i++) {
		const struct lc__chunk_facts *c = &map->chunks[i];
		if (c->damaged)
			continue;
		if (c->read_ms == 0)
			unread += (double)c->bytes;
		else
			add(&bars, 1 - age(sums, c->read_ms) / span, (double)c->bytes, 0);
	}
	axes.y.high = lc__axis_top(axes.y.unit, bars.most);
	axes.area.height -= CHART_FOOT;
	lc__axes_lay(picture, &axes);
	lc__axes_grid(picture, &axes);
	draw_bars(picture, &bars, &axes, LC__BAR, LC__BAR);
	lc__axes_draw(picture, &axes);
	snprintf(text, sizeof(text), "%s in chunks without a recorded read",
	    lc__unit_text(LC__UNIT_BYTES, unread, bytes));
	lc__picture_text(picture, axes.plot.x, axes.area.y + axes.area.height + 14,
	    &(struct lc__font){ .size = LC__SMALL, .colour = LC__INK }, lc_id_of(text),
	    area.width);
}

lc_status
lc__store_map_draw(struct lc__picture *picture, const struct lc__store_map *map,
    double width)
{
	const struct lc__store_sums sums = lc__store_sums_of(map->chunks, map->n);
	const struct lc__store_rows rows = lc__store_rows_of(map->n, width);
	const double top = rows.area.y + (rows.n - 1) * rows.apart + ROW + MAP_FOOT;
	const unsigned across = width >= TWO_COLUMNS ? 2 : 1;
	const double room = width - 2 * LC__MARGIN;
	const double each = floor((room - (across - 1) * GAP) / across);
	const unsigned down = 4 / across;
	const double last = sums.reads || across > 1 ? CHART_HEIGHT : 90;
	struct lc__rect places[4];

	for (unsigned i = 0; i < 4; i++)
		places[i] = (struct lc__rect){ LC__MARGIN + i % across * (each + GAP),
			top + i / across * (CHART_HEIGHT + GAP), each, CHART_HEIGHT };
	return_if_error(lc__picture_begin(picture, width,
	    top + (down - 1) * (CHART_HEIGHT + GAP) + last + LC__MARGIN,
	    lc_id_of(map->module)));
	draw_head(picture, map, &sums);
	return_if_error(draw_chunks(picture, map, &sums));
	draw_ages(picture, map, &sums, places[0]);
	draw_sizes(picture, map, places[1]);
	draw_dead(picture, map, places[2]);
	draw_reads(picture, map, &sums, places[3]);
	return LC_OK;
}
