/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct calls {
	struct lc__objects objects;
	lc_store_calls calls;
	void *ctx;
	char url[]; /* of objects */
};

/* ---- return values of the functions ---------------------------------------------- */

/* Before a call: clear the error, so that an earlier one is not taken for this call's. */
static void
begin(struct calls *c)
{
	c->objects.traffic.requests++;
	(void)lc__error(LC_FAILED, 0, "a function of the store failed");
}

/* After a call: the error names the object, and only allowed statuses are returned. */
static lc_status
end(const struct calls *c, const char *name, lc_status status)
{
	const lc_error *error = lc_last_error();

	if (status == LC_OK)
		return LC_OK;
	if (error->status != status)
		(void)lc__error(status, 0, "%s", lc_status_name(status));
	(void)lc__error_prefix("%s/%s", c->url, name);
	switch (status) {
	case LC_NO_FILE:
	case LC_EXISTS:
	case LC_PERMISSION:
	case LC_NO_SPACE:
	case LC_NO_MEMORY:
	case LC_IO:
	case LC_UNSUPPORTED: return status;
	default: return lc__error_as(LC_IO);
	}
}

/* ---- bodies ------------------------------------------------------------------------------- */

/* A body being put: the status of its reader is the status of the put. */
struct passing {
	struct calls *c;
	const struct lc__body *body;
	lc_status status;
	lc_error error;
};

static lc_status
read_body(void *ctx, uint64_t offset, void *out, size_t size)
{
	struct passing *p = ctx;

	if (offset > p->body->size || size > p->body->size - offset)
		return lc__error(LC_INVALID, 0,
		    "asks for bytes that a body does not have");
	p->status = p->body->read(p->body->ctx, offset, out, size);
	if (p->status == LC_OK)
		p->c->objects.traffic.sent += size;
	else
		p->error = *lc_last_error();
	return p->status;
}

static lc_status
put_object(struct lc__objects *objects, const char *name, const struct lc__body *body,
    lc_status (*call)(void *, const char *, const lc_store_body *))
{
	struct calls *c = (struct calls *)objects;
	struct passing p = { .c = c, .body = body };
	const lc_store_body theirs = { body->size, read_body, &p, body->sha256 };
	lc_status status;

	return_if_error(lc__object_check_name(objects, name));
	begin(c);
	status = call(c->ctx, name, &theirs);
	if (status != LC_OK && p.status != LC_OK)
		return lc__error_raise(&p.error);
	if (status == LC_OK && p.status != LC_OK)
		return lc__error(LC_IO, 0,
		    "%s/%s: was put although its bytes could not be read: %s", c->url,
		    name, p.error.text);
	return end(c, name, status);
}

/* ---- the functions of a store -------------------------------------------------------------- */

static lc_status
get_range(struct lc__objects *objects, const char *name, uint64_t offset, void *out,
    size_t size, size_t *got, struct lc__object *about)
{
	struct calls *c = (struct calls *)objects;
	lc_store_object theirs = { NULL, 0, 0 };
	size_t n = 0;

	return_if_error(lc__object_check_name(objects, name));
	begin(c);
	return_if_error(end(c, name,
	    c->calls.get_range(c->ctx, name, offset, out, size, &n, &theirs)));
	if (n > size ||
	    (n < size && n != (offset < theirs.size ? theirs.size - offset : 0)))
		return lc__error(LC_IO, 0,
		    "%s/%s: %zu bytes from %llu were asked for, and %zu came", c->url,
		    name, size, (unsigned long long)offset, n);
	c->objects.traffic.received += n;
	if (about != NULL)
		*about = (struct lc__object){ NULL, theirs.size, theirs.time_ms };
	*got = n;
	return LC_OK;
}

/* The bytes of an object that is put again. */
struct copying {
	struct lc__objects *objects;
	const char *name;
};

static lc_status
read_object(void *ctx, uint64_t offset, void *out, size_t size)
{
	const struct copying *copying = ctx;
	size_t got;

	return_if_error(
	    get_range(copying->objects, copying->name, offset, out, size, &got, NULL));
	if (got == size)
		return LC_OK;
	return lc__error(LC_CHANGED, 0, "%s/%s: became shorter while it was read",
	    copying->objects->url, copying->name);
}

static lc_status
put(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	return put_object(objects, name, body, ((struct calls *)objects)->calls.put);
}

