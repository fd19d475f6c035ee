/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of what came back of an input and is in no chunk yet: its bytes, what is taken
 * from it, and what is not. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/mpack.h"
#include "fill/stash.h"
#include "need.h"

#define SOURCE 0x1122334455667788
#define ITEM_ROOM 64

/* ---- batches and answers ---------------------------------------------------------- */

/* A batch of lines, with where each of them ends. */
struct sent {
	struct lc__items *batch;
	struct lc__line_place behind[200];
};

/* Lines `first` ..., each second one of them with `step` 2. */
static struct sent
ask(uint64_t first, size_t count, unsigned step)
{
	struct sent sent = { .batch = lc__items_new(count) };
	char *text = calloc(count + 1, ITEM_ROOM);

	need(sent.batch != NULL && text != NULL && count <= 200);
	sent.batch->memory = text;
	for (size_t i = 0; i < count; i++, text += ITEM_ROOM) {
		struct lc__item *item = &sent.batch->items[i];
		const unsigned line = (unsigned)(first + i * step);

		item->id = (lc_id){ text, (size_t)snprintf(text, 32, "s:%u", line) };
		item->payload = (lc_id){ text + 32, (size_t)snprintf(text + 32, 32,
		    "text of %u", line) };
		item->key = "text";
		item->tag = i;
		sent.behind[i] = (struct lc__line_place){ 100 * (line + 1), line + 1 };
	}
	return sent;
}

static void
put_value(struct lc__buf *out, const struct lc__item *item)
{
	char type[40];

	lc__mpack_map(out, 2);
	lc__mpack_str(out, "id");
	lc__mpack_strn(out, item->id.data, item->id.size);
	lc__mpack_str(out, "value");
	lc__mpack_map(out, 2);
	snprintf(type, sizeof(type), "u8[%zu]", item->payload.size);
	lc__mpack_str(out, "$tensor");
	lc__mpack_str(out, type);
	lc__mpack_str(out, "data");
	lc__mpack_bin(out, item->payload.data, item->payload.size);
}

static void
put_error(struct lc__buf *out, const struct lc__item *item)
{
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "id");
	lc__mpack_strn(out, item->id.data, item->id.size);
	lc__mpack_str(out, "error");
	lc__mpack_str(out, "no");
}

/* A frame that answers items from .. to; the @p failed-th of them fails. */
static void
answer(struct lc__items *batch, uint64_t number, size_t from, size_t to, size_t failed)
{
	struct lc__buf frame = { 0 };

	lc__mpack_map(&frame, 2);
	lc__mpack_str(&frame, "batch");
	lc__mpack_uint(&frame, number);
	lc__mpack_str(&frame, "results");
	lc__mpack_array(&frame, (uint32_t)(to - from));
	for (size_t i = from; i < to; i++) {
		if (i == failed)
			put_error(&frame, &batch->items[i]);
		else
			put_value(&frame, &batch->items[i]);
	}
	need(!frame.failed);
	need_ok(lc__items_keep(batch, &frame));
}

#define NONE SIZE_MAX

static const char *
stash_path(void)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/fill.3.part", run_scratch());
	return path;
}

static struct lc__stash *
open_at(const char *path, uint64_t source, uint64_t line)
{
	struct lc__stash *stash = NULL;

	assert_ok(lc__stash_open(path, source, line, &stash));
	return stash;
}

/* Add a batch of lines that all came back in one frame. */
static void
add(struct lc__stash *stash, uint64_t first, size_t count)
{
	struct sent sent = ask(first, count, 1);

	answer(sent.batch, first + 1000, 0, count, NONE);
	assert_ok(lc__stash_add(stash, sent.batch, sent.behind, 0));
	lc__items_free(sent.batch);
}

/* Each item that has a value has the right one; how many do. */
static size_t
check_values(const struct sent *sent)
{
	size_t found = 0;

	for (size_t i = 0; i < sent->batch->count; i++) {
		const struct lc__item *item = &sent->batch->items[i];
		lc_tensor tensor;

		ck_assert_int_ne(item->outcome, LC__ITEM_FAILED);
		if (item->outcome == LC__ITEM_OPEN) {
			ck_assert_ptr_null(item->value);
			continue;
		}
		assert_ok(lc_value_as_tensor(item->value, &tensor));
		ck_assert_uint_eq(tensor.nbytes, item->payload.size);
		ck_assert_int_eq(memcmp(tensor.data, item->payload.data,
		    item->payload.size), 0);
		found++;
	}
	return found;
}

