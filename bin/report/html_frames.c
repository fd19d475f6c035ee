/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/html_parts.h"
#include "report/page.h"

static const char *const outcome_names[] = {
	"with boxes", "without a box", "no image named", "image file missing",
	"invalid"
};

static void
write_outcomes(FILE *out, const struct lc__counts *counts)
{
	const uint64_t parts[] = { counts->non_empty, counts->empty,
		counts->missing_image, counts->missing_file, counts->invalid };

	fputs("<div class=\"share\">", out);
	for (int i = 0; i < 5; i++)
		if (parts[i] > 0)
			fprintf(out, "<i class=\"c%d\" style=\"flex:%llu\"></i>", i,
			    (unsigned long long)parts[i]);
	fputs("</div>\n", out);
	lc__page_table(out, "Frames|#Count|#Share");
	for (int i = 0; i < 5; i++) {
		fprintf(out, "<tr><td><i class=\"key c%d\"></i>%s</td>", i,
		    outcome_names[i]);
		lc__page_cell_count(out, parts[i]);
		lc__page_cell_share(out, parts[i], counts->total);
		fputs("</tr>\n", out);
	}
	fputs("<tr class=\"sum\"><td>all</td>", out);
	lc__page_cell_count(out, counts->total);
	fputs("<td></td></tr>\n", out);
	lc__page_table_end(out);
}

static void
write_boxes(FILE *out, const struct lc__summary *summary)
{
	const struct {
		const char *what;
		uint64_t count;
	} rows[] = {
		{ "in the samples", summary->boxes },
		{ "of them cut at the edge of the picture", summary->clipped },
		{ "dropped, as too little of them was left", summary->dropped },
		{ "of classes that are not kept, also of frames that are left out",
		  summary->filtered },
		{ "left out: more than a sample takes", summary->overflow_boxes },
		{ "samples that had too many", summary->overflow_samples },
	};

	fputs("<h3>Boxes</h3>\n", out);
	lc__page_table(out, "Boxes|#Count");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fprintf(out, "<tr><td>%s</td>", rows[i].what);
		lc__page_cell_count(out, rows[i].count);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
}

/* The verdict on one limit is the library's own: all others are left out. */
static void
write_limit(FILE *out, const char *name, const struct lc__limit *limit,
    const struct lc__thresholds *alone, const struct lc__counts *counts,
    uint64_t n)
{
	const bool any = limit->has_count || limit->has_ratio;

	fprintf(out, "<tr><td>%s</td>", name);
	lc__page_cell_count(out, n);
	lc__page_cell_share(out, n, counts->total);
	fputs("<td class=\"n\">", out);
	if (limit->has_count)
		lc__page_count(out, limit->count);
	fputs("</td><td class=\"n\">", out);
	if (limit->has_ratio)
		fprintf(out, "%.6g %%", limit->ratio * 100);
	fputs("</td>", out);
	if (!any)
		fputs("<td class=\"dim\">no limit</td></tr>\n", out);
	else if (lc__thresholds_check(alone, counts) == LC_OK)
		fputs("<td class=\"good\">kept</td></tr>\n", out);
	else
		fputs("<td class=\"bad\">exceeded</td></tr>\n", out);
}

static void
write_limits(FILE *out, const struct lc__thresholds *limits,
    const struct lc__counts *counts)
{
	const struct lc__thresholds invalid = { .invalid = limits->invalid };
	const struct lc__thresholds missing = { .missing = limits->missing };
	const struct lc__thresholds empty = { .empty = limits->empty };

	fputs("<h3>Limits</h3>\n", out);
	lc__page_table(out, "Frames|#Count|#Share|#At most|#As a share|Verdict");
	write_limit(out, "invalid", &limits->invalid, &invalid, counts,
	    counts->invalid);
	write_limit(out, "missing", &limits->missing, &missing, counts,
	    counts->missing_image + counts->missing_file);
	write_limit(out, "empty", &limits->empty, &empty, counts, counts->empty);
	lc__page_table_end(out);
	fprintf(out, "<p class=\"dim\">An exceeded limit %s.</p>\n",
	    limits->warn ? "is reported and stops nothing" :
	    "makes the build fail and readers refuse the warehouse");
}

void
lc__html_frames(FILE *out, const struct lc__facts *facts)
{
	lc__page_section(out, "Frames");
	write_outcomes(out, &facts->summary.totals);
	fputs("<div class=\"beside\">\n<div>\n", out);
	write_limits(out, &facts->thresholds, &facts->summary.totals);
	fputs("</div>\n<div>\n", out);
	write_boxes(out, &facts->summary);
	fputs("</div>\n</div>\n", out);
	lc__page_section_end(out);
}
