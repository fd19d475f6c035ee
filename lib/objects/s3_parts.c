/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that are too large for one PUT or one copy: uploads in parts. The object
 * appears when the upload is completed. An upload that fails is aborted; lc__s3_sweep()
 * finds those of killed processes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "objects/s3_call.h"

#define PARTS 10000u    /* of an upload, at most */
#define JOIN_MS 600000u /* time for the server to copy a part, or to join them */
#define GRAIN (UINT64_C(1) << 20)

/* An upload that was begun. */
struct upload {
	struct lc__s3 *s3;
	const char *name;
	char id[LC__S3_UPLOAD_ID];
	struct lc__buf list; /* of its parts, XML */
	uint32_t parts;
};

/* The size of a part that keeps their number within the limit. */
static uint64_t
part_size(uint64_t size, uint64_t least)
{
	uint64_t part = size / PARTS + 1;

	part = (part + GRAIN - 1) / GRAIN * GRAIN;
	return part > least ? part : least;
}

/* ---- requests ----------------------------------------------------------------------------- */

/* The bytes of a part. */
static lc_status
read_part(void *ctx, uint64_t offset, void *out, size_t size)
{
	if (size > 0)
		memcpy(out, (const unsigned char *)ctx + offset, size);
	return LC_OK;
}

static lc_status
begin(struct upload *u, const char *sha256, const char *nonce)
{
	const struct lc__s3_pair query = { "uploads", "" };
	struct lc__s3_call call = { .method = "POST",
		.name = u->name,
		.query = &query,
		.n_query = 1,
		.limit_ms = LC__S3_SMALL_MS,
		.body = &(const struct lc__body){ .size = 0, .read = read_part } };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status;

	if (*sha256 != '\0')
		lc__s3_add_header(call.headers, &call.n_headers, LC__S3_META_SHA256,
		    sha256);
	if (*nonce != '\0')
		lc__s3_add_header(call.headers, &call.n_headers, LC__S3_META_PUT, nonce);
	status = lc__s3_perform(u->s3, &call, &answer);
	if (status == LC_OK) {
		status = lc__s3_upload_parse(answer.text.data, answer.text.size, u->id);
		if (status != LC_OK)
			(void)lc__s3_name_it(u->s3, &call);
	}
	lc__http_answer_free(&answer);
	return status;
}

/* An ETag with its quotes, as the list of parts has it. */
static lc_status
add_part(struct upload *u, const char *etag)
{
	if (*etag == '\0' || strpbrk(etag, "<>&") != NULL)
		return lc__error(LC_IO, 0, "%s/%s: part %" PRIu32 " has no ETag",
		    u->s3->url, u->name, u->parts);
	lc__buf_printf(&u->list,
	    "<Part><PartNumber>%" PRIu32 "</PartNumber><ETag>%s</ETag></Part>", u->parts,
	    etag);
	return u->list.failed ? lc__no_memory(u->name) : LC_OK;
}

static lc_status
send_part(struct upload *u, const void *data, size_t size)
{
	char number[12], sha256[LC__SHA256_HEX];
	const struct lc__s3_pair query[] = { { "partNumber", number },
		{ "uploadId", u->id } };
	const struct lc__body body = { size, read_part, (void *)(uintptr_t)data, NULL };
	struct lc__s3_call call = { .method = "PUT",
		.name = u->name,
		.query = query,
		.n_query = 2,
		.body = &body,
		.sha256 = sha256 };
	struct lc__http_answer answer = { .status = 0 };
	struct lc__s3_head head;
	lc_status status;

	snprintf(number, sizeof(number), "%" PRIu32, ++u->parts);
	return_if_error(lc__sha256_of(data, size, sha256));
	status = lc__s3_perform(u->s3, &call, &answer);
	if (status == LC_OK) {
		lc__s3_read_head(&answer, &head);
		status = add_part(u, head.etag);
	}
	lc__http_answer_free(&answer);
	return status;
}

/* Bytes of the object itself, as @p head has it. */
static lc_status
copy_part(struct upload *u, const char *source, const struct lc__s3_head *head,
    uint64_t from, uint64_t end)
{
	char number[12], range[60], etag[200];
	const struct lc__s3_pair query[] = { { "partNumber", number },
		{ "uploadId", u->id } };
	struct lc__s3_call call = { .method = "PUT",
		.name = u->name,
		.query = query,
		.n_query = 2,
		.limit_ms = JOIN_MS,
		.body = &(const struct lc__body){ .size = 0, .read = read_part } };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status;

	snprintf(number, sizeof(number), "%" PRIu32, ++u->parts);
	snprintf(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, from, end - 1);
	lc__s3_add_header(call.headers, &call.n_headers, "x-amz-copy-source", source);
	lc__s3_add_header(call.headers, &call.n_headers, "x-amz-copy-source-range",
	    range);
	if (head->etag[0] != '\0')
		lc__s3_add_header(call.headers, &call.n_headers,
		    "x-amz-copy-source-if-match", head->etag);
	status = lc__s3_perform(u->s3, &call, &answer);
	if (status == LC_OK) {
		status = lc__s3_copied_parse(answer.text.data, answer.text.size, etag,
		    sizeof(etag));
		if (status != LC_OK)
			(void)lc__s3_name_it(u->s3, &call);
	}
	if (status == LC_OK)
		status = add_part(u, etag);
	lc__http_answer_free(&answer);
	return status;
}

