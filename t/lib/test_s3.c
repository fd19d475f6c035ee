/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores in S3: what every back end promises, over HTTP to a server on loopback, with a proxy
 * between that makes what networks do. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "need.h"
#include "objects/s3.h"
#include "objects_seen.h"
#include "objects/url.h"
#include "serving.h"

static struct serving server, proxy;
static const char *dir;
static struct lc__objects *store;
static char url[200]; /* of a prefix of the test's own */
static lc_store_options options;

/* Before the tests, in their common parent. */
static void
start(void)
{
	dir = run_scratch();
	serving_s3(&server, dir);
	serving_faults(&proxy, dir, &server);
}

/* ---- a clock that waiting moves on, for tests of long waits ------------------------------- */

static bool is_clock_made; /* from here on waiting takes no time */
static _Atomic uint64_t slept_ns;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
uint64_t __wrap_lc__clock_ns(void);
uint64_t __real_lc__clock_ns(void);

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!is_clock_made)
		return __real_nanosleep(time, left);
	slept_ns += (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
	return 0;
}

uint64_t
__wrap_lc__clock_ns(void)
{
	return __real_lc__clock_ns() + slept_ns;
}

static struct lc__objects *
open_with(const lc_store_options *with)
{
	struct lc__objects *opened;

	assert_ok(lc__objects_open(url, with, false, &opened));
	return opened;
}

static void
open_store(void)
{
	static unsigned n;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(url, sizeof(url), "s3://bucket/t%ld-%ld-%u", (long)getpid(),
	    (long)now.tv_nsec, n++);
	is_clock_made = false;
	serving_environment(proxy.port);
	serving_does(&server, "");
	serving_does(&proxy, "");
	lc_store_options_init(&options);
	store = open_with(&options);
}

static void
close_store(void)
{
	lc__objects_close(store);
}

static uint64_t
retries(void)
{
	return store->traffic.retries;
}

/* The file that the server keeps an object in. */
static const char *
file_of(const char *name)
{
	static char path[5000];

	snprintf(path, sizeof(path), "%s/s3%s/%s", dir, url + strlen("s3:/"), name);
	return path;
}

/* ---- what every store does ----------------------------------------------------------------- */

START_TEST(put_and_get)
{
	struct lc__object about;
	char bytes[10] = "----------";
	size_t got;

	assert_status(lc__object_find(store, "a/b", &about), LC_NO_FILE);
	assert_ok(lc__object_add(store, "a/b", "hello", 5));
	ck_assert_str_eq(text_of(store, "a/b"), "hello");
	assert_ok(store->get_range(store, "a/b", 1, bytes, 3, &got, &about));
	ck_assert_uint_eq(got, 3);
	ck_assert_uint_eq(about.size, 5);
	ck_assert_int_eq(memcmp(bytes, "ell-", 4), 0);
	assert_ok(store->get_range(store, "a/b", 4, bytes, 10, &got, NULL));
	ck_assert_uint_eq(got, 1);
	assert_ok(store->get_range(store, "a/b", 5, bytes, 10, &got, &about));
	ck_assert_uint_eq(got, 0);
	ck_assert_uint_eq(about.size, 5);
	assert_status(store->get_range(store, "a/c", 5, bytes, 10, &got, NULL), LC_NO_FILE);
	assert_ok(lc__object_replace(store, "a/b", "hallo!", 6));
	ck_assert_str_eq(text_of(store, "a/b"), "hallo!");
	assert_ok(lc__object_add(store, "empty", NULL, 0));
	ck_assert_str_eq(text_of(store, "empty"), "");
	assert_status(lc__object_add(store, "../a", "x", 1), LC_INVALID);
	assert_ok(store->remove(store, "a/b"));
	assert_ok(store->remove(store, "a/b"));
	ck_assert_str_eq(listed(store, ""), "empty 0");
	ck_assert_uint_eq(retries(), 0);
}
END_TEST

static void
age(const char *name)
{
	const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };

	ck_assert_int_eq(utimensat(AT_FDCWD, file_of(name), times, 0), 0);
}

START_TEST(put_new_keeps_the_first)
{
	struct lc__object about;

	assert_ok(lc__object_add(store, "a/b", "one", 3));
	age("a/b");
	assert_ok(lc__object_find(store, "a/b", &about));
	ck_assert_uint_eq(about.time_ms, 1000000);
	assert_status(lc__object_add(store, "a/b", "two", 3), LC_EXISTS);
	ck_assert_str_eq(text_of(store, "a/b"), "one");
	assert_ok(lc__object_find(store, "a/b", &about));
	ck_assert_uint_gt(about.time_ms, 1500000000000);
}
END_TEST

START_TEST(touching)
{
	struct lc__object about;

	assert_ok(lc__object_add(store, "a/b", "one", 3));
	age("a/b");
	assert_ok(store->touch(store, "a/b"));
	assert_ok(lc__object_find(store, "a/b", &about));
	ck_assert_uint_gt(about.time_ms, 1500000000000);
	ck_assert_str_eq(text_of(store, "a/b"), "one");
	assert_status(store->touch(store, "a/c"), LC_NO_FILE);
}
END_TEST

