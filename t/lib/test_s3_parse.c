/* SPDX-License-Identifier: BSD-2-Clause */
/* What a server of S3 sends, whatever it is: headers, listings, errors, times. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "s3/http.h"
#include "s3/listing.h"

static const char page[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    "<Name>b</Name><Prefix>a%2F</Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>"
    "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
    "<NextContinuationToken>a&amp;b==</NextContinuationToken>"
    "<Contents><Key>a%2Fb+c%25</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>"
    "<ETag>&quot;fba9&quot;</ETag><Size>434234</Size></Contents>"
    "<Contents><Key>a/%zz</Key><LastModified>2000-02-29T23:59:59Z</LastModified>"
    "<Size>18446744073709551615</Size><Owner><ID>x</ID></Owner></Contents>"
    "</ListBucketResult>";

START_TEST(a_page)
{
	struct lc__s3_listing listing;

	assert_ok(lc__s3_listing_parse(page, strlen(page), &listing));
	ck_assert_uint_eq(listing.n, 2);
	ck_assert_str_eq(listing.all[0].key, "a/b c%");
	ck_assert_uint_eq(listing.all[0].size, 434234);
	ck_assert_uint_eq(listing.all[0].time_s, 1255369830);
	ck_assert_str_eq(listing.all[1].key, "a/%zz");
	ck_assert_uint_eq(listing.all[1].size, UINT64_MAX);
	ck_assert_uint_eq(listing.all[1].time_s, 951868799);
	ck_assert_str_eq(listing.next, "a&b==");
	lc__s3_listing_free(&listing);
}
END_TEST

START_TEST(keys_as_they_are)
{
	static const char plain[] =
	    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a%2Fb</Key>"
	    "<LastModified>1970-01-01T00:00:00Z</LastModified><Size>0</Size></Contents>"
	    "</ListBucketResult>";
	struct lc__s3_listing listing;

	assert_ok(lc__s3_listing_parse(plain, strlen(plain), &listing));
	ck_assert_str_eq(listing.all[0].key, "a%2Fb");
	ck_assert_uint_eq(listing.all[0].time_s, 0);
	ck_assert_ptr_null(listing.next);
	lc__s3_listing_free(&listing);
}
END_TEST

#define OBJECT(size, time) \
	"<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key>" \
	"<LastModified>" time "</LastModified><Size>" size "</Size></Contents>" \
	"</ListBucketResult>"

START_TEST(no_pages)
{
	static const char *const bad[] = {
		"", "x", "<a/>", "<ListBucketResult/>", "<ListBucketResult>",
		"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
		"<ListBucketResult><IsTruncated>yes</IsTruncated></ListBucketResult>",
		"<ListBucketResult><IsTruncated>false</IsTruncated><Contents/></ListBucketResult>",
		OBJECT("", "1970-01-01T00:00:00Z"), OBJECT("-1", "1970-01-01T00:00:00Z"),
		OBJECT("1x", "1970-01-01T00:00:00Z"),
		OBJECT("18446744073709551616", "1970-01-01T00:00:00Z"), OBJECT("1", ""),
		OBJECT("1", "1970-01-01"),
		"<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult/>",
	};
	struct lc__s3_listing listing;

	assert_status(lc__s3_listing_parse(bad[_i], strlen(bad[_i]), &listing), LC_IO);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "the answer is not a listing: "));
}
END_TEST

START_TEST(errors)
{
	static const char text[] =
	    "<Error><Code>NoSuchKey</Code><Message>a\nb\x7f\303\244</Message></Error>";
	static const char sts[] = "<ErrorResponse><Error><Code>InvalidIdentityToken</Code>"
				  "</Error></ErrorResponse>";
	struct lc__s3_error error;

	assert_ok(lc__s3_error_parse(text, strlen(text), &error));
	ck_assert_str_eq(error.code, "NoSuchKey");
	ck_assert_str_eq(error.message, "a?b???");
	assert_ok(lc__s3_error_parse(sts, strlen(sts), &error));
	ck_assert_str_eq(error.code, "InvalidIdentityToken");
	assert_ok(lc__s3_error_parse("<html>502", 9, &error));
	ck_assert_str_eq(error.code, "");
	assert_ok(lc__s3_error_parse("", 0, &error));
	ck_assert_str_eq(error.message, "");
}
END_TEST

START_TEST(roles)
{
	static const char text[] =
	    "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
	    "<Credentials><SessionToken>t/+=</SessionToken><SecretAccessKey>s</SecretAccessKey>"
	    "<Expiration>2014-10-24T23:00:23Z</Expiration><AccessKeyId>A</AccessKeyId>"
	    "</Credentials></AssumeRoleWithWebIdentityResult>"
	    "</AssumeRoleWithWebIdentityResponse>";
	struct lc__s3_keys keys;
	uint64_t expires;

	assert_ok(lc__s3_role_parse(text, strlen(text), &keys, &expires));
	ck_assert_str_eq(keys.id, "A");
	ck_assert_str_eq(keys.secret, "s");
	ck_assert_str_eq(keys.token, "t/+=");
	ck_assert_uint_eq(expires, 1414191623);
	assert_status(lc__s3_role_parse(text, strlen(text) - 1, &keys, &expires), LC_IO);
	assert_status(lc__s3_role_parse("<a/>", 4, &keys, &expires), LC_IO);
}
END_TEST

START_TEST(times)
{
	static const char *const bad[] = { "", "2009", "2009-10-12T17:50:30", "2009-13-12T17:50:30Z",
		"2009-00-12T17:50:30Z", "2009-10-32T17:50:30Z", "2009-10-12T24:50:30Z",
		"2009-10-12T17:60:30Z", "2009-10-12T17:50:61Z", "1969-10-12T17:50:30Z",
		"2009-10-12T17:50:30+01:00", "2009-10-12T17:50:30.Z", "2009-10-12 17:50:30Z",
		"2009-10-12T17:50:30Zx" };
	uint64_t s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(!lc__s3_time_parse(bad[i], &s), "%s", bad[i]);
	ck_assert(lc__s3_time_parse("9999-12-31T23:59:59+00:00", &s));
	ck_assert_uint_eq(s, 253402300799);
	ck_assert(lc__s3_time_parse("2100-03-01T00:00:00.123456Z", &s));
	ck_assert_uint_eq(s, 4107542400);
}
END_TEST

START_TEST(headers)
{
	static const char *const lines[] = { "Content-Length: 42\r\n", "ETag:\t\"a\" \r\n",
		"Empty:\r\n", "no colon\r\n", ": x\r\n", "\r\n", "X: 99999999999999999999\r\n" };
	struct lc__http_answer answer = { .status = 0 };
	char longest[5000];
	uint64_t n = 7;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		ck_assert(lc__http_add_line(&answer, lines[i], strlen(lines[i])));
	ck_assert_str_eq(lc__http_header(&answer, "etag"), "\"a\"");
	ck_assert_str_eq(lc__http_header(&answer, "empty"), "");
	ck_assert_ptr_null(lc__http_header(&answer, "content"));
	ck_assert(lc__http_number(&answer, "content-length", &n));
	ck_assert_uint_eq(n, 42);
	ck_assert(!lc__http_number(&answer, "x", &n));
	ck_assert(!lc__http_number(&answer, "empty", &n));
	ck_assert(!lc__http_number(&answer, "etag", &n));
	ck_assert(!lc__http_number(&answer, "none", &n));
	ck_assert(lc__http_add_line(&answer, "A: b\0c", 6));
	ck_assert_ptr_null(lc__http_header(&answer, "a"));
	memset(longest, 'y', sizeof(longest));
	longest[1] = ':';
	for (n = 0; lc__http_add_line(&answer, longest, sizeof(longest)); n++)
		ck_assert_uint_lt(n, 14);
	ck_assert_uint_le(answer.headers.size, LC__HTTP_HEADERS);
	lc__http_answer_free(&answer);
}
END_TEST

static uint64_t state;

static uint64_t
below(uint64_t n)
{
	return run_random(&state) % n;
}

/* Changed bytes of good texts, and bytes of any kind: nothing crashes or is read beyond the
 * end, and what is taken is consistent. */
