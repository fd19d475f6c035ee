/* SPDX-License-Identifier: BSD-2-Clause */
/* What the name of an export's target says of its format. */
#ifndef CACHEX_CMD_EXPORT_TARGET_H
#define CACHEX_CMD_EXPORT_TARGET_H

#include "formats/outgoing.h"

/**
 * The format that @p target names by its ending; NULL, where the name looks like
 * nothing but a directory of TWH1 shards. "-" and an ending that looks like another
 * format, or nearly like one of ours, are refused. Reports; an exit status.
 */
int export_target_format(const char *target, const struct lc__outgoing_format **out);

/** Can this format be written to @p target, if that is standard output? @p format NULL
 *  for TWH1. Reports; an exit status. */
int export_target_check(const char *target, const struct lc__outgoing_format *format);

#endif
