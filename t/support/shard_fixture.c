/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard_fixture.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes at an offset; zeros in between. */
struct piece {
	size_t offset;
	const char *hex;
};

static const struct piece v1_pieces[] = {
	{ 0, "54574831 01000000 00000000 00000000"   /* TWH1, 1, f32, little */
	     "02000000 01000000 01000000 01000000"   /* 2 x 1 x 1, one box */
	     "0200000000000000 0010000000000000"     /* samples, images */
	     "1010000000000000 3010000000000000"     /* boxes, mask */
	     "0000000000000000 0000000000000000" },  /* reserved */
	{ 4096, "0000803f 00000040 00004040 00008040" }, /* 1 2 3 4 */
	{ 4112, "00000000 0000803e 0000003f 0000403f"    /* 0 1/4 1/2 3/4 */
	        "00000000 00000000 00000000 00000000" },
	{ 4144, "0000803f" }                         /* mask: 1, 0 */
};

static const struct piece v2_pieces[] = {
	{ 0, "54574831 02000000 01000000 00000000"   /* TWH1, 2, f16, little */
	     "02000000 01000000 01000000 00000000"   /* 2 x 1 x 1, no boxes */
	     "0200000000000000 0010000000000000"     /* samples, images */
	     "4010000000000000 4010000000000000"     /* boxes, mask: empty */
	     "4010000000000000 c010000000000000" },  /* metadata, checksums */
	{ 4096, "003c 0040 0042 0044" },             /* 1 2 3 4 */
	{ 4160, "54574d44 00000000 0200000000000000" /* TWMD, two rows */
	        "2a00000000000000 0000000000000000"  /* of 42 bytes */
	        "0000000000000000 1500000000000000 2a00000000000000"
	        "82 a8 63616368655f6964 c401 61 a5 7368617065 91 02"
	        "82 a8 63616368655f6964 c401 62 a5 7368617065 91 02" },
	/* The hashes are those of xxhash's own library over the bytes above. */
	{ 4288, "5457434b 00000100 0100000000000000" /* TWCK, 64 KiB, one block */
	        "ea89c30c618d8bfe 0000000000000000"  /* of the header */
	        "8870fc755acb0d49"                   /* of block 0 */
	        "5c106595cfaf7d49" }                 /* of this section */
};

size_t
fixture_hex(const char *hex, unsigned char *out)
{
	size_t n = 0;
	unsigned byte;

	for (; *hex != '\0'; hex++) {
		if (isspace((unsigned char)*hex))
			continue;
		if (sscanf(hex, "%2x", &byte) != 1)
			abort();
		out[n++] = (unsigned char)byte;
		hex++;
	}
	return n;
}

const unsigned char *
fixture_v1(void)
{
	static unsigned char bytes[FIXTURE_V1_SIZE];

	for (size_t i = 0; i < sizeof(v1_pieces) / sizeof(v1_pieces[0]); i++)
		fixture_hex(v1_pieces[i].hex, bytes + v1_pieces[i].offset);
	return bytes;
}

const unsigned char *
fixture_v2(void)
{
	static unsigned char bytes[FIXTURE_V2_SIZE];

	for (size_t i = 0; i < sizeof(v2_pieces) / sizeof(v2_pieces[0]); i++)
		fixture_hex(v2_pieces[i].hex, bytes + v2_pieces[i].offset);
	return bytes;
}

unsigned char *
fixture_copy(const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, size);
	return copy;
}
