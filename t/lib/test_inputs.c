/* SPDX-License-Identifier: BSD-2-Clause */
/* Inputs and their writers: what is declared, held, committed, refused. */
#include "run.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "filling.h"
#include "need.h"
#include "rawdb.h"
#include "sample.h"

#define STR(s) (s), (sizeof(s) - 1)

static lc_cache *
open_module(const char *root)
{
	return sample_open(root, "m", NULL);
}

static lc_tensor
number(const uint64_t *value)
{
	return sample_bytes(value, sizeof(*value));
}

static void
assert_text(const char *part)
{
	ck_assert_msg(strstr(lc_last_error()->text, part) != NULL,
	    "'%s' is not in: %s", part, lc_last_error()->text);
}

/* ---- declaring ------------------------------------------------------------ */

START_TEST(declare_rules)
{
	const lc_input two[] = { { "a", { STR("1") } }, { "b", { NULL, 0 } } };
	const lc_input stale[] = { { "a", { STR("2") } }, { "b", { NULL, 0 } } };
	const lc_input swapped[] = { { "b", { NULL, 0 } }, { "a", { STR("1") } } };
	const lc_input more[] = { two[0], two[1], { "c", { NULL, 0 } } };
	lc_cache *cache = open_module(run_scratch());
	lc_fill fill = filling_state(cache);

	ck_assert_uint_eq(fill.inputs, 0);
	ck_assert_int_eq(fill.final, 0);
	assert_ok(lc_inputs_declare(cache, 2, two));
	assert_ok(lc_inputs_declare(cache, 2, two));
	assert_status(lc_inputs_declare(cache, 2, stale), LC_STALE);
	assert_text("input a has another fingerprint than when it was declared");
	assert_status(lc_inputs_declare(cache, 2, swapped), LC_INVALID);
	assert_status(lc_inputs_declare(cache, 1, two), LC_INVALID);
	assert_status(lc_inputs_declare(cache, 3, more), LC_INVALID);
	fill = filling_state(cache);
	ck_assert_uint_eq(fill.inputs, 2);
	ck_assert_uint_eq(fill.finished, 0);
	ck_assert_uint_eq(fill.held, 0);
	ck_assert_int_eq(fill.final, 0);
	ck_assert_uint_eq(fill.committed + fill.published + fill.records +
	    fill.length + fill.prefix_hash, 0);
	assert_ok(lc_close(cache));
}
END_TEST

struct prints {
	char text[3][8];
};

static int
list_print(void *ctx, const lc_input_info *info)
{
	struct prints *p = ctx;

	snprintf(p->text[info->index], sizeof(p->text[0]), "%.*s",
	    (int)info->fingerprint.size, (const char *)info->fingerprint.data);
	return 0;
}

static void
assert_prints(lc_cache *cache, const char *a, const char *b, const char *c)
{
	struct prints p = { { "?", "?", "?" } };

	assert_ok(lc_inputs(cache, list_print, &p));
	ck_assert_str_eq(p.text[0], a);
	ck_assert_str_eq(p.text[1], b);
	ck_assert_str_eq(p.text[2], c);
}

