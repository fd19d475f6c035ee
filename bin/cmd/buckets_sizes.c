/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/buckets_sizes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "base/json_number.h"
#include "base/json_scan.h"
#include "base/lines.h"
#include "build/infile.h"
#include "build/frame_job.h"
#include "image/image.h"
#include "labels/names.h"
#include "labels/tree.h"
#include "ui/input.h"
#include "ui/progress.h"
#include "ui/report.h"

/* First bytes that distinguish an image from text. */
#define BEGINNING 512

static int
tell(struct image_sizes *sizes, const char *name, uint32_t width, uint32_t height)
{
	sizes->good++;
	progress_rate("images", sizes->good);
	progress_step(NULL, sizes->bytes, 0);
	return sizes->fn(sizes->ctx, name, width, height);
}

/* Report a bad item and skip it; an exit status, EXIT_DONE if the others can be read. */
static int
pass_over(struct image_sizes *sizes)
{
	const lc_status status = lc_last_error()->status;
	const bool refused = status == LC_IO || status == LC_PERMISSION;

	if (status == LC_NO_MEMORY || (refused && !sizes->keep_going))
		return report_status(status);
	progress_clear();
	report_library(refused ? EXIT_SYSTEM : EXIT_DATA);
	sizes->bad += !refused;
	sizes->unreadable += refused;
	return EXIT_DONE;
}

/* ---- sizes as they are given -------------------------------------------------- */

/* "1920x1080" */
static bool
is_size(const char *text, uint32_t *width, uint32_t *height)
{
	uint64_t sides[2];

	for (int i = 0; i < 2; i++) {
		char *end;
		if (!isdigit((unsigned char)*text))
			return false;
		errno = 0;
		sides[i] = strtoull(text, &end, 10);
		if (errno != 0 || sides[i] == 0 || sides[i] > UINT32_MAX ||
		    *end != (i == 0 ? 'x' : '\0'))
			return false;
		text = end + 1;
	}
	*width = (uint32_t)sides[0];
	*height = (uint32_t)sides[1];
	return true;
}

/* ---- lines -------------------------------------------------------------------- */

/* The next one that is not blank. */
static lc_status
next_line(struct image_sizes *sizes, struct lc__lines *lines, struct lc__text_line *out)
{
	do {
		const uint64_t start = lines->offset;

		return_if_error(lc__lines_next(lines, out));
		sizes->bytes += lines->offset - start;
	} while (lc__text_line_is_blank(out));
	return LC_OK;
}

/* The exit status at the end of the lines: @p status, or that of a failure to read. */
static int
end_lines(struct lc__lines *lines, lc_status ended, int status)
{
	const int sys = lc_last_error()->sys;

	lc__lines_free(lines);
	if (lines->fd != STDIN_FILENO)
		close(lines->fd);
	if (ended == LC_OK || ended == LC_END)
		return status;
	errno = sys != 0 ? sys : ENOMEM;
	return report_worse(status, report_errno(lines->path));
}

/* A side of an image in pixels. *out is 0, which is not a valid side, until the member is
 * found. */
static lc_status
read_side(const struct lc__json_member *member, const char *field, uint32_t *out)
{
	const char *const end = member->value.text + member->value.size;
	struct lc__json_number number;
	uint64_t side;

	if (*out != 0)
		return lc__error(LC_CORRUPT, 0, "field %s occurs twice", field);
	if (member->kind != LC__JSON_NUMBER ||
	    lc__json_number(member->value.text, end, &number) != end || number.negative ||
	    !lc__json_number_integer(&number, &side) || side == 0 || side > UINT32_MAX)
		return lc__error(LC_CORRUPT, 0,
		    "field %s is not a number of pixels: %.*s", field,
		    (int)(member->value.size < 40 ? member->value.size : 40),
		    member->value.text);
	*out = (uint32_t)side;
	return LC_OK;
}

/* The members of an object. *name ends with a NUL; it is empty if there is none. */
static lc_status
read_object(const struct image_sizes_fields *fields, const char *text, size_t size,
    struct lc__buf *name, uint32_t *width, uint32_t *height)
{
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status;

	*width = *height = 0;
	name->size = 0;
	return_if_error(lc__json_object(text, size, &members));
	while ((status = lc__json_next(&members, &member)) == LC_OK) {
		if (lc__json_name_is(member.name, fields->width))
			return_if_error(read_side(&member, fields->width, width));
		if (lc__json_name_is(member.name, fields->height))
			return_if_error(read_side(&member, fields->height, height));
		if (!lc__json_name_is(member.name, fields->name) ||
		    member.kind != LC__JSON_STRING)
			continue;
		name->size = 0;
		return_if_error(lc__json_unescape(member.value, name));
		if (name->size > 0 && memchr(name->data, '\0', name->size) != NULL)
			return lc__error(LC_CORRUPT, 0, "field %s has a NUL",
			    fields->name);
		if (lc__buf_append(name, "", 1) == NULL)
			return lc__no_memory(NULL);
	}
	if (status != LC_END)
		return status;
	if (*width == 0)
		return lc__error(LC_CORRUPT, 0, "no field %s", fields->width);
	if (*height == 0)
		return lc__error(LC_CORRUPT, 0, "no field %s", fields->height);
	return LC_OK;
}