/* How many of these lines are recalled. */
static size_t
recall(struct lc__stash *stash, uint64_t first, size_t count)
{
	struct sent sent = ask(first, count, 1);
	size_t found;

	assert_ok(lc__stash_recall(stash, NULL, NULL, sent.batch, sent.behind, &found));
	ck_assert_uint_eq(check_values(&sent), found);
	lc__items_free(sent.batch);
	return found;
}

static off_t
file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void
write_bytes(const char *path, const void *data, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	ck_assert_int_ne(fd, -1);
	assert_ok(lc__write_full(fd, data, size, path));
	close(fd);
}

/* ---- bytes ------------------------------------------------------------------------ */

START_TEST(bytes_of_an_entry)
{
	struct sent sent = ask(7, 2, 1);
	struct lc__buf head = { 0 };
	const unsigned char *at;

	answer(sent.batch, 5, 0, 1, NONE);
	answer(sent.batch, 6, 1, 2, NONE);
	assert_ok(lc__stashed_write(SOURCE, sent.batch, sent.behind, 0, &head));
	at = head.data;
	ck_assert_uint_eq(head.size, 40 + 2 * 23 + 2 * 16);
	ck_assert_int_eq(memcmp(at, "cxstash1", 8), 0);
	ck_assert_uint_eq(lc__get64(at + 8), lc__hash64(at + 16, head.size - 16));
	ck_assert_uint_eq(lc__get64(at + 16), head.size + sent.batch->frames[0].size +
	    sent.batch->frames[1].size);
	ck_assert_uint_eq(lc__get64(at + 24), SOURCE);
	ck_assert_uint_eq(lc__get32(at + 32), 2);
	ck_assert_uint_eq(lc__get32(at + 36), 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct lc__buf *frame = &sent.batch->frames[i];
		const unsigned char *item = at + 40 + i * 23;
		const unsigned char *row = at + 40 + 2 * 23 + i * 16;

		ck_assert_uint_eq(lc__get64(item), 7 + i);
		ck_assert_uint_eq(lc__get64(item + 8),
		    lc__hash64(i == 0 ? "text of 7" : "text of 8", 9));
		ck_assert_uint_eq(lc__get32(item + 16), 3);
		ck_assert_int_eq(memcmp(item + 20, i == 0 ? "s:7" : "s:8", 3), 0);
		ck_assert_uint_eq(lc__get64(row), frame->size);
		ck_assert_uint_eq(lc__get64(row + 8),
		    lc__hash64(frame->data, frame->size));
	}
	lc__buf_free(&head);
	lc__items_free(sent.batch);
}
END_TEST

/* An input is known by its fingerprint and by what its lines are called. */
START_TEST(sources)
{
	const uint64_t source = lc__stashed_source(lc_id_of("abc"), "text");

	ck_assert_uint_eq(source, lc__stashed_source(lc_id_of("abc"), "text"));
	ck_assert_uint_ne(source, lc__stashed_source(lc_id_of("abd"), "text"));
	ck_assert_uint_ne(source, lc__stashed_source(lc_id_of("abc"), "json"));
	ck_assert_uint_ne(source, lc__stashed_source(lc_id_of(""), "text"));
}
END_TEST

/* Three entries: lines 10-14, 20-24, 15-19; their bytes. */
static struct lc__buf
three_entries(const char *path, uint64_t ends[3])
{
	static const uint64_t first[] = { 10, 20, 15 };
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	struct lc__buf bytes = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		add(stash, first[i], 5);
		ends[i] = (uint64_t)file_size(path);
	}
	lc__stash_close(stash);
	assert_ok(lc__read_file(path, 1 << 20, &bytes));
	ck_assert_uint_eq(bytes.size, ends[2]);
	return bytes;
}

