/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as text has them. */
#ifndef CACHEX_LABELS_NUMBER_H
#define CACHEX_LABELS_NUMBER_H

#include <stdbool.h>

/**
 * All of @p text is a decimal number, or one of the forms of nan and inf that
 * writers of labels write; blanks around it are passed over.
 */
bool lc__number_parse(const char *text, double *out);

#endif
