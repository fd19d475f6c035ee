/* SPDX-License-Identifier: BSD-2-Clause */
/* libarchive takes names for text of the thread's locale: UTF-8, whatever the
 * caller's is, while this is entered. */
#ifndef CACHEX_FORMATS_CHARSET_H
#define CACHEX_FORMATS_CHARSET_H

#include <locale.h>

/** C.UTF-8; (locale_t)0 where the system has none, which then is not entered. */
static inline locale_t
lc__charset_new(void)
{
	return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static inline void
lc__charset_free(locale_t charset)
{
	if (charset != (locale_t)0)
		freelocale(charset);
}

/** What to leave with. */
static inline locale_t
lc__charset_enter(locale_t charset)
{
	return charset != (locale_t)0 ? uselocale(charset) : (locale_t)0;
}

static inline void
lc__charset_leave(locale_t old)
{
	if (old != (locale_t)0)
		uselocale(old);
}

#endif