/* One that is not known, here or there, is compared with none; the first known is kept. */
START_TEST(fingerprints_become_known)
{
	const lc_input first[] = { { "in0", { NULL, 0 } }, { "in1", { STR("B") } },
		{ "in2", { NULL, 0 } } };
	const lc_input second[] = { { "in0", { STR("A") } }, { "in1", { NULL, 0 } },
		{ "in2", { NULL, 0 } } };
	const lc_input half[] = { { "in0", { NULL, 0 } }, { "in1", { STR("x") } },
		{ "in2", { STR("C") } } };
	const lc_input all[] = { { "in0", { STR("A") } }, { "in1", { STR("B") } },
		{ "in2", { STR("C") } } };
	const lc_input other[] = { { "in0", { STR("a") } }, { "in1", { STR("B") } },
		{ "in2", { STR("C") } } };
	const char *root = run_scratch();
	lc_cache *cache = open_module(root), *peer = open_module(root);
	lc_writer *writer;

	assert_ok(lc_inputs_declare(cache, 3, first));
	assert_prints(cache, "", "B", "");
	/* Also while the input is being written, whose next commit keeps it. */
	assert_ok(filling_open(cache, 0, &writer));
	ck_assert_uint_eq(lc_writer_info(writer)->fingerprint.size, 0);
	assert_ok(filling_commit(writer, 0));
	assert_ok(lc_inputs_declare(peer, 3, second));
	assert_prints(cache, "A", "B", "");
	assert_ok(filling_commit(writer, 1));
	lc_writer_close(writer);
	assert_prints(peer, "A", "B", "");
	ck_assert_uint_eq(filling_state(peer).committed, 2);
	filling_check_chunk(peer, 0, 1);
	/* Who is refused leaves nothing. */
	assert_status(lc_inputs_declare(peer, 3, half), LC_STALE);
	assert_text("input in1 has another fingerprint than when it was declared");
	assert_prints(peer, "A", "B", "");
	assert_ok(lc_inputs_declare(cache, 3, first));
	assert_ok(lc_inputs_declare(cache, 3, all));
	assert_prints(peer, "A", "B", "C");
	assert_status(lc_inputs_declare(peer, 3, other), LC_STALE);
	assert_ok(lc_inputs_declare(peer, 3, first));
	assert_prints(peer, "A", "B", "C");
	assert_ok(lc_verify(peer, NULL, &(lc_verify_result){ 0 }));
	assert_ok(lc_close(peer));
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(declare_refuses)
{
	static char longest[LC_INPUT_NAME_MAX + 2];
	static const char print[LC_INPUT_FINGERPRINT_MAX + 1];
	lc_input bad[] = {
		{ "", { NULL, 0 } }, { NULL, { NULL, 0 } }, { "a\n", { NULL, 0 } },
		{ "\x7f", { NULL, 0 } }, { longest, { NULL, 0 } },
		{ "a", { print, sizeof(print) } }, { "a", { NULL, 1 } }
	};
	const lc_input twice[] = { { "a", { NULL, 0 } }, { "b", { NULL, 0 } },
		{ "a", { NULL, 0 } } };
	lc_cache *cache = open_module(run_scratch());

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_status(lc_inputs_declare(cache, 1, &bad[i]), LC_INVALID);
	assert_status(lc_inputs_declare(cache, 3, twice), LC_INVALID);
	assert_status(lc_inputs_declare(cache, 0, twice), LC_INVALID);
	assert_status(lc_inputs_declare(cache, 65537, twice), LC_INVALID);
	ck_assert_uint_eq(filling_state(cache).inputs, 0);
	longest[LC_INPUT_NAME_MAX] = '\0';
	bad[5] = (lc_input){ longest, { print, LC_INPUT_FINGERPRINT_MAX } };
	assert_ok(lc_inputs_declare(cache, 1, &bad[5]));
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(declare_in_a_module_with_puts)
{
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	lc_cache *cache = open_module(run_scratch());

	/* Pending ones count. */
	assert_ok(lc_put(cache, STR("k"), &tensor));
	assert_status(filling_declare(cache, 2), LC_INVALID);
	assert_text("plain puts");
	assert_ok(lc_delete(cache, STR("k")));
	assert_ok(filling_declare(cache, 2));
	assert_ok(lc_verify(cache, NULL, &(lc_verify_result){ 0 }));
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(declare_the_most)
{
	lc_cache *cache = open_module(run_scratch());
	lc_writer *writer;

	assert_ok(filling_declare(cache, 65536));
	assert_ok(filling_open(cache, 65535, &writer));
	ck_assert_uint_eq(lc_writer_info(writer)->index, 65535);
	assert_ok(filling_commit(writer, 1));
	lc_writer_close(writer);
	ck_assert_uint_eq(filling_state(cache).published, 0);
	assert_ok(lc_inputs_finish(cache));
	ck_assert_uint_eq(filling_state(cache).published, 1);
	ck_assert_uint_eq(filling_state(cache).finished, 65536);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(read_only)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache = open_module(root);
	lc_writer *writer = NULL;

	assert_ok(filling_declare(cache, 1));
	assert_ok(lc_close(cache));
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	assert_status(filling_declare(cache, 1), LC_READONLY);
	assert_status(filling_open(cache, 0, &writer), LC_READONLY);
	assert_status(lc_inputs_finish(cache), LC_READONLY);
	ck_assert_uint_eq(filling_state(cache).inputs, 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- writing -------------------------------------------------------------- */

START_TEST(resume_at_the_cursor)
{
	const char *root = run_scratch();
	static char cursor[LC_INPUT_CURSOR_MAX + 1];
	lc_cache *cache = open_module(root);
	const lc_input_info *info;
	lc_writer *writer;

	assert_ok(filling_declare(cache, 2));
	assert_status(lc_writer_open(cache, "in2", &writer), LC_NOT_FOUND);
	assert_status(lc_writer_open(cache, "in", &writer), LC_NOT_FOUND);
	assert_ok(filling_open(cache, 1, &writer));
	info = lc_writer_info(writer);
	ck_assert_uint_eq(info->index, 1);
	ck_assert_str_eq(info->name, "in1");
	ck_assert_uint_eq(info->fingerprint.size, 3);
	ck_assert_mem_eq(info->fingerprint.data, "fp1", 3);
	ck_assert_uint_eq(info->cursor.size, 0);
	ck_assert_uint_eq(info->chunks + info->records, 0);
	ck_assert_int_eq(info->held, 1);
	assert_ok(filling_commit(writer, 0));
	assert_ok(filling_commit(writer, 0));
	ck_assert_uint_eq(lc_writer_info(writer)->chunks, 2);
	/* What is put and not committed is dropped. */
	filling_put(writer);
	lc_writer_close(writer);
	assert_ok(lc_close(cache));

	cache = open_module(root);
	assert_ok(filling_open(cache, 1, &writer));
	info = lc_writer_info(writer);
	ck_assert_uint_eq(info->chunks, 2);
	ck_assert_uint_eq(info->records, filling_records(1, 0) +
	    filling_records(1, 1));
	ck_assert_uint_eq(info->cursor.size, 1);
	ck_assert_mem_eq(info->cursor.data, "2", 1);
	memset(cursor, 'c', sizeof(cursor));
	assert_status(lc_writer_commit(writer, cursor, sizeof(cursor)),
	    LC_INVALID);
	/* Without records only the cursor moves. */
	assert_ok(lc_writer_commit(writer, cursor, LC_INPUT_CURSOR_MAX));
	ck_assert_uint_eq(lc_writer_info(writer)->cursor.size,
	    LC_INPUT_CURSOR_MAX);
	ck_assert_uint_eq(lc_writer_info(writer)->chunks, 2);
	assert_ok(lc_writer_commit(writer, NULL, 0));
	ck_assert_uint_eq(lc_writer_info(writer)->cursor.size, 0);
	/* Its own cursor may be given back. */
	assert_ok(lc_writer_commit(writer, "xyz", 3));
	info = lc_writer_info(writer);
	assert_ok(lc_writer_commit(writer, info->cursor.data, info->cursor.size));
	ck_assert_mem_eq(lc_writer_info(writer)->cursor.data, "xyz", 3);
	assert_ok(filling_commit(writer, 1));
	lc_writer_close(writer);
	filling_check_chunk(cache, 1, 0);
	filling_check_chunk(cache, 1, 1);
	filling_check_chunk(cache, 1, 2);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(finished_is_finished)
{
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	lc_cache *cache = open_module(run_scratch());
	lc_writer *writer;

	assert_status(lc_inputs_finish(cache), LC_INVALID);
	assert_ok(filling_declare(cache, 2));
	assert_ok(filling_open(cache, 0, &writer));
	assert_ok(filling_commit(writer, 1));
	ck_assert_int_eq(lc_writer_info(writer)->finished, 1);
	assert_status(lc_writer_put(writer, NULL, 0, &tensor), LC_INVALID);
	assert_text("finished");
	assert_status(lc_writer_commit(writer, NULL, 0), LC_INVALID);
	assert_status(lc_writer_finish(writer, NULL, 0), LC_INVALID);
	lc_writer_close(writer);
	assert_ok(filling_open(cache, 0, &writer));
	assert_status(lc_writer_put(writer, NULL, 0, &tensor), LC_INVALID);
	ck_assert_int_eq(filling_state(cache).final, 0);
	/* One that is finished may be held. */
	assert_ok(lc_inputs_finish(cache));
	ck_assert_int_eq(filling_state(cache).final, 1);
	assert_ok(lc_inputs_finish(cache));
	lc_writer_close(writer);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(keys_are_written_once)
{
	const uint64_t values[] = { 1, 2, 3 };
	const lc_tensor tensors[] = {
		number(&values[0]), number(&values[1]), number(&values[2])
	};
	uint64_t records = 9, bytes = 9;
	lc_cache *cache = open_module(run_scratch());
	lc_writer *a, *b;
	lc_tensor copy;

	assert_ok(filling_declare(cache, 2));
	assert_ok(filling_open(cache, 0, &a));
	assert_ok(filling_open(cache, 1, &b));
	assert_ok(lc_writer_put(a, STR("k"), &tensors[0]));
	assert_status(lc_writer_put(a, STR("k"), &tensors[1]), LC_EXISTS);
	assert_text("k");
	assert_status(lc_writer_put(a, "", 0, &tensors[1]), LC_INVALID);
	assert_status(lc_writer_put(a, NULL, 1, &tensors[1]), LC_INVALID);
	assert_ok(lc_writer_commit(a, STR("1")));
	assert_status(lc_contains(cache, STR("k")), LC_OK);
	assert_ok(lc_writer_put(b, STR("before"), &tensors[2]));
	assert_ok(lc_writer_put(b, STR("k"), &tensors[1]));
	assert_status(lc_writer_commit(b, STR("1")), LC_EXISTS);
	assert_text("key 'k'");
	lc_writer_pending(b, &records, &bytes);
	ck_assert_uint_eq(records, 2);
	ck_assert_uint_gt(bytes, 0);
	ck_assert_uint_eq(lc_writer_info(b)->chunks, 0);
	ck_assert_uint_eq(lc_writer_info(b)->cursor.size, 0);
	assert_status(lc_contains(cache, STR("before")), LC_NOT_FOUND);
	lc_writer_forget(b);
	lc_writer_pending(b, &records, &bytes);
	ck_assert_uint_eq(records + bytes, 0);
	assert_ok(lc_writer_put(b, STR("before"), &tensors[2]));
	assert_ok(lc_writer_commit(b, STR("1")));
	assert_ok(lc_get_copy(cache, STR("k"), &copy));
	ck_assert(sample_same(&copy, &tensors[0]));
	lc_tensor_free(&copy);
	lc_writer_close(a);
	lc_writer_close(b);
	lc_writer_close(NULL);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(values_and_codecs)
{
	lc_cache *cache = open_module(run_scratch());
	lc_settings settings = { .struct_size = sizeof(settings) };
	static float zeros[4096];
	const uint64_t shape[] = { 4096 };
	lc_value *value = lc_value_map();
	const lc_value *read;
	lc_writer *writer;
	lc_tensor tensor;
	lc_view view;
	uint64_t bytes;

	assert_ok(lc_settings_get(cache, &settings));
	settings.codec = LC_CODEC_LZ4;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(filling_declare(cache, 1));
	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, zeros));
	lc_value_set(value, "x", lc_value_tensor(&tensor));
	lc_value_set(value, "n", lc_value_integer(7));
	assert_ok(filling_open(cache, 0, &writer));
	assert_ok(lc_writer_put_value(writer, NULL, 0, value));
	lc_writer_pending(writer, NULL, &bytes);
	ck_assert_uint_lt(bytes, 1000);
	assert_ok(lc_writer_commit(writer, NULL, 0));
	lc_writer_close(writer);
	assert_ok(lc_get(cache, STR("in0:0:0"), &view));
	assert_ok(lc_view_value(&view, NULL, &read));
	ck_assert(lc_value_equal(read, value));
	lc_view_release(&view);
	lc_value_free(value);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(chunk_limit)
{
	const size_t size = (size_t)128 << 20;
	lc_cache *cache = open_module(run_scratch());
	unsigned char *data = calloc(size, 1);
	const uint64_t one = 1;
	lc_tensor tensor = sample_bytes(data, size);
	const lc_tensor small = number(&one);
	lc_writer *writer;

	assert_ok(filling_declare(cache, 1));
	assert_ok(filling_open(cache, 0, &writer));
	for (int i = 0; i < 3; i++)
		assert_ok(lc_writer_put(writer, NULL, 0, &tensor));
	assert_status(lc_writer_put(writer, NULL, 0, &tensor), LC_INVALID);
	assert_text("512 MiB");
	assert_ok(lc_writer_put(writer, NULL, 0, &small));
	lc_writer_close(writer);
	free(data);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- who holds what ------------------------------------------------------- */

struct list {
	unsigned n;
	int held[8], finished[8];
	uint64_t chunks[8];
};

static int
list_input(void *ctx, const lc_input_info *info)
{
	struct list *list = ctx;

	ck_assert_uint_eq(info->index, list->n);
	list->held[list->n] = info->held;
	list->finished[list->n] = info->finished;
	list->chunks[list->n] = info->chunks;
	list->n++;
	return 0;
}

static int
stop(void *ctx, const lc_input_info *info)
{
	(void)info;
	++*(int *)ctx;
	return 1;
}

START_TEST(list_inputs)
{
	lc_cache *cache = open_module(run_scratch());
	struct list list = { 0 };
	lc_writer *a, *b;
	int calls = 0;

	assert_ok(lc_inputs(cache, list_input, &list));
	ck_assert_uint_eq(list.n, 0);
	assert_ok(filling_declare(cache, 4));
	assert_ok(filling_open(cache, 1, &a));
	assert_ok(filling_open(cache, 3, &b));
	assert_ok(filling_commit(a, 0));
	assert_ok(filling_commit(b, 1));
	assert_ok(lc_inputs(cache, list_input, &list));
	ck_assert_uint_eq(list.n, 4);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(list.held[i], i % 2);
		ck_assert_uint_eq(list.chunks[i], i % 2);
		ck_assert_int_eq(list.finished[i], i == 3);
	}
	/* Input 3 is open, but finished. */
	ck_assert_uint_eq(filling_state(cache).held, 1);
	assert_status(lc_inputs(cache, stop, &calls), LC_CANCELLED);
	ck_assert_int_eq(calls, 1);
	lc_writer_close(a);
	lc_writer_close(b);
	ck_assert_uint_eq(filling_state(cache).held, 0);
	assert_ok(lc_close(cache));
}
END_TEST

struct holding {
	const char *root;
	lc_cache *cache; /* NULL: open one */
	unsigned input;
	lc_status want;
	int to[2], from[2];
};

/* Try to open an input; end with it open. */
static void
try_input(void *ctx)
{
	struct holding *h = ctx;
	lc_cache *cache = h->cache != NULL ? h->cache : open_module(h->root);
	lc_writer *writer = NULL;

	need_status(filling_open(cache, h->input, &writer), h->want);
	lc_writer_close(writer);
	if (h->cache == NULL)
		need_ok(lc_close(cache));
}

static void *
try_in_thread(void *ctx)
{
	try_input(ctx);
	return NULL;
}

static void
run_in_thread(struct holding *h)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, try_in_thread, h), 0);
	pthread_join(thread, NULL);
}

START_TEST(one_writer_an_input)
{
	struct holding h = { .root = run_scratch(), .input = 1 };
	lc_cache *cache = open_module(h.root), *other = open_module(h.root);
	lc_writer *writer;

	assert_ok(filling_declare(cache, 3));
	assert_ok(filling_open(cache, 1, &writer));
	for (int held = 1; held >= 0; held--) {
		h.want = held ? LC_BUSY : LC_OK;
		/* Another process, a thread with the same and with another handle, and
		 * a forked child. */
		h.cache = NULL;
		ck_assert_int_eq(child_run(try_input, &h), 0);
		run_in_thread(&h);
		h.cache = cache;
		run_in_thread(&h);
		h.cache = other;
		run_in_thread(&h);
		ck_assert_int_eq(child_run(try_input, &h), 0);
		ck_assert_uint_eq(filling_state(other).held, (unsigned)held);
		/* Other handles come and go: the claim stays. */
		if (held) {
			assert_ok(lc_close(other));
			other = open_module(h.root);
			h.cache = NULL;
			ck_assert_int_eq(child_run(try_input, &h), 0);
			lc_writer_close(writer);
		}
	}
	assert_ok(lc_close(other));
	assert_ok(lc_close(cache));
}
END_TEST

/* Hold an input until told to end, by the end of a pipe. */
static void
hold_input(void *ctx)
{
	struct holding *h = ctx;
	lc_cache *cache = open_module(h->root);
	lc_writer *writer;
	char byte;

	close(h->to[1]);
	need_ok(filling_open(cache, h->input, &writer));
	need(write(h->from[1], "x", 1) == 1);
	need(read(h->to[0], &byte, 1) == 0);
	_exit(0);
}

START_TEST(claims_of_other_processes)
{
	struct holding h = { .root = run_scratch() };
	lc_options options = sample_options();
	lc_cache *cache = open_module(h.root), *reader;
	struct list list = { 0 };
	lc_writer *writer;
	pid_t pids[2];
	char byte;

	assert_ok(filling_declare(cache, 6));
	assert_ok(lc_close(cache));
	ck_assert_int_eq(pipe(h.to), 0);
	ck_assert_int_eq(pipe(h.from), 0);
	for (unsigned i = 0; i < 2; i++) {
		h.input = i * 3 + 1;
		pids[i] = child_start(hold_input, &h);
		ck_assert_int_eq(read(h.from[0], &byte, 1), 1);
	}
	options.flags = LC_RDONLY;
	reader = sample_open(h.root, "m", &options);
	assert_ok(lc_inputs(reader, list_input, &list));
	for (unsigned i = 0; i < 6; i++)
		ck_assert_int_eq(list.held[i], i == 1 || i == 4);
	cache = open_module(h.root);
	assert_status(filling_open(cache, 4, &writer), LC_BUSY);
	assert_status(lc_inputs_finish(cache), LC_BUSY);
	assert_text("in1");
	assert_status(lc_clear(cache), LC_BUSY);
	assert_ok(filling_open(cache, 0, &writer));
	ck_assert_uint_eq(filling_state(reader).held, 3);
	assert_status(lc_clear(cache), LC_BUSY);
	assert_status(lc_inputs_finish(cache), LC_BUSY);
	lc_writer_close(writer);
	/* They end without a close: what they held is free. */
	close(h.to[1]);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(child_wait(pids[i]), 0);
	ck_assert_uint_eq(filling_state(reader).held, 0);
	assert_ok(filling_open(cache, 4, &writer));
	lc_writer_close(writer);
	assert_ok(lc_inputs_finish(cache));
	assert_ok(lc_close(reader));
	assert_ok(lc_close(cache));
}
END_TEST

/* A child neither writes with its parent's writer nor lets go of what it holds. */
struct forked {
	lc_cache *cache;
	lc_writer *writer;
};

static void
use_after_fork(void *ctx)
{
	const struct forked *f = ctx;
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	lc_writer *writer;

	need_status(lc_writer_put(f->writer, NULL, 0, &tensor), LC_INVALID);
	need_status(lc_writer_commit(f->writer, NULL, 0), LC_INVALID);
	need_status(lc_writer_finish(f->writer, NULL, 0), LC_INVALID);
	need_status(filling_open(f->cache, 0, &writer), LC_BUSY);
	need(filling_state(f->cache).held == 1);
	lc_writer_close(f->writer);
	need(filling_state(f->cache).held == 1);
	need_ok(filling_open(f->cache, 1, &writer));
	need_ok(filling_commit(writer, 1));
	lc_writer_close(writer);
	need_ok(lc_close(f->cache));
}

START_TEST(forked)
{
	lc_cache *cache = open_module(run_scratch());
	struct forked f = { .cache = cache };
	struct holding h = { .cache = cache, .want = LC_BUSY };

	assert_ok(filling_declare(cache, 2));
	assert_ok(filling_open(cache, 0, &f.writer));
	filling_put(f.writer);
	ck_assert_int_eq(child_run(use_after_fork, &f), 0);
	ck_assert_int_eq(child_run(try_input, &h), 0);
	assert_ok(lc_writer_commit(f.writer, NULL, 0));
	lc_writer_close(f.writer);
	filling_check_chunk(cache, 0, 0);
	filling_check_chunk(cache, 1, 0);
	ck_assert_uint_eq(filling_state(cache).published, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- who may not put ------------------------------------------------------ */

static lc_status
compute(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	(void)keys, (void)missing, (void)n, (void)results;
	++*(int *)ctx;
	return LC_OK;
}

static void
assert_filled(lc_cache *cache)
{
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	const lc_id ids[] = { { STR("k") }, { STR("in0:0:0") } };
	lc_value *value = lc_value_integer(1);
	lc_status statuses[1];
	lc_view views[2];
	int calls = 0;

	assert_status(lc_put(cache, STR("k"), &tensor), LC_INVALID);
	assert_text("filled by its inputs");
	assert_status(lc_put_value(cache, STR("k"), value), LC_INVALID);
	assert_status(lc_put_batch(cache, 1, ids, &tensor, statuses), LC_INVALID);
	assert_status(lc_delete(cache, STR("in0:0:0")), LC_INVALID);
	assert_text("filled by its inputs");
	assert_status(lc_get_or_compute(cache, ids, 1, compute, &calls, views),
	    LC_INVALID);
	assert_text("filled by its inputs");
	assert_ok(lc_get_or_compute(cache, ids + 1, 1, compute, &calls, views));
	lc_views_release(views, 1);
	ck_assert_int_eq(calls, 0);
	lc_value_free(value);
}

START_TEST(puts_are_refused)
{
	const char *root = run_scratch();
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	lc_cache *cache = open_module(root), *source;
	lc_copy_options options;
	lc_copy_result copied;
	lc_writer *writer;

	source = sample_open(root, "plain", NULL);
	assert_ok(lc_put(source, STR("k"), &tensor));
	assert_ok(lc_flush(source));
	assert_ok(filling_declare(cache, 1));
	assert_ok(filling_open(cache, 0, &writer));
	assert_ok(filling_commit(writer, 0));
	assert_filled(cache);
	lc_copy_options_init(&options);
	assert_status(lc_copy(source, cache, &options, NULL), LC_INVALID);
	assert_text("filled by its inputs");
	options.dry_run = 1;
	assert_status(lc_copy(source, cache, &options, NULL), LC_INVALID);
	options.dry_run = 0;
	assert_ok(lc_copy(cache, source, &options, &copied));
	ck_assert_uint_eq(copied.copied, filling_records(0, 0));
	filling_check_chunk(source, 0, 0);
	assert_ok(lc_close(source));
	/* Cleared, it is as any other; and it may be declared again. */
	assert_status(lc_clear(cache), LC_BUSY);
	lc_writer_close(writer);
	assert_ok(lc_clear(cache));
	ck_assert_uint_eq(filling_state(cache).inputs, 0);
	assert_ok(lc_put(cache, STR("k"), &tensor));
	assert_ok(lc_flush(cache));
	assert_status(filling_declare(cache, 2), LC_INVALID);
	assert_ok(lc_clear(cache));
	assert_ok(filling_declare(cache, 2));
	assert_ok(lc_close(cache));
}
END_TEST

/* A process that does not know yet is stopped by its commit. */
struct late {
	const char *root;
	int to[2], from[2];
};

static void
put_late(void *ctx)
{
	struct late *l = ctx;
	lc_cache *cache = open_module(l->root);
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	char byte;

	need_ok(lc_put(cache, STR("late"), &tensor));
	need(write(l->from[1], "x", 1) == 1);
	need(read(l->to[0], &byte, 1) == 1);
	need_status(lc_flush(cache), LC_INVALID);
	need(strstr(lc_last_error()->text, "filled by its inputs") != NULL);
	need_status(lc_close(cache), LC_INVALID);
}

START_TEST(late_puts)
{
	struct late l = { .root = run_scratch() };
	lc_cache *cache = open_module(l.root);
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(l.to), 0);
	ck_assert_int_eq(pipe(l.from), 0);
	pid = child_start(put_late, &l);
	ck_assert_int_eq(read(l.from[0], &byte, 1), 1);
	assert_ok(filling_declare(cache, 1));
	ck_assert_int_eq(write(l.to[1], "x", 1), 1);
	ck_assert_int_eq(child_wait(pid), 0);
	assert_status(lc_contains(cache, STR("late")), LC_NOT_FOUND);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(nothing_is_evicted)
{
	lc_cache *cache = open_module(run_scratch());
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_writer *writer;
	uint64_t count, records = 0;

	assert_ok(lc_settings_get(cache, &settings));
	settings.max_bytes = 4096;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(filling_declare(cache, 1));
	assert_ok(filling_open(cache, 0, &writer));
	for (unsigned i = 0; i < 50; i++) {
		records += filling_records(0, i);
		assert_ok(filling_commit(writer, 0));
	}
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, records);
	lc_writer_close(writer);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- bytes ---------------------------------------------------------------- */

static uint64_t
word(const MDB_val *value, size_t at)
{
	ck_assert_uint_ge(value->mv_size, at + 8);
	return lc__get64((const char *)value->mv_data + at);
}

static void
check_sum(const MDB_val *value, uint64_t seed)
{
	ck_assert_uint_eq(word(value, value->mv_size - 8),
	    lc__hash64_seed(value->mv_data, value->mv_size - 8, seed));
}

static MDB_val
get_row(MDB_txn *txn, const char *table, uint64_t key)
{
	MDB_val k = { sizeof(key), &key }, value = { 0, NULL };

	rawdb_must(mdb_get(txn, rawdb_table(txn, table, MDB_INTEGERKEY), &k,
	    &value));
	check_sum(&value, key);
	return value;
}

/* Two inputs; the first has two chunks, the second none: one is published. */
START_TEST(bytes)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	char dir[4096];
	MDB_val key = { 4, (void *)(uintptr_t)"fill" }, row;
	lc_writer *writer;
	MDB_stat stat;
	MDB_env *env;
	MDB_txn *txn;

	assert_ok(filling_declare(cache, 2));
	assert_ok(filling_open(cache, 0, &writer));
	assert_ok(lc_writer_put(writer, STR("a"), &tensor));
	assert_ok(lc_writer_put(writer, STR("b"), &tensor));
	assert_ok(lc_writer_commit(writer, STR("cur")));
	assert_ok(lc_writer_put(writer, STR("c"), &tensor));
	assert_ok(lc_writer_commit(writer, STR("cursor")));
	lc_writer_close(writer);
	assert_ok(lc_close(cache));
	snprintf(dir, sizeof(dir), "%s/m", root);
	env = rawdb_open_env(dir, 0);
	txn = rawdb_begin(env, 0);

	row = get_row(txn, "input", 0);
	ck_assert_uint_eq(row.mv_size, 40 + 3 + 3 + 6 + 8);
	ck_assert_uint_eq(word(&row, 0), 2);
	ck_assert_uint_eq(word(&row, 8), 3);
	ck_assert_uint_eq(word(&row, 16), 0);
	ck_assert_uint_eq(word(&row, 24), (uint64_t)3 << 32);
	ck_assert_uint_eq(word(&row, 32), 3 | (uint64_t)6 << 32);
	ck_assert_mem_eq((char *)row.mv_data + 40, "in0fp0cursor", 12);
	row = get_row(txn, "input", 1);
	ck_assert_uint_eq(row.mv_size, 40 + 3 + 3 + 8);

	row = get_row(txn, "order", 0);
	ck_assert_uint_eq(row.mv_size, 80);
	ck_assert_uint_eq(word(&row, 0), 1);
	ck_assert_uint_eq(word(&row, 8), 0);
	ck_assert_uint_eq(word(&row, 16), 0);
	ck_assert_uint_eq(word(&row, 24), 0);
	ck_assert_uint_eq(word(&row, 32), 2);
	row = get_row(txn, "order", (uint64_t)1 << 63 | 1);
	ck_assert_uint_eq(word(&row, 0), 2);
	ck_assert_uint_eq(word(&row, 16), 1);
	ck_assert_uint_eq(word(&row, 32), 1);
	ck_assert_uint_eq(word(&row, 64), 0);
	rawdb_must(mdb_stat(txn, rawdb_table(txn, "order", MDB_INTEGERKEY), &stat));
	ck_assert_uint_eq(stat.ms_entries, 2);

	rawdb_must(mdb_get(txn, rawdb_table(txn, "meta", 0), &key, &row));
	check_sum(&row, lc__hash64("fill", 4));
	ck_assert_uint_eq(row.mv_size, 80);
	ck_assert_uint_eq(word(&row, 0), 2);
	ck_assert_uint_eq(word(&row, 8), 0);
	ck_assert_uint_eq(word(&row, 16), 2);
	ck_assert_uint_eq(word(&row, 24), 1);
	ck_assert_uint_eq(word(&row, 32), 2);
	ck_assert_uint_eq(word(&row, 56), 0);
	ck_assert_uint_eq(word(&row, 64), 1);

	row = get_row(txn, "ledger", 2);
	ck_assert_uint_eq(word(&row, 32), 1);
	ck_assert_uint_eq(word(&row, 40), 1);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}
END_TEST

/* ---- tables ---------------------------------------------------------------- */

static void
take_away(const char *root, const char *table)
{
	char dir[4096];
	MDB_env *env;
	MDB_txn *txn;

	snprintf(dir, sizeof(dir), "%s/m", root);
	env = rawdb_open_env(dir, 0);
	txn = rawdb_begin(env, 0);
	rawdb_must(mdb_drop(txn, rawdb_table(txn, table,
	    strcmp(table, "meta") == 0 ? 0 : MDB_INTEGERKEY), 1));
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

/* Declare and fill in another process. */
static void
fill_elsewhere(void *ctx)
{
	lc_cache *cache = open_module(ctx);
	lc_writer *writer;

	need_ok(filling_declare(cache, 2));
	need_ok(filling_open(cache, 0, &writer));
	need_ok(filling_commit(writer, 1));
	lc_writer_close(writer);
	need_ok(lc_close(cache));
}

START_TEST(declared_while_a_snapshot_is_held)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root), *reader;
	lc_options options = sample_options();
	const uint64_t one = 1;
	const lc_tensor tensor = number(&one);
	struct list list = { 0 };
	lc_verify_result result;
	lc_writer *writer;
	lc_view view;

	assert_ok(lc_put(cache, STR("k"), &tensor));
	assert_ok(lc_close(cache));
	options.flags = LC_RDONLY;
	reader = sample_open(root, "m", &options);
	ck_assert_uint_eq(filling_state(reader).inputs, 0);
	assert_ok(lc_inputs(reader, list_input, &list));
	assert_ok(lc_verify(reader, NULL, &result));
	cache = open_module(root);
	assert_ok(lc_verify(cache, NULL, &result));
	assert_status(lc_writer_open(cache, "in0", &writer), LC_NOT_FOUND);
	assert_status(lc_inputs_finish(cache), LC_INVALID);
	assert_status(filling_declare(cache, 2), LC_INVALID);
	assert_ok(lc_clear(cache));
	/* A snapshot of the time before is held while inputs are declared and filled,
	 * also by another process. */
	assert_ok(lc_put(cache, STR("k"), &tensor));
	assert_ok(lc_flush(cache));
	assert_ok(lc_get(reader, STR("k"), &view));
	assert_ok(lc_delete(cache, STR("k")));
	assert_ok(lc_flush(cache));
	if (_i == 0) {
		ck_assert_int_eq(child_run(fill_elsewhere,
		    (void *)(uintptr_t)root), 0);
	} else {
		fill_elsewhere((void *)(uintptr_t)root);
	}
	lc_view_release(&view);
	ck_assert_uint_eq(filling_state(reader).published, 1);
	filling_check_chunk(reader, 0, 0);
	assert_status(lc_put(cache, STR("k"), &tensor), LC_INVALID);
	assert_ok(filling_open(cache, 1, &writer));
	assert_ok(filling_commit(writer, 1));
	lc_writer_close(writer);
	ck_assert_uint_eq(filling_state(reader).published, 2);
	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_clear(cache));
	ck_assert_uint_eq(filling_state(reader).inputs, 0);
	assert_ok(lc_close(reader));
	assert_ok(lc_close(cache));
}
END_TEST

/* Every module has all tables from its making on. */
START_TEST(a_table_is_missing)
{
	static const char *const tables[] = {
		"input", "order", "schema", "chunk", "ledger", "index", "meta"
	};
	static const unsigned flags[] = { LC_RDONLY, 0, LC_CREATE };
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	lc_options options = sample_options();
	char expected[5000];

	assert_ok(lc_close(cache));
	take_away(root, tables[_i]);
	if (_i < 6)
		snprintf(expected, sizeof(expected), "%s/m: table %s is missing", root,
		    tables[_i]);
	else
		snprintf(expected, sizeof(expected), "%s/m: an LMDB environment, but not "
		    "a module", root);
	for (int i = 0; i < 3; i++) {
		options.flags = flags[i];
		assert_status(lc_open(root, "m", &options, &cache),
		    _i < 6 ? LC_CORRUPT : LC_NOT_MODULE);
		ck_assert_str_eq(lc_last_error()->text, expected);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("inputs");
	TCase *tcase = tcase_create("inputs");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, declare_rules);
	tcase_add_test(tcase, fingerprints_become_known);
	tcase_add_test(tcase, declare_refuses);
	tcase_add_test(tcase, declare_in_a_module_with_puts);
	tcase_add_test(tcase, declare_the_most);
	tcase_add_test(tcase, read_only);
	tcase_add_test(tcase, resume_at_the_cursor);
	tcase_add_test(tcase, finished_is_finished);
	tcase_add_test(tcase, keys_are_written_once);
	tcase_add_test(tcase, values_and_codecs);
	tcase_add_test(tcase, chunk_limit);
	tcase_add_test(tcase, list_inputs);
	tcase_add_test(tcase, one_writer_an_input);
	tcase_add_test(tcase, claims_of_other_processes);
	tcase_add_test(tcase, forked);
	tcase_add_test(tcase, puts_are_refused);
	tcase_add_test(tcase, late_puts);
	tcase_add_test(tcase, nothing_is_evicted);
	tcase_add_test(tcase, bytes);
	tcase_add_loop_test(tcase, declared_while_a_snapshot_is_held, 0, 2);
	tcase_add_loop_test(tcase, a_table_is_missing, 0, 7);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
