/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/csv.h"

#include <string.h>

#include "report/facts.h"

static void
write_text(FILE *out, const char *text, bool spreadsheet)
{
	const bool formula = spreadsheet && *text != '\0' &&
	    strchr("=+-@\t\r", *text) != NULL;

	if (strpbrk(text, ",\"\r\n") == NULL) {
		fprintf(out, "%s%s", formula ? "'" : "", text);
		return;
	}
	fputs(formula ? "\"'" : "\"", out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void
write_row(FILE *out, const struct lc__summary *summary, const struct lc__counts *counts)
{
	const uint64_t numbers[] = { counts->total, counts->non_empty, counts->empty,
		counts->missing_image, counts->missing_file, counts->invalid,
		lc__summary_written(summary, counts) };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fprintf(out, ",%llu", (unsigned long long)numbers[i]);
	fputs("\r\n", out);
}

void
lc__csv_write(FILE *out, const struct lc__summary *summary, bool spreadsheet)
{
	fputs("row,run_id,total,non_empty,empty,missing_image,missing_file,"
	      "invalid,written\r\n",
	    out);
	for (size_t i = 0; i < summary->n_runs; i++) {
		fputs("run,", out);
		write_text(out, summary->runs[i].run_id, spreadsheet);
		write_row(out, summary, &summary->runs[i].counts);
	}
	fputs("total,", out);
	write_row(out, summary, &summary->totals);
}
