/* SPDX-License-Identifier: BSD-2-Clause */
/* The requirements on a record: its array as a tensor, the size of its image, latents of
 * that size. */
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
#include "formats/json_elements.h"
#include "migrate/migration.h"

lc_status
lc__migration_array(const struct lc__stage2 *how, const struct lc__line_entry *entry,
    struct lc__buf *elements, lc_tensor *out)
{
	const struct lc__json_slice array = entry->members[LC__ENTRY_ARRAY].value;
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;
	lc_status status;

	elements->size = 0;
	status = lc__json_elements(array, how->dtype, &ndim, shape, elements);
	if (status == LC_NO_MEMORY)
		return status;
	if (status != LC_OK)
		return lc__entry_error(entry, array.text, "%s: %s", how->field,
		    lc_last_error()->text);
	return_if_error(lc_tensor_init(out, how->dtype, ndim, shape, elements->data));
	if (lc__expect_tensor(&how->expect[LC__PASS_DINOV3], out) != LC_OK)
		return lc__entry_error(entry, array.text, "%s %s", how->field,
		    lc_last_error()->text);
	return LC_OK;
}

/* The width and height in an image file. */
static lc_status
probe(const char *path, struct lc__line_entry *entry)
{
	struct lc__infile file = { .path = path };
	struct lc__header seen = { 0 };
	struct lc__buf head = { 0 };
	lc_status status;

	/* Does not wait for the writer of a pipe. */
	file.fd = lc__open(path, O_RDONLY | O_NONBLOCK);
	if (file.fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (fstat(file.fd, &file.st) == -1)
		status = lc__error_sys(errno, "%s: stat", path);
	else if (!S_ISREG(file.st.st_mode) || file.st.st_size == 0)
		status = lc__error(LC_INVALID, 0, "%s: not an image", path);
	else
		status = lc__header_read(&file, &head, &seen);
	lc__buf_free(&head);
	close(file.fd);
	return_if_error(status);
	entry->width = seen.width;
	entry->height = seen.height;
	return LC_OK;
}

lc_status
lc__migration_sides(const struct lc__stage2 *how, struct lc__line_entry *entry)
{
	lc_status status;
	char *name, *path;

	if (entry->width > 0 && entry->height > 0)
		return LC_OK;
	if (how->images == NULL)
		return lc__entry_error(entry, entry->line.text,
		    "no height and width, and no --images to find them");
	/* image_path is below the directory, or absolute. */
	name = strndup((const char *)entry->path.data, entry->path.size);
	path = name != NULL && *name != '/' ? lc__path_join(how->images, name) : name;
	if (path != name)
		free(name);
	if (path == NULL)
		return lc__no_memory(NULL);
	status = probe(path, entry);
	free(path);
	if (status != LC_OK && status != LC_NO_MEMORY)
		return lc__entry_error(entry, entry->line.text,
		    "no height and width, and %s", lc_last_error()->text);
	return status;
}

/* Of the Flux encoder: 16 channels, an eighth of each side. */
lc_status
lc__migration_check_latents(const lc_tensor *tensor, uint32_t width, uint32_t height)
{
	if (tensor->ndim == 3 && tensor->shape[1] == height / 8 &&
	    tensor->shape[2] == width / 8)
		return LC_OK;
	return lc__error(LC_SCHEMA, 0, "an image of %ux%u has latents of [*,%u,%u]",
	    width, height, height / 8, width / 8);
}

lc_status
lc__migration_check_value(const struct lc__stage2 *how, enum lc__stage2_pass p,
    struct lc__line_entry *entry, const lc_view *view)
{
	static const struct lc__finite nothing_else = { false, false };

	if (view->kind != LC_TENSOR)
		return lc__error(LC_SCHEMA, 0, "is not a tensor");
	return_if_error(lc__expect_tensor(&how->expect[p], &view->tensor));
	if (p == LC__PASS_VAE && lc__migration_sides(how, entry) == LC_OK)
		return_if_error(lc__migration_check_latents(&view->tensor, entry->width,
		    entry->height));
	return lc__finite_tensor(&view->tensor, nothing_else);
}