static lc_status
touch(struct lc__objects *objects, const char *name)
{
	struct calls *c = (struct calls *)objects;
	struct copying copying = { objects, name };
	struct lc__body body = { 0, read_object, &copying, NULL };
	struct lc__object about;

	return_if_error(lc__object_check_name(objects, name));
	if (c->calls.touch != NULL) {
		begin(c);
		return end(c, name, c->calls.touch(c->ctx, name));
	}
	return_if_error(lc__object_find(objects, name, &about));
	body.size = about.size;
	return put(objects, name, &body);
}

static lc_status
put_new(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	struct calls *c = (struct calls *)objects;
	const lc_status status = put_object(objects, name, body, c->calls.put_new);

	if (status == LC_EXISTS) {
		return_if_error(touch(objects, name));
		return lc__error(LC_EXISTS, 0, "%s/%s: is there already", c->url, name);
	}
	if (status == LC_UNSUPPORTED)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: cannot put only what is not there: parts that two machines push "
		    "would be lost; %s",
		    c->url, objects->advice);
	return status;
}

/* A listing in progress. */
struct walk {
	const char *prefix;
	lc_status (*fn)(void *ctx, const struct lc__object *object);
	void *ctx;
	lc_status status;
	lc_error error;
};

static lc_status
visit(void *ctx, const lc_store_object *theirs)
{
	struct walk *walk = ctx;
	struct lc__object object;

	/* For a function that continues after it was stopped. */
	if (walk->status != LC_OK)
		return walk->status;
	if (theirs->name == NULL || !lc__object_name_ok(theirs->name) ||
	    strncmp(theirs->name, walk->prefix, strlen(walk->prefix)) != 0)
		return LC_OK;
	object = (struct lc__object){ theirs->name, theirs->size, theirs->time_ms };
	walk->status = walk->fn(walk->ctx, &object);
	if (walk->status != LC_OK)
		walk->error = *lc_last_error();
	return walk->status;
}

static lc_status
list(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *ctx, const struct lc__object *object), void *ctx)
{
	struct calls *c = (struct calls *)objects;
	struct walk walk = { .prefix = prefix, .fn = fn, .ctx = ctx };
	lc_status status;

	begin(c);
	status = c->calls.list(c->ctx, prefix, visit, &walk);
	if (walk.status != LC_OK)
		return lc__error_raise(&walk.error);
	return end(c, prefix, status);
}

static lc_status
remove_object(struct lc__objects *objects, const char *name)
{
	struct calls *c = (struct calls *)objects;
	lc_status status;

	return_if_error(lc__object_check_name(objects, name));
	begin(c);
	status = c->calls.remove(c->ctx, name);
	return status == LC_NO_FILE ? LC_OK : end(c, name, status);
}

/* What incomplete puts leave is up to the functions. */
static lc_status
sweep(struct lc__objects *objects, const char *prefix, uint64_t before_ms, bool dry,
    uint64_t *files, uint64_t *bytes)
{
	(void)objects, (void)prefix, (void)before_ms, (void)dry;
	*files = *bytes = 0;
	return LC_OK;
}

static void
close_calls(struct lc__objects *objects)
{
	struct calls *c = (struct calls *)objects;

	if (c->calls.close != NULL)
		c->calls.close(c->ctx);
	free(c);
}

lc_status
lc__calls_open(const lc_store_calls *calls, void *ctx, const char *url,
    struct lc__objects **out)
{
	struct calls *c;

	if (calls->struct_size != sizeof(*calls) || calls->get_range == NULL ||
	    calls->put_new == NULL || calls->put == NULL || calls->list == NULL ||
	    calls->remove == NULL)
		return lc__error(LC_INVALID, 0, "%s: a function of the store is missing",
		    url);
	c = calloc(1, sizeof(*c) + strlen(url) + 1);
	if (c == NULL)
		return lc__no_memory(url);
	strcpy(c->url, url);
	c->calls = *calls;
	c->ctx = ctx;
	c->objects.url = c->url;
	c->objects.advice = "choose another store";
	c->objects.get_range = get_range;
	c->objects.get = lc__object_get;
	c->objects.put_new = put_new;
	c->objects.touch = touch;
	c->objects.put = put;
	c->objects.list = list;
	c->objects.remove = remove_object;
	c->objects.sweep = sweep;
	c->objects.close = close_calls;
	*out = &c->objects;
	return LC_OK;
}
