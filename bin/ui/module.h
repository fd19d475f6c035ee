/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening modules under the configured root. */
#ifndef CACHEX_UI_MODULE_H
#define CACHEX_UI_MODULE_H

#include "lmdbcache.h"
#include "ui/input.h"

/** The words of an OPT_CHOICE, after one for LC_CODEC_DEFAULT. */
#define CODEC_WORDS "none|lz4|shuffle-lz4|u8pack|u8pack-lz4|auto"

/** The codec of a choice; 0 is LC_CODEC_DEFAULT. */
lc_codec codec_of_choice(int choice);

/** The choice, 1 or more, of a codec that is not LC_CODEC_DEFAULT. */
int choice_of_codec(lc_codec codec);

/** The usage error for a level that no codec has; an exit status. */
int codec_check_level(int level);

/** Put a value, its tensors coded as chosen. */
LC_CHECKED lc_status codec_put(lc_cache *cache, lc_id id, const lc_value *value,
    int choice, int level);

/** Open to read; reports; an exit status. */
int module_open(const char *module_id, lc_cache **out);

/** The row of --no-create, for the options of commands that write. */
extern int module_makes;

/* clang-format off */
#define MODULE_NO_CREATE \
	{ "", "create", OPT_FLAG, &module_makes, \
	    .help = "do not create the module; it must exist" }
/* clang-format on */

/** Open to write, created if it is missing unless --no-create is given; reports; an exit
 *  status. */
int module_create(const char *module_id, lc_cache **out);

/** Open to change existing records; reports; an exit status. */
int module_change(const char *module_id, lc_cache **out);

/** Open under another root, with the flags of lc_options; reports; an exit status. */
int module_open_in(const char *root, const char *module_id, unsigned flags,
    lc_cache **out);

/**
 * Open to read; *out is NULL for a module that does not exist. With @p made_next the
 * caller creates the module afterwards, and *out is NULL also for a path that is not a
 * module: it may be the empty file of a command that was killed while creating the
 * module; if it is not, creating the module reports that. Reports; an exit status.
 */
int module_open_if_there(const char *root, const char *module_id, bool made_next,
    lc_cache **out);

/** Report that the module does not exist, with a similar name if there is one;
 *  EXIT_NO. */
int module_missing(const char *root, const char *module_id);

/** Can it be opened? Reports; an exit status. */
int module_must_exist(const char *root, const char *module_id);

/** Close; reports what could not be committed; the worse exit status. */
int module_close(lc_cache *cache, int status);

/** The modules that the operands name, or all of them; reports. */
int module_list(struct list *list, int argc, char **argv);

#endif
