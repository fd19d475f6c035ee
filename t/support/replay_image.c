/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "need.h"
#include "run.h"
#include "sample.h"

void
image_init(struct image *image, const struct replay_log *log)
{
	image->log = log;
	image->files = calloc(log->nfiles, sizeof(*image->files));
	/* No call adds more than two names. */
	image->entries = calloc(2 * log->count + 1, sizeof(*image->entries));
	image->nentries = 0;
	need(image->files != NULL && image->entries != NULL);
	/* Where there is a symbolic link, it has its target. */
	for (size_t i = 0; i < log->count; i++)
		if (log->events[i].kind == RECORD_SYMLINK)
			image->files[log->events[i].file] = (struct image_file){
				.bytes = (unsigned char *)(uintptr_t)log->events[i].data,
				.size = log->events[i].size, .shared = true
			};
}

void
image_copy(struct image *image, const struct image *from)
{
	image_init(image, from->log);
	for (size_t i = 0; i < from->log->nfiles; i++) {
		image->files[i] = from->files[i];
		image->files[i].shared = true;
	}
	memcpy(image->entries, from->entries,
	    from->nentries * sizeof(*from->entries));
	image->nentries = from->nentries;
}

void
image_free(struct image *image)
{
	for (size_t i = 0; i < image->log->nfiles; i++)
		if (!image->files[i].shared)
			free(image->files[i].bytes);
	free(image->files);
	free(image->entries);
}

/* ---- bytes ------------------------------------------------------------------- */

/* Make a file's bytes the image's own, with room for so many. */
static void
own(struct image_file *file, size_t room)
{
	unsigned char *bytes;

	if (!file->shared && room <= file->room)
		return;
	room = room * 2 > file->size ? room * 2 : file->size;
	bytes = malloc(room + 1);
	need(bytes != NULL);
	if (file->size > 0)
		memcpy(bytes, file->bytes, file->size);
	if (!file->shared)
		free(file->bytes);
	file->bytes = bytes;
	file->room = room;
	file->shared = false;
}

static void
resize(struct image_file *file, size_t size)
{
	own(file, size);
	if (size > file->size)
		memset(file->bytes + file->size, 0, size - file->size);
	file->size = size;
}

static void
write_bytes(struct image_file *file, const struct replay_event *event)
{
	const size_t end = (size_t)event->offset + event->size;

	resize(file, end > file->size ? end : file->size);
	if (event->size > 0)
		memcpy(file->bytes + event->offset, event->data, event->size);
}

/* Half of the sectors, at random. */
static void
write_torn(struct image_file *file, const struct replay_event *event, uint64_t seed)
{
	const size_t end = (size_t)event->offset + event->size;
	size_t at = (size_t)event->offset;

	resize(file, end > file->size ? end : file->size);
	while (at < end) {
		size_t next = (at / IMAGE_SECTOR + 1) * IMAGE_SECTOR;

		next = next < end ? next : end;
		if (run_random(&seed) % 2 == 0)
			memcpy(file->bytes + at,
			    event->data + (at - event->offset), next - at);
		at = next;
	}
}

/* ---- names ------------------------------------------------------------------- */

static void
unset(struct image *image, size_t dir, const char *name)
{
	for (size_t i = 0; i < image->nentries; i++)
		if (image->entries[i].dir == dir &&
		    strcmp(image->entries[i].name, name) == 0) {
			image->entries[i] = image->entries[--image->nentries];
			return;
		}
}

static void
set(struct image *image, size_t dir, const char *name, size_t file)
{
	unset(image, dir, name);
	image->entries[image->nentries++] = (struct image_entry){ dir, file, name };
}

void
image_apply(struct image *image, const struct replay_event *event,
    enum image_part part, uint64_t seed)
{
	struct image_file *file = &image->files[event->file];
	const size_t end = (size_t)event->offset + event->size;

	switch (event->kind) {
	case RECORD_CREATE:
	case RECORD_MKDIR:
	case RECORD_SYMLINK:
	case RECORD_LINK:
		set(image, event->dir, event->name, event->file);
		break;
	case RECORD_REMOVE:
		unset(image, event->dir, event->name);
		break;
	case RECORD_RENAME:
		unset(image, event->dir, event->name);
		set(image, event->dir2, event->name2, event->file);
		break;
	case RECORD_EXCHANGE:
		set(image, event->dir, event->name, event->other);
		set(image, event->dir2, event->name2, event->file);
		break;
	case RECORD_RESIZE:
		resize(file, (size_t)event->offset);
		break;
	case RECORD_WRITE:
		if (part == IMAGE_ALL)
			write_bytes(file, event);
		else if (part == IMAGE_TORN)
			write_torn(file, event, seed);
		else if (end > file->size)
			resize(file, end);
		break;
	default:
		break;
	}
}

