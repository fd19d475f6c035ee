/* SPDX-License-Identifier: BSD-2-Clause */
/* A store of objects of random bytes in a directory, read through a back end that makes
 * faults on demand; and files that are looked at whole. */
#ifndef T_ODD_STORE_H
#define T_ODD_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "objects/objects.h"
#include "remote/copies.h"

/** One object. */
struct odd_object {
	char name[96]; /* "obj/AA/SHA256.twh1" */
	char sha256[65];
	uint64_t size;
	unsigned char *bytes; /* malloc'ed */
};

/** What the processes of a test see of the store together. */
struct odd_shared {
	_Atomic uint64_t calls, bytes; /* of get_range() */
	_Atomic int64_t fail_at;   /* the call, from 1, that fails with LC_IO; 0: none */
	_Atomic int64_t flip_at;   /* the call whose first byte is wrong */
	_Atomic bool flip_all;     /* of every call */
	_Atomic int64_t die_at;    /* the call that kills its process */
	_Atomic uint64_t slow_ns;  /* that each call takes */
};

struct odd_store {
	struct lc__objects objects; /* to be given to what is tested */
	struct lc__objects *real;
	struct odd_shared *shared; /* memory that children share */
	struct odd_object *all;
	size_t n;
};

/** Make @p n objects of @p size to @p most bytes each in the directory. */
void odd_store_make(struct odd_store *store, const char *dir, size_t n, uint64_t size,
    uint64_t most, uint64_t seed);
void odd_store_free(struct odd_store *store);

struct lc__wanted odd_wanted(const struct odd_store *store, size_t i);
/** Has the file these bytes? */
bool odd_same(const struct odd_store *store, size_t i, const char *path);
/** Bytes on the disk of all copies in the directory, at a moment when nobody reserves any;
 *  any process, any thread. */
uint64_t odd_disk(const char *dir);

#endif