START_TEST(listing_in_pages)
{
	char name[40];

	serving_does(&server, "--max-keys 3");
	ck_assert_str_eq(listed(store, ""), "");
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "a/%d", i);
		assert_ok(lc__object_add(store, name, "12", 2));
	}
	assert_ok(lc__object_add(store, "ab/c", "123", 3));
	ck_assert_str_eq(listed(store, "a/"),
	    "a/0 2, a/1 2, a/2 2, a/3 2, a/4 2, a/5 2, a/6 2, a/7 2, a/8 2, a/9 2");
	ck_assert_str_eq(listed(store, "ab"), "ab/c 3");
	ck_assert_str_eq(listed(store, "b"), "");
}
END_TEST

START_TEST(probing)
{
	uint64_t now, ours = (uint64_t)time(NULL) * 1000;

	assert_ok(lc__objects_probe(store));
	assert_ok(lc__objects_now(store, &now));
	ck_assert_uint_gt(now + 60000, ours);
	ck_assert_uint_lt(now, ours + 60000);
	ck_assert_str_eq(listed(store, ""), "");
}
END_TEST

START_TEST(no_conditions)
{
	static const char *const does[] = { "--ignore-conditions", "--refuse-conditions" };
	char want[600];

	serving_does(&server, does[_i]);
	assert_status(lc__objects_probe(store), LC_UNSUPPORTED);
	snprintf(want, sizeof(want), "%s: %s: parts that two machines push would be lost; "
	    "choose another store, or say --single-publisher if one process at a time pushes "
	    "and publishes", url, _i == 0
		? "puts an object although there is one of its name"
		: "the server cannot put on a condition (If-None-Match)");
	ck_assert_str_eq(lc_last_error()->text, want);
	close_store();
	options.single_publisher = 1;
	store = open_with(&options);
	assert_ok(lc__objects_probe(store));
	assert_ok(lc__object_add(store, "a", "1", 1));
	assert_status(lc__object_add(store, "a", "2", 1), LC_EXISTS);
	ck_assert_str_eq(text_of(store, "a"), "1");
	ck_assert_str_eq(listed(store, ""), "a 1");
}
END_TEST

/* ---- requests ------------------------------------------------------------------------------ */

#define LONG ((1 << 20) + 1)

/* The requests and the bytes that a put_new() of an object of LONG bytes sends. */
static void
puts_long(const char *name, lc_status status, unsigned requests, unsigned bytes)
{
	const uint64_t before = store->traffic.requests, sent = store->traffic.sent;
	unsigned char *data = calloc(1, LONG);

	assert_status(lc__object_add(store, name, data, LONG), status);
	ck_assert_uint_eq(store->traffic.requests - before, requests);
	ck_assert_uint_eq(store->traffic.sent - sent, bytes);
	free(data);
}

/* A put of a long object looks for it first, until several were not there in a row. */
START_TEST(looks_where_objects_are)
{
	puts_long("a", LC_OK, 2, LONG);
	puts_long("a", LC_EXISTS, 2, 0);
	puts_long("b", LC_OK, 2, LONG);
	puts_long("c", LC_OK, 2, LONG);
	puts_long("d", LC_OK, 2, LONG);
	puts_long("e", LC_OK, 2, LONG);
	puts_long("f", LC_OK, 1, LONG);
	/* Refused, and found; from now on it looks again. */
	puts_long("a", LC_EXISTS, 3, LONG);
	puts_long("b", LC_EXISTS, 2, 0);
	puts_long("g", LC_OK, 2, LONG);
	ck_assert_uint_eq(retries(), 0);
}
END_TEST

/* A long body is sent without a question once the server has accepted one. */
START_TEST(asks_before_a_long_body)
{
	close_store();
	/* The proxy takes bodies without asking the server. */
	serving_environment(server.port);
	store = open_with(&options);
	serving_does(&server, "--refuse-conditions");
	puts_long("a", LC_UNSUPPORTED, 2, 0);
	serving_does(&server, "");
	puts_long("a", LC_OK, 2, LONG);
	serving_does(&server, "--refuse-conditions");
	puts_long("b", LC_UNSUPPORTED, 2, LONG);
	puts_long("b", LC_UNSUPPORTED, 2, 0);
	serving_does(&server, "");
	ck_assert_uint_eq(retries(), 0);
}
END_TEST

/* ---- many at once -------------------------------------------------------------------------- */

#define RACERS 8

struct racer {
	pthread_t thread;
	unsigned number;
	lc_status status;
};

static void *
race(void *ctx)
{
	struct racer *racer = ctx;
	char text[8];
	const int size = snprintf(text, sizeof(text), "%u", racer->number);

	racer->status = lc__object_add(store, "a/raced", text, (size_t)size);
	return NULL;
}

