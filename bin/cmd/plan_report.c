/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex plan --report: a page with charts of what the caches of readers fetch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "cmd/plan.h"
#include "report/curves.h"
#include "report/page.h"
#include "ui/progress.h"

#define SIZES 24        /* sizes of caches that are compared */
#define BANDWIDTHS 14   /* speeds of stores that are compared */
#define MOST_SPANS 6000 /* most visits that are drawn */
#define MOST_ROWS 300   /* most rows in the table of readers */
#define DRAWN 0         /* number of the cache that is drawn */

/* The data of the charts, all of the readers of one cache. */
struct drawing {
	const struct plan_counting *counting;
	const struct plan_node *node; /* its readers */
	char who[SIZE_TEXT + 16];     /* "reader 0" */
	double sizes[SIZES + 1], lru[SIZES + 1], belady[SIZES + 1], best[SIZES + 1];
	size_t n_sizes;
	double bandwidths[BANDWIDTHS + 1], stalled[BANDWIDTHS + 1]; /* MB/s, seconds */
	size_t n_bandwidths;
	struct lc__span *spans;
	size_t n_spans, room;
	uint64_t *row_of; /* each chunk's row, from 1, in the order of first use */
	uint64_t rows;
	double end;      /* of the spans: a batch */
	uint64_t visits; /* all of them */
};

/* ---- counting ---------------------------------------------------------------------------- */

static int
by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Remove duplicates from sorted sizes. */
static size_t
sort_numbers(double *numbers, size_t n)
{
	size_t kept = 0;

	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || numbers[i] > numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}

/* Choose sizes from the least cache up to all chunks of its readers, with the size that
 * the user gave. */
static lc_status
count_sizes(struct drawing *d)
{
	const struct plan_nodes *how = d->counting->how;
	const double least = ceil(d->node->least), all = fmax(d->node->bytes, least + 1);
	const double epochs = (double)how->epochs;

	for (size_t i = 0; i < SIZES; i++)
		d->sizes[d->n_sizes++] = floor(
		    least + (all - least) * (double)i / (SIZES - 1));
	if (d->node->enough)
		d->sizes[d->n_sizes++] = (double)how->cache;
	d->n_sizes = sort_numbers(d->sizes, d->n_sizes);
	for (size_t i = 0; i < d->n_sizes; i++) {
		struct plan_nodes other = *how;
		struct plan_counting c = *d->counting;
		struct plan_fetched found = { 0 };

		other.cache = (uint64_t)d->sizes[i];
		other.mbps = 0;
		c.how = &other;
		return_if_error(plan_count(&c, DRAWN, NULL, NULL, &found));
		d->lru[i] = found.lru;
		d->belady[i] = found.belady;
		d->best[i] = fmin(found.belady,
		    d->node->bytes +
			(epochs - 1) * fmax(d->node->bytes - d->sizes[i], 0));
	}
	return LC_OK;
}

/* Choose speeds around what the readers need, with the speed that the user gave. */
static lc_status
count_stalls(struct drawing *d)
{
	const struct plan_nodes *how = d->counting->how;
	const double needed = plan_needed_mbps(&d->node->fetched);

	if (!(needed > 0))
		return LC_OK;
	for (int i = 0; i < BANDWIDTHS; i++)
		d->bandwidths[d->n_bandwidths++] = needed * pow(2, (i - 4) / 2.0);
	if (how->mbps > 0)
		d->bandwidths[d->n_bandwidths++] = how->mbps;
	d->n_bandwidths = sort_numbers(d->bandwidths, d->n_bandwidths);
	for (size_t i = 0; i < d->n_bandwidths; i++) {
		struct plan_nodes other = *how;
		struct plan_counting c = *d->counting;
		struct plan_fetched found = { 0 };

		other.mbps = d->bandwidths[i];
		c.how = &other;
		return_if_error(plan_count(&c, DRAWN, NULL, NULL, &found));
		d->stalled[i] = found.stalled;
	}
	return LC_OK;
}

static lc_status
take_visit(void *ctx, uint64_t k, const struct lc__visit *visit, bool fetched)
{
	struct drawing *d = ctx;

	d->visits = k + 1;
	if (d->row_of[visit->chunk] == 0)
		d->row_of[visit->chunk] = ++d->rows;
	if (d->n_spans == MOST_SPANS)
		return LC_OK;
	return_if_error(lc__array_reserve(&d->spans, &d->room, d->n_spans + 1, "visits"));
	d->spans[d->n_spans++] = (struct lc__span){ (double)visit->first,
		(double)visit->end, (double)(d->row_of[visit->chunk] - 1), fetched };
	d->end = fmax(d->end, (double)visit->end);
	return LC_OK;
}

static lc_status
count_visits(struct drawing *d)
{
	struct plan_fetched found = { 0 };

	d->row_of = calloc(d->counting->plan->chunks->n + 1, sizeof(*d->row_of));
	if (d->row_of == NULL)
		return lc__no_memory(NULL);
	return plan_count(d->counting, DRAWN, take_visit, d, &found);
}

/* ---- the page ---------------------------------------------------------------------------- */

