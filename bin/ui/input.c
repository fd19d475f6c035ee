/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what a command line names: files, standard input, lists, .npy. */
#include "ui/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "format/npy.h"
#include "lmdbcache.h"
#include "ui/report.h"

/* A larger one cannot become a record; the limit also ends reading /dev/zero. */
#define LIMIT ((uint64_t)64 << 30)
#define STEP ((size_t)1 << 20)

const char *
input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static lc_status
read_stdin(struct lc__buf *out)
{
	const size_t start = out->size;
	size_t got;

	do {
		void *place = lc__buf_append(out, NULL, STEP);
		if (place == NULL)
			return lc__no_memory("standard input");
		return_if_error(
		    lc__read_full(STDIN_FILENO, place, STEP, &got, "standard input"));
		out->size -= STEP - got;
		if (out->size - start > LIMIT)
			return lc__error(LC_INVALID, 0,
			    "standard input: larger than 64 GiB");
	} while (got == STEP);
	return LC_OK;
}

int
input_read(const char *path, struct lc__buf *out)
{
	lc_status status;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		return report_usage("standard input is a terminal; name a file "
				    "or use a pipe");
	if (strcmp(path, "-") == 0)
		status = read_stdin(out);
	else
		status = lc__read_file(path, LIMIT, out);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* ---- lists ------------------------------------------------------------------------- */

int
list_add(struct list *list, const void *data, size_t size)
{
	if (lc__array_reserve(&list->items, &list->room, list->count + 1, NULL) != LC_OK)
		return report_no_memory();
	list->items[list->count++] = (lc_id){ data, size };
	return EXIT_DONE;
}

/* Free @p block with the list; it is freed at once if that fails. */
static int
keep_block(struct list *list, void *block)
{
	if (block == NULL ||
	    lc__array_reserve(&list->blocks, &list->blocks_room, list->n_blocks + 1,
		NULL) != LC_OK) {
		free(block);
		return report_no_memory();
	}
	list->blocks[list->n_blocks++] = block;
	return EXIT_DONE;
}

int
list_add_copy(struct list *list, const char *text)
{
	char *copy = strdup(text);
	int status = keep_block(list, copy);

	if (status == EXIT_DONE)
		status = list_add(list, copy, strlen(copy));
	return status;
}

static int
add_items(struct list *list, char *text, size_t size, char separator)
{
	int status = EXIT_DONE;

	for (size_t at = lc__utf8_mark(text, size); at < size && status == EXIT_DONE;) {
		char *end = memchr(text + at, separator, size - at);
		const size_t n = end ? (size_t)(end - (text + at)) : size - at;
		text[at + n] = '\0';
		if (n > 0)
			status = list_add(list, text + at, n);
		at += n + 1;
	}
	return status;
}

int
list_read(struct list *list, const char *path, bool null)
{
	struct lc__buf buf = { 0 };
	int status = input_read(path, &buf);

	if (status == EXIT_DONE)
		lc__buf_append(&buf, "", 1);
	if (status == EXIT_DONE && buf.failed)
		status = report_no_memory();
	if (status != EXIT_DONE) {
		lc__buf_free(&buf);
		return status;
	}
	status = keep_block(list, buf.data);
	if (status == EXIT_DONE)
		status = add_items(list, (char *)buf.data, buf.size - 1,
		    null ? '\0' : '\n');
	return status;
}

int
list_check_id(lc_id id)
{
	if (id.size == 0)
		return report_usage("a cache_id is empty");
	if (id.size > LC_MAX_ID)
		return report_usage("a cache_id has %zu bytes, more than %d", id.size,
		    LC_MAX_ID);
	return EXIT_DONE;
}

static int
check_ids(const struct list *list)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < list->count && status == EXIT_DONE; i++)
		status = list_check_id(list->items[i]);
	return status;
}

int
list_ids(struct list *list, int argc, char **argv, bool *from_stdin, bool null)
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc && status == EXIT_DONE; i++) {
		if (strcmp(argv[i], "-") == 0)
			*from_stdin = true;
		else
			status = list_add(list, argv[i], strlen(argv[i]));
	}
	if (status == EXIT_DONE && *from_stdin)
		status = list_read(list, "-", null);
	else if (status == EXIT_DONE && list->count == 0)
		status = report_usage("a cache_id is missing");
	return status == EXIT_DONE ? check_ids(list) : status;
}

void
list_free(struct list *list)
{
	for (size_t i = 0; i < list->n_blocks; i++)
		free(list->blocks[i]);
	free(list->blocks);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

/* ---- .npy files -------------------------------------------------------------------- */

void
decoded_free(struct decoded *decoded)
{
	lc__buf_free(&decoded->file);
	free(decoded->owned);
	memset(decoded, 0, sizeof(*decoded));
}

bool
npy_is(const struct lc__buf *file)
{
	static const char magic[] = "\x93NUMPY";

	return file->size >= sizeof(magic) - 1 &&
	    memcmp(file->data, magic, sizeof(magic) - 1) == 0;
}

lc_status
npy_decode(struct decoded *out, const char *name, int dtype)
{
	const lc_status status = lc__npy_read(out->file.data, out->file.size, dtype,
	    &out->tensor, &out->owned);

	return status == LC_OK ? LC_OK : lc__error_prefix("%s", name);
}

int
npy_write(FILE *out, const lc_tensor *tensor, bool bits)
{
	struct lc__buf header = { 0 };
	const lc_status status = lc__npy_encode_header(tensor, bits, &header);

	if (status == LC_OK) {
		fwrite(header.data, 1, header.size, out);
		fwrite(tensor->data, 1, tensor->nbytes, out);
	}
	lc__buf_free(&header);
	if (status == LC_UNSUPPORTED)
		return report_error(EXIT_DATA,
		    ".npy has no %s; use --format raw, or --bits",
		    lc_dtype_name(tensor->dtype));
	return status == LC_OK ? EXIT_DONE : report_status(status);
}
