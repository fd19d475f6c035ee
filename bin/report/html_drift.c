/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/page.h"
#include "report/plot.h"

static void
write_head(FILE *out, const struct lc__facts *new, const struct lc__drift *drift)
{
	fputs("<header>\n<p class=\"dim\">Drift of a tensor warehouse</p>\n<h1>", out);
	lc__page_str(out, new->info->dataset_root);
	fputs("</h1>\n", out);
	if (drift->exceeded == 0)
		fputs("<p class=\"good\">No distance is above its limit.</p>\n", out);
	else
		fprintf(out,
		    "<p class=\"bad\">%zu of %d distances %s above %s limit.</p>\n",
		    drift->exceeded, LC__DRIFT_METRICS,
		    drift->exceeded == 1 ? "is" : "are",
		    drift->exceeded == 1 ? "its" : "their");
	if (drift->chance > 0)
		fprintf(out,
		    "<p class=\"warn\">%zu of them %s no larger than chance "
		    "makes for so few values.</p>\n",
		    drift->chance, drift->chance == 1 ? "is" : "are");
	fputs("</header>\n", out);
}

static void
write_count(FILE *out, const char *name, uint64_t old, uint64_t new)
{
	fprintf(out, "<tr><td>%s</td>", name);
	lc__page_cell_count(out, old);
	lc__page_cell_count(out, new);
	fputs("<td class=\"n\">", out);
	if (old > 0)
		fprintf(out, "%+.1f %%", 100 * ((double)new - (double)old) / (double)old);
	fputs("</td></tr>\n", out);
}

static void
write_name(FILE *out, const struct lc__facts *facts)
{
	fputs("<td class=\"n\">", out);
	lc__page_str(out, lc__html_name(facts->info->path));
	fputs("</td>", out);
}

static void
write_counts(FILE *out, const struct lc__facts *old, const struct lc__facts *new)
{
	const struct lc__counts *a = &old->summary.totals;
	const struct lc__counts *b = &new->summary.totals;

	lc__page_section(out, "Counts");
	lc__page_table(out, "|#Old|#New|#Change");
	fputs("<tr><td>version</td>", out);
	write_name(out, old);
	write_name(out, new);
	fputs("<td></td></tr>\n<tr><td>built</td><td class=\"n\">", out);
	lc__page_time(out, old->info->created_at_ms);
	fputs("</td><td class=\"n\">", out);
	lc__page_time(out, new->info->created_at_ms);
	fputs("</td><td></td></tr>\n", out);
	write_count(out, "frames", a->total, b->total);
	write_count(out, "samples", old->summary.written, new->summary.written);
	write_count(out, "boxes", old->seen.boxes, new->seen.boxes);
	write_count(out, "runs", old->summary.n_runs, new->summary.n_runs);
	write_count(out, "without a box", a->empty, b->empty);
	write_count(out, "no image named", a->missing_image, b->missing_image);
	write_count(out, "image file missing", a->missing_file, b->missing_file);
	write_count(out, "invalid", a->invalid, b->invalid);
	lc__page_table_end(out);
	lc__page_section_end(out);
}

static void
write_distances(FILE *out, const struct lc__drift *drift)
{
	lc__page_section(out, "Distances");
	lc__page_table(out, "Of|#Distance|#By chance|#Limit|Verdict|Values");
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++) {
		const struct lc__drift_row *row = &drift->rows[i];
		fputs("<tr><td>", out);
		lc__page_str(out, lc__drift_title(row->metric));
		fprintf(out, "<br/><code class=\"dim\">%s</code></td>",
		    lc__drift_name(row->metric));
		fprintf(out,
		    "<td class=\"n\">%.3f</td><td class=\"n\">%.3f</td>"
		    "<td class=\"n\">%.3g</td>",
		    row->distance, row->noise, row->limit);
		if (row->exceeded && row->chance)
			fputs("<td class=\"warn\">above, as chance may be</td>", out);
		else if (row->exceeded)
			fputs("<td class=\"bad\">above</td>", out);
		else
			fputs("<td class=\"good\">within</td>", out);
		fputs("<td>", out);
		if (row->is_share) {
			fprintf(out, "%.3g %% to %.3g %%", 100 * row->old_value,
			    100 * row->new_value);
		} else {
			lc__page_count(out, row->old_n);
			fputs(" and ", out);
			lc__page_count(out, row->new_n);
			fputs(" values", out);
		}
		fputs("</td></tr>\n", out);
	}
	lc__page_table_end(out);
	fputs("<p class=\"dim\">A distance is the share of the values that would have "
	      "to change for both distributions to be equal: 0 for the same, 1 for "
	      "nothing in common. By chance is the distance to be expected between "
	      "two random draws of these sizes from one source; what is not clearly "
	      "above it says nothing.</p>\n",
	    out);
	lc__page_section_end(out);
}