START_TEST(any_bytes)
{
	char text[sizeof(page) + 64];

	state = run_seed();
	for (int i = 0; i < 20000; i++) {
		size_t size = strlen(page);
		struct lc__s3_listing listing;
		struct lc__s3_error error;
		struct lc__s3_keys keys;
		struct lc__http_answer answer = { .status = 0 };
		uint64_t expires;
		char *copy;

		memcpy(text, page, size);
		if (below(4) == 0) {
			size = below(100);
			for (size_t k = 0; k < size; k++)
				text[k] = (char)below(256);
		} else {
			for (uint64_t k = below(4); k > 0; k--)
				text[below(size)] = (char)below(256);
			if (below(3) == 0)
				size = below(size);
		}
		copy = malloc(size + 1);
		memcpy(copy, text, size);
		if (lc__s3_listing_parse(copy, size, &listing) == LC_OK) {
			ck_assert_uint_le(listing.n, 2);
			lc__s3_listing_free(&listing);
		}
		need_ok(lc__s3_error_parse(copy, size, &error));
		need(lc__s3_role_parse(copy, size, &keys, &expires) != LC_OK);
		need(lc__http_add_line(&answer, copy, size));
		(void)lc__http_header(&answer, "a");
		lc__http_answer_free(&answer);
		copy[size] = '\0';
		(void)lc__s3_time_parse(copy, &expires);
		free(copy);
	}
}
END_TEST

