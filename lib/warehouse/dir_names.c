/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/dir_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/image_name.h"
#include "base/listdir.h"

static const char *const extensions[] = { ".json", ".txt", ".xml", ".yaml", ".yml" };

static bool
matters(const char *name, size_t size, bool directory)
{
	if (size == 0 || name[0] == '.')
		return false;
	if (directory || lc__is_image_name(name, size))
		return true;
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		const size_t n = strlen(extensions[i]);
		if (size > n && strncasecmp(name + size - n, extensions[i], n) == 0)
			return true;
	}
	return false;
}

lc_status
lc__dir_names_add(struct lc__dir_names *names, const char *name, size_t size,
    bool directory)
{
	char *copy;

	if (!matters(name, size, directory))
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&names->names, &names->room, names->n + 1, "sources"));
	copy = malloc(size + 2);
	if (copy == NULL)
		return lc__no_memory("sources");
	memcpy(copy, name, size);
	strcpy(copy + size, directory ? "/" : "");
	names->names[names->n++] = copy;
	return LC_OK;
}

/* A link is what it leads to; one that leads nowhere is a file. */
static lc_status
read_entries(struct lc__dir *dir, struct lc__dir_names *names)
{
	const struct dirent *entry;

	for (;;) {
		return_if_error(lc__dir_next(dir, &entry));
		if (entry == NULL)
			return LC_OK;
		if (entry->d_name[0] != '.')
			return_if_error(
			    lc__dir_names_add(names, entry->d_name, strlen(entry->d_name),
				lc__dir_type(dir, entry, true) == S_IFDIR));
	}
}

lc_status
lc__dir_names_read(int dir, const char *path, struct lc__dir_names *names)
{
	struct lc__dir entries;
	lc_status status;

	return_if_error(
	    lc__dir_of(lc__openat(dir, path, O_RDONLY | O_DIRECTORY), path, &entries));
	status = read_entries(&entries, names);
	lc__dir_close(&entries);
	return status;
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
lc__dir_names_sort(struct lc__dir_names *names)
{
	size_t kept = 0;

	if (names->n == 0)
		return;
	qsort(names->names, names->n, sizeof(*names->names), by_bytes);
	for (size_t i = 1; i < names->n; i++)
		if (strcmp(names->names[i], names->names[kept]) == 0)
			free(names->names[i]);
		else
			names->names[++kept] = names->names[i];
	names->n = kept + 1;
}

lc_status
lc__dir_names_hash(const struct lc__dir_names *names, uint64_t hash[2])
{
	struct lc__hash128 *state = lc__hash128_new();

	if (state == NULL)
		return lc__no_memory("sources");
	for (size_t i = 0; i < names->n; i++)
		lc__hash128_update(state, names->names[i], strlen(names->names[i]) + 1);
	lc__hash128_end(state, hash);
	lc__hash128_free(state);
	return LC_OK;
}

bool
lc__dir_names_has(const struct lc__dir_names *names, const char *name)
{
	return names->n > 0 &&
	    bsearch(&name, names->names, names->n, sizeof(*names->names), by_bytes) !=
	    NULL;
}

void
lc__dir_names_free(struct lc__dir_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i]);
	free(names->names);
	memset(names, 0, sizeof(*names));
}
