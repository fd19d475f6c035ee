/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings that a module keeps for all its users, as text. */
#ifndef CACHEX_CMD_MODULESET_H
#define CACHEX_CMD_MODULESET_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"
#include "ui/json.h"

/** What `cachex set` changes. */
struct moduleset {
	lc_settings is;
	lc_share share;   /* who may use the module: not in it, but modes of its files */
	bool share_named; /* set by moduleset_assign() */
};

/** Read both; reports; an exit status. */
int moduleset_read(const char *module, lc_cache *cache, struct moduleset *out);

/** The name of setting @p i, "codec", "max-bytes"; NULL behind the last. */
const char *moduleset_name(size_t i);
/** Words for its value, "evolve|strict"; NULL if it is a number or a size. */
const char *moduleset_words(size_t i);
/** Its value as moduleset_assign() reads it; returns @p out. */
char *moduleset_value(const struct moduleset *set, size_t i, char *out,
    size_t room);
#define MODULESET_TEXT (LC_LENGTH_FIELD_MAX + 1)

/** Read NAME=VALUE; false with @p why, one phrase, if it is none. */
bool moduleset_assign(struct moduleset *set, const char *text, char *why,
    size_t room);

/** The members of an object, numbers as numbers. */
void moduleset_json(const struct moduleset *set, struct json *json);

#endif
