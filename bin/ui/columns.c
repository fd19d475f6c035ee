/* SPDX-License-Identifier: BSD-2-Clause */
/* Cache_ids and values as text, and tables of them. */
#include "ui/columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "lmdbcache.h"
#include "ui/report.h"

/* ---- cache_ids --------------------------------------------------------------------- */

int
ident_print(FILE *out, lc_id id)
{
	const unsigned char *text = id.data;
	int columns = 0;

	for (size_t at = 0; at < id.size;) {
		const size_t n = lc__utf8_length(text + at, id.size - at);
		/* U+0080 to U+009F are control characters as well. */
		const bool control = n == 1
		    ? text[at] < 0x20 || text[at] == 0x7f
		    : n == 2 && text[at] == 0xc2 && text[at + 1] < 0xa0;
		if (n > 0 && !control) {
			fwrite(text + at, 1, n, out);
			columns++;
			at += n;
		} else {
			columns += fprintf(out, "\\x%02x", text[at]);
			at++;
		}
	}
	return columns;
}

void
ident_item(FILE *out, lc_id id, bool null)
{
	if (!null && isatty(fileno(out)))
		ident_print(out, id);
	else
		fwrite(id.data, 1, id.size, out);
	putc(null ? '\0' : '\n', out);
}

/* ---- values ------------------------------------------------------------------------ */

#define ELLIPSIS "\xe2\x80\xa6"

char *
describe_value(const lc_value *value)
{
	const int size = lc_value_describe(value, NULL, 0);
	char *text = size < 0 ? NULL : malloc((size_t)size + 1);

	if (text == NULL)
		return strdup("?");
	lc_value_describe(value, text, (size_t)size + 1);
	return text;
}

char *
describe_cut(char *text, size_t columns)
{
	size_t at = columns - 1;

	if (strlen(text) <= columns + sizeof(ELLIPSIS))
		return text;
	/* Not into the middle of a character. */
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	strcpy(text + at, ELLIPSIS);
	return text;
}

uint64_t
describe_bytes(const lc_value *value)
{
	lc_tensor tensor;
	uint64_t sum = 0;

	if (lc_value_kind(value) == LC_TENSOR)
		return lc_value_as_tensor(value, &tensor) == LC_OK ? tensor.nbytes : 0;
	for (size_t i = 0; i < lc_value_count(value); i++)
		sum += describe_bytes(lc_value_at(value, i));
	return sum;
}

/* ---- columns ----------------------------------------------------------------------- */

#define WIDEST 72            /* a longer cell pushes its own row only */
#define MOST_BYTES (1 << 20) /* of a batch: cache_ids may be long */

void
columns_begin(struct columns *columns, const char *align)
{
	memset(columns, 0, sizeof(*columns));
	columns->align = align;
}

static void
fail_columns(struct columns *columns)
{
	columns->status = EXIT_SYSTEM;
}

static bool
open_text(struct columns *columns)
{
	if (columns->text == NULL && columns->status == EXIT_DONE) {
		columns->text = lc__buf_stream(&columns->data);
		if (columns->text == NULL)
			fail_columns(columns);
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

	if (columns->text != NULL && !lc__buf_stream_end(columns->text, &columns->data))
		fail_columns(columns);
	for (size_t i = 0; i < columns->count && columns->status == EXIT_DONE; i++) {
		const int blanks = columns->widths[i % n] - columns->cells[i].width;
		print_cell((char *)columns->data.data + start,
		    columns->cells[i].end - start, blanks > 0 ? blanks : 0,
		    columns->align[i % n], i % n == n - 1);
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
	if (column == n - 1 && (columns->count == COLUMNS_BATCH * n || end > MOST_BYTES))
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
