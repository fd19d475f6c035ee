/* SPDX-License-Identifier: BSD-2-Clause */
/* Positions of streams: order/token.c. Input: 96 bytes, its checksum put right. */
#include "fuzz.h"

#include <string.h>

#include "base/bytes.h"
#include "order/token.h"

/* The checksum of a token is the CRC-32 of its first 92 bytes. */
static uint32_t
crc32(const uint8_t *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
	}
	return ~crc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char bytes[LC_TOKEN_SIZE] = { 0 }, again[LC_TOKEN_SIZE];
	struct lc__stream_token token;

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	if (lc__stream_token_decode(bytes, &token) != LC_OK)
		lc__set32(bytes + 92, crc32(bytes, 92));
	if (lc__stream_token_decode(bytes, &token) == LC_OK) {
		lc__stream_token_encode(&token, again);
		fuzz_require(memcmp(bytes, again, sizeof(bytes)) == 0);
	}
	return 0;
}
