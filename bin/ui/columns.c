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

/* The number of bytes of printable ASCII at the start of the text. */
static size_t
ascii_run(const unsigned char *text, size_t size)
{
	size_t n = 0;

	/* Whole blocks without a branch for each byte, so that compilers use vectors. */
	for (; size - n >= 32; n += 32) {
		unsigned char other = 0;

		for (size_t i = 0; i < 32; i++)
			other |= (unsigned char)(text[n + i] - 0x20) >= 0x5f;
		if (other)
			break;
	}
	while (n < size && text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

/* Bytes that begin the text and are printed as they are: 0 if the first is not. Their
 * columns are added to *columns. */
static size_t
printable_run(const unsigned char *text, size_t size, int *columns)
{
	size_t at = 0;

	while (at < size) {
		const size_t ascii = ascii_run(text + at, size - at);
		size_t n;

		at += ascii;
		*columns += (int)ascii;
		n = lc__utf8_length(text + at, size - at);
		/* Control characters, of which some are U+0080 to U+009F. */
		if (n <= 1 || (n == 2 && text[at] == 0xc2 && text[at + 1] < 0xa0))
			break;
		at += n;
		(*columns)++;
	}
	return at;
}

int
ident_print(FILE *out, lc_id id)
{
	const unsigned char *text = id.data;
	int columns = 0;

	for (size_t at = 0; at < id.size;) {
		const size_t n = printable_run(text + at, id.size - at, &columns);

		fwrite(text + at, 1, n, out);
		at += n;
		if (at < id.size)
			columns += fprintf(out, "\\x%02x", text[at++]);
	}
	return columns;
}

/* The same, into a buffer. */
static int
ident_append(struct lc__buf *out, lc_id id)
{
	const unsigned char *text = id.data;
	int columns = 0;

	for (size_t at = 0; at < id.size;) {
		const size_t n = printable_run(text + at, id.size - at, &columns);

		lc__buf_append(out, text + at, n);
		at += n;
		if (at < id.size) {
			lc__buf_printf(out, "\\x%02x", text[at++]);
			columns += 4;
		}
	}
	return columns;
}

void
ident_item(lc_id id, bool null)
{
	static int terminal = -1;

	if (terminal == -1)
		terminal = isatty(STDOUT_FILENO);
	if (!null && terminal)
		ident_print(stdout, id);
	else
		fwrite(id.data, 1, id.size, stdout);
	putchar(null ? '\0' : '\n');
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
	/* Do not cut within a character. */
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	strcpy(text + at, ELLIPSIS);
	return text;
}

uint64_t
describe_bytes(const lc_value *value)
{
	const void *data;
	const char *text;
	lc_tensor tensor;
	uint64_t sum = 0;
	size_t size;

	if (lc_value_as_tensor(value, &tensor) == LC_OK)
		return tensor.nbytes;
	if (lc_value_as_bytes(value, &data, &size) == LC_OK ||
	    lc_value_as_str(value, &text, &size) == LC_OK)
		return size;
	for (size_t i = 0; i < lc_value_count(value); i++)
		sum += describe_bytes(lc_value_at(value, i));
	return sum;
}

/* ---- columns ----------------------------------------------------------------------- */

#define WIDEST 72            /* a longer cell only shifts its own row */
#define MOST_BYTES (1 << 20) /* of a batch: cache_ids may be long */

void
columns_begin(struct columns *columns, const char *align)
{
	memset(columns, 0, sizeof(*columns));
	columns->align = align;
}

static void
append_blanks(struct lc__buf *out, int n)
{
	void *blanks = n > 0 ? lc__buf_append(out, NULL, (size_t)n) : NULL;

	if (blanks != NULL)
		memset(blanks, ' ', (size_t)n);
}

/* Print the batch; widths are kept for the next one, which can only widen them. */
static void
print_batch(struct columns *columns)
{
	const size_t n = strlen(columns->align);
	struct lc__buf *rows = &columns->rows;
	size_t start = 0;

	for (size_t i = 0; i < columns->count; i++) {
		const int blanks = columns->widths[i % n] - columns->cells[i].width;
		const size_t end = columns->cells[i].end;
		const bool last = i % n == n - 1;

		if (columns->align[i % n] == 'r')
			append_blanks(rows, blanks);
		if (end > start)
			lc__buf_append(rows, columns->text.data + start, end - start);
		if (columns->align[i % n] != 'r' && !last)
			append_blanks(rows, blanks);
		lc__buf_append(rows, last ? "\n" : "  ", last ? 1 : 2);
		start = end;
	}
	if (columns->text.failed || rows->failed)
		columns->status = EXIT_SYSTEM;
	else if (rows->size > 0)
		fwrite(rows->data, 1, rows->size, stdout);
	columns->text.size = 0;
	rows->size = 0;
	columns->count = 0;
}

static void
end_cell(struct columns *columns, int width)
{
	const size_t n = strlen(columns->align);
	const size_t column = columns->count % n;
	const size_t end = columns->text.size;

	columns->cells[columns->count].end = end;
	columns->cells[columns->count].width = width;
	columns->count++;
	if (width <= WIDEST && width > columns->widths[column])
		columns->widths[column] = width;
	if (column == n - 1 && (columns->count == COLUMNS_BATCH * n || end > MOST_BYTES))
		print_batch(columns);
}

/* Characters of UTF-8: every byte except continuation bytes. */
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
	lc__buf_append(&columns->text, text, strlen(text));
	end_cell(columns, width_of(text));
}

void
columns_id(struct columns *columns, lc_id id)
{
	end_cell(columns, ident_append(&columns->text, id));
}

bool
columns_print(struct columns *columns)
{
	print_batch(columns);
	lc__buf_free(&columns->text);
	lc__buf_free(&columns->rows);
	return columns->status == EXIT_DONE;
}

int
columns_end(struct columns *columns)
{
	if (!columns_print(columns))
		report_no_memory();
	return columns->status;
}