START_TEST(exactly_one_wins)
{
	struct racer racers[RACERS];

	/* With answers that are lost, and conflicts that the server wants to be tried again. */
	if (_i == 1) {
		serving_does(&proxy, "--fault 'lost method=PUT times=4'");
		serving_does(&server, "--conflicts 3");
	}
	for (int round = 0; round < 3; round++) {
		unsigned won = 0;
		char expect[12] = "";

		for (unsigned i = 0; i < RACERS; i++) {
			racers[i].number = i;
			need(pthread_create(&racers[i].thread, NULL, race, &racers[i]) ==
			    0);
		}
		for (unsigned i = 0; i < RACERS; i++) {
			pthread_join(racers[i].thread, NULL);
			ck_assert(racers[i].status == LC_OK ||
			    racers[i].status == LC_EXISTS);
			if (racers[i].status == LC_OK) {
				won++;
				snprintf(expect, sizeof(expect), "%u", i);
			}
		}
		ck_assert_uint_eq(won, 1);
		ck_assert_str_eq(text_of(store, "a/raced"), expect);
		assert_ok(store->remove(store, "a/raced"));
	}
}
END_TEST

/* ---- what a network does ------------------------------------------------------------------- */

#define LARGE (3 << 20)

static unsigned char *
random_bytes(size_t size)
{
	unsigned char *bytes = malloc(size);
	uint64_t state = run_seed();

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)run_random(&state);
	return bytes;
}

/* The faults of which a put or get is right in the end. */
static const char *const puts_survive[] = { "cut", "reset", "cut-request", "flip-request",
	"lost", "late-500", "cut-header", "500", "503", "slow-down", "429", "502-html",
	"bad-status", "huge-header", "down" };

START_TEST(puts_of_all_kinds)
{
	unsigned char *bytes = random_bytes(LARGE);
	struct lc__buf back = { 0 };
	char fault[80];

	for (int large = 0; large < 2; large++) {
		const size_t size = large ? LARGE : 1000;
		const char *name = large ? "large" : "small";

		snprintf(fault, sizeof(fault), "--fault '%s method=PUT%s'", puts_survive[_i],
		    strcmp(puts_survive[_i], "down") == 0 ? " value=20" : "");
		serving_does(&proxy, fault);
		assert_ok(lc__object_add(store, name, bytes, size));
		ck_assert_uint_ge(retries(), 1);
		serving_does(&proxy, "");
		assert_status(lc__object_add(store, name, "x", 1), LC_EXISTS);
		back.size = 0;
		assert_ok(lc__object_read(store, name, LARGE, &back));
		ck_assert_uint_eq(back.size, size);
		ck_assert_int_eq(memcmp(back.data, bytes, size), 0);
	}
	lc__buf_free(&back);
	free(bytes);
}
END_TEST

/* Where the bytes of an object go. */
struct taken {
	struct lc__buf bytes;
	const char *replace; /* put another object of the name after the first bytes */
	unsigned calls;
};

static lc_status
take(void *ctx, const void *data, size_t size)
{
	struct taken *taken = ctx;

	lc__buf_append(&taken->bytes, data, size);
	taken->calls++;
	if (taken->replace != NULL) {
		need_ok(lc__object_replace(store, taken->replace, "other", 5));
		taken->replace = NULL;
	}
	return LC_OK;
}

static const char *const gets_survive[] = { "cut", "reset", "cut-header", "cut-body", "500",
	"503", "slow-down", "429", "502-html", "wrong-content-range", "extra",
	"bad-status", "bad-length", "huge-header", "redirect", "down", "drip" };

START_TEST(gets_of_all_kinds)
{
	const bool is_error = strcmp(gets_survive[_i], "redirect") == 0;
	unsigned char *bytes = random_bytes(LARGE), *range = malloc(LARGE);
	struct taken taken = { { 0 }, NULL, 0 };
	const struct lc__object_sink sink = { take, &taken, NULL };
	struct lc__object about = { NULL, 0, 0 };
	char fault[80];
	size_t got;

	assert_ok(lc__object_add(store, "large", bytes, LARGE));
	snprintf(fault, sizeof(fault), "--fault '%s method=GET times=2%s'", gets_survive[_i],
	    strcmp(gets_survive[_i], "down") == 0 ? " value=20" : "");
	serving_does(&proxy, fault);
	if (is_error) {
		assert_status(store->get(store, "large", 0, &sink, &about), LC_IO);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "/large: GET: HTTP status 307"));
	} else {
		assert_ok(store->get(store, "large", 0, &sink, &about));
		ck_assert_uint_eq(about.size, LARGE);
		ck_assert_uint_eq(taken.bytes.size, LARGE);
		ck_assert_int_eq(memcmp(taken.bytes.data, bytes, LARGE), 0);
		serving_does(&proxy, "");
		serving_does(&proxy, fault);
		assert_ok(store->get_range(store, "large", 777, range, 2 << 20, &got,
		    &about));
		ck_assert_uint_eq(got, 2 << 20);
		ck_assert_int_eq(memcmp(range, bytes + 777, got), 0);
	}
	lc__buf_free(&taken.bytes);
	free(bytes);
	free(range);
}
END_TEST

