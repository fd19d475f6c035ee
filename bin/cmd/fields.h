/* SPDX-License-Identifier: BSD-2-Clause */
/* The option --field of put: parts of a value on the command line. */
#ifndef CACHEX_CMD_FIELDS_H
#define CACHEX_CMD_FIELDS_H

#include "formats/loaded.h"
#include "ui/opt.h"

/**
 * Make the value of NAME=FILE.npy, NAME=@FILE.json and NAME:=JSON.
 * @param raw_dtype  as for lc__loaded_npy()
 * @param out        all zero; to be freed with lc__loaded_free(), also on failure
 * Reports; an exit status.
 */
int fields_read(const struct opt_list *fields, int raw_dtype,
    struct lc__loaded *out);

#endif
