/* SPDX-License-Identifier: BSD-2-Clause */
/* Putting, renewing and removing objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/checksum.h"
#include "base/error.h"
#include "objects/s3.h"
#include "objects/s3_call.h"

#define COPY_MS 600000u         /* for the server to copy an object */
#define ABSENT 4u               /* after so many no put asks first */
#define PIECE ((size_t)1 << 20) /* that is hashed at once */

/* Compute the SHA-256 of a body that does not state it. */
static lc_status
hash_body(const struct lc__body *body, char sha256[65])
{
	unsigned char *room = malloc(PIECE);
	struct lc__checksum *sum = NULL;
	uint64_t at = 0;
	lc_status status = room != NULL ? lc__checksum_new("sha256", &sum)
					: lc__no_memory("put");

	/* An empty body is read too, because its reader may return an error. */
	do {
		const uint64_t left = body->size - at;
		const size_t n = left < PIECE ? (size_t)left : PIECE;

		if (status == LC_OK)
			status = body->read(body->ctx, at, room, n);
		if (status == LC_OK)
			status = lc__checksum_update(sum, room, n);
		at += n;
	} while (status == LC_OK && at < body->size);
	if (status == LC_OK)
		status = lc__checksum_hex(sum, sha256);
	lc__checksum_free(sum);
	free(room);
	return status;
}

