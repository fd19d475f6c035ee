/* SPDX-License-Identifier: BSD-2-Clause */
/* The 96 bytes of a position. */
#ifndef LC_ORDER_TOKEN_H
#define LC_ORDER_TOKEN_H

#include "lmdbcache.h"

struct lc__token {
	uint8_t uuid[16];     /* of the source; of a mixture, a hash of all */
	uint64_t generation;  /* of the source that the stream stands on; of a mixture 0 */
	uint64_t order_hash;
	uint64_t prefix_hash; /* at that generation; of a mixture, a hash of all */
	uint64_t seed;
	uint64_t epoch;       /* of the next example */
	uint64_t example;     /* next one, over all epochs */
	uint64_t following;   /* 1: of a stream that follows, and of what it needed */
};

void lc__token_encode(const struct lc__token *token, unsigned char out[LC_TOKEN_SIZE]);

/** @return LC_OK; LC_CORRUPT if it is damaged or none; LC_VERSION. */
LC_CHECKED lc_status lc__token_decode(const void *bytes, struct lc__token *out);

#endif
