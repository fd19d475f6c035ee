/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens: 96 bytes with the position of a stream. */
#ifndef LC_ORDER_TOKEN_H
#define LC_ORDER_TOKEN_H

#include "lmdbcache.h"

struct lc__stream_token {
	uint8_t uuid[16];    /* of the source; of a mixture, a hash of all */
	uint64_t generation; /* of the source when the token was made; of a mixture 0 */
	uint64_t order_hash;
	uint64_t prefix_hash; /* at that generation; of a mixture, a hash of all */
	uint64_t seed;
	uint64_t epoch;     /* position of the next example */
	uint64_t example;   /* next one, over all epochs */
	uint64_t following; /* 1: the stream follows its source, and the generation is
	                       what it needed so far */
	uint64_t shares;    /* C, below 2^32; 0: none */
	uint64_t spread;    /* W of shares; 0 without */
};

void lc__stream_token_encode(const struct lc__stream_token *token,
    unsigned char out[LC_TOKEN_SIZE]);

/** @return LC_OK; LC_CORRUPT if it is damaged or not a token; LC_VERSION. */
LC_CHECKED lc_status lc__stream_token_decode(const void *bytes,
    struct lc__stream_token *out);

#endif
