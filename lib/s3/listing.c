/* SPDX-License-Identifier: BSD-2-Clause */
#include "s3/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/xml.h"

/* ---- texts -------------------------------------------------------------------------------- */

void
lc__s3_printable(const char *text, char *out, size_t room)
{
	size_t n = 0;

	for (; text[n] != '\0' && n + 1 < room; n++)
		out[n] = (char)(text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?');
	out[n] = '\0';
}

/* @p n digits as a number. */
static bool
digits(const char **at, unsigned n, unsigned least, unsigned most, unsigned *out)
{
	*out = 0;
	for (; n > 0; n--, ++*at) {
		if (**at < '0' || **at > '9')
			return false;
		*out = *out * 10 + (unsigned)(**at - '0');
	}
	return *out >= least && *out <= most;
}

static bool
letter(const char **at, char want)
{
	return *(*at)++ == want;
}

/* Days from 1970 to a date of the Gregorian calendar: years begin in March, so that a
 * leap day is the last day. */
static uint64_t
days_to(unsigned year, unsigned month, unsigned day)
{
	const unsigned y = month > 2 ? year : year - 1, m = (month + 9) % 12;

	return 365ull * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 -
	    719468;
}

bool
lc__s3_time_parse(const char *text, uint64_t *seconds)
{
	unsigned year, month, day, hour, minute, second;
	const char *at = text;

	if (!digits(&at, 4, 1970, 9999, &year) || !letter(&at, '-') ||
	    !digits(&at, 2, 1, 12, &month) || !letter(&at, '-') ||
	    !digits(&at, 2, 1, 31, &day) || !letter(&at, 'T') ||
	    !digits(&at, 2, 0, 23, &hour) || !letter(&at, ':') ||
	    !digits(&at, 2, 0, 59, &minute) || !letter(&at, ':') ||
	    !digits(&at, 2, 0, 60, &second))
		return false;
	if (*at == '.') {
		at++;
		if (strspn(at, "0123456789") == 0)
			return false;
		at += strspn(at, "0123456789");
	}
	if (strcmp(at, "Z") != 0 && strcmp(at, "+00:00") != 0)
		return false;
	*seconds = days_to(year, month, day) * 86400 + hour * 3600ull + minute * 60 +
	    second;
	return true;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
	    : c >= 'A' && c <= 'F'  ? c - 'A' + 10
				    : -1;
}

/* Replace each %XX by its byte, and '+' by a blank, in place. Other text stays. */
static void
decode_percent(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		const int high = *from == '%' ? hex_digit(from[1]) : -1;
		const int low = high >= 0 ? hex_digit(from[2]) : -1;

		if (low >= 0 && high + low > 0) {
			*to++ = (char)(high * 16 + low);
			from += 2;
		} else {
			*to++ = (char)(*from == '+' ? ' ' : *from);
		}
	}
	*to = '\0';
}

/* ---- listings ----------------------------------------------------------------------------- */

static lc_status
damaged(const char *what)
{
	return lc__error(LC_IO, 0, "the answer is not a listing: %s", what);
}

static bool
number_of(const char *text, uint64_t *out)
{
	unsigned long long number;

	if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	number = strtoull(text, NULL, 10);
	*out = number;
	return errno == 0;
}

static lc_status
add_object(const struct lc__xml *xml, size_t node, bool encoded,
    struct lc__s3_listing *out)
{
	const size_t key = lc__xml_child(xml, node, "Key");
	struct lc__s3_listed *listed;

	if (key == LC__XML_NONE)
		return damaged("an object without a key");
	return_if_error(lc__array_reserve(&out->all, &out->room, out->n + 1, "listing"));
	listed = &out->all[out->n];
	if (!number_of(lc__xml_text(xml, lc__xml_child(xml, node, "Size")),
		&listed->size))
		return damaged("an object without a size");
	if (!lc__s3_time_parse(lc__xml_text(xml,
				   lc__xml_child(xml, node, "LastModified")),
		&listed->time_s))
		return damaged("an object without a time");
	listed->key = strdup(lc__xml_text(xml, key));
	if (listed->key == NULL)
		return lc__no_memory("listing");
	out->n++;
	if (encoded)
		decode_percent(listed->key);
	return LC_OK;
}

