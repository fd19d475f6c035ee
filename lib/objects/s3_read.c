/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading objects, whole or by ranges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "objects/s3_call.h"

#define PROGRESS ((uint64_t)1 << 20) /* after so many bytes tries are counted anew */
#define BLOCK ((size_t)256 << 10)    /* bytes that a sink gets at once */

/* Bytes of an object being passed to a sink. */
struct reading {
	struct lc__s3 *s3;
	struct lc__s3_call *call;
	const struct lc__object_sink *sink;
	struct lc__object *about; /* or NULL */
	bool told;                /* of what it is about */
	uint64_t at;              /* the next byte */
	uint64_t end;  /* of what was asked for; UINT64_MAX: that of the object */
	uint64_t stop; /* of what this answer has */
	uint64_t good; /* the byte at which tries were counted anew */
	bool ranged;   /* this try asks for a range */
	struct lc__s3_head first; /* of the first answer: size, time and tag */
	bool wrong;               /* the response is wrong: try again */
	bool at_once;             /* that need not wait */
	/* libcurl has the bytes in pieces of 16 KiB. A sink that hashes and writes each of them
	 * would spend much on the calls: it gets blocks. NULL: it gets the pieces. */
	unsigned char *block; /* BLOCK bytes */
	size_t held;          /* bytes in it */
};

/* "bytes 0-99/1000" */
static bool
parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *size)
{
	unsigned long long a, b, c;
	int n = -1;

	/* Twenty digits may overflow: then sscanf() returns the largest number, which the
	 * caller's comparisons detect. */
	if (text == NULL ||
	    sscanf(text, "bytes %20llu-%20llu/%20llu%n", &a, &b, &c, &n) != 3 || n < 0 ||
	    text[n] != '\0' || strchr(text, '+') != NULL ||
	    strchr(text + 6, ' ') != NULL || a > b || b >= c)
		return false;
	*first = a;
	*last = b;
	*size = c;
	return true;
}

static lc_status
wrong_answer(struct reading *r, const char *why)
{
	r->wrong = true;
	return lc__error(LC_IO, 0, "bytes from %llu: %s", (unsigned long long)r->at, why);
}

/* The headers: are these the requested bytes, of the same object as before? */
static lc_status
begin_answer(void *ctx, const struct lc__http_answer *answer)
{
	struct reading *r = ctx;
	struct lc__s3_head head;
	uint64_t first = 0, last, size, length, end;

	lc__s3_read_head(answer, &head);
	if (!lc__http_number(answer, "content-length", &length))
		return wrong_answer(r, "the answer does not say how long it is");
	if (r->ranged) {
		if (answer->status != 206 ||
		    !parse_range(lc__http_header(answer, "content-range"), &first, &last,
			&size))
			return wrong_answer(r, "the answer is not a range");
		end = r->end < size ? r->end : size;
		if (first != r->at || last + 1 != end || length != end - first)
			return wrong_answer(r, "the answer is another range");
	} else {
		if (answer->status != 200)
			return wrong_answer(r, "the answer is not the whole object");
		size = end = length;
	}
	head.about.size = size;
	if (!r->told)
		r->first = head;
	else if (strcmp(head.etag, r->first.etag) != 0 || size != r->first.about.size ||
	    (head.etag[0] == '\0' && head.about.time_ms != r->first.about.time_ms))
		return lc__error(LC_CHANGED, 0,
		    "%s/%s: became another one while it was read", r->s3->url,
		    r->call->name);
	r->stop = end;
	r->told = true;
	if (r->about != NULL)
		*r->about = head.about;
	return LC_OK;
}

static lc_status
pass(struct reading *r, const void *data, size_t size)
{
	return_if_error(r->sink->write(r->sink->ctx, data, size));
	r->at += size;
	return LC_OK;
}

static lc_status
pass_held(struct reading *r)
{
	const size_t size = r->held;

	r->held = 0;
	return size > 0 ? pass(r, r->block, size) : LC_OK;
}

static lc_status
take_bytes(void *ctx, const void *data, size_t size)
{
	struct reading *r = ctx;

	if (size > r->stop - r->at - r->held)
		return wrong_answer(r, "the answer is longer than it says");
	if (size > BLOCK - r->held)
		return_if_error(pass_held(r));
	if (r->block == NULL || size > BLOCK)
		return pass(r, data, size);
	memcpy(r->block + r->held, data, size);
	r->held += size;
	return LC_OK;
}

/* One try, from where the last one ended. */
static lc_status
read_on(struct reading *r, struct lc__http_answer *answer)
{
	struct lc__s3_call *call = r->call;
	char range[60];

	call->n_headers = 0;
	r->ranged = r->at > 0 || r->end != UINT64_MAX;
	if (r->end != UINT64_MAX)
		snprintf(range, sizeof(range), "bytes=%llu-%llu",
		    (unsigned long long)r->at, (unsigned long long)r->end - 1);
	else
		snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long)r->at);
	if (r->ranged)
		lc__s3_add_header(call->headers, &call->n_headers, "range", range);
	if (r->told && r->first.etag[0] != '\0')
		lc__s3_add_header(call->headers, &call->n_headers, "if-match",
		    r->first.etag);
	r->wrong = false;
	r->stop = r->at;
	return lc__s3_send_once(r->s3, call, answer);
}

