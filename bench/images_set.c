/* SPDX-License-Identifier: BSD-2-Clause */
#include "images_set.h"

#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/transform.h"
#include "images_jpeg.h"

#define HALF_PIXELS (816 * 612)
#define LARGE_PIXELS 12e6
#define LARGE_MOST 4 /* different ones of 12 MP */
#define LARGE_OFF 3e6 /* pixels that they may have more or less */
#define AN_HOUR 3600

struct photograph {
	struct image_file file;
	uint32_t width, height;
};

void
image_file_read(struct image_file *file, const char *path)
{
	const int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) != 0)
		err(1, "%s", path);
	file->size = (size_t)st.st_size;
	if (file->size > file->room) {
		free(file->bytes);
		file->room = file->size;
		file->bytes = malloc(file->room);
		if (file->bytes == NULL)
			err(1, NULL);
	}
	if (read(fd, file->bytes, file->size) != (ssize_t)file->size)
		err(1, "%s", path);
	close(fd);
}

/* ---- photographs -------------------------------------------------------------- */

/* Of a loop without checks none has to be turned, and all have three channels. */
static bool
load(const char *path, struct photograph *out)
{
	struct lc__transformed header;

	*out = (struct photograph){ .width = 0 };
	image_file_read(&out->file, path);
	if (lc__image_probe(out->file.bytes, out->file.size, path, &header) == LC_OK &&
	    header.orientation == 1 &&
	    jpeg_is_colour(out->file.bytes, out->file.size)) {
		out->width = header.stored_width;
		out->height = header.stored_height;
		return true;
	}
	free(out->file.bytes);
	return false;
}

static double
pixels_of(const struct photograph *photograph)
{
	return (double)photograph->width * photograph->height;
}

static bool
is_wanted(const struct photograph *photograph, enum image_size size)
{
	const double pixels = pixels_of(photograph);

	return size == IMAGES_HALF ? pixels > 2 * HALF_PIXELS :
	    fabs(pixels - LARGE_PIXELS) < LARGE_OFF;
}

static int
by_nearness(const void *a, const void *b)
{
	const double x = fabs(pixels_of(a) - LARGE_PIXELS);
	const double y = fabs(pixels_of(b) - LARGE_PIXELS);

	return (x > y) - (x < y);
}

/* The right ones of a directory. */
static unsigned
load_all(const char *dir, enum image_size size, struct photograph **out)
{
	char pattern[4096];
	glob_t found;
	unsigned n = 0;

	snprintf(pattern, sizeof(pattern), "%s/*.jpg", dir);
	*out = NULL;
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	*out = calloc(found.gl_pathc, sizeof(**out));
	if (*out == NULL)
		err(1, NULL);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (!load(found.gl_pathv[i], *out + n))
			continue;
		if (is_wanted(*out + n, size))
			n++;
		else
			free((*out)[n].file.bytes);
	}
	globfree(&found);
	if (size == IMAGES_HALF)
		return n;
	qsort(*out, n, sizeof(**out), by_nearness);
	while (n > LARGE_MOST)
		free((*out)[--n].file.bytes);
	return n;
}

/* ---- as the set has them ---------------------------------------------------------- */

static struct jpeg
shrunk(const struct photograph *photograph)
{
	const double scale = sqrt(HALF_PIXELS / pixels_of(photograph));
	const struct lc__transform transform = { .fit = LC__FIT_STRETCH,
		.width = (uint32_t)lrint(photograph->width * scale),
		.height = (uint32_t)lrint(photograph->height * scale) };
	struct lc__workspace *workspace = lc__workspace_new();
	uint8_t *planes = malloc((size_t)3 * transform.width * transform.height);
	struct lc__transformed done;
	struct jpeg out;

	if (workspace == NULL || planes == NULL)
		err(1, NULL);
	if (lc__transform_image(&transform, photograph->file.bytes,
	    photograph->file.size, "photograph", workspace, planes, &done) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
	out = jpeg_of_planes(planes, transform.width, transform.height);
	lc__workspace_free(workspace);
	free(planes);
	return out;
}

static struct jpeg
as_stored(const struct photograph *photograph)
{
	struct jpeg out = { malloc(photograph->file.size), photograph->file.size };

	if (out.bytes == NULL)
		err(1, NULL);
	memcpy(out.bytes, photograph->file.bytes, out.size);
	return out;
}

static struct jpeg
made(const struct photograph *photograph, enum image_size size)
{
	switch (size) {
	case IMAGES_HALF:
		return shrunk(photograph);
	case IMAGES_12:
		return jpeg_in_one_scan(photograph->file.bytes, photograph->file.size);
	default:
		return as_stored(photograph);
	}
}

/* ---- files ------------------------------------------------------------------------- */

/* As if it had stood there for an hour: a build trusts the time of such files. */
static void
write_file(const char *path, const void *bytes, size_t size)
{
	const time_t then = time(NULL) - AN_HOUR;
	const struct timespec times[2] = { { then, 0 }, { then, 0 } };
	FILE *file = fopen(path, "wb");

	if (file == NULL || fwrite(bytes, 1, size, file) != size ||
	    fclose(file) != 0 || utimensat(AT_FDCWD, path, times, 0) != 0)
		err(1, "%s", path);
}

static void
make_dir(const char *root, const char *name)
{
	char path[4300];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (mkdir(path, 0777) != 0)
		err(1, "%s", path);
}

static void
write_frame(struct image_set *set, unsigned i, const struct jpeg *jpeg)
{
	char label[4300], text[512];
	const int size = snprintf(text, sizeof(text),
	    "{\"frame_id\":%u,\"image\":\"images/%04u.jpg\",\"image_present\":true,"
	    "\"labels\":[{\"bbox_norm\":[0.1,0.2,0.4,0.6],\"class_id\":1},"
	    "{\"bbox_norm\":[0.5,0.5,0.75,0.9],\"class_id\":2},"
	    "{\"bbox_norm\":[0.25,0.125,0.375,0.25],\"class_id\":1}]}\n", i, i);

	if (asprintf(&set->paths[i], "%s/run/images/%04u.jpg", set->root, i) < 0)
		err(1, NULL);
	snprintf(label, sizeof(label), "%s/run/labels/%04u.json", set->root, i);
	write_file(set->paths[i], jpeg->bytes, jpeg->size);
	write_file(label, text, (size_t)size);
	set->bytes += jpeg->size;
}

void
image_set_make(struct image_set *set, enum image_size size,
    const char *photographs, const char *root, unsigned files)
{
	struct photograph *from;

	*set = (struct image_set){ .n = files };
	snprintf(set->root, sizeof(set->root), "%s", root);
	set->distinct = load_all(photographs, size, &from);
	set->paths = calloc(files, sizeof(*set->paths));
	if (set->paths == NULL)
		err(1, NULL);
	if (set->distinct == 0) {
		set->n = 0;
		return;
	}
	make_dir(root, "");
	make_dir(root, "run");
	make_dir(root, "run/images");
	make_dir(root, "run/labels");
	for (unsigned d = 0; d < set->distinct; d++) {
		struct jpeg jpeg = made(&from[d], size);
		for (unsigned i = d; i < files; i += set->distinct) {
			write_frame(set, i, &jpeg);
			set->pixels += size == IMAGES_HALF ? HALF_PIXELS :
			    (uint64_t)pixels_of(&from[d]);
		}
		free(jpeg.bytes);
		free(from[d].file.bytes);
	}
	free(from);
}

void
image_set_free(struct image_set *set)
{
	for (unsigned i = 0; i < set->n; i++)
		free(set->paths[i]);
	free(set->paths);
}