/* ---- on disk ------------------------------------------------------------------ */

/* Whatever the bytes of a mapped file may be. */
static void
write_mapped(int fd, size_t size, uint64_t seed)
{
	unsigned char *bytes = malloc(size + 1);

	need(bytes != NULL);
	size = run_random(&seed) % 2 == 0 ? size : 0;
	memset(bytes, 0, size);
	if (run_random(&seed) % 2 == 0)
		sample_fill(bytes, size, seed);
	need(write(fd, bytes, size) == (ssize_t)size);
	free(bytes);
}

static void
write_file(const struct image *image, size_t id, const char *path, uint64_t seed)
{
	const struct image_file *file = &image->files[id];
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	need(fd != -1);
	if (image->log->files[id].mapped)
		write_mapped(fd, file->size, seed);
	else
		need(write(fd, file->bytes, file->size) == (ssize_t)file->size);
	close(fd);
}

static void
write_link(const struct image_file *file, const char *path)
{
	char target[4096];

	need(file->size < sizeof(target));
	memcpy(target, file->bytes, file->size);
	target[file->size] = '\0';
	need(symlink(target, path) == 0);
}

static void
write_dir(const struct image *image, size_t id, const char *dir, uint64_t seed)
{
	need(mkdir(dir, 0777) == 0);
	for (size_t i = 0; i < image->nentries; i++) {
		const struct image_entry *entry = &image->entries[i];
		char *path;

		if (entry->dir != id)
			continue;
		path = lc__path_join(dir, entry->name);
		need(path != NULL);
		if (image->log->files[entry->file].is_dir)
			write_dir(image, entry->file, path, seed);
		else if (image->log->files[entry->file].is_link)
			write_link(&image->files[entry->file], path);
		else
			write_file(image, entry->file, path, seed);
		free(path);
	}
}

void
image_write(const struct image *image, const char *dir, uint64_t seed)
{
	write_dir(image, 0, dir, seed);
}

/* ---- comparing ------------------------------------------------------------------ */

static bool
same_file(const struct image *image, size_t id, const char *path)
{
	const struct image_file *file = &image->files[id];
	struct lc__buf bytes = { 0 };
	bool same;

	if (image->log->files[id].mapped)
		return access(path, F_OK) == 0;
	same = lc__read_file(path, (uint64_t)1 << 32, &bytes) == LC_OK &&
	    bytes.size == file->size &&
	    (file->size == 0 || memcmp(bytes.data, file->bytes, file->size) == 0);
	lc__buf_free(&bytes);
	return same;
}

static bool
same_link(const struct image_file *file, const char *path)
{
	char target[4096];
	const ssize_t n = readlink(path, target, sizeof(target));

	return n == (ssize_t)file->size && memcmp(target, file->bytes, file->size) == 0;
}

/* Names in a directory on disk; -1 if it is none. */
static long
count_names(const char *dir)
{
	DIR *handle = opendir(dir);
	long n = -2; /* "." and ".." */

	if (handle == NULL)
		return -1;
	while (readdir(handle) != NULL)
		n++;
	closedir(handle);
	return n;
}

static char *
compare_dir(const struct image *image, size_t id, const char *dir)
{
	long names = 0;
	char *bad = NULL;

	for (size_t i = 0; i < image->nentries && bad == NULL; i++) {
		const struct image_entry *entry = &image->entries[i];
		char *path;

		if (entry->dir != id)
			continue;
		names++;
		path = lc__path_join(dir, entry->name);
		need(path != NULL);
		if (image->log->files[entry->file].is_dir)
			bad = compare_dir(image, entry->file, path);
		else if (image->log->files[entry->file].is_link ?
		    !same_link(&image->files[entry->file], path) :
		    !same_file(image, entry->file, path))
			bad = strdup(path);
		free(path);
	}
	if (bad == NULL && count_names(dir) != names)
		bad = strdup(dir);
	return bad;
}

char *
image_compare(const struct image *image, const char *dir)
{
	return compare_dir(image, 0, dir);
}