/* What was there when the connection broke is not sent again. */
START_TEST(goes_on_where_it_broke)
{
	unsigned char *bytes = random_bytes(LARGE);
	struct taken taken = { { 0 }, NULL, 0 };
	const struct lc__object_sink sink = { take, &taken, NULL };
	uint64_t before;

	is_clock_made = true;
	assert_ok(lc__object_add(store, "large", bytes, LARGE));
	serving_does(&proxy, "--fault 'cut-body method=GET'");
	before = store->traffic.received;
	assert_ok(store->get(store, "large", 5, &sink, NULL));
	ck_assert_uint_eq(taken.bytes.size, LARGE - 5);
	ck_assert_int_eq(memcmp(taken.bytes.data, bytes + 5, LARGE - 5), 0);
	ck_assert_uint_eq(store->traffic.received - before, LARGE - 5);
	/* In blocks of 256 KiB, and what was there when it broke. */
	ck_assert_uint_le(taken.calls, LARGE / (256 << 10) + 2);
	ck_assert_uint_eq(retries(), 1);
	lc__buf_free(&taken.bytes);
	free(bytes);
}
END_TEST

START_TEST(another_object_meanwhile)
{
	unsigned char *bytes = random_bytes(LARGE);
	struct taken taken = { { 0 }, "large", 0 };
	const struct lc__object_sink sink = { take, &taken, NULL };

	assert_ok(lc__object_add(store, "large", bytes, LARGE));
	serving_does(&proxy, "--fault 'cut-body method=GET'");
	assert_status(store->get(store, "large", 0, &sink, NULL), LC_CHANGED);
	ck_assert_ptr_nonnull(
	    strstr(lc_last_error()->text, "/large: became another one while it was read"));
	lc__buf_free(&taken.bytes);
	free(bytes);
}
END_TEST

START_TEST(no_ranges)
{
	char bytes[4];
	size_t got;

	assert_ok(lc__object_add(store, "a", "hello", 5));
	serving_does(&server, "--ignore-ranges");
	assert_status(store->get_range(store, "a", 1, bytes, 3, &got, NULL), LC_IO);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "/a: GET: bytes from 1: the answer is not a range; it was tried 5 times"));
}
END_TEST

START_TEST(gone)
{
	struct lc__object about;
	char want[300];

	serving_does(&proxy, "--fault 'reset times=0'");
	assert_status(lc__object_find(store, "a/b", &about), LC_IO);
	snprintf(want, sizeof(want), "%s/a/b: HEAD: ", url);
	ck_assert_msg(strncmp(lc_last_error()->text, want, strlen(want)) == 0, "%s",
	    lc_last_error()->text);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "; it was tried 5 times"));
	ck_assert_uint_eq(retries(), 4);
	assert_status(store->list(store, "", append_name, NULL), LC_IO);
	assert_status(lc__object_add(store, "a/b", "1", 1), LC_IO);
	assert_status(store->touch(store, "a/b"), LC_IO);
	assert_status(store->remove(store, "a/b"), LC_IO);
}
END_TEST

static lc_status
refuse(void *ctx, uint64_t offset, void *out, size_t size)
{
	memset(out, 'x', size);
	return offset < *(uint64_t *)ctx ? LC_OK : lc__error(LC_CORRUPT, 0, "no more");
}

/* What fails is not asked for again, and nothing is named. */
START_TEST(a_body_that_fails)
{
	uint64_t most = _i == 0 ? 0 : 2 << 20;
	const struct lc__body body = { 3 << 20, refuse, &most,
		_i == 2 ? "0000000000000000000000000000000000000000000000000000000000000000"
			: NULL };

	assert_status(store->put_new(store, "a", &body), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "no more");
	assert_status(store->put(store, "a", &body), LC_CORRUPT);
	ck_assert_str_eq(listed(store, ""), "");
	ck_assert_uint_eq(retries(), 0);
}
END_TEST

/* ---- objects in parts ----------------------------------------------------------------------- */

#define PART ((size_t)1 << 20) /* the least: its size is a whole number of MiB */
#define IN_PARTS (5 * PART / 2)

static void
open_in_parts(void)
{
	open_store();
	serving_does(&server, "--min-part 1000");
	lc__s3_limit(store, 1000, PART);
}

static uint64_t
unfinished(bool dry)
{
	uint64_t files, bytes;

	assert_ok(store->sweep(store, "", UINT64_MAX, dry, &files, &bytes));
	return files;
}

static void
assert_bytes(const char *name, const unsigned char *want)
{
	struct lc__buf got = { 0 };

	assert_ok(lc__object_read(store, name, IN_PARTS, &got));
	ck_assert_uint_eq(got.size, IN_PARTS);
	ck_assert_int_eq(memcmp(got.data, want, IN_PARTS), 0);
	lc__buf_free(&got);
}

static const char shard_name[] = "obj/aa/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				 "aaaaaaaa.twh1";

START_TEST(in_parts)
{
	unsigned char *bytes = random_bytes(IN_PARTS), *other = random_bytes(IN_PARTS);
	uint64_t before;

	other[0] = (unsigned char)(bytes[0] ^ 1);
	before = store->traffic.requests;
	assert_ok(lc__object_add(store, "a", bytes, IN_PARTS));
	/* HEAD, the begin, three parts, the end. */
	ck_assert_uint_eq(store->traffic.requests - before, 6);
	assert_bytes("a", bytes);
	assert_status(lc__object_add(store, "a", other, IN_PARTS), LC_EXISTS);
	assert_bytes("a", bytes);
	assert_ok(lc__object_replace(store, "a", other, IN_PARTS));
	assert_bytes("a", other);
	assert_ok(store->touch(store, "a"));
	assert_bytes("a", other);
	ck_assert_uint_eq(unfinished(true), 0);
	free(bytes);
	free(other);
}
END_TEST

