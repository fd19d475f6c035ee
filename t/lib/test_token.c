/* SPDX-License-Identifier: BSD-2-Clause */
/* The 96 bytes of a position, one by one. */
#include "run.h"

#include <string.h>

#include "order/token.h"
#include "sample.h"

/* As made by hand, but for its checksum, which is that of another program. */
static const unsigned char written[LC_TOKEN_SIZE] = {
	'L', 'C', 'T', 'O', 'K', 'E', 'N', 1,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
	0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
	0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
	[92] = 0x09, 0xF3, 0xDA, 0x5D
};

static const struct lc__stream_token meant = {
	.uuid = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	.generation = UINT64_C(0x0102030405060708),
	.order_hash = UINT64_C(0x1112131415161718),
	.prefix_hash = UINT64_C(0x2122232425262728),
	.seed = UINT64_C(0x3132333435363738),
	.epoch = UINT64_C(0x4142434445464748),
	.example = UINT64_C(0x5152535455565758),
};

/* The same of a stream that follows, from byte 72 on. */
static const unsigned char following[24] = {
	1, [20] = 0x4F, 0xC8, 0xBD, 0x38
};

/* zlib's, a byte at a time from a table of its own. */
static void
seal(unsigned char token[LC_TOKEN_SIZE])
{
	uint32_t table[256], crc = 0xFFFFFFFF;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? 0xEDB88320 ^ table[i] >> 1 :
			    table[i] >> 1;
	}
	for (int i = 0; i < 92; i++)
		crc = table[(crc ^ token[i]) & 0xFF] ^ crc >> 8;
	for (int i = 0; i < 4; i++)
		token[92 + i] = (unsigned char)(~crc >> 8 * i);
}

START_TEST(bytes)
{
	unsigned char out[LC_TOKEN_SIZE], sealed[LC_TOKEN_SIZE];
	struct lc__stream_token back;

	memset(out, 0xAA, sizeof(out));
	lc__stream_token_encode(&meant, out);
	ck_assert_mem_eq(out, written, LC_TOKEN_SIZE);
	memcpy(sealed, written, LC_TOKEN_SIZE);
	seal(sealed);
	ck_assert_mem_eq(sealed, written, LC_TOKEN_SIZE);
	ck_assert_int_eq(lc__stream_token_decode(written, &back), LC_OK);
	ck_assert_mem_eq(&back, &meant, sizeof(back));
}
END_TEST

START_TEST(bytes_of_one_that_follows)
{
	struct lc__stream_token token = meant, back;
	unsigned char out[LC_TOKEN_SIZE];

	token.following = 1;
	lc__stream_token_encode(&token, out);
	ck_assert_mem_eq(out, written, 72);
	ck_assert_mem_eq(out + 72, following, sizeof(following));
	ck_assert_int_eq(lc__stream_token_decode(out, &back), LC_OK);
	ck_assert_mem_eq(&back, &token, sizeof(back));
}
END_TEST

START_TEST(bytes_of_shares)
{
	struct lc__stream_token token = meant, back;
	unsigned char out[LC_TOKEN_SIZE];

	token.shares = 0x64636261;
	token.spread = UINT64_C(0x7877767574737271);
	lc__stream_token_encode(&token, out);
	ck_assert_mem_eq(out, written, 76);
	ck_assert_mem_eq(out + 76, "abcdqrstuvwx\0\0\0\0", 16);
	ck_assert_int_eq(lc__stream_token_decode(out, &back), LC_OK);
	ck_assert_mem_eq(&back, &token, sizeof(back));
	memset(out + 80, 0, 8);
	seal(out);
	ck_assert_int_eq(lc__stream_token_decode(out, &back), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text,
	    "token: damaged: shares and their windows go together");
}
END_TEST

START_TEST(there_and_back)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(5000);

	for (unsigned k = 0; k < times; k++) {
		unsigned char out[1 + LC_TOKEN_SIZE];
		struct lc__stream_token token, back;

		for (int i = 0; i < 16; i++)
			token.uuid[i] = (uint8_t)run_random(&seed);
		token.generation = run_random(&seed);
		token.order_hash = run_random(&seed);
		token.prefix_hash = run_random(&seed);
		token.seed = run_random(&seed);
		token.epoch = run_random(&seed);
		token.example = run_random(&seed);
		token.following = run_random(&seed) % 2;
		token.shares = k % 2 * (1 + run_random(&seed) % UINT32_MAX);
		token.spread = k % 2 * (1 + run_random(&seed) % UINT64_MAX);
		lc__stream_token_encode(&token, out + 1); /* at an odd address */
		ck_assert_int_eq(lc__stream_token_decode(out + 1, &back), LC_OK);
		ck_assert_mem_eq(&back, &token, sizeof(back));
	}
}
END_TEST

/* A damaged token leaves the output alone. */
static void
must_refuse(const unsigned char *token, lc_status status)
{
	struct lc__stream_token back = meant;

	ck_assert_int_eq(lc__stream_token_decode(token, &back), status);
	ck_assert_mem_eq(&back, &meant, sizeof(back));
}

START_TEST(each_bit_counts)
{
	unsigned char token[LC_TOKEN_SIZE];

	for (int bit = 0; bit < 8 * LC_TOKEN_SIZE; bit++) {
		memcpy(token, written, LC_TOKEN_SIZE);
		token[bit / 8] ^= (unsigned char)(1u << bit % 8);
		must_refuse(token, LC_CORRUPT);
	}
	for (int i = 0; i < LC_TOKEN_SIZE; i++) {
		memcpy(token, written, LC_TOKEN_SIZE);
		token[i] ^= 0xFF;
		must_refuse(token, LC_CORRUPT);
	}
}
END_TEST

/* With a checksum that fits: another magic, another version, bytes that must be 0. */
START_TEST(sealed_anew)
{
	unsigned char token[LC_TOKEN_SIZE];
	struct lc__stream_token back;

	for (int i = 0; i < 92; i++) {
		memcpy(token, written, LC_TOKEN_SIZE);
		token[i] ^= 0x40;
		seal(token);
		if (i < 7 || i >= 72)
			must_refuse(token, LC_CORRUPT);
		else if (i == 7)
			must_refuse(token, LC_VERSION);
		else
			ck_assert_int_eq(lc__stream_token_decode(token, &back), LC_OK);
	}
}
END_TEST

START_TEST(no_token)
{
	unsigned char token[LC_TOKEN_SIZE] = { 0 };

	must_refuse(token, LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "token: these bytes are not a token");
	memcpy(token, written, LC_TOKEN_SIZE);
	token[64]++;
	must_refuse(token, LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "token: damaged: wrong checksum");
	memcpy(token, written, LC_TOKEN_SIZE);
	token[7] = 2;
	seal(token);
	must_refuse(token, LC_VERSION);
	ck_assert_str_eq(lc_last_error()->text,
	    "token: version 2, this library knows 1");
	memcpy(token, written, LC_TOKEN_SIZE);
	token[88] = 1;
	seal(token);
	must_refuse(token, LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "token: damaged: unused bytes are set");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("token");
	TCase *tc = tcase_create("token");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, bytes);
	tcase_add_test(tc, bytes_of_one_that_follows);
	tcase_add_test(tc, bytes_of_shares);
	tcase_add_test(tc, there_and_back);
	tcase_add_test(tc, each_bit_counts);
	tcase_add_test(tc, sealed_anew);
	tcase_add_test(tc, no_token);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