static void
write_head(FILE *out, const struct drawing *d, const struct plan_node *sum)
{
	const struct plan_nodes *how = d->counting->how;
	const struct plan *plan = d->counting->plan;
	char text[SIZE_TEXT], needed[sizeof(d->who) + 16];

	lc__page_begin(out, plan->sources->all[0].name);
	fputs("<h1>", out);
	lc__page_str(out, plan->sources->all[0].name);
	fprintf(out,
	    "</h1>\n<p class=\"dim\">What readers fetch through a cache, counted over all "
	    "visits to chunks in %llu epoch%s, without reading. %llu shares, windows of "
	    "%llu, %llu fetched ahead.</p>\n",
	    (unsigned long long)how->epochs, how->epochs == 1 ? "" : "s",
	    (unsigned long long)how->shares, (unsigned long long)how->spread,
	    (unsigned long long)how->ahead);
	lc__page_strip(out);
	lc__page_tile_count(out, plan->readers, "readers");
	lc__page_tile_count(out, plan->chunks->n, "chunks");
	lc__page_tile_bytes(out, (uint64_t)sum->bytes, "of all readers");
	if (how->together > 1)
		lc__page_tile_count(out, how->together, "readers of a cache");
	lc__page_tile_bytes(out, how->cache,
	    how->together > 1 ? "each cache" : "cache of a reader");
	if (sum->enough) {
		lc__page_tile_bytes(out, (uint64_t)sum->fetched.lru, "fetched by LRU");
		lc__page_tile_bytes(out, (uint64_t)sum->fetched.belady,
		    "fetched by this cache");
		lc__page_tile_bytes(out, (uint64_t)sum->fetched.best, "fetched at best");
	}
	if (sum->enough && d->n_bandwidths > 0) {
		snprintf(text, sizeof(text), "%.1f MB/s",
		    plan_needed_mbps(&d->node->fetched));
		snprintf(needed, sizeof(needed), "needed by %s", d->who);
		lc__page_tile(out, text, needed);
	}
	if (sum->enough && how->mbps > 0) {
		plan_seconds(sum->fetched.stalled, text);
		lc__page_tile(out, text,
		    how->together > 1 ? "stalled, the slowest"
				      : "stalled, the slowest reader");
	}
	lc__page_strip_end(out);
	if (!sum->enough)
		fputs("<p class=\"warn\">The cache is smaller than the least that its "
		      "readers need: chunks are fetched again within an epoch.</p>\n",
		    out);
}

