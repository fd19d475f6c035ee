/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures of S3. Those of 2013 are the examples of the Amazon S3 API Reference
 * ("Signature Calculations for the Authorization Header"), those of 2015 are of the AWS
 * Signature Version 4 Test Suite. The others were computed by Python's hmac and urllib.
 */
#include "run.h"

#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/utf8.h"
#include "need.h"
#include "s3/sign.h"

static const struct lc__s3_keys keys_2013 = { "AKIAIOSFODNN7EXAMPLE",
	"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "" };
static const struct lc__s3_keys keys_2015 = { "AKIDEXAMPLE",
	"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "" };

#define EXAMPLES "examplebucket.s3.amazonaws.com"
#define SUITE "example.amazonaws.com"
#define LETTERS "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static const struct {
	const char *method, *path;
	struct lc__s3_pair query[3];   /* up to one without a name */
	struct lc__s3_pair headers[3]; /* beside host, date and, in 2013, the SHA-256 */
	const char *sha256, *signature;
	int year;
} rows[] = {
	{ "GET", "/test.txt", { { 0 } }, { { "range", "bytes=0-9" } }, LC__S3_EMPTY,
	    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", 2013 },
	{ "PUT", "/test$file.text", { { 0 } },
	    { { "date", "Fri, 24 May 2013 00:00:00 GMT" },
		{ "x-amz-storage-class", "REDUCED_REDUNDANCY" } },
	    "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
	    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd", 2013 },
	{ "GET", "/", { { "lifecycle", "" } }, { { 0 } }, LC__S3_EMPTY,
	    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", 2013 },
	{ "GET", "/", { { "prefix", "J" }, { "max-keys", "2" } }, { { 0 } }, LC__S3_EMPTY,
	    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", 2013 },
	{ "GET", "/", { { 0 } }, { { 0 } }, LC__S3_EMPTY,
	    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", 2015 },
	{ "GET", "/", { { "Param2", "value2" }, { "Param1", "value1" } }, { { 0 } },
	    LC__S3_EMPTY,
	    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500", 2015 },
	{ "GET", "/", { { "Param1", "value2" }, { "Param1", "value1" } }, { { 0 } },
	    LC__S3_EMPTY,
	    "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694", 2015 },
	{ "GET", "/",
	    { { "Param-3", "Value3" }, { "Param", "Value2" }, { "\341\210\264", "Value1" } },
	    { { 0 } }, LC__S3_EMPTY,
	    "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac", 2015 },
	{ "GET", "/", { { LETTERS, LETTERS } }, { { 0 } }, LC__S3_EMPTY,
	    "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197", 2015 },
	{ "GET", "/", { { "\341\210\264", "bar" } }, { { 0 } }, LC__S3_EMPTY,
	    "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04", 2015 },
	{ "GET", "/" LETTERS, { { 0 } }, { { 0 } }, LC__S3_EMPTY,
	    "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f", 2015 },
	{ "GET", "/\341\210\264", { { 0 } }, { { 0 } }, LC__S3_EMPTY,
	    "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85", 2015 },
	{ "GET", "/", { { 0 } }, { { "my-header1", "value2,value2,value1" } }, LC__S3_EMPTY,
	    "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea", 2015 },
	{ "GET", "/", { { 0 } },
	    { { "my-header2", " \"a   b   c\" " }, { "my-header1", " value1" } },
	    LC__S3_EMPTY,
	    "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736", 2015 },
	{ "POST", "/", { { 0 } }, { { 0 } }, LC__S3_EMPTY,
	    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", 2015 },
	{ "GET", "/a=b+c d~e*f'(g)!/\303\244%41/@&$,:;?#[]", { { 0 } }, { { 0 } },
	    LC__S3_EMPTY, "cfe0cb896757e1c3539c52d5262e68cf721c03fee660172eeb63eba6e925787d", 2013 },
	{ "GET", "/bucket", { { "prefix", "a=b+c/d e&f~" }, { "continuation-token", "1/+==" },
	    { "list-type", "2" } }, { { 0 } }, LC__S3_EMPTY, "2c429d7cd1dcbeeaf21206ba969b8cf317c580b54f118e02a35e2fead7e21379", 2013 },
};

static const char *
sign(int row, const struct lc__s3_keys *keys)
{
	static struct lc__buf out;
	const bool early = rows[row].year == 2013;
	struct lc__s3_pair headers[6] = {
		{ "host", early ? EXAMPLES : SUITE },
		{ "x-amz-date", early ? "20130524T000000Z" : "20150830T123600Z" },
		{ "x-amz-content-sha256", rows[row].sha256 },
	};
	struct lc__s3_signing signing = {
		.method = rows[row].method,
		.path = rows[row].path,
		.query = rows[row].query,
		.headers = headers,
		.n_headers = early ? 3 : 2,
		.sha256 = rows[row].sha256,
		.date = headers[1].value,
		.region = "us-east-1",
		.service = early ? "s3" : "service",
	};

	while (signing.n_query < 3 && rows[row].query[signing.n_query].name != NULL)
		signing.n_query++;
	for (size_t i = 0; i < 3 && rows[row].headers[i].name != NULL; i++)
		headers[signing.n_headers++] = rows[row].headers[i];
	out.size = 0;
	assert_ok(lc__s3_sign(&signing, keys, &out));
	lc__buf_append(&out, "", 1);
	return (const char *)out.data;
}

START_TEST(vectors)
{
	const char *text = sign(_i, rows[_i].year == 2013 ? &keys_2013 : &keys_2015);

	ck_assert_str_eq(strstr(text, "Signature=") + 10, rows[_i].signature);
}
END_TEST

START_TEST(whole_header)
{
	ck_assert_str_eq(sign(0, &keys_2013),
	    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
	    "aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
	    "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}
END_TEST

START_TEST(encoding)
{
	struct lc__buf out = { 0 };
	char bytes[256];

	lc__s3_encode(&out, "a/b c", false);
	lc__s3_encode(&out, "/a b+=%~\377", true);
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((char *)out.data, "a%2Fb%20c/a%20b%2B%3D%25~%FF");
	out.size = 0;
	for (unsigned i = 1; i < 256; i++)
		bytes[i - 1] = (char)i;
	bytes[255] = '\0';
	lc__s3_encode(&out, bytes, false);
	/* 66 stay, the other 189 become three bytes each. */
	ck_assert_uint_eq(out.size, 66 + 3 * 189);
	lc__buf_free(&out);
}
END_TEST

START_TEST(times_of_all_kinds)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} dates[] = { { 0, "19700101T000000Z" }, { 1369353600, "20130524T000000Z" },
		{ 1440938160, "20150830T123600Z" }, { 951782400, "20000229T000000Z" },
		{ UINT64_MAX, "19691231T235959Z" } };
	char text[LC__S3_DATE];

	for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
		lc__s3_date(dates[i].seconds, text);
		ck_assert_str_eq(text, dates[i].text);
	}
	/* Whatever the time is, the text has its length. */
	lc__s3_date(UINT64_MAX / 2, text);
	ck_assert_uint_eq(strlen(text), LC__S3_DATE - 1);
}
END_TEST

/* RFC 4231, test cases 1, 2 and 6. */
START_TEST(hmac)
{
	static const struct {
		const char *key, *data, *hex;
	} cases[] = {
		{ "\013\013\013\013\013\013\013\013\013\013\013\013\013\013\013\013\013\013"
		  "\013\013",
		    "Hi There",
		    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ "Jefe", "what do ya want for nothing?",
		    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ NULL, "Test Using Larger Than Block-Size Key - Hash Key First",
		    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
	};
	unsigned char mac[LC__SHA256_SIZE];
	char key[131], hex[65];

	memset(key, 0xaa, sizeof(key));
	for (size_t i = 0; i < 3; i++) {
		const char *with = cases[i].key != NULL ? cases[i].key : key;

		assert_ok(lc__hmac_sha256(with, cases[i].key != NULL ? strlen(with) : 131,
		    cases[i].data, strlen(cases[i].data), mac));
		for (size_t k = 0; k < sizeof(mac); k++)
			snprintf(hex + 2 * k, 3, "%02x", mac[k]);
		ck_assert_str_eq(hex, cases[i].hex);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sign");
	TCase *tc = tcase_create("sign");

	tcase_add_loop_test(tc, vectors, 0, (int)(sizeof(rows) / sizeof(*rows)));
	tcase_add_test(tc, whole_header);
	tcase_add_test(tc, encoding);
	tcase_add_test(tc, times_of_all_kinds);
	tcase_add_test(tc, hmac);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
