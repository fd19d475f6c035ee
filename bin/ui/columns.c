/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/columns.h"

#include <stdlib.h>
#include <string.h>

#include "ui/ident.h"
#include "ui/report.h"

#define WIDEST 72            /* a longer cell pushes its own row only */
#define MOST_BYTES (1 << 20) /* of a batch: cache_ids may be long */

void
columns_begin(struct columns *columns, const char *align)
{
	memset(columns, 0, sizeof(*columns));
	columns->align = align;
}

static void
no_memory(struct columns *columns)
{
	columns->status = EXIT_SYSTEM;
}

static bool
open_text(struct columns *columns)
{
	if (columns->text == NULL && columns->status == EXIT_DONE) {
		columns->text = lc__buf_stream(&columns->data);
		if (columns->text == NULL)
			no_memory(columns);
	}
	return columns->text != NULL;
}

static void
print_cell(const char *text, size_t size, int blanks, char align, bool last)
{
	if (align == 'r')
		printf("%*s", blanks, "");
	fwrite(text, 1, size, stdout);
	if (align != 'r' && !last)
		printf("%*s", blanks, "");
	fputs(last ? "\n" : "  ", stdout);
}

/* Print the batch; widths stay for the next one, which can only widen them. */
static void
print_batch(struct columns *columns)
{
	const size_t n = strlen(columns->align);
	size_t start = 0;

	if (columns->text != NULL &&
	    !lc__buf_stream_end(columns->text, &columns->data))
		no_memory(columns);
	for (size_t i = 0; i < columns->count && columns->status == EXIT_DONE; i++) {
		const int blanks = columns->widths[i % n] - columns->cells[i].width;
		print_cell((char *)columns->data.data + start, columns->cells[i].end - start,
		    blanks > 0 ? blanks : 0, columns->align[i % n],
		    i % n == n - 1);
		start = columns->cells[i].end;
	}
	lc__buf_free(&columns->data);
	columns->text = NULL;
	columns->count = 0;
}

static void
end_cell(struct columns *columns, int width)
{
	const size_t n = strlen(columns->align);
	const size_t column = columns->count % n;
	size_t end;

	/* What cannot be kept is found when the batch is printed. */
	(void)fflush(columns->text);
	end = columns->data.size;
	columns->cells[columns->count].end = end;
	columns->cells[columns->count].width = width;
	columns->count++;
	if (width <= WIDEST && width > columns->widths[column])
		columns->widths[column] = width;
	if (column == n - 1 &&
	    (columns->count == COLUMNS_BATCH * n || end > MOST_BYTES))
		print_batch(columns);
}

/* Characters of UTF-8: every byte but those that continue one. */
static int
width_of(const char *text)
{
	int width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

void
columns_text(struct columns *columns, const char *text)
{
	if (!open_text(columns))
		return;
	fputs(text, columns->text);
	end_cell(columns, width_of(text));
}

void
columns_id(struct columns *columns, lc_id id)
{
	if (open_text(columns))
		end_cell(columns, ident_print(columns->text, id));
}

bool
columns_print(struct columns *columns)
{
	print_batch(columns);
	return columns->status == EXIT_DONE;
}

int
columns_end(struct columns *columns)
{
	if (!columns_print(columns))
		report_no_memory();
	return columns->status;
}
