/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "ui/input.h"
#include "ui/report.h"

int
list_add(struct list *list, const void *data, size_t size)
{
	if (lc__array_reserve(&list->items, &list->room, list->count + 1, NULL) != LC_OK)
		return report_no_memory();
	list->items[list->count++] = (lc_id) { data, size };
	return EXIT_DONE;
}

/* Free @p block with the list; it is freed at once if that fails. */
static int
own(struct list *list, void *block)
{
	if (block == NULL || lc__array_reserve(&list->blocks, &list->blocks_room,
	    list->n_blocks + 1, NULL) != LC_OK) {
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
	int status = own(list, copy);

	if (status == EXIT_DONE)
		status = list_add(list, copy, strlen(copy));
	return status;
}

static int
split(struct list *list, char *text, size_t size, char separator)
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
	status = own(list, buf.data);
	if (status == EXIT_DONE)
		status = split(list, (char *)buf.data, buf.size - 1,
		    null ? '\0' : '\n');
	return status;
}

int
list_check_id(lc_id id)
{
	if (id.size == 0)
		return report_usage("a cache_id is empty");
	if (id.size > LC_MAX_ID)
		return report_usage("a cache_id has %zu bytes, more than %d",
		    id.size, LC_MAX_ID);
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