/* Cut anywhere, the entries in front of the cut are there, and more can be added. */
START_TEST(cut_at_each_byte)
{
	const char *path = stash_path();
	uint64_t ends[3];
	struct lc__buf bytes = three_entries(path, ends);

	for (size_t size = 0; size <= bytes.size; size++) {
		const size_t whole = (size >= ends[0]) + (size >= ends[1]) +
		    (size >= ends[2]);
		struct lc__stash *stash;

		write_bytes(path, bytes.data, size);
		stash = open_at(path, SOURCE, 0);
		ck_assert_int_eq(file_size(path), whole > 0 ? (off_t)ends[whole - 1] : 0);
		ck_assert_uint_eq(recall(stash, 0, 100), whole * 5);
		add(stash, 30, 5);
		lc__stash_close(stash);
		stash = open_at(path, SOURCE, 0);
		ck_assert_uint_eq(recall(stash, 0, 100), whole * 5 + 5);
		lc__stash_close(stash);
	}
	lc__buf_free(&bytes);
}
END_TEST

/* With any byte another one, the entry that it is in is lost, and those behind. */
START_TEST(each_byte_damaged)
{
	const char *path = stash_path();
	uint64_t ends[3], random = run_seed();
	struct lc__buf bytes = three_entries(path, ends);

	for (size_t at = 0; at < bytes.size; at++) {
		const unsigned char was = bytes.data[at];
		const size_t whole = (at >= ends[0]) + (at >= ends[1]);
		struct lc__stash *stash;

		bytes.data[at] ^= (unsigned char)(1 + run_random(&random) % 255);
		write_bytes(path, bytes.data, bytes.size);
		bytes.data[at] = was;
		stash = open_at(path, SOURCE, 0);
		/* Another source is no damage but for the checksum, which covers it. */
		ck_assert_uint_eq(recall(stash, 0, 100), whole * 5);
		lc__stash_close(stash);
	}
	lc__buf_free(&bytes);
}
END_TEST

/* Right checksums over numbers that are wrong. */
START_TEST(counts_that_lie)
{
	static const struct {
		size_t at, size;
		uint64_t number;
	} lies[] = {
		{ 16, 8, 0 }, { 16, 8, 39 }, { 16, 8, UINT64_MAX }, { 32, 4, 0 },
		{ 32, 4, 6 }, { 32, 4, UINT32_MAX }, { 36, 4, 0 }, { 36, 4, 2 },
		{ 36, 4, UINT32_MAX }, { 40, 8, 11 }, { 40, 8, UINT64_MAX },
		{ 56, 4, 0 }, { 56, 4, 65537 }, { 56, 4, UINT32_MAX }, { 56, 4, 3 },
		{ 160, 8, 0 }, { 160, 8, UINT64_MAX }, { 160, 8, 1 },
	};
	const char *path = stash_path();
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	struct lc__buf bytes = { 0 };
	const size_t head = 40 + 5 * 24 + 16;

	add(stash, 10, 5);
	lc__stash_close(stash);
	assert_ok(lc__read_file(path, 1 << 20, &bytes));
	if (lies[_i].size == 8)
		lc__set64(bytes.data + lies[_i].at, lies[_i].number);
	else
		lc__set32(bytes.data + lies[_i].at, (uint32_t)lies[_i].number);
	lc__set64(bytes.data + 8, lc__hash64(bytes.data + 16, head - 16));
	write_bytes(path, bytes.data, bytes.size);
	stash = open_at(path, SOURCE, 0);
	ck_assert_uint_eq(recall(stash, 0, 100), 0);
	lc__stash_close(stash);
	ck_assert_int_eq(file_size(path), -1);
	lc__buf_free(&bytes);
}
END_TEST
#define LIES 18

/* Frames with right checksums that are no answers, or not to these items. */
START_TEST(frames_that_are_none)
{
	static const char *const frames[] = {
		"", "x", "\xc0", "\x80", "\x81\xa5" "batch\x01", "\x82\xa5" "batch\xa1x",
		"\x82\xa5" "batch\x01\xa7results\x90", "\x82\xa5" "batch\x01\xa7results\xc0",
		"\x82\xa5" "batch\x01\xa7results\x91\x82\xa2id\xa4none\xa5value\xc0",
		"\x82\xa5" "batch\x01\xa7results\x91\x82\xa2id\xa3s:1\xa5value\xc1",
		"\x82\xa5" "batch\x01\xa7results\x91\x81\xa2id\xa3s:1",
	};
	const char *path = stash_path();
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	struct sent sent = ask(0, 5, 1);
	struct lc__buf frame = { 0 };

	lc__buf_append(&frame, frames[_i], strlen(frames[_i]));
	assert_ok(lc__items_keep(sent.batch, &frame));
	answer(sent.batch, 9, 0, 1, NONE);
	assert_ok(lc__stash_add(stash, sent.batch, sent.behind, 0));
	lc__items_free(sent.batch);
	lc__stash_close(stash);
	stash = open_at(path, SOURCE, 0);
	/* The good one behind it counts. */
	ck_assert_uint_eq(recall(stash, 0, 5), 1);
	lc__stash_close(stash);
}
END_TEST
#define FRAMES 11

