/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "objects/names.h"
#include "objects/s3_call.h"

#define LIST_LIMIT ((size_t)16 << 20) /* of a page of a listing */
#define EMPTY_PAGES 100               /* of a listing, one after another */

/* A listing in progress. */
struct walk {
	struct lc__s3 *s3;
	char *prefix; /* of keys: that of the store, and of names */
	lc_status (*fn)(void *ctx, const struct lc__object *object);
	void *ctx;
};

static lc_status
hand_out(const struct walk *walk, const struct lc__s3_listing *page)
{
	const size_t begin = strlen(walk->s3->prefix), all = strlen(walk->prefix);

	for (size_t i = 0; i < page->n; i++) {
		const struct lc__s3_listed *listed = &page->all[i];
		struct lc__object object;

		/* The bucket may have other keys, which are not objects of the store. */
		if (strncmp(listed->key, walk->prefix, all) != 0 ||
		    !lc__object_name_ok(listed->key + begin))
			continue;
		object = (struct lc__object){ listed->key + begin, listed->size,
			listed->time_s * 1000 };
		return_if_error(walk->fn(walk->ctx, &object));
	}
	return LC_OK;
}

/* Request the page of a token, or the first one. */
static lc_status
list_page(const struct walk *walk, const char *token, struct lc__s3_listing *out)
{
	const struct lc__s3_pair query[] = {
		{ "list-type", "2" },
		{ "encoding-type", "url" },
		{ "prefix", walk->prefix },
		{ "continuation-token", token },
	};
	struct lc__s3_call call = { .method = "GET",
		.query = query,
		.n_query = token != NULL ? 4 : 3,
		.text_limit = LIST_LIMIT,
		.limit_ms = LC__S3_SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status = lc__s3_perform(walk->s3, &call, &answer);

	if (status == LC_OK) {
		status = lc__s3_listing_parse(answer.text.data, answer.text.size, out);
		if (status != LC_OK)
			(void)lc__s3_name_it(walk->s3, &call);
	}
	lc__http_answer_free(&answer);
	return status;
}

lc_status
lc__s3_list(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *ctx, const struct lc__object *object), void *ctx)
{
	struct walk walk = { .s3 = (struct lc__s3 *)objects, .fn = fn, .ctx = ctx };
	char *token = NULL;
	unsigned empty = 0;
	bool more = true;
	lc_status status = LC_OK;

	if (asprintf(&walk.prefix, "%s%s", walk.s3->prefix, prefix) < 0)
		return lc__no_memory(objects->url);
	while (more && status == LC_OK) {
		struct lc__s3_listing page = { .n = 0 };

		status = list_page(&walk, token, &page);
		if (status == LC_OK)
			status = hand_out(&walk, &page);
		empty = page.n == 0 ? empty + 1 : 0;
		more = page.next != NULL;
		if (status == LC_OK && more &&
		    (empty > EMPTY_PAGES ||
			(token != NULL && strcmp(token, page.next) == 0)))
			status = lc__error(LC_IO, 0,
			    "%s: the server's listing has no end", objects->url);
		free(token);
		token = page.next;
		page.next = NULL;
		lc__s3_listing_free(&page);
	}
	free(token);
	free(walk.prefix);
	return status;
}

/* ---- uploads in parts that nothing completed ---------------------------------------------- */

static lc_status
list_uploads(struct lc__s3 *s3, const char *prefix, const char *key, const char *id,
    struct lc__s3_uploads *out)
{
	const struct lc__s3_pair query[] = {
		{ "uploads", "" },
		{ "prefix", prefix },
		{ "key-marker", key },
		{ "upload-id-marker", id },
	};
	struct lc__s3_call call = { .method = "GET",
		.query = query,
		.n_query = key != NULL ? 4 : 2,
		.text_limit = LIST_LIMIT,
		.limit_ms = LC__S3_SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status = lc__s3_perform(s3, &call, &answer);

	if (status == LC_OK) {
		status = lc__s3_uploads_parse(answer.text.data, answer.text.size, out);
		if (status != LC_OK)
			(void)lc__s3_name_it(s3, &call);
	}
	lc__http_answer_free(&answer);
	return status;
}

/* Only shards are put in parts; the bucket may have uploads that are not of the store. */
static lc_status
sweep_page(struct lc__s3 *s3, const struct lc__s3_uploads *page, uint64_t before_ms,
    bool dry, uint64_t *files)
{
	const size_t n = strlen(s3->prefix);
	char sha256[65];

	for (size_t i = 0; i < page->n; i++) {
		const struct lc__s3_unfinished *upload = &page->all[i];

		if (strncmp(upload->key, s3->prefix, n) != 0 ||
		    !lc__shard_of_name(upload->key + n, sha256) ||
		    upload->time_s >= before_ms / 1000)
			continue;
		++*files;
		if (!dry)
			return_if_error(lc__s3_abort(s3, upload->key + n, upload->id));
	}
	return LC_OK;
}

/* A server that does not list uploads, or not to this key, keeps them to itself. */
lc_status
lc__s3_sweep(struct lc__objects *objects, const char *prefix, uint64_t before_ms,
    bool dry, uint64_t *files, uint64_t *bytes)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;
	struct lc__s3_uploads page = { .n = 0 };
	char *whole, *key = NULL, *id = NULL;
	lc_status status;
	bool more;

	*files = *bytes = 0;
	if (asprintf(&whole, "%s%s", s3->prefix, prefix) < 0)
		return lc__no_memory(objects->url);
	do {
		status = list_uploads(s3, whole, key, id, &page);
		if (status == LC_UNSUPPORTED || status == LC_PERMISSION) {
			status = LC_OK;
			break;
		}
		if (status == LC_OK)
			status = sweep_page(s3, &page, before_ms, dry, files);
		more = status == LC_OK && page.next_key != NULL;
		if (more && key != NULL && strcmp(key, page.next_key) == 0 &&
		    strcmp(id, page.next_id) == 0)
			status = lc__error(LC_IO, 0,
			    "%s: the server's listing of uploads has no end",
			    objects->url);
		free(key);
		free(id);
		key = page.next_key;
		id = page.next_id;
		page.next_key = page.next_id = NULL;
		lc__s3_uploads_free(&page);
	} while (more && status == LC_OK);
	free(key);
	free(id);
	free(whole);
	return status;
}
