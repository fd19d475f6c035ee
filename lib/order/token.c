/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/token.h"

#include "base/bytes.h"
#include "base/error.h"

#define TOKEN_VERSION 1

/* Offsets of the fields; lmdbcache_stream(3) has the table. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 7,
	AT_UUID = 8,
	AT_GENERATION = 24,
	AT_ORDER = 32,
	AT_PREFIX = 40,
	AT_SEED = 48,
	AT_EPOCH = 56,
	AT_EXAMPLE = 64,
	AT_FOLLOWING = 72,
	AT_SHARES = 76,
	AT_SPREAD = 80,
	AT_ZERO = 88,
	AT_CRC = 92
};

static const char magic[] = "LCTOKEN";

/* The CRC-32 of zlib, PNG and Ethernet, which every language has. Bit by bit: tokens are
 * short and rare. */
static uint32_t
crc32(const unsigned char *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
	}
	return ~crc;
}

void
lc__stream_token_encode(const struct lc__stream_token *token,
    unsigned char out[LC_TOKEN_SIZE])
{
	memset(out, 0, LC_TOKEN_SIZE);
	memcpy(out + AT_MAGIC, magic, AT_VERSION - AT_MAGIC);
	out[AT_VERSION] = TOKEN_VERSION;
	memcpy(out + AT_UUID, token->uuid, sizeof(token->uuid));
	lc__set64(out + AT_GENERATION, token->generation);
	lc__set64(out + AT_ORDER, token->order_hash);
	lc__set64(out + AT_PREFIX, token->prefix_hash);
	lc__set64(out + AT_SEED, token->seed);
	lc__set64(out + AT_EPOCH, token->epoch);
	lc__set64(out + AT_EXAMPLE, token->example);
	lc__set32(out + AT_FOLLOWING, token->following != 0);
	lc__set32(out + AT_SHARES, (uint32_t)token->shares);
	lc__set64(out + AT_SPREAD, token->spread);
	lc__set32(out + AT_CRC, crc32(out, AT_CRC));
}

lc_status
lc__stream_token_decode(const void *bytes, struct lc__stream_token *out)
{
	const unsigned char *in = bytes;
	unsigned unused = 0;

	if (memcmp(in + AT_MAGIC, magic, AT_VERSION - AT_MAGIC) != 0)
		return lc__error(LC_CORRUPT, 0, "token: these bytes are not a token");
	if (lc__get32(in + AT_CRC) != crc32(in, AT_CRC))
		return lc__error(LC_CORRUPT, 0, "token: damaged: wrong checksum");
	if (in[AT_VERSION] != TOKEN_VERSION)
		return lc__error(LC_VERSION, 0,
		    "token: version %u, this library knows %u", in[AT_VERSION],
		    TOKEN_VERSION);
	for (size_t i = AT_ZERO; i < AT_CRC; i++)
		unused |= in[i];
	if (lc__get32(in + AT_FOLLOWING) > 1 || unused != 0)
		return lc__error(LC_CORRUPT, 0, "token: damaged: unused bytes are set");
	if ((lc__get32(in + AT_SHARES) > 0) != (lc__get64(in + AT_SPREAD) > 0))
		return lc__error(LC_CORRUPT, 0,
		    "token: damaged: shares and their windows go together");
	memcpy(out->uuid, in + AT_UUID, sizeof(out->uuid));
	out->generation = lc__get64(in + AT_GENERATION);
	out->order_hash = lc__get64(in + AT_ORDER);
	out->prefix_hash = lc__get64(in + AT_PREFIX);
	out->seed = lc__get64(in + AT_SEED);
	out->epoch = lc__get64(in + AT_EPOCH);
	out->example = lc__get64(in + AT_EXAMPLE);
	out->following = lc__get32(in + AT_FOLLOWING);
	out->shares = lc__get32(in + AT_SHARES);
	out->spread = lc__get64(in + AT_SPREAD);
	return LC_OK;
}