static lc_status
read_listing(const struct lc__xml *xml, struct lc__s3_listing *out)
{
	const size_t truncated = lc__xml_child(xml, 0, "IsTruncated");
	const size_t encoding = lc__xml_child(xml, 0, "EncodingType");
	const size_t next = lc__xml_child(xml, 0, "NextContinuationToken");
	const bool encoded = strcmp(lc__xml_text(xml, encoding), "url") == 0;

	if (strcmp(lc__xml_name(xml, 0), "ListBucketResult") != 0)
		return damaged("it begins with another element");
	for (size_t i = lc__xml_child(xml, 0, "Contents"); i != LC__XML_NONE;
	     i = lc__xml_next(xml, i))
		return_if_error(add_object(xml, i, encoded, out));
	if (strcmp(lc__xml_text(xml, truncated), "false") == 0)
		return LC_OK;
	if (strcmp(lc__xml_text(xml, truncated), "true") != 0)
		return damaged("it does not say whether it is complete");
	if (*lc__xml_text(xml, next) == '\0')
		return damaged("it does not say how to continue");
	out->next = strdup(lc__xml_text(xml, next));
	return out->next != NULL ? LC_OK : lc__no_memory("listing");
}

lc_status
lc__s3_listing_parse(const void *text, size_t size, struct lc__s3_listing *out)
{
	struct lc__s3_listing listing = { .n = 0 };
	struct lc__xml xml = { 0 };
	lc_status status = lc__xml_parse(&xml, text, size);

	if (status == LC_OK && xml.why[0] != '\0')
		status = damaged(xml.why);
	if (status == LC_OK)
		status = read_listing(&xml, &listing);
	lc__xml_free(&xml);
	if (status == LC_OK)
		*out = listing;
	else
		lc__s3_listing_free(&listing);
	return status;
}

void
lc__s3_listing_free(struct lc__s3_listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		free(listing->all[i].key);
	free(listing->all);
	free(listing->next);
	memset(listing, 0, sizeof(*listing));
}

/* ---- uploads in parts --------------------------------------------------------------------- */

static bool
copy_text(const struct lc__xml *xml, size_t in, const char *name, char *out, size_t room)
{
	const char *text = lc__xml_text(xml, lc__xml_child(xml, in, name));
	const size_t n = strlen(text);

	if (n == 0 || n >= room)
		return false;
	memcpy(out, text, n + 1);
	return true;
}

lc_status
lc__s3_upload_parse(const void *text, size_t size, char id[LC__S3_UPLOAD_ID])
{
	struct lc__xml xml = { 0 };
	bool good;

	return_if_error(lc__xml_parse(&xml, text, size));
	good = xml.why[0] == '\0' &&
	    strcmp(lc__xml_name(&xml, 0), "InitiateMultipartUploadResult") == 0 &&
	    copy_text(&xml, 0, "UploadId", id, LC__S3_UPLOAD_ID);
	lc__xml_free(&xml);
	return good ? LC_OK : lc__error(LC_IO, 0, "the answer has no id of an upload");
}

lc_status
lc__s3_copied_parse(const void *text, size_t size, char *etag, size_t room)
{
	struct lc__xml xml = { 0 };
	bool good;

	return_if_error(lc__xml_parse(&xml, text, size));
	good = xml.why[0] == '\0' &&
	    strcmp(lc__xml_name(&xml, 0), "CopyPartResult") == 0 &&
	    copy_text(&xml, 0, "ETag", etag, room);
	lc__xml_free(&xml);
	return good ? LC_OK : lc__error(LC_IO, 0, "the answer has no copied part");
}

static lc_status
add_upload(const struct lc__xml *xml, size_t node, struct lc__s3_uploads *out)
{
	struct lc__s3_unfinished *upload;
	char id[LC__S3_UPLOAD_ID];

	return_if_error(lc__array_reserve(&out->all, &out->room, out->n + 1, "listing"));
	upload = &out->all[out->n];
	if (!copy_text(xml, node, "UploadId", id, sizeof(id)))
		return damaged("an upload without an id");
	if (!lc__s3_time_parse(lc__xml_text(xml, lc__xml_child(xml, node, "Initiated")),
		&upload->time_s))
		return damaged("an upload without a time");
	upload->key = strdup(lc__xml_text(xml, lc__xml_child(xml, node, "Key")));
	upload->id = strdup(id);
	out->n++;
	return upload->key != NULL && upload->id != NULL ? LC_OK
							 : lc__no_memory("listing");
}

