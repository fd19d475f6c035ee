/* SPDX-License-Identifier: BSD-2-Clause */
/* lc_store: stores that functions of a program make, here over a directory. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "need.h"
#include "objects_seen.h"
#include "objects/directory.h"
#include "objects/objects.h"
#include "objects/store.h"

/* What the functions are over, and what they do instead. */
static struct {
	struct lc__objects *dir;
	lc_status fails;     /* instead of all else */
	const char *why;     /* told with it, if anything */
	size_t takes;        /* bytes that a read leaves out */
	bool eats;           /* a body's failure, and says that all is well */
	bool goes_on;        /* listing after it was stopped */
	unsigned touched, closed;
} own;

static lc_store *handle;
static struct lc__objects *store;

static lc_status
give_up(void)
{
	return own.why != NULL ? lc_store_error(own.fails, own.why) : own.fails;
}

static lc_status
get_range(void *ctx, const char *name, uint64_t offset, void *out, size_t size, size_t *got,
    lc_store_object *about)
{
	struct lc__object object;

	need(ctx == &own);
	if (own.fails != LC_OK)
		return give_up();
	return_if_error(own.dir->get_range(own.dir, name, offset, out, size, got, &object));
	*about = (lc_store_object){ NULL, object.size, object.time_ms };
	*got -= own.takes < *got ? own.takes : *got;
	return LC_OK;
}

/* In pieces of 10 bytes, all of them from the begin for a second time. */
static lc_status
put_bytes(const char *name, const lc_store_body *body, bool is_new)
{
	char bytes[1000];
	lc_status status = LC_OK;

	need(body->size <= sizeof(bytes));
	for (int round = 0; round < 2; round++)
		for (uint64_t at = 0; at < body->size && status == LC_OK; at += 10)
			status = body->read(body->ctx, at, bytes + at,
			    body->size - at < 10 ? (size_t)(body->size - at) : 10);
	need(body->read(body->ctx, 0, bytes, (size_t)body->size + 1) == LC_INVALID);
	if (status != LC_OK)
		return own.eats ? LC_OK : LC_IO;
	return (is_new ? lc__object_add : lc__object_replace)(own.dir, name, bytes,
	    (size_t)body->size);
}

static lc_status
put_new(void *ctx, const char *name, const lc_store_body *body)
{
	need(ctx == &own);
	return own.fails != LC_OK ? give_up() : put_bytes(name, body, true);
}

static lc_status
put(void *ctx, const char *name, const lc_store_body *body)
{
	need(ctx == &own);
	return own.fails != LC_OK ? give_up() : put_bytes(name, body, false);
}

struct relay {
	lc_status (*fn)(void *ctx, const lc_store_object *object);
	void *ctx;
};

static lc_status
hand_on(void *ctx, const struct lc__object *object)
{
	const struct relay *relay = ctx;
	const lc_store_object theirs = { object->name, object->size, object->time_ms };
	const lc_status status = relay->fn(relay->ctx, &theirs);

	return own.goes_on ? LC_OK : status;
}

static lc_status
list(void *ctx, const char *prefix,
    lc_status (*fn)(void *fn_ctx, const lc_store_object *object), void *fn_ctx)
{
	struct relay relay = { fn, fn_ctx };

	need(ctx == &own);
	if (own.fails != LC_OK)
		return give_up();
	/* What is no object of this prefix is left out by who listens. */
	need_ok(fn(fn_ctx, &(lc_store_object){ ".bad", 1, 1 }));
	if (*prefix != '\0')
		need_ok(fn(fn_ctx, &(lc_store_object){ "zz/other", 1, 1 }));
	need_ok(fn(fn_ctx, &(lc_store_object){ NULL, 1, 1 }));
	return own.dir->list(own.dir, prefix, hand_on, &relay);
}

static lc_status
remove_object(void *ctx, const char *name)
{
	need(ctx == &own);
	return own.fails != LC_OK ? give_up() : own.dir->remove(own.dir, name);
}

static lc_status
touch(void *ctx, const char *name)
{
	need(ctx == &own);
	own.touched++;
	return own.fails != LC_OK ? give_up() : own.dir->touch(own.dir, name);
}

static void
close_own(void *ctx)
{
	need(ctx == &own);
	own.closed++;
}

static lc_store_calls calls = { sizeof(calls), get_range, put_new, put, list, remove_object,
	touch, close_own };

