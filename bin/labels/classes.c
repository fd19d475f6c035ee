/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/utf8.h"
#include "labels/label.h"
#include "labels/yaml_names.h"

/* More would be no list of classes. */
#define MAX_BYTES ((uint64_t)16 << 20)

static lc_status
add_line(struct lc__dataset *dataset, const char *line, size_t size)
{
	char *name;
	lc_status status;

	while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
		size--;
	while (size > 0 && strchr(" \t", *line) != NULL)
		line++, size--;
	name = strndup(line, size);
	if (name == NULL)
		return lc__no_memory(dataset->root);
	status = lc__strings_add(&dataset->classes, name);
	free(name);
	return status;
}

/* An empty line takes a number, unless nothing follows. */
static lc_status
add_lines(struct lc__dataset *dataset, const char *text, size_t size)
{
	while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
		size--;
	while (size > 0) {
		const char *stop = memchr(text, '\n', size);
		const size_t n = stop != NULL ? (size_t)(stop - text) : size;
		return_if_error(add_line(dataset, text, n));
		text += n + (stop != NULL);
		size -= n + (stop != NULL);
	}
	return LC_OK;
}

static lc_status
add_yaml(struct lc__dataset *dataset, const char *text, size_t size)
{
	(void)size;
	return lc__yaml_names(text, &dataset->classes);
}

/* Files of names, in the order that they are looked for. */
static const struct {
	const char *name;
	lc_status (*add)(struct lc__dataset *dataset, const char *text, size_t size);
} lists[] = {
	{ "classes.txt", add_lines },
	{ "labels.txt", add_lines },
	{ "data.yaml", add_yaml },
};

static lc_status
read_list(struct lc__dataset *dataset, size_t list, const char *path)
{
	struct lc__buf text = { 0 };
	lc_status status = lc__read_regular(path, MAX_BYTES, &text);
	const size_t size = text.size;
	size_t mark;

	if (status == LC_OK &&
	    (!lc__utf8_valid(text.data, size) || memchr(text.data, '\0', size) != NULL))
		status = lc__error(LC_CORRUPT, 0, "%s: not UTF-8", path);
	if (status == LC_OK && lc__buf_append(&text, "", 1) == NULL)
		status = lc__no_memory(path);
	mark = lc__utf8_mark(text.data, size);
	if (status == LC_OK)
		status = lists[list].add(dataset, (char *)text.data + mark, size - mark);
	if (status == LC_OK)
		status = lc__strings_add(&dataset->shared, lists[list].name);
	lc__buf_free(&text);
	return status;
}

lc_status
lc__classes_read(struct lc__dataset *dataset)
{
	lc_status status = LC_NO_FILE;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && status == LC_NO_FILE;
	     i++) {
		char *path = lc__path_join(dataset->root, lists[i].name);
		if (path == NULL)
			return lc__no_memory(dataset->root);
		status = read_list(dataset, i, path);
		if (status == LC_NO_FILE && lc__no_lost_link(path) != LC_OK)
			status = LC_IO;
		free(path);
	}
	return status == LC_NO_FILE ? LC_OK : status;
}

int64_t
lc__classes_find(const struct lc__dataset *dataset, const char *name)
{
	for (size_t i = 0; i < dataset->classes.n; i++)
		if (dataset->classes.items[i] != NULL &&
		    strcmp(dataset->classes.items[i], name) == 0)
			return (int64_t)i;
	return -1;
}
