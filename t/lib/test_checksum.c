/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums are those that Python's hashlib and xxhash make. */
#include "run.h"

#include <string.h>

#include "base/checksum.h"
#include "need.h"

static const struct {
	const char *name, *text, *hex;
} rows[] = {
	{ "sha256", "",
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "xxh32", "", "02cc5d05" },
	{ "xxh3_64", "", "2d06800538d394c2" },
	{ "md5", "abc", "900150983cd24fb0d6963f7d28e17f72" },
	{ "sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ "sha224", "abc",
	    "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7" },
	{ "sha256", "abc",
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "sha384", "abc",
	    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
	    "8086072ba1e7cc2358baeca134c825a7" },
	{ "sha512", "abc",
	    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
	{ "sha3_224", "abc",
	    "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf" },
	{ "sha3_256", "abc",
	    "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532" },
	{ "sha3_384", "abc",
	    "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b2"
	    "98d88cea927ac7f539f1edf228376d25" },
	{ "sha3_512", "abc",
	    "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
	    "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0" },
	{ "blake2b", "abc",
	    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
	    "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923" },
	{ "blake2s", "abc",
	    "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982" },
	{ "xxh32", "abc", "32d153ff" },
	{ "xxh64", "abc", "44bc2cf5ad770999" },
	{ "xxh3_64", "abc", "78af5f94892f3950" },
	{ "xxh128", "abc", "06b05ab6733a618578af5f94892f3950" },
	{ "xxh3_128", "abc", "06b05ab6733a618578af5f94892f3950" },
};

START_TEST(known)
{
	char hex[LC__CHECKSUM_HEX];
	struct lc__checksum *sum;

	assert_ok(lc__checksum_new(rows[_i].name, &sum));
	assert_ok(lc__checksum_update(sum, rows[_i].text, strlen(rows[_i].text)));
	assert_ok(lc__checksum_hex(sum, hex));
	ck_assert_str_eq(hex, rows[_i].hex);
	lc__checksum_free(sum);
	lc__checksum_free(NULL);
}
END_TEST

/* However the bytes come. */
START_TEST(in_pieces)
{
	char bytes[5000], whole[LC__CHECKSUM_HEX], pieces[LC__CHECKSUM_HEX];
	uint64_t seed = run_seed();
	struct lc__checksum *sum;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)run_random(&seed);
	assert_ok(lc__checksum_new(rows[_i].name, &sum));
	assert_ok(lc__checksum_update(sum, bytes, sizeof(bytes)));
	assert_ok(lc__checksum_hex(sum, whole));
	lc__checksum_free(sum);
	assert_ok(lc__checksum_new(rows[_i].name, &sum));
	for (size_t at = 0, n; at < sizeof(bytes); at += n) {
		n = run_random(&seed) % 700;
		n = n < sizeof(bytes) - at ? n : sizeof(bytes) - at;
		assert_ok(lc__checksum_update(sum, bytes + at, n));
	}
	assert_ok(lc__checksum_hex(sum, pieces));
	ck_assert_str_eq(pieces, whole);
	lc__checksum_free(sum);
}
END_TEST

START_TEST(unknown)
{
	struct lc__checksum *sum;

	ck_assert_int_eq(lc__checksum_new("crc32", &sum), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, "unknown checksum crc32");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("checksum");
	TCase *tc = tcase_create("checksum");
	const int n = sizeof(rows) / sizeof(rows[0]);

	tcase_add_loop_test(tc, known, 0, n);
	tcase_add_loop_test(tc, in_pieces, 0, n);
	tcase_add_test(tc, unknown);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
