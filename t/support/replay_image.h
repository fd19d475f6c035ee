/* SPDX-License-Identifier: BSD-2-Clause */
/* The files below a directory, in memory: what a disk holds at some moment. */
#ifndef T_REPLAY_IMAGE_H
#define T_REPLAY_IMAGE_H

#include "replay_log.h"

struct image_file {
	unsigned char *bytes;
	size_t size, room;
	bool shared; /* the bytes belong to the image that this one was copied from */
};

struct image_entry {
	size_t dir, file;
	const char *name; /* of the log */
};

struct image {
	const struct replay_log *log;
	struct image_file *files; /* as many as the log has */
	struct image_entry *entries;
	size_t nentries;
};

/** How much of a call reaches the disk. */
enum image_part {
	IMAGE_ALL,
	IMAGE_TORN, /* of a write: some of its sectors */
	IMAGE_SIZE  /* of a write: the file's new size, and no bytes */
};

/** The smallest unit that a disk writes as a whole. */
#define IMAGE_SECTOR 512

/** Every file empty, no names. */
void image_init(struct image *image, const struct replay_log *log);
/** A copy that lives no longer than @p from, which must not change meanwhile. */
void image_copy(struct image *image, const struct image *from);
void image_free(struct image *image);

/** Do what an event did; @p seed chooses the sectors of a torn write. */
void image_apply(struct image *image, const struct replay_event *event,
    enum image_part part, uint64_t seed);

/** Make the directory @p dir, which must not exist, look like the image. Files that a
 *  program had mapped for writing get any bytes: @p seed chooses them. */
void image_write(const struct image *image, const char *dir, uint64_t seed);

/** The first path that differs between the image and @p dir, mapped files aside; NULL
 *  if there is none. Allocated. */
char *image_compare(const struct image *image, const char *dir);

#endif
