/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as text that every program reads. */
#ifndef LC_BASE_SHORTEST_H
#define LC_BASE_SHORTEST_H

/** Room for any double's text and its end. */
#define LC__SHORTEST 32

/** A finite number with the fewest digits that read back as the same one, and a
 *  point in it whatever the locale: 1, 0.1, 1e+100. */
void lc__shortest(double number, char out[LC__SHORTEST]);

#endif
