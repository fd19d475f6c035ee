/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to producers: frames of cachex-producer(5), as bytes. */
#ifndef CACHEX_FILL_PROTOCOL_H
#define CACHEX_FILL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "fill/items.h"
#include "fill/value_mpack.h"

/** The version passed to producers in CACHEX_PROTOCOL. */
#define LC__PROTOCOL 1

/** A frame begins with the size of its object, u32. */
#define LC__FRAME_HEAD 4

/**
 * Append the frame that requests the items of a subbatch.
 * @return LC_OK; LC_UNSUPPORTED if they do not fit into a frame; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__request_write(const struct lc__subbatch *subbatch,
    uint64_t number, struct lc__buf *out);

/** How much of the end is kept. */
#define LC__MESSAGES_KEPT 4096

/** All zero is new. */
struct lc__messages {
	/** Called with each line, at most 1,000 bytes; may be NULL. */
	void (*line)(void *ctx, unsigned child, const char *line);
	void *ctx;
	unsigned child;
	char last[LC__MESSAGES_KEPT]; /* the end of the output */
	size_t last_size;
	char open[1001]; /* a line without its end */
	size_t open_size;
};

void lc__messages_add(struct lc__messages *messages, const char *text, size_t size);

/** No more output will come: an incomplete line counts as a line. */
void lc__messages_end(struct lc__messages *messages);

/** The last line that is not empty, without characters that end or garble a line; "" if
 *  there is none. */
void lc__messages_last_line(const struct lc__messages *messages, char *out, size_t room);

/** The result for an item in an answer; borrowed from it. */
struct lc__answer_item {
	bool there;
	const void *value; /* an object; NULL if it has none */
	size_t value_size;
	const void *error; /* text; NULL if it has none */
	size_t error_size;
};

/** The present answer, and memory for the next ones; all zero is new. */
struct lc__answer {
	struct lc__answer_item *result; /* for each item of the subbatch */
	size_t room;                    /* room for results */
	uint32_t *slot; /* 1 + index in the subbatch, by the hash of the id, 0 for none;
	                 * used for results out of order */
	size_t slots;   /* a power of two, at least half of them free */
	bool indexed;   /* the slots belong to this subbatch */
	struct lc__reported reported[LC__REPORTED_MOST];
	size_t n_reported;
	struct lc__value_reader reader;
};

/** The outcome of the items of a subbatch. */
struct lc__answered {
	size_t done, failed, lacking;
};

/**
 * Parse an answer.
 * @return LC_OK; LC_INVALID with the mistake, and then nothing of it is used;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__answer_read(struct lc__answer *answer,
    const struct lc__subbatch *subbatch, const void *bytes, size_t size);

/** The number of the request in an answer; LC_INVALID if it has none. */
LC_CHECKED lc_status lc__answer_number(const void *bytes, size_t size, uint64_t *out);

/**
 * Give the items of the subbatch the results read. Tensors of values are borrowed from
 * the answer's bytes.
 * @param check  as in lc__work
 */
LC_CHECKED lc_status lc__answer_take(struct lc__answer *answer,
    const struct lc__subbatch *subbatch,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__answered *out);

void lc__answer_free(struct lc__answer *answer);

#endif