static int
tell_object(struct image_sizes *sizes, const struct lc__lines *lines,
    const struct lc__text_line *line)
{
	char place[4200];
	uint32_t width, height;

	if (read_object(&sizes->fields, line->text, line->size, &sizes->name, &width,
		&height) != LC_OK) {
		(void)lc__error_prefix("%s: line %llu", lines->path,
		    (unsigned long long)lines->number);
		return pass_over(sizes);
	}
	snprintf(place, sizeof(place), "%s:%llu", lines->path,
	    (unsigned long long)lines->number);
	return tell(sizes, sizes->name.size > 0 ? (const char *)sizes->name.data : place,
	    width, height);
}

/* Takes ownership of the descriptor. */
static int
read_objects(struct image_sizes *sizes, int fd, const char *path)
{
	struct lc__lines lines = { .fd = fd, .path = path, .skip_mark = true };
	struct lc__text_line line;
	lc_status ended = LC_OK;
	int status = EXIT_DONE;

	while (status == EXIT_DONE && (ended = next_line(sizes, &lines, &line)) == LC_OK)
		status = tell_object(sizes, &lines, &line);
	return end_lines(&lines, ended, status);
}

/* ---- files -------------------------------------------------------------------- */

/* The first bytes say whether it is an image or JSON lines. */
static int
read_open_file(struct image_sizes *sizes, const struct lc__infile *file)
{
	struct lc__header header = { .ignore_orientation = sizes->ignore_orientation };
	char text[BEGINNING + 1];
	const char *start;
	size_t got = 0;
	int fd;

	if (lc__read_full(file->fd, text, BEGINNING, &got, file->path) != LC_OK)
		return pass_over(sizes);
	text[got] = '\0';
	if (lc__image_sniff(text, got) != LC__IMAGE_NONE) {
		const lc_status status = lc__header_read(file, &sizes->head, &header);

		sizes->bytes += header.bytes_read;
		return status == LC_OK
		    ? tell(sizes, file->path, header.width, header.height)
		    : pass_over(sizes);
	}
	start = text + lc__utf8_mark(text, got);
	if (start[strspn(start, " \t\r\n")] != '{') {
		(void)lc__error(LC_INVALID, 0, "%s: neither an image nor JSON lines",
		    file->path);
		return pass_over(sizes);
	}
	/* Use a copy of the descriptor: the owner of the file closes the other one. */
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (fd == -1 || lseek(fd, 0, SEEK_SET) == -1) {
		const int status = report_errno(file->path);

		if (fd != -1)
			close(fd);
		return status;
	}
	return read_objects(sizes, fd, file->path);
}

static int
read_file(struct image_sizes *sizes, const char *path)
{
	struct lc__infile file;
	const enum lc__infile_fate fate = lc__infile_open(&file, AT_FDCWD, path,
	    UINT64_MAX);
	int status;

	if (fate == LC__INFILE_GOOD) {
		status = read_open_file(sizes, &file);
	} else if (fate == LC__INFILE_FATAL) {
		status = report_status(lc_last_error()->status);
	} else {
		if (fate != LC__INFILE_REFUSED)
			(void)lc__error(LC_INVALID, 0, "%s", file.detail);
		status = pass_over(sizes);
	}
	lc__infile_close(&file);
	return status;
}

/* ---- directories -------------------------------------------------------------- */

struct walk {
	struct image_sizes *sizes;
	const char *root;
	int status; /* an exit status, if it ended before the end */
};

static lc_status
visit(void *ctx, const char *dir, const struct lc__listing *listing)
{
	struct walk *walk = ctx;

	for (size_t i = 0; i < listing->n; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		char *below, *path;
		if (entry->dir ||
		    lc__images_ignored_add(&walk->sizes->ignored, entry->name) ||
		    !lc__name_is_image(entry->name))
			continue;
		below = lc__name_join(dir, entry->name);
		path = below != NULL ? lc__path_join(walk->root, below) : NULL;
		free(below);
		if (path == NULL)
			return lc__no_memory(NULL);
		walk->status = read_file(walk->sizes, path);
		free(path);
		if (walk->status != EXIT_DONE)
			return LC_CANCELLED;
	}
	return LC_OK;
}

/* ---- everything --------------------------------------------------------------- */

static int
read_item(struct image_sizes *sizes, const char *item)
{
	struct walk walk = { .sizes = sizes, .root = item };
	uint32_t width, height;
	struct stat st;
	lc_status status;

	if (is_size(item, &width, &height))
		return tell(sizes, item, width, height);
	if (stat(item, &st) != 0 || !S_ISDIR(st.st_mode))
		return read_file(sizes, item);
	status = lc__tree_walk(item, visit, &walk);
	if (walk.status != EXIT_DONE)
		return walk.status;
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

int
image_sizes_operand(struct image_sizes *sizes, const char *operand)
{
	return strcmp(operand, "-") == 0 ? image_sizes_list(sizes, operand)
					 : read_item(sizes, operand);
}

int
image_sizes_list(struct image_sizes *sizes, const char *path)
{
	struct lc__lines lines = {
		.path = input_name(path),
		.null = sizes->null,
		.skip_mark = true,
	};
	struct lc__text_line line;
	lc_status ended = LC_OK;
	int status = EXIT_DONE;

	lines.fd = strcmp(path, "-") == 0 ? STDIN_FILENO : lc__open(path, O_RDONLY);
	if (lines.fd == -1)
		return report_errno(path);
	while (status == EXIT_DONE && (ended = next_line(sizes, &lines, &line)) == LC_OK)
		status = line.text[strspn(line.text, " \t")] == '{'
		    ? tell_object(sizes, &lines, &line)
		    : read_item(sizes, line.text);
	return end_lines(&lines, ended, status);
}

void
image_sizes_free(struct image_sizes *sizes)
{
	lc__buf_free(&sizes->head);
	lc__buf_free(&sizes->name);
}