/* Has an earlier try, whose response was lost, created the object? */
static lc_status
find_own(struct upload *u, const char *nonce)
{
	struct lc__s3_head head;
	const lc_status status = lc__s3_find(u->s3, u->name, &head);

	if (status != LC_OK && status != LC_NO_FILE)
		return status;
	if (status == LC_OK && *nonce != '\0' && strcmp(head.nonce, nonce) == 0)
		return LC_OK;
	return lc__error(LC_IO, 0, "%s/%s: the upload was aborted by another process",
	    u->s3->url, u->name);
}

static lc_status
complete(struct upload *u, const char *nonce, bool is_new)
{
	const struct lc__s3_pair query = { "uploadId", u->id };
	char sha256[LC__SHA256_HEX];
	struct lc__body body = { .read = read_part, .sha256 = sha256 };
	struct lc__s3_call call = { .method = "POST",
		.name = u->name,
		.query = &query,
		.n_query = 1,
		.limit_ms = JOIN_MS,
		.body = &body,
		.sha256 = sha256 };
	struct lc__http_answer answer = { .status = 0 };
	struct lc__s3_error error = { "", "" };
	lc_status status;

	lc__buf_printf(&u->list, "</CompleteMultipartUpload>");
	if (u->list.failed)
		return lc__no_memory(u->name);
	return_if_error(lc__sha256_of(u->list.data, u->list.size, sha256));
	body.size = u->list.size;
	body.ctx = u->list.data;
	if (is_new)
		lc__s3_add_header(call.headers, &call.n_headers, "if-none-match", "*");
	status = lc__s3_perform(u->s3, &call, &answer);
	/* Joining that fails after it began is answered by 200, and a text that says so. */
	if (status == LC_OK)
		status = lc__s3_error_parse(answer.text.data, answer.text.size, &error);
	if (status == LC_OK && error.code[0] != '\0') {
		(void)lc__error(strcmp(error.code, "PreconditionFailed") == 0 ? LC_EXISTS
									      : LC_IO,
		    0, "%s: %s", error.code, error.message);
		status = lc__s3_name_it(u->s3, &call);
	}
	lc__http_answer_free(&answer);
	return status == LC_NO_FILE ? find_own(u, nonce) : status;
}

lc_status
lc__s3_abort(struct lc__s3 *s3, const char *name, const char *id)
{
	const struct lc__s3_pair query = { "uploadId", id };
	struct lc__s3_call call = { .method = "DELETE",
		.name = name,
		.query = &query,
		.n_query = 1,
		.limit_ms = LC__S3_SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	const lc_status status = lc__s3_perform(s3, &call, &answer);

	lc__http_answer_free(&answer);
	return status == LC_NO_FILE ? LC_OK : status;
}

/* ---- uploads ------------------------------------------------------------------------------ */

static lc_status
open_upload(struct upload *u, const char *sha256, const char *nonce)
{
	lc__buf_printf(&u->list,
	    "<CompleteMultipartUpload "
	    "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
	return begin(u, sha256, nonce);
}

/* With the status so far: what it leaves on the server goes if it has failed. */
static lc_status
end(struct upload *u, lc_status status)
{
	const lc_error kept = *lc_last_error();

	lc__buf_free(&u->list);
	if (status == LC_OK)
		return LC_OK;
	/* If this fails, too, a collection of the store finds it. */
	(void)lc__s3_abort(u->s3, u->name, u->id);
	return lc__error_raise(&kept);
}

static lc_status
send_all(struct upload *u, const struct lc__body *body, const char *sha256)
{
	const uint64_t size = part_size(body->size, u->s3->part);
	unsigned char *room = malloc(size);
	struct lc__checksum *sum = NULL;
	char hex[LC__SHA256_HEX];
	lc_status status = room != NULL ? lc__checksum_new("sha256", &sum)
					: lc__no_memory(u->name);

	for (uint64_t at = 0; at < body->size && status == LC_OK;) {
		const uint64_t left = body->size - at;
		const size_t n = left < size ? (size_t)left : (size_t)size;

		status = body->read(body->ctx, at, room, n);
		if (status == LC_OK)
			status = lc__checksum_update(sum, room, n);
		if (status == LC_OK)
			status = send_part(u, room, n);
		at += n;
	}
	if (status == LC_OK)
		status = lc__checksum_hex(sum, hex);
	if (status == LC_OK && strcmp(hex, sha256) != 0)
		status = lc__error(LC_CHANGED, 0,
		    "%s/%s: its bytes changed while it was put", u->s3->url, u->name);
	lc__checksum_free(sum);
	free(room);
	return status;
}

lc_status
lc__s3_put_parts(struct lc__s3 *s3, const char *name, const struct lc__body *body,
    const char *sha256, const char *nonce, bool is_new)
{
	struct upload u = { .s3 = s3, .name = name };
	lc_status status = open_upload(&u, sha256, nonce);

	if (status != LC_OK) {
		lc__buf_free(&u.list);
		return status;
	}
	status = send_all(&u, body, sha256);
	if (status == LC_OK)
		status = complete(&u, nonce, is_new);
	return end(&u, status);
}

lc_status
lc__s3_copy_parts(struct lc__s3 *s3, const char *name, const char *source,
    const struct lc__s3_head *head)
{
	const uint64_t all = head->about.size, size = part_size(all, s3->single);
	struct upload u = { .s3 = s3, .name = name };
	lc_status status = open_upload(&u, head->sha256, head->nonce);

	if (status != LC_OK) {
		lc__buf_free(&u.list);
		return status;
	}
	for (uint64_t at = 0; at < all && status == LC_OK; at += size)
		status = copy_part(&u, source, head, at,
		    all - at < size ? all : at + size);
	if (status == LC_OK)
		status = complete(&u, head->nonce, false);
	return end(&u, status);
}
