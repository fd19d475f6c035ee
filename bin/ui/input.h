/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CACHEX_UI_INPUT_H
#define CACHEX_UI_INPUT_H

#include "base/buf.h"

/** Append a whole file, or standard input for "-"; reports; an exit status. */
int input_read(const char *path, struct lc__buf *out);
/** "standard input" for "-", else the path. */
const char *input_name(const char *path);

#endif
