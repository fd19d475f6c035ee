/* SPDX-License-Identifier: BSD-2-Clause */
/* How large a record's image is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "build/infile.h"
#include "migrate/migration.h"

static lc_status
probe_open(int fd, const char *path, struct lc__line_entry *entry)
{
	struct lc__infile file = { .fd = fd, .path = path };
	struct lc__header seen = { 0 };
	struct lc__buf head = { 0 };
	lc_status status;

	if (fstat(fd, &file.st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (!S_ISREG(file.st.st_mode) || file.st.st_size == 0)
		return lc__error(LC_INVALID, 0, "%s: no image", path);
	status = lc__header_read(&file, &head, &seen);
	lc__buf_free(&head);
	if (status != LC_OK)
		return status;
	entry->width = seen.width;
	entry->height = seen.height;
	return LC_OK;
}

static lc_status
probe_file(const char *path, struct lc__line_entry *entry)
{
	/* Nor is there a wait for who writes to a pipe. */
	const int fd = lc__open(path, O_RDONLY | O_NONBLOCK);
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
		return lc__no_memory(NULL);
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
	return lc__error(LC_SCHEMA, 0, "an image of %ux%u has latents of [*,%u,%u]",
	    width, height, height / 8, width / 8);
}