static void
write_plots(FILE *out, const struct lc__facts *old, const struct lc__facts *new,
    const struct lc__drift *drift)
{
	char note[80];

	lc__page_section(out, "Distributions");
	fputs("<p><i class=\"key k0\"></i>old <i class=\"key k1\"></i>new</p>\n"
	      "<div class=\"plots\">\n",
	    out);
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++) {
		const struct lc__drift_row *row = &drift->rows[i];
		const size_t m = row->metric - LC__DRIFT_HISTOGRAMS;
		struct lc__plotted what;
		if (row->metric < LC__DRIFT_HISTOGRAMS || row->old_n + row->new_n == 0)
			continue;
		what = lc__plotted_of(&lc__metrics[m]);
		snprintf(note, sizeof(note), "distance %.3f, by chance %.3f",
		    row->distance, row->noise);
		lc__plot_pair(out, &what, &old->seen.histograms[m],
		    &new->seen.histograms[m], note);
	}
	fputs("</div>\n", out);
	lc__page_section_end(out);
}

/* The row of a class of either side, and the change of its share of the boxes. */
struct change {
	int64_t id;
	uint64_t old, new;
	double by;
};

static int
by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static double
share_of(uint64_t n, uint64_t all)
{
	return all ? (double)n / (double)all : 0;
}

static size_t
gather(const struct lc__classes *old, const struct lc__classes *new, struct change *out)
{
	size_t i = 0, j = 0, n = 0;

	for (; i < old->n || j < new->n; n++) {
		const bool first = j == new->n ||
		    (i < old->n && old->rows[i].id <= new->rows[j].id);
		const int64_t id = first ? old->rows[i].id : new->rows[j].id;
		out[n].id = id;
		out[n].old = lc__classes_count(old, id);
		out[n].new = lc__classes_count(new, id);
		out[n].by = share_of(out[n].old, old->boxes) -
		    share_of(out[n].new, new->boxes);
		if (out[n].by < 0)
			out[n].by = -out[n].by;
		i += i < old->n && old->rows[i].id == id;
		j += j < new->n &&new->rows[j].id == id;
	}
	return n;
}

/* The class's name in the new version; after it that in the old version, if it
 * differs. */
static void
write_class_name(FILE *out, const struct lc__facts *old, const struct lc__facts *new,
    int64_t id)
{
	const char *was = lc__facts_class(old, id), *is = lc__facts_class(new, id);

	fputs("<td>", out);
	if (was != NULL && (is == NULL || strcmp(was, is) != 0)) {
		lc__page_str(out, was);
		fputs(is != NULL ? " \xe2\x86\x92 " : "", out);
	}
	if (is != NULL)
		lc__page_str(out, is);
	fputs("</td>", out);
}

static lc_status
write_classes(FILE *out, const struct lc__facts *old_facts,
    const struct lc__facts *new_facts)
{
	const struct lc__classes *old = &old_facts->seen.classes;
	const struct lc__classes *new = &new_facts->seen.classes;
	struct change *rows;
	size_t n, shown;

	if (old->n + new->n == 0)
		return LC_OK;
	rows = calloc(old->n + new->n, sizeof(*rows));
	if (rows == NULL)
		return lc__no_memory(NULL);
	n = gather(old, new, rows);
	shown = n < LC__HTML_CLASSES ? n : LC__HTML_CLASSES;
	qsort(rows, n, sizeof(*rows), by_change);
	lc__page_section(out, "Classes");
	lc__page_table(out, "#Class id|Name|#Old boxes|#Share|#New boxes|#Share");
	for (size_t i = 0; i < shown; i++) {
		if (rows[i].id == -1)
			fputs("<tr><td class=\"n dim\">none</td>", out);
		else
			fprintf(out, "<tr><td class=\"n\">%lld</td>",
			    (long long)rows[i].id);
		write_class_name(out, old_facts, new_facts, rows[i].id);
		lc__page_cell_count(out, rows[i].old);
		lc__page_cell_share(out, rows[i].old, old->boxes);
		lc__page_cell_count(out, rows[i].new);
		lc__page_cell_share(out, rows[i].new, new->boxes);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, shown, n, "classes");
	lc__page_section_end(out);
	free(rows);
	return LC_OK;
}

/* Write each field that either recipe has, and mark those that differ. */
static void
write_recipes(FILE *out, const struct lc__fields *old, const struct lc__fields *new)
{
	lc__page_section(out, "Recipes");
	lc__page_table(out, "Field|Old|New|");
	for (size_t i = 0; i < old->n + new->n; i++) {
		const struct lc__field *field = i < old->n ? &old->rows[i]
							   : &new->rows[i - old->n];
		const char *a = lc__fields_find(old, field->name);
		const char *b = lc__fields_find(new, field->name);
		if (i >= old->n && a != NULL)
			continue;
		fputs("<tr>", out);
		lc__page_cell_str(out, field->name);
		lc__page_cell_str(out, a ? a : "");
		lc__page_cell_str(out, b ? b : "");
		fputs(a != NULL && b != NULL && strcmp(a, b) == 0
			? "<td></td>"
			: "<td class=\"warn\">differs</td>",
		    out);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_section_end(out);
}

lc_status
lc__html_drift(FILE *out, const struct lc__facts *old, const struct lc__facts *new,
    const struct lc__drift *drift)
{
	lc__page_begin(out, "Drift");
	write_head(out, new, drift);
	write_distances(out, drift);
	write_counts(out, old, new);
	write_plots(out, old, new, drift);
	return_if_error(write_classes(out, old, new));
	write_recipes(out, &old->recipe, &new->recipe);
	lc__page_end(out);
	return LC_OK;
}