static const char *const parts_survive[] = { "cut", "reset", "cut-request", "flip-request",
	"lost", "late-500", "cut-header", "503" };

START_TEST(in_parts_with_faults)
{
	unsigned char *bytes = random_bytes(IN_PARTS);
	char fault[80];

	/* After the HEAD: in the begin, in each part, in the end. */
	for (unsigned skip = 1; skip <= 5; skip++) {
		snprintf(fault, sizeof(fault), "--fault '%s key=/a skip=%u'", parts_survive[_i],
		    skip);
		serving_does(&proxy, fault);
		assert_ok(lc__object_add(store, "a", bytes, IN_PARTS));
		serving_does(&proxy, "");
		assert_bytes("a", bytes);
		assert_ok(store->remove(store, "a"));
	}
	free(bytes);
}
END_TEST

/* What fails is aborted; what cannot be is found later, and nothing else is. */
START_TEST(in_parts_aborted)
{
	unsigned char *bytes = random_bytes(IN_PARTS);
	const char *const names[] = { shard_name, "a" };

	options.retry_s = 0;
	close_store();
	store = open_with(&options);
	lc__s3_limit(store, 1000, PART);
	serving_does(&proxy, "--fault 'reset method=PUT key=partNumber=2 times=0'");
	assert_status(lc__object_add(store, shard_name, bytes, IN_PARTS), LC_IO);
	serving_does(&proxy, "");
	ck_assert_uint_eq(unfinished(true), 0);
	serving_does(&proxy, "--fault 'reset key=uploadId times=0'");
	for (size_t i = 0; i < 2; i++)
		assert_status(lc__object_add(store, names[i], bytes, IN_PARTS), LC_IO);
	ck_assert_str_eq(listed(store, ""), "");
	serving_does(&proxy, "");
	ck_assert_uint_eq(unfinished(true), 1);
	ck_assert_uint_eq(unfinished(false), 1);
	ck_assert_uint_eq(unfinished(true), 0);
	assert_ok(lc__object_add(store, shard_name, bytes, IN_PARTS));
	assert_bytes(shard_name, bytes);
	free(bytes);
}
END_TEST

/* A body during which another object of the name is put. */
struct raced {
	unsigned char *bytes;
	unsigned begun;
};

static lc_status
read_raced(void *ctx, uint64_t offset, void *out, size_t size)
{
	struct raced *raced = ctx;

	/* The first time for its SHA-256, the second time to send it. */
	if (offset == 0 && ++raced->begun == 2) {
		raced->bytes[0] ^= 1;
		assert_ok(lc__object_add(store, "obj/first", raced->bytes, IN_PARTS));
		raced->bytes[0] ^= 1;
	}
	memcpy(out, raced->bytes + offset, size);
	return LC_OK;
}

START_TEST(in_parts_raced)
{
	struct raced raced = { random_bytes(IN_PARTS), 0 };
	const struct lc__body body = { IN_PARTS, read_raced, &raced, NULL };

	assert_status(store->put_new(store, "obj/first", &body), LC_EXISTS);
	raced.bytes[0] ^= 1;
	assert_bytes("obj/first", raced.bytes);
	ck_assert_uint_eq(unfinished(true), 0);
	free(raced.bytes);
}
END_TEST

static lc_status
read_changing(void *ctx, uint64_t offset, void *out, size_t size)
{
	memset(out, ++*(unsigned char *)ctx, size);
	(void)offset;
	return LC_OK;
}

START_TEST(in_parts_of_changing_bytes)
{
	unsigned char value = 0;
	const struct lc__body body = { IN_PARTS, read_changing, &value, NULL };

	assert_status(store->put_new(store, "a", &body), LC_CHANGED);
	ck_assert_str_eq(listed(store, ""), "");
}
END_TEST

/* ---- a server that is gone ------------------------------------------------------------------ */

#define MINUTE_NS ((uint64_t)60000000000)

/* A server that has answered may be gone for a while. Ten waits take 43 seconds at most. */
START_TEST(gone_for_a_while)
{
	uint64_t before;

	is_clock_made = true;
	assert_ok(lc__object_add(store, "a", "hello", 5));
	before = slept_ns;
	serving_does(&proxy, _i == 0 ? "--fault 'reset times=10'" : "--fault '503 times=10'");
	ck_assert_str_eq(text_of(store, "a"), "hello");
	/* libcurl itself sends again what a kept connection does not take. */
	ck_assert_uint_ge(retries(), 9);
	ck_assert_uint_eq(store->traffic.waited_ns, slept_ns - before);
	serving_does(&proxy, _i == 0 ? "--fault 'reset times=10'" : "--fault '503 times=10'");
	assert_ok(lc__object_add(store, "b", "1", 1));
	ck_assert_uint_ge(retries(), 18);
	ck_assert_str_eq(listed(store, ""), "a 5, b 1");
}
END_TEST

