/* SPDX-License-Identifier: BSD-2-Clause */
/* What a producer writes to its standard error: as lines, and the last of it. */
#ifndef CACHEX_FILL_MESSAGES_H
#define CACHEX_FILL_MESSAGES_H

#include <stddef.h>

/** So much of the end is kept. */
#define LC__MESSAGES_KEPT 4096

/** All zero is new. */
struct lc__messages {
	/** Told of each line, of 1,000 bytes at most; NULL for nobody. */
	void (*line)(void *ctx, unsigned child, const char *line);
	void *ctx;
	unsigned child;
	char last[LC__MESSAGES_KEPT]; /* the end of what was written */
	size_t last_size;
	char open[1001];              /* a line without its end */
	size_t open_size;
};

void lc__messages_add(struct lc__messages *messages, const char *text, size_t size);
/** There will be no more: a line without an end is one. */
void lc__messages_end(struct lc__messages *messages);
/** The last line that is not empty, with nothing in it that ends or garbles a line; ""
 *  if there is none. */
void lc__messages_last_line(const struct lc__messages *messages, char *out, size_t room);

#endif