/* An answer of another status than 2xx. */
static lc_status
read_refused(struct reading *r, struct lc__http_answer *answer, bool *again)
{
	struct lc__s3_call *call = r->call;
	struct lc__s3_error error;
	struct lc__s3_head head;

	return_if_error(lc__s3_error_parse(answer->text.data, answer->text.size, &error));
	*again = r->at_once = lc__s3_take_clock(r->s3, call, answer) ||
	    lc__s3_take_keys(r->s3, call, answer, error.code);
	if (answer->status == 412 && r->told)
		return lc__error(LC_CHANGED, 0,
		    "%s/%s: became another one while it was read", r->s3->url,
		    call->name);
	if (answer->status == 416 && !r->told) {
		/* If it says so, the object ends before that byte. */
		return_if_error(lc__s3_find(r->s3, call->name, &head));
		if (r->at < head.about.size) {
			*again = true;
			(void)wrong_answer(r, "the answer is that there are none");
			return lc__s3_failed(r->s3, call);
		}
		if (r->about != NULL)
			*r->about = head.about;
		return LC_OK;
	}
	*again |= lc__s3_may_pass(answer->status, error.code);
	return lc__s3_refused(r->s3, call, answer, &error);
}

/* Has the sink received everything? */
static bool
is_done(const struct reading *r)
{
	const uint64_t size = r->first.about.size;

	return r->told && r->at == (r->end < size ? r->end : size);
}

/* One try. After a failure: might another one succeed? */
static lc_status
read_once(struct reading *r, struct lc__http_answer *answer, bool *again)
{
	lc_status status = read_on(r, answer);
	const lc_error kept = *lc_last_error();

	*again = r->at_once = false;
	/* The next try continues after the bytes that have arrived. */
	if (answer->stopped && !r->wrong)
		return status;
	return_if_error(pass_held(r));
	if (status != LC_OK)
		(void)lc__error_raise(&kept);
	*again = r->wrong || answer->again;
	if (status == LC_OK && answer->status / 100 != 2)
		return read_refused(r, answer, again);
	/* All bytes may have arrived before the connection failed. */
	if (is_done(r) && (status == LC_OK || answer->again))
		return LC_OK;
	if (status == LC_OK) {
		*again = true;
		status = wrong_answer(r, "the answer is too short");
	}
	return lc__s3_failed(r->s3, r->call);
}

/* Pass bytes from r->at to r->end to the sink. */
static lc_status
read_bytes(struct reading *r)
{
	struct lc__http_answer answer = { .status = 0 };
	struct lc__s3_call *call = r->call;
	lc_status status;
	bool again;

	for (call->tried = 1;; call->tried++) {
		status = read_once(r, &answer, &again);
		if (status == LC_OK || !again)
			break;
		if (r->at_once)
			continue;
		if (r->at >= r->good + PROGRESS) {
			r->good = r->at;
			call->tried = 1;
			call->failing_ns = 0;
		}
		if (!lc__s3_tries_on(r->s3, call, &answer, r->wrong))
			break;
		status = lc__s3_wait(r->s3, call);
		if (status != LC_OK)
			break;
	}
	lc__http_answer_free(&answer);
	return status;
}

lc_status
lc__s3_get(struct lc__objects *objects, const char *name, uint64_t offset,
    const struct lc__object_sink *sink, struct lc__object *about)
{
	struct lc__s3_call call = { .method = "GET",
		.name = name,
		.head = begin_answer,
		.write = take_bytes,
		.waits = sink->waits,
		.waits_ctx = sink->ctx };
	struct reading r = { .s3 = (struct lc__s3 *)objects,
		.call = &call,
		.sink = sink,
		.about = about,
		.at = offset,
		.good = offset,
		.end = UINT64_MAX };
	lc_status status;

	call.ctx = &r;
	return_if_error(lc__object_check_name(objects, name));
	r.block = malloc(BLOCK);
	status = r.block != NULL ? read_bytes(&r) : lc__no_memory(name);
	free(r.block);
	return status;
}

/* Memory that is filled. */
struct filling {
	unsigned char *out;
	size_t got, size;
};

static lc_status
fill(void *ctx, const void *data, size_t size)
{
	struct filling *f = ctx;

	if (size > f->size - f->got)
		return lc__error(LC_IO, 0, "the answer is too long");
	memcpy(f->out + f->got, data, size);
	f->got += size;
	return LC_OK;
}

lc_status
lc__s3_get_range(struct lc__objects *objects, const char *name, uint64_t offset,
    void *out, size_t size, size_t *got, struct lc__object *about)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;
	struct filling filling = { out, 0, size };
	const struct lc__object_sink sink = { fill, &filling, NULL };
	struct lc__s3_call call = { .method = "GET",
		.name = name,
		.head = begin_answer,
		.write = take_bytes };
	struct reading r = { .s3 = s3,
		.call = &call,
		.sink = &sink,
		.about = about,
		.at = offset,
		.good = offset };
	struct lc__s3_head head;

	return_if_error(lc__object_check_name(objects, name));
	if (size == 0) {
		return_if_error(lc__s3_find(s3, name, &head));
		if (about != NULL)
			*about = head.about;
		*got = 0;
		return LC_OK;
	}
	if (offset > INT64_MAX)
		return lc__error(LC_INVALID, 0, "%s/%s: no byte %llu", objects->url, name,
		    (unsigned long long)offset);
	r.end = offset + size;
	call.ctx = &r;
	return_if_error(read_bytes(&r));
	*got = filling.got;
	return LC_OK;
}
