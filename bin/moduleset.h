/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings that a module keeps for all its users, as text. */
#ifndef BIN_MODULESET_H
#define BIN_MODULESET_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"
#include "lmdbcache.h"

/** The name of setting @p i, "codec", "max-bytes"; NULL behind the last. */
const char *moduleset_name(size_t i);
/** Words for its value, "evolve|strict"; NULL if it is a number or a size. */
const char *moduleset_words(size_t i);
/** Its value as moduleset_assign() reads it; returns @p out. */
char *moduleset_value(const lc_settings *settings, size_t i, char *out,
    size_t room);
#define MODULESET_TEXT (LC_LENGTH_FIELD_MAX + 1)

/** Read NAME=VALUE; false with @p why, one phrase, if it is none. */
bool moduleset_assign(lc_settings *settings, const char *text, char *why,
    size_t room);

/** The members of an object, numbers as numbers. */
void moduleset_json(const lc_settings *settings, struct json *json);

#endif
