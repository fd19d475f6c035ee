/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to producers: frames of cachex-producer(5), as bytes. */
#ifndef CACHEX_FILL_PROTOCOL_H
#define CACHEX_FILL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "fill/items.h"
#include "fill/value_mpack.h"

/** The version that producers are told of in CACHEX_PROTOCOL. */
#define LC__PROTOCOL 1

/** A frame begins with the bytes of its object, u32. */
#define LC__FRAME_HEAD 4

/**
 * Append the frame that asks for the items of a subbatch.
 * @return LC_OK; LC_UNSUPPORTED if they do not fit into a frame; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__request_write(const struct lc__subbatch *subbatch,
    uint64_t number, struct lc__buf *out);

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
	char open[1001]; /* a line without its end */
	size_t open_size;
};

void lc__messages_add(struct lc__messages *messages, const char *text, size_t size);

/** There will be no more: a line without an end is one. */
void lc__messages_end(struct lc__messages *messages);

/** The last line that is not empty, with nothing in it that ends or garbles a line; ""
 *  if there is none. */
void lc__messages_last_line(const struct lc__messages *messages, char *out, size_t room);

/** What an answer has for an item; borrowed from it. */
struct lc__answer_item {
	bool there;
	const void *value; /* an object; NULL if it has none */
	size_t value_size;
	const void *error; /* text; NULL if it has none */
	size_t error_size;
};

/** The present answer, and memory for the next ones; all zero is new. */
struct lc__answer {
	struct lc__answer_item *result; /* of each item of the subbatch */
	size_t room;                    /* results that fit */
	uint32_t *slot; /* positions in the subbatch plus 1 by the hash of the id,
	                              0 for none; used for what comes out of order */
	size_t slots;   /* a power of two, at least half of them free */
	bool indexed;   /* the slots are those of this subbatch */
	struct lc__value_reader reader;
};

/** What became of the items of a subbatch. */
struct lc__answered {
	size_t done, failed, lacking;
};

/**
 * Take an answer apart.
 * @return LC_OK; LC_INVALID with what is wrong with it, and then all of it is
 * garbage; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__answer_read(struct lc__answer *answer,
    const struct lc__subbatch *subbatch, const void *bytes, size_t size);

/** The number of the request that an answer says it is to; LC_INVALID if it says none. */
LC_CHECKED lc_status lc__answer_number(const void *bytes, size_t size, uint64_t *out);

/**
 * Give the items of the subbatch what was read. Values' tensors are borrowed from the
 * answer's bytes.
 * @param check  as in lc__work
 */
LC_CHECKED lc_status lc__answer_take(struct lc__answer *answer,
    const struct lc__subbatch *subbatch,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__answered *out);

void lc__answer_free(struct lc__answer *answer);

#endif