START_TEST(gone_for_a_minute)
{
	struct lc__object about;
	uint64_t before;

	is_clock_made = true;
	assert_ok(lc__object_add(store, "a", "hello", 5));
	before = lc__clock_ns();
	serving_does(&proxy, _i == 0 ? "--fault 'reset times=0'" : "--fault '503 times=0'");
	assert_status(lc__object_find(store, "a", &about), LC_IO);
	ck_assert_uint_ge(lc__clock_ns() - before, MINUTE_NS);
	ck_assert_uint_le(store->traffic.waited_ns, MINUTE_NS + MINUTE_NS / 1000);
	ck_assert_uint_ge(retries(), 6);
	/* And not at all. */
	close_store();
	options.retry_s = 0;
	store = open_with(&options);
	serving_does(&proxy, "");
	assert_ok(lc__object_find(store, "a", &about));
	serving_does(&proxy, "--fault 'reset times=0'");
	assert_status(lc__object_find(store, "a", &about), LC_IO);
	ck_assert_uint_eq(retries(), 4);
}
END_TEST

static lc_status
take_none(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return LC_OK;
}

static lc_status
stop_waiting(void *ctx)
{
	return ++*(unsigned *)ctx < 3
	    ? LC_OK
	    : lc__error(LC_CANCELLED, 0, "the reader is closed");
}

/* What reads may stop while nothing comes. */
START_TEST(waiting_ends)
{
	unsigned asked = 0;
	const struct lc__object_sink sink = { take_none, &asked, stop_waiting };

	is_clock_made = true;
	assert_ok(lc__object_add(store, "a", "hello", 5));
	serving_does(&proxy, _i == 0 ? "--fault 'delay times=0 value=100000'"
				     : "--fault 'reset times=0'");
	assert_status(store->get(store, "a", 0, &sink, NULL), LC_CANCELLED);
	ck_assert_str_eq(lc_last_error()->text, "the reader is closed");
	ck_assert_uint_eq(asked, 3);
}
END_TEST

static int
cancel_at_once(void *ctx)
{
	++*(unsigned *)ctx;
	return 1;
}

/* Neither a server that says nothing nor the wait for the next try keeps a caller. */
START_TEST(cancelling)
{
	struct lc__object about;
	unsigned asked = 0;

	close_store();
	options.cancelled = cancel_at_once;
	options.cancelled_ctx = &asked;
	store = open_with(&options);
	serving_does(&proxy, _i == 0 ? "--fault 'delay times=0 value=100000'"
				     : "--fault 'reset times=0'");
	assert_status(lc__object_find(store, "a", &about), LC_CANCELLED);
	assert_status(lc__object_add(store, "a", "1", 1), LC_CANCELLED);
	ck_assert_uint_ge(asked, 2);
}
END_TEST

/* Anything at random: an operation is right, or fails with words that name the object. */
START_TEST(random_faults)
{
	uint64_t state = run_seed();
	char plan[200], name[20], value[3][20] = { "", "", "" };
	bool known[3] = { true, true, true };

	snprintf(plan, sizeof(plan),
	    "--random 0.3 --seed %llu --choose cut,reset,lost,late-500,cut-header,cut-body,500,"
	    "503,slow-down,429,502-html,wrong-content-range,extra,bad-status,bad-length,"
	    "flip-request,cut-request",
	    (unsigned long long)(run_random(&state) % 1000000));
	serving_does(&proxy, plan);
	for (int i = 0; i < 150; i++) {
		const unsigned k = (unsigned)(run_random(&state) % 3);
		struct lc__buf back = { 0 };
		lc_status status;
		char text[20];

		snprintf(name, sizeof(name), "o%u", k);
		snprintf(text, sizeof(text), "%d-%u", i, k);
		switch (run_random(&state) % 4) {
		case 0:
			status = lc__object_add(store, name, text, strlen(text));
			if (known[k] && (status == LC_OK || status == LC_EXISTS))
				ck_assert_int_eq(status == LC_OK, value[k][0] == '\0');
			break;
		case 1:
			status = lc__object_replace(store, name, text, strlen(text));
			break;
		case 2:
			text[0] = '\0';
			status = store->remove(store, name);
			break;
		default:
			status = lc__object_read(store, name, 1000, &back);
			if (known[k] && (status == LC_OK || status == LC_NO_FILE)) {
				ck_assert_int_eq(status == LC_OK, value[k][0] != '\0');
				lc__buf_append(&back, "", 1);
				ck_assert_str_eq((char *)back.data, value[k]);
			}
			lc__buf_free(&back);
			if (status == LC_NO_FILE)
				status = LC_EXISTS;
			text[0] = '\1';
		}
		if (status != LC_OK && status != LC_EXISTS)
			ck_assert_msg(strstr(lc_last_error()->text, name) != NULL, "%s",
			    lc_last_error()->text);
		if (text[0] == '\1' || status == LC_EXISTS)
			continue;
		known[k] = status == LC_OK;
		strcpy(value[k], text);
	}
	ck_assert_uint_gt(retries(), 20);
}
END_TEST