static void
write_sizes(FILE *out, const struct drawing *d)
{
	char note[256];
	const struct lc__curves curves = {
		.title = "Bytes fetched by the size of the cache",
		.note = note,
		.x_title = "size of the cache",
		.x_unit = LC__UNIT_BYTES,
		.y_unit = LC__UNIT_BYTES,
		.x = d->sizes,
		.n = d->n_sizes,
		.curves = { { "this cache", d->belady }, { "LRU", d->lru },
		    { "at best", d->best } },
		.n_curves = 3,
		.marked = d->node->enough,
		.mark = fmin((double)d->counting->how->cache, d->sizes[d->n_sizes - 1]),
		.mark_name = "this size",
	};

	snprintf(note, sizeof(note),
	    "%s, from the least cache to the bytes of all chunks; counted for each point",
	    d->who);
	lc__page_section(out, "Cache");
	lc__curves_draw(out, &curves);
	fputs(
	    "<p class=\"dim\">LRU evicts the chunk that was used longest ago, this cache "
	    "the one that is needed again last. At best: what the readers have, once, and "
	    "in each later epoch what the cache has no room for.</p>\n",
	    out);
	fputs("<details><summary>Numbers</summary>\n", out);
	lc__page_table(out, "#Cache, bytes|#LRU|#This cache|#At best");
	for (size_t i = 0; i < d->n_sizes; i++) {
		fputs(d->node->enough && (uint64_t)d->sizes[i] == d->counting->how->cache
			? "<tr class=\"sum\">"
			: "<tr>",
		    out);
		lc__page_cell_count(out, (uint64_t)d->sizes[i]);
		lc__page_cell_count(out, (uint64_t)d->lru[i]);
		lc__page_cell_count(out, (uint64_t)d->belady[i]);
		lc__page_cell_count(out, (uint64_t)d->best[i]);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	fputs("</details>\n", out);
	lc__page_section_end(out);
}

static void
write_stalls(FILE *out, const struct drawing *d)
{
	const struct plan_nodes *how = d->counting->how;
	double logs[BANDWIDTHS + 1];
	char note[256];
	const struct lc__curves curves = {
		.title = "Time that readers wait, by the bandwidth of the store",
		.note = note,
		.x_title = "MB/s that the store sends",
		.x_unit = LC__UNIT_POWER,
		.y_unit = LC__UNIT_SECONDS,
		.x = logs,
		.n = d->n_bandwidths,
		.curves = { { "stalled", d->stalled } },
		.n_curves = 1,
		.marked = true,
		.mark = log10(plan_needed_mbps(&d->node->fetched)),
		.mark_name = "needed on average",
	};

	for (size_t i = 0; i < d->n_bandwidths; i++)
		logs[i] = log10(d->bandwidths[i]);
	snprintf(note, sizeof(note),
	    "%s, at %g examples a second%s, and %g ms until the store answers", d->who,
	    how->rate, how->together > 1 ? " each" : "", how->latency * 1e3);
	lc__page_section(out, "Store");
	lc__curves_draw(out, &curves);
	fputs("<details><summary>Numbers</summary>\n", out);
	lc__page_table(out, "#MB/s|#Stalled, s");
	for (size_t i = 0; i < d->n_bandwidths; i++)
		fprintf(out,
		    "<tr><td class=\"n\">%.6g</td><td class=\"n\">%.6g</td></tr>\n",
		    d->bandwidths[i], d->stalled[i]);
	lc__page_table_end(out);
	fputs("</details>\n", out);
	lc__page_section_end(out);
}

static void
write_visits(FILE *out, const struct drawing *d)
{
	const struct plan_counting *c = d->counting;
	const double epoch = (double)c->batches / (double)c->how->epochs;
	double lines[64];
	char shown[80], note[256];
	struct lc__spans spans = {
		.title = "Chunks over time",
		.note = note,
		.x_title = "batch",
		.y_title = "chunks, by first use",
		.all = d->spans,
		.n = d->n_spans,
		.end = d->end,
		.rows = (double)d->rows,
		.lines = lines,
		.weak_name = "the cache has it",
		.strong_name = "fetched",
	};

	while (spans.n_lines < 64 && epoch * (double)(spans.n_lines + 1) < d->end) {
		lines[spans.n_lines] = epoch * (double)(spans.n_lines + 1);
		spans.n_lines++;
	}
	if (d->n_spans < d->visits)
		snprintf(shown, sizeof(shown), "the first %zu of %llu visits", d->n_spans,
		    (unsigned long long)d->visits);
	else
		snprintf(shown, sizeof(shown), "all %zu visits", d->n_spans);
	snprintf(note, sizeof(note),
	    "%s: the batches in which each chunk is in use, a row for each; %s%s", d->who,
	    shown, spans.n_lines > 0 ? "; dotted lines between epochs" : "");
	lc__page_section(out, "Access");
	lc__spans_draw(out, &spans);
	lc__page_section_end(out);
}

static void
write_readers(FILE *out, const struct drawing *d, const struct plan_node *nodes)
{
	const struct plan_nodes *how = d->counting->how;
	const uint32_t n = plan_caches(d->counting);
	const uint32_t rows = n < MOST_ROWS ? n : MOST_ROWS;
	char name[SIZE_TEXT];

	lc__page_section(out, "Readers");
	lc__page_table(out,
	    "#Reader|#Chunks|#Bytes|#Least cache|#LRU|#This cache|#At best|#Requests|"
	    "#MB/s|#Stalled, s");
	for (uint32_t r = 0; r < rows; r++) {
		const struct plan_node *node = &nodes[r];
		const struct plan_fetched *f = &node->fetched;

		fputs("<tr>", out);
		fprintf(out, "<td class=\"n\">%s</td>",
		    plan_readers_name(d->counting, r, name));
		lc__page_cell_count(out, node->chunks);
		lc__page_cell_count(out, (uint64_t)node->bytes);
		lc__page_cell_count(out, (uint64_t)node->least);
		if (node->enough) {
			lc__page_cell_count(out, (uint64_t)f->lru);
			lc__page_cell_count(out, (uint64_t)f->belady);
			lc__page_cell_count(out, (uint64_t)f->best);
			lc__page_cell_count(out, f->requests);
		} else {
			fputs("<td></td><td></td><td></td><td></td>", out);
		}
		if (node->enough && how->rate > 0)
			fprintf(out, "<td class=\"n\">%.6g</td>", plan_needed_mbps(f));
		else
			fputs("<td></td>", out);
		if (node->enough && how->mbps > 0)
			fprintf(out, "<td class=\"n\">%.6g</td>", f->stalled);
		else
			fputs("<td></td>", out);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, rows, n, how->together > 1 ? "caches" : "readers");
	lc__page_section_end(out);
}

lc_status
plan_report(const struct plan_counting *counting, const struct plan_node *nodes,
    const struct plan_node *sum, FILE *out)
{
	struct drawing d = { .counting = counting, .node = &nodes[DRAWN] };
	char name[SIZE_TEXT];
	lc_status status;

	snprintf(d.who, sizeof(d.who), "reader%s %s",
	    counting->how->together > 1 ? "s" : "",
	    plan_readers_name(counting, DRAWN, name));
	progress_begin("report");
	status = count_sizes(&d);
	if (status == LC_OK && d.node->enough)
		status = count_stalls(&d);
	if (status == LC_OK && d.node->enough)
		status = count_visits(&d);
	progress_end();
	if (status == LC_OK) {
		write_head(out, &d, sum);
		write_sizes(out, &d);
		if (d.n_bandwidths > 0)
			write_stalls(out, &d);
		if (d.n_spans > 0)
			write_visits(out, &d);
		write_readers(out, &d, nodes);
		lc__page_end(out);
	}
	free(d.spans);
	free(d.row_of);
	return status;
}
