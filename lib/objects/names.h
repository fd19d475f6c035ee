/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of objects in a store: cachex-store(5). */
#ifndef LC_OBJECTS_NAMES_H
#define LC_OBJECTS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"

/** The digits of a run's id, which begin the SHA-256 of its recipe; and a terminator. */
#define LC__RUN_ID 17

/** "obj/4f/4f1c….twh1" of a shard, by its SHA-256 in hex. */
void lc__name_shard(const char *sha256, char out[LC__OBJECT_NAME]);
/** "part/4f/4f1c….json" of a part's manifest. */
void lc__name_part(const char *sha256, char out[LC__OBJECT_NAME]);
/** "run/0123456789abcdef/recipe.json" */
void lc__name_recipe(const char *run, char out[LC__OBJECT_NAME]);
/** "run/0123456789abcdef/000003.json" */
void lc__name_receipt(const char *run, uint64_t part, char out[LC__OBJECT_NAME]);
/** "manifest/0000000007.json" */
void lc__name_generation(uint64_t generation, char out[LC__OBJECT_NAME]);

/** The reverse; false for any other name. */
bool lc__shard_of_name(const char *name, char sha256[65]);
bool lc__part_of_name(const char *name, char sha256[65]);
bool lc__run_of_name(const char *name, char run[LC__RUN_ID], bool *recipe,
    uint64_t *part);
bool lc__generation_of_name(const char *name, uint64_t *generation);

/** Are these exactly @p n lower-case hex digits? */
bool lc__is_hex(const char *text, size_t n);

#endif