static lc_status
make_nonce(char out[LC__S3_NONCE])
{
	unsigned char bytes[(LC__S3_NONCE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return lc__error(LC_IO, 0, "the system has no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return LC_OK;
}

/* Put it, on the condition that there is no such object or on none. */
static lc_status
put_body(struct lc__s3 *s3, const char *name, const struct lc__body *body,
    const char *sha256, const char *nonce, bool is_new)
{
	struct lc__s3_call call = { .method = "PUT",
		.name = name,
		.body = body,
		.sha256 = sha256,
		.limit_ms = body->size <= LC__S3_LONG ? LC__S3_SMALL_MS : 0 };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status;

	if (body->size > s3->single)
		return lc__s3_put_parts(s3, name, body, sha256, nonce, is_new);
	lc__s3_add_header(call.headers, &call.n_headers, LC__S3_META_SHA256, sha256);
	lc__s3_add_header(call.headers, &call.n_headers, LC__S3_META_PUT, nonce);
	if (is_new)
		lc__s3_add_header(call.headers, &call.n_headers, "if-none-match", "*");
	status = lc__s3_perform(s3, &call, &answer);
	lc__http_answer_free(&answer);
	return status;
}

static lc_status
read_nothing(void *ctx, uint64_t offset, void *out, size_t size)
{
	(void)ctx, (void)offset, (void)out, (void)size;
	return LC_OK;
}

/* Copy an object onto itself: its time becomes that of the copy. */
static lc_status
copy_onto_itself(struct lc__s3 *s3, const char *name, const struct lc__s3_head *head)
{
	struct lc__s3_call call = { .method = "PUT",
		.name = name,
		.limit_ms = COPY_MS,
		.body = &(const struct lc__body){ .size = 0, .read = read_nothing } };
	struct lc__http_answer answer = { .status = 0 };
	struct lc__s3_error error;
	struct lc__buf source = { 0 };
	lc_status status;

	lc__s3_encode(&source, "/", true);
	lc__s3_encode(&source, s3->bucket, true);
	lc__s3_encode(&source, "/", true);
	lc__s3_encode(&source, s3->prefix, true);
	lc__s3_encode(&source, name, true);
	lc__buf_append(&source, "", 1);
	if (source.failed) {
		lc__buf_free(&source);
		return lc__no_memory(name);
	}
	if (head->about.size > s3->single) {
		status = lc__s3_copy_parts(s3, name, (char *)source.data, head);
		lc__buf_free(&source);
		return status;
	}
	lc__s3_add_header(call.headers, &call.n_headers, "x-amz-copy-source",
	    (char *)source.data);
	lc__s3_add_header(call.headers, &call.n_headers, "x-amz-metadata-directive",
	    "REPLACE");
	if (head->etag[0] != '\0')
		lc__s3_add_header(call.headers, &call.n_headers,
		    "x-amz-copy-source-if-match", head->etag);
	if (head->sha256[0] != '\0')
		lc__s3_add_header(call.headers, &call.n_headers, LC__S3_META_SHA256,
		    head->sha256);
	if (head->nonce[0] != '\0')
		lc__s3_add_header(call.headers, &call.n_headers, LC__S3_META_PUT,
		    head->nonce);
	status = lc__s3_perform(s3, &call, &answer);
	/* A copy that fails after it began is answered by 200, and a text that says so. */
	if (status == LC_OK)
		status = lc__s3_error_parse(answer.text.data, answer.text.size, &error);
	if (status == LC_OK && error.code[0] != '\0') {
		(void)lc__error(LC_IO, 0, "%s: %s", error.code, error.message);
		status = lc__s3_name_it(s3, &call);
	}
	lc__http_answer_free(&answer);
	lc__buf_free(&source);
	return status;
}

/* @p head describes the object. One that is replaced meanwhile is young. */
static lc_status
renew(struct lc__s3 *s3, const char *name, const struct lc__s3_head *head)
{
	const lc_status status = copy_onto_itself(s3, name, head);

	return status == LC_EXISTS ? LC_OK : status;
}

lc_status
lc__s3_touch(struct lc__objects *objects, const char *name)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;
	struct lc__s3_head head;

	return_if_error(lc__object_check_name(objects, name));
	return_if_error(lc__s3_find(s3, name, &head));
	return renew(s3, name, &head);
}

/* It exists, put by another process. */
static lc_status
exists(struct lc__s3 *s3, const char *name, const struct lc__s3_head *head)
{
	s3->absent = 0;
	return_if_error(renew(s3, name, head));
	return lc__error(LC_EXISTS, 0, "%s/%s: is there already", s3->url, name);
}

static lc_status
check_put(const struct lc__s3 *s3, const char *name, const struct lc__body *body,
    char sha256[65], char nonce[LC__S3_NONCE])
{
	return_if_error(lc__object_check_name(&s3->objects, name));
	if (body->size > LC__S3_OBJECT)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s/%s: has %llu bytes, more than the %llu (5 TiB) of an object of S3",
		    s3->url, name, (unsigned long long)body->size,
		    (unsigned long long)LC__S3_OBJECT);
	return_if_error(make_nonce(nonce));
	if (body->sha256 == NULL || body->size == 0)
		return hash_body(body, sha256);
	snprintf(sha256, 65, "%s", body->sha256);
	return LC_OK;
}

lc_status
lc__s3_put_new(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;
	char sha256[65], nonce[LC__S3_NONCE];
	struct lc__s3_head head;
	lc_status status = LC_NO_FILE;

	return_if_error(check_put(s3, name, body, sha256, nonce));
	/* Where objects exist, others probably do. */
	if (s3->alone || (body->size > LC__S3_LONG && s3->absent < ABSENT))
		status = lc__s3_find(s3, name, &head);
	if (status == LC_OK)
		return exists(s3, name, &head);
	if (status != LC_NO_FILE)
		return status;
	s3->absent += body->size > LC__S3_LONG;
	/* A process that removes it while this one finds it may do so a few times. */
	for (int i = 0; i < 10; i++) {
		status = put_body(s3, name, body, sha256, nonce, !s3->alone);
		if (status == LC_UNSUPPORTED)
			return lc__error(LC_UNSUPPORTED, 0,
			    "%s: the server cannot put on a condition (If-None-Match): parts "
			    "that two machines push would be lost; %s",
			    s3->url, objects->advice);
		if (status != LC_EXISTS)
			return status;
		status = lc__s3_find(s3, name, &head);
		/* The response to an earlier try may have been lost. */
		if (status == LC_OK && strcmp(head.nonce, nonce) == 0)
			return LC_OK;
		if (status == LC_OK)
			return exists(s3, name, &head);
		if (status != LC_NO_FILE)
			return status;
	}
	return status;
}

lc_status
lc__s3_put(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;
	char sha256[65], nonce[LC__S3_NONCE];

	return_if_error(check_put(s3, name, body, sha256, nonce));
	return put_body(s3, name, body, sha256, nonce, false);
}

lc_status
lc__s3_remove(struct lc__objects *objects, const char *name)
{
	struct lc__s3_call call = { .method = "DELETE",
		.name = name,
		.limit_ms = LC__S3_SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status;

	return_if_error(lc__object_check_name(objects, name));
	status = lc__s3_perform((struct lc__s3 *)objects, &call, &answer);
	lc__http_answer_free(&answer);
	return status == LC_NO_FILE ? LC_OK : status;
}
