/* SPDX-License-Identifier: BSD-2-Clause */
/* How large a record's image is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "etl/transform.h"
#include "migrate/migration.h"

/* As it is looked at: turned as its EXIF data says. */
static lc_status
probe(const void *bytes, size_t size, const char *path, struct lc__line_entry *entry)
{
	struct lc__transformed found;
	bool turned;

	return_if_error(lc__image_probe(bytes, size, path, &found));
	turned = found.orientation >= 5;
	entry->width = (uint32_t)(turned ? found.stored_height : found.stored_width);
	entry->height = (uint32_t)(turned ? found.stored_width : found.stored_height);
	return LC_OK;
}

/* Only the pages of its header are read. */
static lc_status
probe_open(int fd, const char *path, struct lc__line_entry *entry)
{
	lc_status status;
	struct stat st;
	void *map;

	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return lc__error(LC_INVALID, 0, "%s: no image", path);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return lc__error_sys(errno, "%s: map", path);
	status = probe(map, (size_t)st.st_size, path, entry);
	munmap(map, (size_t)st.st_size);
	return status;
}

static lc_status
probe_file(const char *path, struct lc__line_entry *entry)
{
	/* Nor is there a wait for who writes to a pipe. */
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lc_status status;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	status = probe_open(fd, path, entry);
	close(fd);
	return status;
}

/* image_path below the directory, or where it says itself. */
static char *
find(const struct lc__stage2 *how, const struct lc__line_entry *entry)
{
	char *name = strndup((const char *)entry->path.data, entry->path.size), *path;

	if (name == NULL || *name == '/')
		return name;
	path = lc__path_join(how->images, name);
	free(name);
	return path;
}

lc_status
lc__migration_sides(const struct lc__stage2 *how, struct lc__line_entry *entry)
{
	lc_status status;
	char *path;

	if (entry->width > 0 && entry->height > 0)
		return LC_OK;
	if (how->images == NULL)
		return lc__entry_error(entry, entry->line.text,
		    "no height and width, and no --images to look for them");
	path = find(how, entry);
	if (path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	status = probe_file(path, entry);
	free(path);
	if (status != LC_OK && status != LC_NO_MEMORY)
		return lc__entry_error(entry, entry->line.text,
		    "no height and width, and %s", lc_last_error()->text);
	return status;
}

/* The Flux encoder's: 16 channels, an eighth of each side. */
lc_status
lc__migration_check_latents(const lc_tensor *tensor, uint32_t width, uint32_t height)
{
	if (tensor->ndim == 3 && tensor->shape[1] == height / 8 &&
	    tensor->shape[2] == width / 8)
		return LC_OK;
	return lc__error(LC_SCHEMA, 0, "an image of %ux%u has latents of [*,%u,%u]", width,
	    height, height / 8, width / 8);
}