/* ---- what is recalled --------------------------------------------------------------- */

/* Batches need not have the same lines as those that were added. */
START_TEST(any_batches)
{
	const char *path = stash_path();
	uint64_t random = run_seed(), ends[3];
	struct lc__buf bytes = three_entries(path, ends);
	struct lc__stash *stash;
	size_t found = 0;

	for (int round = 0; round < 50; round++) {
		stash = open_at(path, SOURCE, 0);
		found = 0;
		for (uint64_t line = 0; line < 40;) {
			const size_t n = 1 + run_random(&random) % 12;

			found += recall(stash, line, n);
			line += n;
		}
		ck_assert_uint_eq(found, 15);
		lc__stash_close(stash);
	}
	/* Lines that are passed over in between. */
	stash = open_at(path, SOURCE, 0);
	{
		struct sent sent = ask(11, 10, 2);

		assert_ok(lc__stash_recall(stash, NULL, NULL, sent.batch, sent.behind,
		    &found));
		ck_assert_uint_eq(found, 7);
		ck_assert_uint_eq(check_values(&sent), 7);
		lc__items_free(sent.batch);
	}
	lc__stash_close(stash);
	lc__buf_free(&bytes);
}
END_TEST

/* Of another input nothing, and its entries go when there is nothing else. */
START_TEST(of_other_sources)
{
	const char *path = stash_path();
	uint64_t ends[3];
	struct lc__buf bytes = three_entries(path, ends);
	struct lc__stash *stash = open_at(path, SOURCE + 1, 0);

	ck_assert_uint_eq(recall(stash, 0, 100), 0);
	add(stash, 12, 3);
	lc__stash_close(stash);
	stash = open_at(path, SOURCE + 1, 0);
	ck_assert_uint_eq(recall(stash, 0, 100), 3);
	lc__stash_close(stash);
	stash = open_at(path, SOURCE + 2, 0);
	lc__stash_close(stash);
	ck_assert_int_eq(file_size(path), -1);
	lc__buf_free(&bytes);
}
END_TEST

/* Of an item that is another one by now nothing, but of those beside it. */
START_TEST(of_other_items)
{
	const char *path = stash_path();
	uint64_t ends[3];
	struct lc__buf bytes = three_entries(path, ends);
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	struct sent sent = ask(10, 15, 1);
	char *texts = sent.batch->memory;
	size_t found;

	texts[2 * ITEM_ROOM] = 'S';            /* an id */
	texts[6 * ITEM_ROOM + 32] = 'T';       /* a payload */
	sent.batch->items[7].id.size--;
	sent.batch->items[8].payload.size--;
	sent.batch->items[9].payload.size = 0;
	assert_ok(lc__stash_recall(stash, NULL, NULL, sent.batch, sent.behind, &found));
	ck_assert_uint_eq(found, 10);
	ck_assert_uint_eq(check_values(&sent), 10);
	ck_assert_int_eq(sent.batch->items[2].outcome, LC__ITEM_OPEN);
	for (unsigned i = 6; i < 10; i++)
		ck_assert_int_eq(sent.batch->items[i].outcome, LC__ITEM_OPEN);
	lc__items_free(sent.batch);
	lc__stash_close(stash);
	lc__buf_free(&bytes);
}
END_TEST

static lc_status
refuse_some(void *ctx, const struct lc__item *item, const lc_value *value)
{
	const char last = ((const char *)item->id.data)[item->id.size - 1];

	(void)value;
	++*(unsigned *)ctx;
	return last == '3' ? lc__error(LC_SCHEMA, 0, "no") : LC_OK;
}