/* ---- uploads in parts ----------------------------------------------------------------------- */

#define UPLOADS(more, upload) "<ListMultipartUploadsResult><IsTruncated>" more "</IsTruncated>" \
	"<NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>i</NextUploadIdMarker>" upload \
	"</ListMultipartUploadsResult>"
#define BEGUN "<Initiated>2026-01-01T00:00:00Z</Initiated>"

START_TEST(uploads)
{
	static const struct {
		const char *text;
		lc_status comes;
		size_t n;
		bool more;
	} rows[] = {
		{ UPLOADS("false", ""), LC_OK, 0, false },
		{ UPLOADS("false", "<Upload><Key>a/b</Key><UploadId>7</UploadId>" BEGUN "</Upload>"),
		    LC_OK, 1, false },
		{ UPLOADS("true", "<Upload><Key>a/b</Key><UploadId>7</UploadId>" BEGUN "</Upload>"),
		    LC_OK, 1, true },
		{ UPLOADS("false", "<Upload><Key>a/b</Key>" BEGUN "</Upload>"), LC_IO, 0, false },
		{ UPLOADS("false", "<Upload><Key>a/b</Key><UploadId>7</UploadId></Upload>"), LC_IO,
		    0, false },
		{ "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
		  "</ListMultipartUploadsResult>", LC_IO, 0, false },
		{ "<ListBucketResult/>", LC_IO, 0, false },
		{ "<ListMultipartUploadsResult>", LC_IO, 0, false },
		{ "", LC_IO, 0, false },
	};
	char id[LC__S3_UPLOAD_ID], etag[20];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lc__s3_uploads got = { .n = 0 };

		assert_status(lc__s3_uploads_parse(rows[i].text, strlen(rows[i].text), &got),
		    rows[i].comes);
		ck_assert_uint_eq(got.n, rows[i].n);
		if (got.n > 0) {
			ck_assert_str_eq(got.all[0].key, "a/b");
			ck_assert_str_eq(got.all[0].id, "7");
			ck_assert_uint_eq(got.all[0].time_s, 1767225600);
		}
		if (rows[i].more) {
			ck_assert_str_eq(got.next_key, "k");
			ck_assert_str_eq(got.next_id, "i");
		} else {
			ck_assert_ptr_null(got.next_key);
		}
		lc__s3_uploads_free(&got);
		assert_status(lc__s3_upload_parse(rows[i].text, strlen(rows[i].text), id), LC_IO);
		assert_status(lc__s3_copied_parse(rows[i].text, strlen(rows[i].text), etag,
		    sizeof(etag)), LC_IO);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("s3_parse");
	TCase *tc = tcase_create("parse");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_page);
	tcase_add_test(tc, keys_as_they_are);
	tcase_add_loop_test(tc, no_pages, 0, 15);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, roles);
	tcase_add_test(tc, times);
	tcase_add_test(tc, headers);
	tcase_add_test(tc, any_bytes);
	tcase_add_test(tc, uploads);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