/* ---- clocks and keys ------------------------------------------------------------------------- */

START_TEST(another_clock)
{
	static const char *const skews[] = { "--clock-skew 86400", "--clock-skew -86400" };

	serving_does(&server, skews[_i]);
	assert_ok(lc__object_add(store, "a", "1", 1));
	ck_assert_uint_eq(retries(), 1);
	assert_ok(lc__object_add(store, "b", "1", 1));
	ck_assert_uint_eq(retries(), 1);
}
END_TEST

static void
write_file(const char *name, const char *text)
{
	char path[4200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static const char *
in_dir(const char *name)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
no_keys(void)
{
	close_store();
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
}

START_TEST(keys_of_nobody)
{
	no_keys();
	store = open_with(&options);
	assert_status(lc__object_add(store, "a", "1", 1), LC_PERMISSION);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "no keys: "));
	close_store();
	setenv("AWS_ACCESS_KEY_ID", "test", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
	store = open_with(&options);
	assert_status(lc__object_add(store, "a", "1", 1), LC_PERMISSION);
	ck_assert_ptr_nonnull(
	    strstr(lc_last_error()->text, "/a: PUT: HTTP status 403 SignatureDoesNotMatch"));
}
END_TEST

START_TEST(keys_of_profiles)
{
	no_keys();
	write_file("credentials",
	    "# x\n[default]\naws_access_key_id = nobody\naws_secret_access_key=wrong\n"
	    "[mine]\r\naws_access_key_id=test\r\naws_secret_access_key =  secret\r\n");
	write_file("config",
	    "[profile run]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": "
	    "\"test\", \"SecretAccessKey\": \"secret\", \"Expiration\": "
	    "\"2100-01-01T00:00:00Z\"}'\n"
	    "[profile bad]\ncredential_process = echo x\n"
	    "[profile fails]\ncredential_process = exit 3\n");
	setenv("AWS_SHARED_CREDENTIALS_FILE", in_dir("credentials"), 1);
	setenv("AWS_CONFIG_FILE", in_dir("config"), 1);
	options.profile = "mine";
	store = open_with(&options);
	assert_ok(lc__object_add(store, "a", "1", 1));
	close_store();
	options.profile = "run";
	store = open_with(&options);
	assert_ok(lc__object_add(store, "b", "1", 1));
	close_store();
	options.profile = "bad";
	store = open_with(&options);
	assert_status(lc__object_add(store, "c", "1", 1), LC_IO);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "profile bad: credential_process: prints no JSON"));
	close_store();
	options.profile = "fails";
	store = open_with(&options);
	assert_status(lc__object_add(store, "c", "1", 1), LC_PERMISSION);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "profile fails: credential_process: ended with status 3"));
	close_store();
	options.profile = NULL;
	setenv("AWS_PROFILE", "mine", 1);
	store = open_with(&options);
	assert_ok(lc__object_add(store, "d", "1", 1));
	options.profile = "none";
	assert_status(lc__objects_open(url, &options, false, &(struct lc__objects *){ 0 }),
	    LC_INVALID);
}
END_TEST

/* The services that hand out keys: a container's host, an instance, a token service. */
START_TEST(keys_of_services)
{
	char text[200];

	no_keys();
	serving_does(&server, "--key test:secret --key new:secret2:token2:4102444800 "
			      "--container-token C");
	snprintf(text, sizeof(text), "http://127.0.0.1:%d/_/credentials", server.port);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", text, 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "C", 1);
	store = open_with(&options);
	assert_ok(lc__object_add(store, "a", "1", 1));
	close_store();
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x", 1);
	store = open_with(&options);
	assert_status(lc__object_add(store, "b", "1", 1), LC_INVALID);
	close_store();
	unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	snprintf(text, sizeof(text), "http://127.0.0.1:%d", server.port);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", text, 1);
	unsetenv("AWS_EC2_METADATA_DISABLED");
	store = open_with(&options);
	assert_ok(lc__object_add(store, "b", "1", 1));
	close_store();
	write_file("token", "web\n");
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", in_dir("token"), 1);
	setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/r", 1);
	setenv("AWS_ENDPOINT_URL_STS", text, 1);
	store = open_with(&options);
	assert_ok(lc__object_add(store, "c", "1", 1));
}
END_TEST

/* Keys that expire in the middle: others are asked for once. */
START_TEST(keys_that_expire)
{
	char text[300];

	no_keys();
	serving_does(&server, "--key old:secret:token:4102444800");
	snprintf(text, sizeof(text), "http://127.0.0.1:%d/_/credentials", server.port);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", text, 1);
	store = open_with(&options);
	assert_ok(lc__object_add(store, "a", "1", 1));
	/* They have expired, though we were told another time; new ones are handed out. */
	serving_does(&server, "--key old:secret:token:1000 --key new:secret2:token2");
	assert_ok(lc__object_add(store, "b", "1", 1));
	ck_assert_uint_eq(retries(), 1);
	assert_ok(lc__object_add(store, "c", "1", 1));
	ck_assert_uint_eq(retries(), 1);
}
END_TEST