/* What this run does not take is asked for again. */
START_TEST(checked_again)
{
	const char *path = stash_path();
	uint64_t ends[3];
	struct lc__buf bytes = three_entries(path, ends);
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	struct sent sent = ask(10, 15, 1);
	unsigned asked = 0;
	size_t found;

	assert_ok(lc__stash_recall(stash, refuse_some, &asked, sent.batch, sent.behind,
	    &found));
	ck_assert_uint_eq(asked, 15);
	ck_assert_uint_eq(found, 13);
	ck_assert_uint_eq(check_values(&sent), 13);
	ck_assert_int_eq(sent.batch->items[3].outcome, LC__ITEM_OPEN);
	ck_assert_int_eq(sent.batch->items[13].outcome, LC__ITEM_OPEN);
	lc__items_free(sent.batch);
	lc__stash_close(stash);
	lc__buf_free(&bytes);
}
END_TEST

/* A batch that came back in parts, with an item that failed; then what was missing of it
 * is added, and what is there already is not. */
START_TEST(parts_of_a_batch)
{
	const char *path = stash_path();
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	struct sent sent = ask(0, 9, 1);
	size_t found, recalled;
	off_t size;

	answer(sent.batch, 1, 0, 4, 2);
	answer(sent.batch, 7, 4, 6, NONE);
	assert_ok(lc__stash_add(stash, sent.batch, sent.behind, 0));
	lc__items_free(sent.batch);
	lc__stash_close(stash);
	size = file_size(path);

	stash = open_at(path, SOURCE, 0);
	sent = ask(0, 9, 1);
	assert_ok(lc__stash_recall(stash, NULL, NULL, sent.batch, sent.behind, &found));
	ck_assert_uint_eq(found, 5);
	recalled = sent.batch->n_frames;
	answer(sent.batch, 3, 2, 3, NONE);
	answer(sent.batch, 4, 6, 9, NONE);
	assert_ok(lc__stash_add(stash, sent.batch, sent.behind, recalled));
	ck_assert_uint_eq(check_values(&sent), 5);
	lc__items_free(sent.batch);
	lc__stash_close(stash);
	ck_assert_int_lt(file_size(path), 2 * size + 100);
	stash = open_at(path, SOURCE, 0);
	ck_assert_uint_eq(recall(stash, 0, 20), 9);
	lc__stash_close(stash);
}
END_TEST

/* More frames than a write has pieces. */
START_TEST(many_frames)
{
	const char *path = stash_path();
	struct lc__stash *stash = open_at(path, SOURCE, 0);

	for (unsigned round = 0; round < 2; round++) {
		struct sent sent = ask(200 * round, 200, 1);

		for (unsigned frame = 0; frame < 400; frame++)
			answer(sent.batch, frame, frame % 200, frame % 200 + 1, NONE);
		assert_ok(lc__stash_add(stash, sent.batch, sent.behind, 0));
		lc__items_free(sent.batch);
	}
	lc__stash_close(stash);
	stash = open_at(path, SOURCE, 0);
	ck_assert_uint_eq(recall(stash, 0, 200), 200);
	ck_assert_uint_eq(recall(stash, 200, 200), 200);
	lc__stash_close(stash);
}
END_TEST

/* ---- what is forgotten ---------------------------------------------------------------- */

START_TEST(lines_behind_the_input)
{
	static const size_t left[] = { 15, 15, 10, 10, 5, 5, 0 };
	static const uint64_t lines[] = { 0, 14, 15, 19, 20, 24, 25 };
	const char *path = stash_path();
	uint64_t ends[3];
	struct lc__buf bytes = three_entries(path, ends);
	struct lc__stash *stash = open_at(path, SOURCE, lines[_i]);

	ck_assert_uint_eq(recall(stash, 0, 100), left[_i]);
	lc__stash_close(stash);
	ck_assert_int_eq(file_size(path), left[_i] > 0 ? (off_t)bytes.size : -1);
	/* The same when they are forgotten later. */
	write_bytes(path, bytes.data, bytes.size);
	stash = open_at(path, SOURCE, 0);
	lc__stash_forget(stash, lines[_i]);
	ck_assert_uint_eq(recall(stash, 0, 100), left[_i]);
	ck_assert_int_eq(file_size(path), left[_i] > 0 ? (off_t)bytes.size : 0);
	lc__stash_close(stash);
	ck_assert_int_eq(file_size(path), left[_i] > 0 ? (off_t)bytes.size : -1);
	lc__buf_free(&bytes);
}
END_TEST