static lc_status
read_uploads(const struct lc__xml *xml, struct lc__s3_uploads *out)
{
	if (strcmp(lc__xml_name(xml, 0), "ListMultipartUploadsResult") != 0)
		return damaged("it begins with another element");
	for (size_t i = lc__xml_child(xml, 0, "Upload"); i != LC__XML_NONE;
	     i = lc__xml_next(xml, i))
		return_if_error(add_upload(xml, i, out));
	if (strcmp(lc__xml_text(xml, lc__xml_child(xml, 0, "IsTruncated")), "true") != 0)
		return LC_OK;
	out->next_key = strdup(lc__xml_text(xml, lc__xml_child(xml, 0, "NextKeyMarker")));
	out->next_id = strdup(
	    lc__xml_text(xml, lc__xml_child(xml, 0, "NextUploadIdMarker")));
	if (out->next_key == NULL || out->next_id == NULL)
		return lc__no_memory("listing");
	return *out->next_key != '\0' ? LC_OK : damaged("it does not say how it goes on");
}

lc_status
lc__s3_uploads_parse(const void *text, size_t size, struct lc__s3_uploads *out)
{
	struct lc__s3_uploads uploads = { .n = 0 };
	struct lc__xml xml = { 0 };
	lc_status status = lc__xml_parse(&xml, text, size);

	if (status == LC_OK && xml.why[0] != '\0')
		status = damaged(xml.why);
	if (status == LC_OK)
		status = read_uploads(&xml, &uploads);
	lc__xml_free(&xml);
	if (status == LC_OK)
		*out = uploads;
	else
		lc__s3_uploads_free(&uploads);
	return status;
}

void
lc__s3_uploads_free(struct lc__s3_uploads *uploads)
{
	for (size_t i = 0; i < uploads->n; i++) {
		free(uploads->all[i].key);
		free(uploads->all[i].id);
	}
	free(uploads->all);
	free(uploads->next_key);
	free(uploads->next_id);
	memset(uploads, 0, sizeof(*uploads));
}

/* ---- errors and keys ---------------------------------------------------------------------- */

lc_status
lc__s3_error_parse(const void *text, size_t size, struct lc__s3_error *out)
{
	struct lc__xml xml = { 0 };
	size_t node = 0;
	lc_status status;

	out->code[0] = out->message[0] = '\0';
	if (size == 0)
		return LC_OK;
	status = lc__xml_parse(&xml, text, size);
	if (status == LC_OK && xml.why[0] == '\0') {
		/* In a response of STS it is inside another element. */
		if (strcmp(lc__xml_name(&xml, 0), "ErrorResponse") == 0)
			node = lc__xml_child(&xml, 0, "Error");
		if (strcmp(lc__xml_name(&xml, node), "Error") == 0) {
			lc__s3_printable(lc__xml_text(&xml,
					     lc__xml_child(&xml, node, "Code")),
			    out->code, sizeof(out->code));
			lc__s3_printable(lc__xml_text(&xml,
					     lc__xml_child(&xml, node, "Message")),
			    out->message, sizeof(out->message));
		}
	}
	lc__xml_free(&xml);
	return status;
}

lc_status
lc__s3_role_parse(const void *text, size_t size, struct lc__s3_keys *keys,
    uint64_t *expires_s)
{
	struct lc__xml xml = { 0 };
	size_t node = LC__XML_NONE;
	bool good;

	return_if_error(lc__xml_parse(&xml, text, size));
	if (xml.why[0] == '\0')
		node = lc__xml_child(&xml, 0, "AssumeRoleWithWebIdentityResult");
	node = lc__xml_child(&xml, node, "Credentials");
	good = copy_text(&xml, node, "AccessKeyId", keys->id, sizeof(keys->id)) &&
	    copy_text(&xml, node, "SecretAccessKey", keys->secret,
		sizeof(keys->secret)) &&
	    copy_text(&xml, node, "SessionToken", keys->token, sizeof(keys->token)) &&
	    lc__s3_time_parse(lc__xml_text(&xml, lc__xml_child(&xml, node, "Expiration")),
		expires_s);
	lc__xml_free(&xml);
	return good ? LC_OK : lc__error(LC_IO, 0, "the answer has no keys of a role");
}
