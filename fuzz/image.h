/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data.mdb of a small module, damaged in place and made whole again, without copying
 * what did not change: the file stays where it is, in memory where there is a file system
 * for that, and its pages are changed through a map of it.
 *
 * An input begins with a byte that chooses the module, or the environment of another
 * program (module.h), and one whose lowest bit
 * says that checksums stay wrong. Edits follow, as many as there are bytes for: a byte for
 * the operation, u16 page, u16 place in it, and what the operation needs.
 */
#ifndef FUZZ_IMAGE_H
#define FUZZ_IMAGE_H

#include "fuzz.h"
#include "module.h"

struct fuzz_image {
	char root[300];         /* where the module "m" is */
	struct lc__buf whole;   /* what the file holds */
	bool foreign;           /* it is no module: there are no checksums */
	unsigned char *map;     /* the file, whole.size bytes */
	bool *dirty;            /* of each page: it was changed */
	bool *seen;             /* of each page: the walk was there */
	struct fuzz_place *places; /* where numbers are */
	size_t n_places;
	void *user;             /* what the target keeps with it; NULL at first */
};

/** The image that an input chooses, made when it is first asked for. */
struct fuzz_image *fuzz_image_of(struct fuzz_bytes *in);
/** The same of environments of other programs. */
struct fuzz_image *fuzz_image_of_env(struct fuzz_bytes *in);
/** Apply the edits, and put checksums right if the input wants that. */
void fuzz_image_damage(struct fuzz_image *image, struct fuzz_bytes *in);
/** Undo it. */
void fuzz_image_restore(struct fuzz_image *image);
/** Write the file anew: something else than fuzz_image_damage() may have changed it. */
void fuzz_image_rewrite(struct fuzz_image *image);

/** A custom mutator for these inputs: edits of what LMDB or the engine reads there. */
size_t fuzz_image_mutate(uint8_t *data, size_t size, size_t room, unsigned seed);
/** The same for inputs of fuzz_image_of_env(). */
size_t fuzz_image_mutate_env(uint8_t *data, size_t size, size_t room, unsigned seed);

#endif