static void
open_own(void)
{
	char path[4200];

	memset(&own, 0, sizeof(own));
	snprintf(path, sizeof(path), "%s/store", run_scratch());
	assert_ok(lc__directory_open(path, "dir", &own.dir));
	assert_ok(lc_store_open_calls(&calls, &own, "mine", &handle));
	store = lc__store_objects(handle);
}

static void
close_all(void)
{
	lc_store_close(handle);
	lc__objects_close(own.dir);
}

START_TEST(all_of_it)
{
	struct lc__buf text = { 0 };
	struct lc__object about;
	lc_store_stats stats;
	uint64_t now;

	if (_i == 1) {
		lc_store_calls without = calls;

		without.touch = NULL;
		lc_store_close(handle);
		assert_ok(lc_store_open_calls(&without, &own, "mine", &handle));
		store = lc__store_objects(handle);
	}
	assert_ok(lc__objects_probe(store));
	assert_ok(lc__objects_now(store, &now));
	ck_assert_uint_gt(now, 1500000000000);
	assert_ok(lc__object_add(store, "a/b", "some hundred bytes", 18));
	own.touched = 0;
	assert_status(lc__object_add(store, "a/b", "other", 5), LC_EXISTS);
	ck_assert_str_eq(lc_last_error()->text, "mine/a/b: is there already");
	ck_assert_uint_eq(own.touched, _i == 0 ? 1 : 0);
	assert_ok(lc__object_read(store, "a/b", 100, &text));
	ck_assert_uint_eq(text.size, 18);
	ck_assert_int_eq(memcmp(text.data, "some hundred bytes", 18), 0);
	ck_assert_str_eq(listed(store, "a/"), "a/b 18");
	assert_ok(store->touch(store, "a/b"));
	assert_status(store->touch(store, "a/c"), LC_NO_FILE);
	assert_ok(store->remove(store, "a/b"));
	assert_ok(store->remove(store, "a/b"));
	assert_status(lc__object_find(store, "a/b", &about), LC_NO_FILE);
	assert_status(lc__object_add(store, "../a", "x", 1), LC_INVALID);
	lc_store_stats_of(handle, &stats);
	ck_assert_uint_gt(stats.requests, 10);
	ck_assert_uint_eq(stats.retries, 0);
	ck_assert_uint_ge(stats.sent, 2 * 18);
	ck_assert_uint_ge(stats.received, 18);
	lc__buf_free(&text);
}
END_TEST

/* Whatever a function returns, the error names the object, and is one that is allowed. */
START_TEST(failures)
{
	static const struct {
		lc_status fails, comes;
		const char *why, *text;
	} rows[] = {
		{ LC_IO, LC_IO, "no wire", "mine/a: no wire" },
		{ LC_IO, LC_IO, NULL, "mine/a: i/o error" },
		{ LC_PERMISSION, LC_PERMISSION, "keep out", "mine/a: keep out" },
		{ LC_NO_SPACE, LC_NO_SPACE, NULL, "mine/a: " },
		{ LC_NOT_FOUND, LC_IO, NULL, "mine/a: " },
		{ LC_END, LC_IO, "odd", "mine/a: odd" },
		{ (lc_status)4711, LC_IO, NULL, "mine/a: " },
	};
	struct lc__object about;

	own.fails = rows[_i].fails;
	own.why = rows[_i].why;
	assert_status(lc__object_find(store, "a", &about), rows[_i].comes);
	ck_assert_msg(strncmp(lc_last_error()->text, rows[_i].text,
			  strlen(rows[_i].text)) == 0, "%s", lc_last_error()->text);
	assert_status(lc__object_add(store, "a", "1", 1), rows[_i].comes);
	assert_status(lc__object_replace(store, "a", "1", 1), rows[_i].comes);
	assert_status(store->remove(store, "a"), rows[_i].comes);
	assert_status(store->touch(store, "a"), rows[_i].comes);
	assert_status(store->list(store, "a", append_name, NULL), rows[_i].comes);
	ck_assert_msg(strncmp(lc_last_error()->text, rows[_i].text,
			  strlen(rows[_i].text)) == 0, "%s", lc_last_error()->text);
}
END_TEST

static lc_status
refuse(void *ctx, uint64_t offset, void *out, size_t size)
{
	(void)ctx, (void)offset, (void)out, (void)size;
	return lc__error(LC_CORRUPT, 0, "no more");
}

static lc_status
stop(void *ctx, const struct lc__object *object)
{
	++*(unsigned *)ctx;
	return lc__error(LC_CANCELLED, 0, "enough of %s", object->name);
}