/* A file of which something is always of use does not grow without end. */
START_TEST(stays_small)
{
	const char *path = stash_path();
	struct lc__stash *stash = open_at(path, SOURCE, 0);
	char *large = calloc(1, 1 << 20);
	off_t most = 0;

	ck_assert_ptr_nonnull(large);
	for (unsigned line = 0; line < 60; line++) {
		struct sent sent = ask(line, 1, 1);

		memset(large, (int)line, 1 << 20);
		sent.batch->items[0].payload = (lc_id){ large, 1 << 20 };
		answer(sent.batch, line, 0, 1, NONE);
		assert_ok(lc__stash_add(stash, sent.batch, sent.behind, 0));
		lc__items_free(sent.batch);
		lc__stash_forget(stash, line > 0 ? line - 1 : 0);
		if (file_size(path) > most)
			most = file_size(path);
	}
	ck_assert_int_gt(most, 8 << 20);
	ck_assert_int_lt(most, 15 << 20);
	lc__stash_close(stash);
	stash = open_at(path, SOURCE, 58);
	for (unsigned line = 58; line < 60; line++) {
		struct sent sent = ask(line, 1, 1);
		size_t found;

		memset(large, (int)line, 1 << 20);
		sent.batch->items[0].payload = (lc_id){ large, 1 << 20 };
		assert_ok(lc__stash_recall(stash, NULL, NULL, sent.batch, sent.behind,
		    &found));
		ck_assert_uint_eq(found, 1);
		ck_assert_uint_eq(check_values(&sent), 1);
		lc__items_free(sent.batch);
	}
	lc__stash_close(stash);
	free(large);
}
END_TEST

/* No file is made for nothing, and none is left that is of no use. */
START_TEST(files)
{
	const char *path = stash_path();
	char *made = lc__stash_path(run_scratch(), 12), more[4300];
	struct lc__stash *stash = open_at(path, SOURCE, 0);

	ck_assert_ptr_nonnull(made);
	ck_assert_str_eq(strrchr(made, '/'), "/fill.12.part");
	free(made);
	ck_assert_uint_eq(recall(stash, 0, 10), 0);
	lc__stash_forget(stash, 5);
	lc__stash_close(stash);
	ck_assert_int_eq(file_size(path), -1);
	lc__stash_close(NULL);

	ck_assert_int_eq(mkdir(path, 0777), 0);
	assert_status(lc__stash_open(path, SOURCE, 0, &stash), LC_IO);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	assert_status(lc__stash_open(path, SOURCE, 0, &stash), LC_INVALID);
	ck_assert_int_eq(unlink(path), 0);

	snprintf(more, sizeof(more), "%s.new", path);
	write_bytes(path, "x", 1);
	write_bytes(more, "x", 1);
	snprintf(more, sizeof(more), "%s", path);
	*strrchr(more, '/') = '\0';
	lc__stash_remove(more, 3);
	ck_assert_int_eq(file_size(path), -1);
	snprintf(more, sizeof(more), "%s.new", path);
	ck_assert_int_eq(file_size(more), -1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fill_stash");
	TCase *tcase = tcase_create("fill_stash");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, bytes_of_an_entry);
	tcase_add_test(tcase, sources);
	tcase_add_test(tcase, cut_at_each_byte);
	tcase_add_test(tcase, each_byte_damaged);
	tcase_add_loop_test(tcase, counts_that_lie, 0, LIES);
	tcase_add_loop_test(tcase, frames_that_are_none, 0, FRAMES);
	tcase_add_test(tcase, any_batches);
	tcase_add_test(tcase, of_other_sources);
	tcase_add_test(tcase, of_other_items);
	tcase_add_test(tcase, checked_again);
	tcase_add_test(tcase, parts_of_a_batch);
	tcase_add_test(tcase, many_frames);
	tcase_add_loop_test(tcase, lines_behind_the_input, 0, 7);
	tcase_add_test(tcase, stays_small);
	tcase_add_test(tcase, files);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
