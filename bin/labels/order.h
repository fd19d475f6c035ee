/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of names that people number. */
#ifndef CACHEX_LABELS_ORDER_H
#define CACHEX_LABELS_ORDER_H

/**
 * Compare as strcmp() does, but runs of digits as numbers of any length: "f2"
 * before "f10". Names that differ only in zeros before their numbers are ordered
 * by their bytes, so that 0 is returned for equal names alone.
 */
int lc__order_names(const char *a, const char *b);

#endif