START_TEST(what_others_return)
{
	const struct lc__body body = { 30, refuse, NULL, NULL };
	unsigned called = 0;
	char bytes[10];
	size_t got;

	assert_status(store->put_new(store, "a", &body), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "no more");
	own.eats = true;
	assert_ok(lc__object_add(own.dir, "there", "1", 1));
	assert_status(store->put_new(store, "a", &body), LC_IO);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "was put although its bytes could not be read: no more"));
	assert_ok(lc__object_add(store, "b", "2", 1));
	own.goes_on = true;
	assert_status(store->list(store, "", stop, &called), LC_CANCELLED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "enough of "));
	ck_assert_uint_eq(called, 1);
	assert_ok(lc__object_add(store, "c", "0123456789", 10));
	own.takes = 3;
	assert_status(store->get_range(store, "c", 0, bytes, 10, &got, NULL), LC_IO);
	ck_assert_str_eq(lc_last_error()->text,
	    "mine/c: 10 bytes from 0 were asked for, and 7 came");
	own.takes = 0;
	own.fails = LC_UNSUPPORTED;
	assert_status(lc__objects_probe(store), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "mine: cannot put only what is not there: parts that two machines push would be "
	    "lost; choose another store");
}
END_TEST

static lc_status
put_over(void *ctx, const char *name, const lc_store_body *body)
{
	const lc_status status = put(ctx, name, body);

	own.touched++;
	return status;
}

static lc_status
keep(void *ctx, const char *name)
{
	(void)ctx, (void)name;
	return LC_OK;
}

static lc_status
count_object(void *ctx, const struct lc__object *object)
{
	(void)object;
	++*(unsigned *)ctx;
	return LC_OK;
}

/* All functions are called, and nothing is left. */
START_TEST(checked)
{
	lc_store_calls bad = calls;
	lc_store *other;
	unsigned left = 0;

	assert_ok(lc_store_check(handle));
	assert_ok(own.dir->list(own.dir, "", count_object, &left));
	ck_assert_uint_eq(left, 0);
	own.fails = LC_PERMISSION;
	assert_status(lc_store_check(handle), LC_PERMISSION);
	own.fails = LC_OK;
	bad.put_new = put_over;
	assert_ok(lc_store_open_calls(&bad, &own, "bad", &other));
	assert_status(lc_store_check(other), LC_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "bad: puts an object although"));
	lc_store_close(other);
	bad = calls;
	bad.put = put_new;
	assert_ok(lc_store_open_calls(&bad, &own, "bad", &other));
	assert_status(lc_store_check(other), LC_EXISTS);
	lc_store_close(other);
	bad = calls;
	bad.remove = keep;
	assert_ok(lc_store_open_calls(&bad, &own, "bad", &other));
	assert_status(lc_store_check(other), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, ": is there after it was removed"));
	lc_store_close(other);
}
END_TEST

START_TEST(opening)
{
	lc_store_calls bad = calls;
	lc_store_options options;
	lc_store *none = NULL;

	bad.list = NULL;
	assert_status(lc_store_open_calls(&bad, &own, "x", &none), LC_INVALID);
	bad = calls;
	bad.struct_size--;
	assert_status(lc_store_open_calls(&bad, &own, "x", &none), LC_INVALID);
	ck_assert_uint_eq(own.closed, 0);
	lc_store_close(handle);
	ck_assert_uint_eq(own.closed, 1);
	lc_store_close(NULL);
	assert_status(lc_store_open(NULL, NULL, &none), LC_INVALID);
	assert_status(lc_store_open("gs://b", NULL, &none), LC_INVALID);
	memset(&options, 0, sizeof(options));
	assert_status(lc_store_open("x", &options, &none), LC_INVALID);
	lc_store_options_init(&options);
	options.tries = 0;
	assert_status(lc_store_open("x", &options, &none), LC_INVALID);
	lc_store_options_init(&options);
	options.path_style = (lc_path_style)7;
	assert_status(lc_store_open("x", &options, &none), LC_INVALID);
	ck_assert_ptr_null(none);
	assert_ok(lc_store_open("file:///nowhere/at/all", NULL, &handle));
	ck_assert_str_eq(lc__store_objects(handle)->url, "file:///nowhere/at/all");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("calls");
	TCase *tc = tcase_create("calls");

	tcase_add_checked_fixture(tc, open_own, close_all);
	tcase_add_loop_test(tc, all_of_it, 0, 2);
	tcase_add_loop_test(tc, failures, 0, 7);
	tcase_add_test(tc, what_others_return);
	tcase_add_test(tc, checked);
	tcase_add_test(tc, opening);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
