/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings that a module keeps for all its users, as text. */
#ifndef CACHEX_CMD_MODULE_SETTINGS_H
#define CACHEX_CMD_MODULE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"
#include "ui/json.h"

/** What `cachex set` changes. */
struct module_settings {
	lc_settings is;
	lc_share share;   /* who may use the module: not in it, but modes of its files */
	bool share_named; /* set by module_setting_assign() */
};

/** Read both; reports; an exit status. */
int module_settings_read(const char *module, lc_cache *cache,
    struct module_settings *out);

/** The name of setting @p i, "codec", "max-bytes"; NULL after the last. */
const char *module_setting_name(size_t i);
/** Words for its value, "evolve|strict"; NULL if it is a number or a size. */
const char *module_setting_words(size_t i);
/** Its value as module_setting_assign() reads it; returns @p out. */
char *module_setting_value(const struct module_settings *set, size_t i, char *out,
    size_t room);
#define MODULE_SETTING_TEXT (LC_LENGTH_FIELD_MAX + 1)

/** Read NAME=VALUE; false with @p why, one phrase, for anything else. */
bool module_setting_assign(struct module_settings *set, const char *text, char *why,
    size_t room);

/** The members of an object, numbers as numbers. */
void module_settings_json(const struct module_settings *set, struct json *json);

#endif