/* ---- where it is ----------------------------------------------------------------------------- */

START_TEST(urls)
{
	static const char *const bad[] = { "s3://", "s3:bucket", "s3://ab", "s3:///a",
		"s3://bucket//a", "s3://bucket/a/../b", "s3://bucket/.", "s3://buck%t/a",
		"s3://bucket/\xff", "s3://bucket/a\nb", "s3://user@bucket/a" };
	static const char *const endpoints[] = { "ftp://x", "http://", "http://a/b",
		"http://a@b", "x", "http://a b" };
	struct lc__objects *none;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_status(lc__objects_open(bad[i], NULL, false, &none), LC_INVALID);
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(*endpoints); i++) {
		options.endpoint = endpoints[i];
		assert_status(lc__objects_open(url, &options, false, &none), LC_INVALID);
	}
	close_store();
	snprintf(url, sizeof(url), "s3://bucket");
	store = open_with(NULL);
	ck_assert_str_eq(store->url, "s3://bucket");
	close_store();
	snprintf(url, sizeof(url), "s3://bucket/a=b c+d~%%41/\303\244'()*!///");
	store = open_with(NULL);
	ck_assert_str_eq(store->url, "s3://bucket/a=b c+d~%41/\303\244'()*!");
	assert_ok(lc__object_replace(store, "x/y", "odd", 3));
	ck_assert_str_eq(text_of(store, "x/y"), "odd");
	ck_assert_str_eq(listed(store, "x/"), "x/y 3");
	assert_ok(store->touch(store, "x/y"));
	assert_ok(store->remove(store, "x/y"));
	close_store();
	snprintf(url, sizeof(url), "s3://no-such-bucket/a");
	store = open_with(NULL);
	assert_status(lc__object_add(store, "a", "1", 1), LC_NO_FILE);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "s3://no-such-bucket/a/a: PUT: HTTP status 404 NoSuchBucket"));
	assert_status(store->list(store, "", append_name, NULL), LC_NO_FILE);
}
END_TEST

START_TEST(in_the_name_of_the_host)
{
	char endpoint[60];

	snprintf(endpoint, sizeof(endpoint), "http://localhost:%d", server.port);
	close_store();
	options.endpoint = endpoint;
	options.path_style = LC_PATH_STYLE_NO;
	store = open_with(&options);
	assert_ok(lc__object_add(store, "a", "1", 1));
	ck_assert_str_eq(text_of(store, "a"), "1");
	ck_assert_str_eq(listed(store, ""), "a 1");
	assert_ok(store->touch(store, "a"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("s3");
	TCase *tc = tcase_create("s3");

	if (!serving_possible()) {
		puts("1..0 # SKIP python3 is not installed");
		return 0;
	}
	start();
	tcase_add_checked_fixture(tc, open_store, close_store);
	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, put_and_get);
	tcase_add_test(tc, put_new_keeps_the_first);
	tcase_add_test(tc, touching);
	tcase_add_test(tc, listing_in_pages);
	tcase_add_test(tc, probing);
	tcase_add_loop_test(tc, no_conditions, 0, 2);
	tcase_add_test(tc, looks_where_objects_are);
	tcase_add_test(tc, asks_before_a_long_body);
	tcase_add_loop_test(tc, exactly_one_wins, 0, 2);
	tcase_add_loop_test(tc, puts_of_all_kinds, 0, (int)(sizeof(puts_survive) / sizeof(char *)));
	tcase_add_loop_test(tc, gets_of_all_kinds, 0, (int)(sizeof(gets_survive) / sizeof(char *)));
	tcase_add_test(tc, goes_on_where_it_broke);
	tcase_add_test(tc, another_object_meanwhile);
	tcase_add_test(tc, no_ranges);
	tcase_add_test(tc, gone);
	tcase_add_loop_test(tc, gone_for_a_while, 0, 2);
	tcase_add_loop_test(tc, gone_for_a_minute, 0, 2);
	tcase_add_loop_test(tc, waiting_ends, 0, 2);
	tcase_add_loop_test(tc, a_body_that_fails, 0, 3);
	tcase_add_loop_test(tc, cancelling, 0, 2);
	tcase_add_test(tc, random_faults);
	tcase_add_loop_test(tc, another_clock, 0, 2);
	tcase_add_test(tc, keys_of_nobody);
	tcase_add_test(tc, keys_of_profiles);
	tcase_add_test(tc, keys_of_services);
	tcase_add_test(tc, keys_that_expire);
	tcase_add_test(tc, urls);
	tcase_add_test(tc, in_the_name_of_the_host);
	suite_add_tcase(suite, tc);
	tc = tcase_create("parts");
	tcase_add_checked_fixture(tc, open_in_parts, close_store);
	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, in_parts);
	tcase_add_loop_test(tc, in_parts_with_faults, 0,
	    (int)(sizeof(parts_survive) / sizeof(char *)));
	tcase_add_test(tc, in_parts_aborted);
	tcase_add_test(tc, in_parts_raced);
	tcase_add_test(tc, in_parts_of_changing_bytes);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
