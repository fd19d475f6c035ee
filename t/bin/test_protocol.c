/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of producers, byte by byte. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mpack.h"
#include "fill/protocol.h"

/* A string literal, NULs and all. */
#define BYTES(text) text, sizeof(text) - 1

static struct lc__items *
make_batch(const lc_id *ids, size_t count)
{
	struct lc__items *batch = lc__items_new(count);

	ck_assert_ptr_nonnull(batch);
	for (size_t i = 0; i < count; i++)
		batch->items[i].id = ids[i];
	return batch;
}

/* ---- requests ------------------------------------------------------------------------- */

/* What the page shows. */
START_TEST(request_bytes)
{
	static const char expected[] =
	    "\x3b\x00\x00\x00\x82\xa5" "batch\x03\xa5items\x93"
	    "\x82\xa2id\xa3" "cat\xa4text\xa8" "a cat \xc3\xa9"
	    "\x82\xa2id\xc4\x02" "\xff" "b\xa4json\xc4\x01\x80"
	    "\x81\xa2id\xa1" "c";
	const lc_id ids[] = { { "cat", 3 }, { "\xff" "b", 2 }, { "c", 1 } };
	struct lc__items *batch = make_batch(ids, 3);
	struct lc__subbatch *subbatch;
	struct lc__buf out = { 0 };

	batch->items[0].key = "text";
	batch->items[0].payload = lc_id_of("a cat \xc3\xa9");
	batch->items[1].key = "json";
	batch->items[1].payload = lc_id_of("\x80");
	subbatch = lc__subbatch_of(batch);
	lc__buf_append(&out, "before", 6);
	ck_assert_int_eq(lc__request_write(subbatch, 3, &out), LC_OK);
	ck_assert_uint_eq(out.size, 6 + sizeof(expected) - 1);
	ck_assert_mem_eq(out.data + 6, expected, sizeof(expected) - 1);
	free(subbatch);
	lc__items_free(batch);
	lc__buf_free(&out);
}
END_TEST

/* Of what has an outcome nothing is asked; text is UTF-8 wherever a word ends. */
START_TEST(request_of_some)
{
	const lc_id ids[] = { { "a", 1 }, { "12345678\xc3\xa9", 10 }, { "1234567\x80x", 9 } };
	struct lc__items *batch = make_batch(ids, 3);
	struct lc__subbatch *subbatch;
	struct lc__buf out = { 0 };

	ck_assert_int_eq(lc__item_fail(&batch->items[0], "no file", SIZE_MAX), LC_OK);
	subbatch = lc__subbatch_of(batch);
	ck_assert_uint_eq(subbatch->count, 2);
	ck_assert_int_eq(lc__request_write(subbatch, 1u << 20, &out), LC_OK);
	ck_assert_mem_eq(out.data + 4, "\x82\xa5" "batch\xce\x00\x10\x00\x00\xa5items\x92"
	    "\x81\xa2id\xaa" "12345678\xc3\xa9\x81\xa2id\xc4\x09" "1234567\x80x",
	    out.size - 4);
	ck_assert_uint_eq(lc__get32(out.data), out.size - 4);
	free(subbatch);
	lc__items_free(batch);
	lc__buf_free(&out);
}
END_TEST

/* Sizes are looked at before bytes. */
START_TEST(request_too_large)
{
	const lc_id ids[] = { { "a", 1 } };
	static const uint64_t sizes[] = { UINT32_MAX, UINT64_C(1) << 32, SIZE_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct lc__items *batch = make_batch(ids, 1);
		struct lc__subbatch *subbatch = lc__subbatch_of(batch);
		struct lc__buf out = { 0 };
		batch->items[0].key = "text";
		batch->items[0].payload = (lc_id){ "", (size_t)sizes[i] };
		ck_assert_int_eq(lc__request_write(subbatch, 1, &out), LC_UNSUPPORTED);
		ck_assert_str_eq(lc_last_error()->text,
		    "1 items from 'a' on are too large for a request of 4 GiB");
		ck_assert_uint_eq(out.size, 0);
		free(subbatch);
		lc__items_free(batch);
	}
}
END_TEST

/* ---- values ---------------------------------------------------------------------------- */

/* What a value is, as text; what is wrong, if it is none. */
static const struct {
	const char *bytes;
	size_t size;
	const char *text;
} values[] = {
	{ BYTES("\xc0"), "nil" },
	{ BYTES("\xc3"), "true" },
	{ BYTES("\x05"), "5" },
	{ BYTES("\xcf\0\0\0\0\0\0\0\x05"), "5" },
	{ BYTES("\xd3\0\0\0\0\0\0\0\x05"), "5" },
	{ BYTES("\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), "-1" },
	{ BYTES("\xd0\x80"), "-128" },
	{ BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615" },
	{ BYTES("\xca\x3f\xc0\0\0"), "1.5" },
	{ BYTES("\xcb\x3f\xf8\0\0\0\0\0\0"), "1.5" },
	{ BYTES("\xca\xff\x80\0\0"), "-inf" },
	{ BYTES("\xca\x7f\x80\0\1"), "nan 7ff0000020000000" },
	{ BYTES("\xdb\0\0\0\2hi"), "'hi'" },
	{ BYTES("\xc6\0\0\0\2hi"), "bytes 'hi'" },
	{ BYTES("\xdd\0\0\0\2\1\xa0"), "[1,'']" },
	{ BYTES("\xdf\0\0\0\1\xd9\1k\x90"), "{k:[]}" },
	{ BYTES("\x81\xa6$tuple\x92\1\xc0"), "(1,nil)" },
	{ BYTES("\x82\xa7$tensor\xa5u8[3]\xa4" "data\xc4\3abc"), "u8[3] 'abc'" },
	{ BYTES("\x82\xa4" "data\xc4\4\0\0\x80\x3f\xa7$tensor\xa5" "f32[]"),
	    "f32[] '\\x00\\x00\\x80?'" },
	{ BYTES("\x82\xa7$tensor\xac" "float32[3,0]\xa4" "data\xc4\0"), "f32[3,0] ''" },
	{ BYTES("\x82\xa1x\x82\xa7$tensor\xa5u8[1]\xa4" "data\xc4\1b\xa1y\x92"
	    "\x82\xa7$tensor\xa5u8[1]\xa4" "data\xc4\1c\xc2"), "{x:u8[1] 'b',y:[u8[1] 'c',false]}" },
	{ BYTES("\x82\xa7$tensor\xa5u8[3]\xa4" "data\xc4\2ab"),
	    "!data has 2 bytes, u8[3] needs 3" },
	{ BYTES("\x81\xa3out\x92\1\x82\xa7$tensor\xa5u8[3]\xa4" "data\xc4\2ab"),
	    "!out: 1: data has 2 bytes, u8[3] needs 3" },
	{ BYTES("\x82\xa7$tensor\xa5u9[3]\xa4" "data\xc4\2ab"),
	    "!'u9[3]' is not a tensor type such as f32[3,4]" },
	{ BYTES("\x82\xa7$tensor\xa6u8[3,]\xa4" "data\xc4\2ab"),
	    "!'u8[3,]' is not a tensor type such as f32[3,4]" },
	{ BYTES("\x82\xa7$tensor\xa5u8\0[]\xa4" "data\xc4\1a"),
	    "!'u8\\x00[]' is not a tensor type such as f32[3,4]" },
	{ BYTES("\x82\xa7$tensor\xb8u8[18446744073709551616]\xa4" "data\xc4\2ab"),
	    "!'u8[18446744073709551616]' is not a tensor type such as f32[3,4]" },
	{ BYTES("\x82\xa7$tensor\xb7u8[4294967296,4294967296]\xa4" "data\xc4\2ab"), NULL },
	{ BYTES("\x82\xa7$tensor\xa5u8[1]\xa4" "data\xa1" "a"),
	    "!a tensor has $tensor, text, and data, bytes, and nothing else" },
	{ BYTES("\x81\xa7$tensor\xa5u8[1]"),
	    "!a tensor has $tensor, text, and data, bytes, and nothing else" },
	{ BYTES("\x83\xa7$tensor\xa5u8[1]\xa4" "data\xc4\1" "a\xa1x\xc0"),
	    "!a map with '$tensor' is not allowed here" },
	{ BYTES("\x81\xa7$tensor\1"), "!a map with '$tensor' is not allowed here" },
	{ BYTES("\x81\xa6$tuple\1"), "!a map with '$tuple' is not allowed here" },
	{ BYTES("\x81\xa4$map\x90"), "!a map with '$map' is not allowed here" },
	{ BYTES("\x81\1\1"), "!a name that is not text, is empty or contains a NUL" },
	{ BYTES("\x81\xa0\1"), "!a name that is not text, is empty or contains a NUL" },
	{ BYTES("\x81\xa3" "a\0b\1"), "!a name that is not text, is empty or contains a NUL" },
	{ BYTES("\x82\xa1" "a\1\xa1" "a\2"), NULL },
	{ BYTES("\xd4\x05" "a"), "!an extension, of type 5, is not allowed here" },
	{ BYTES("\xc7\x04\xff" "abcd"), "!an extension, of type -1, is not allowed here" },
};

static void describe(const lc_value *value, struct lc__buf *out);

static void
describe_members(const lc_value *value, const char *brackets, struct lc__buf *out)
{
	for (size_t i = 0; i < lc_value_count(value); i++) {
		lc__buf_printf(out, "%c", i == 0 ? brackets[0] : ',');
		if (lc_value_name(value, i) != NULL)
			lc__buf_printf(out, "%s:", lc_value_name(value, i));
		describe(lc_value_at(value, i), out);
	}
	lc__buf_printf(out, "%s", lc_value_count(value) > 0 ? brackets + 1 : brackets);
}

static void
describe_float(double number, struct lc__buf *out)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	if (isnan(number))
		lc__buf_printf(out, "nan %016llx", (unsigned long long)bits);
	else
		lc__buf_printf(out, "%g", number);
}

static void
describe_text(const lc_value *value, struct lc__buf *out)
{
	const char *text;
	const void *bytes;
	char type[200];
	lc_tensor tensor;
	size_t size;

	if (lc_value_as_str(value, &text, &size) == LC_OK) {
		lc__buf_printf(out, "'%.*s'", (int)size, text);
	} else if (lc_value_as_bytes(value, &bytes, &size) == LC_OK) {
		lc__buf_printf(out, "bytes '%.*s'", (int)size, (const char *)bytes);
	} else if (lc_value_as_tensor(value, &tensor) == LC_OK) {
		lc_value_describe(value, type, sizeof(type));
		lc__buf_printf(out, "%s '", type);
		for (size_t i = 0; i < tensor.nbytes; i++) {
			const unsigned char c = ((const unsigned char *)tensor.data)[i];
			lc__buf_printf(out, c >= ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
		}
		lc__buf_printf(out, "'");
	}
}

static void
describe(const lc_value *value, struct lc__buf *out)
{
	int64_t number;
	uint64_t large;
	double real;
	int truth;

	if (lc_value_kind(value) == LC_NIL)
		lc__buf_printf(out, "nil");
	else if (lc_value_as_boolean(value, &truth) == LC_OK)
		lc__buf_printf(out, truth ? "true" : "false");
	else if (lc_value_as_integer(value, &number) == LC_OK)
		lc__buf_printf(out, "%lld", (long long)number);
	else if (lc_value_as_unsigned(value, &large) == LC_OK)
		lc__buf_printf(out, "%llu", (unsigned long long)large);
	else if (lc_value_as_float(value, &real) == LC_OK)
		describe_float(real, out);
	else if (lc_value_kind(value) == LC_MAP)
		describe_members(value, "{}", out);
	else if (lc_value_kind(value) == LC_LIST)
		describe_members(value, "[]", out);
	else if (lc_value_kind(value) == LC_TUPLE)
		describe_members(value, "()", out);
	else
		describe_text(value, out);
}

/* An exact copy, so that a read past its end is seen. */
static unsigned char *
copy(const char *bytes, size_t size)
{
	unsigned char *out = malloc(size > 0 ? size : 1);

	ck_assert_ptr_nonnull(out);
	memcpy(out, bytes, size);
	return out;
}

START_TEST(value_kinds)
{
	unsigned char *bytes = copy(values[_i].bytes, values[_i].size);
	struct lc__value_reader reader = { 0 };
	struct lc__buf text = { 0 };
	lc_value *value = NULL;
	const lc_status status = lc__value_mpack_read(&reader, bytes, values[_i].size,
	    &value);

	if (status == LC_OK)
		describe(value, &text);
	else
		lc__buf_printf(&text, "!%s", lc_last_error()->text);
	lc__buf_append(&text, "", 1);
	if (values[_i].text != NULL)
		ck_assert_str_eq((char *)text.data, values[_i].text);
	else
		ck_assert_int_eq(status, LC_INVALID);
	lc_value_free(value);
	lc__buf_free(&text);
	lc__value_reader_free(&reader);
	free(bytes);
}
END_TEST

/* Whatever is cut off, it is said, and nothing behind the end is read. */
START_TEST(value_cut)
{
	struct lc__value_reader reader = { 0 };

	for (size_t size = 0; size < values[_i].size; size++) {
		unsigned char *bytes = copy(values[_i].bytes, size);
		lc_value *value = NULL;
		ck_assert_int_eq(lc__value_mpack_read(&reader, bytes, size, &value),
		    LC_INVALID);
		ck_assert_ptr_null(value);
		free(bytes);
		lc__value_reader_forget(&reader);
	}
	lc__value_reader_free(&reader);
}
END_TEST

START_TEST(value_depth)
{
	for (int depth = LC_MAX_DEPTH - 1; depth <= LC_MAX_DEPTH; depth++) {
		struct lc__value_reader reader = { 0 };
		unsigned char bytes[LC_MAX_DEPTH + 1];
		lc_value *value = NULL;
		memset(bytes, 0x91, sizeof(bytes));
		bytes[depth] = 0xc0;
		ck_assert_int_eq(lc__value_mpack_read(&reader, bytes, (size_t)depth + 1,
		    &value), depth < LC_MAX_DEPTH ? LC_OK : LC_INVALID);
		lc_value_free(value);
		lc__value_reader_free(&reader);
	}
}
END_TEST

/* ---- answers ------------------------------------------------------------------------------ */

#define HEAD "\x82\xa5" "batch\x07\xa7results"

/* Of items a, b and c: what each has, or what is wrong. */
static const struct {
	const char *bytes;
	size_t size;
	const char *text;
} answers[] = {
	{ BYTES(HEAD "\x93\x82\xa2id\xa1" "a\xa5value\1\x82\xa2id\xa1" "b\xa5value\2"
	    "\x82\xa2id\xa1" "c\xa5value\3"), "1 2 3 " },
	{ BYTES("\x82\xa7results\x93\x82\xa5value\3\xa2id\xc4\1c\x82\xa2id\xa1" "a\xa5value\1"
	    "\x82\xa2id\xa1" "b\xa5value\2\xa5" "batch\xcf\0\0\0\0\0\0\0\7"), "1 2 3 " },
	{ BYTES(HEAD "\x91\x82\xa2id\xa1" "b\xa5value\2"), "- 2 - " },
	{ BYTES(HEAD "\x90"), "- - - " },
	{ BYTES(HEAD "\x91\x82\xa2id\xa1" "b\xa5" "error\xa3why"), "- !why - " },
	{ BYTES(HEAD "\x91\x83\xa2id\xa1" "b\xa5" "error\xa3why\xa5value\2"), "- !why - " },
	{ BYTES(HEAD "\x91\x83\xa2id\xa1" "b\xa5" "error\xc0\xa5value\2"), "- 2 - " },
	{ BYTES(HEAD "\x91\x82\xa2id\xa1" "b\xa5" "error\5"),
	    "- !the producer gave an error that is not text - " },
	{ BYTES(HEAD "\x91\x81\xa2id\xa1" "b"),
	    "- !the producer gave neither a value nor an error - " },
	{ BYTES(HEAD "\x91\x82\xa2id\xa1" "b\xa5value\x81\xa1x\xd4\1y"),
	    "- !value: x: an extension, of type 1, is not allowed here - " },
	{ BYTES("\x84\xa5" "batch\x07\xa5" "extra\x91\x91\x81\1\2\x92\1\1\xc0\xa7results"
	    "\x91\x83\xa2id\xa1" "b\1\1\xa5value\2"), "- 2 - " },
	{ BYTES(HEAD "\x91\x82\xa2id\xa1" "d\xa5value\2"),
	    "it has 'd', which was not requested" },
	{ BYTES(HEAD "\x92\x82\xa2id\xa1" "a\xa5value\1\x82\xa2id\xa1" "a\xa5value\1"),
	    "it has 'a' twice" },
	{ BYTES(HEAD "\x91\x82\xa2id\5\xa5value\2"), "it has a result without an id" },
	{ BYTES(HEAD "\x91\x81\xa5value\2"), "it has a result without an id" },
	{ BYTES(HEAD "\x91\2"), "it has a result that is not a map" },
	{ BYTES(HEAD "\x80"), "its results are not an array" },
	{ BYTES("\x81\xa5" "batch\x07"), "it has no results" },
	{ BYTES("\x81\xa7results\x90"), "it does not name its batch" },
	{ BYTES("\x82\xa5" "batch\xa1" "7\xa7results\x90"), "it does not name its batch" },
	{ BYTES("\x82\xa5" "batch\x08\xa7results\x90"), "it is for batch 8 instead of 7" },
	{ BYTES("\x82\xa5" "batch\xff\xa7results\x90"), "it does not name its batch" },
	{ BYTES("\x90"), "it is not a map" },
	{ BYTES(HEAD "\x90\xc0"), "it is not one MessagePack object" },
	{ BYTES(HEAD "\xdd\xff\xff\xff\xff"), "it is not one MessagePack object" },
	{ BYTES(HEAD "\x91\xdf\xff\xff\xff\xff\xc0"), "it is not one MessagePack object" },
	{ BYTES("\xc1"), "it is not one MessagePack object" },
};

static lc_status
read_answer(struct lc__answer *answer, const struct lc__subbatch *subbatch,
    const unsigned char *bytes, size_t size, struct lc__answered *got)
{
	const lc_status status = lc__answer_read(answer, subbatch, bytes, size);

	return status == LC_OK ? lc__answer_take(answer, subbatch, NULL, NULL, got) : status;
}

static void
describe_items(const struct lc__items *batch, struct lc__buf *out)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct lc__item *item = &batch->items[i];
		if (item->outcome == LC__ITEM_OPEN)
			lc__buf_printf(out, "-");
		else if (item->outcome == LC__ITEM_FAILED)
			lc__buf_printf(out, "!%s", item->why);
		else
			describe(item->value, out);
		lc__buf_printf(out, " ");
	}
}

START_TEST(answer_bytes)
{
	const lc_id ids[] = { { "a", 1 }, { "b", 1 }, { "c", 1 } };
	unsigned char *bytes = copy(answers[_i].bytes, answers[_i].size);
	struct lc__items *batch = make_batch(ids, 3);
	struct lc__subbatch *subbatch = lc__subbatch_of(batch);
	struct lc__answer answer = { 0 };
	struct lc__answered got = { 0 };
	struct lc__buf text = { 0 };

	subbatch->number = 7;
	if (read_answer(&answer, subbatch, bytes, answers[_i].size, &got) == LC_OK) {
		describe_items(batch, &text);
		ck_assert_uint_eq(got.done + got.failed + got.lacking, 3);
	} else {
		lc__buf_printf(&text, "%s", lc_last_error()->text);
	}
	lc__buf_append(&text, "", 1);
	ck_assert_str_eq((char *)text.data, answers[_i].text);
	lc__answer_free(&answer);
	lc__buf_free(&text);
	free(subbatch);
	lc__items_free(batch);
	free(bytes);
}
END_TEST

/* Cut anywhere, or with any byte changed: an answer is taken or refused, no more. */
START_TEST(answer_damage)
{
	const lc_id ids[] = { { "a", 1 }, { "b", 1 }, { "c", 1 } };
	struct lc__answer answer = { 0 };
	struct lc__answered got;

	for (size_t at = 0; at < 257 * answers[_i].size; at++) {
		const size_t where = at / 257, change = at % 257;
		const size_t size = change == 256 ? where : answers[_i].size;
		unsigned char *bytes = copy(answers[_i].bytes, size);
		struct lc__items *batch = make_batch(ids, 3);
		struct lc__subbatch *subbatch = lc__subbatch_of(batch);
		lc_status status;
		subbatch->number = 7;
		if (change < 256)
			bytes[where] = (unsigned char)change;
		status = read_answer(&answer, subbatch, bytes, size, &got);
		ck_assert(status == LC_OK || status == LC_INVALID);
		if (change == 256 && where + 1 < answers[_i].size)
			ck_assert_int_eq(status, LC_INVALID);
		free(subbatch);
		lc__items_free(batch);
		free(bytes);
	}
	lc__answer_free(&answer);
}
END_TEST

/* Two items of one id have a result each; a third result is one too many. */
START_TEST(answer_twins)
{
	static const char two[] = HEAD "\x92\x82\xa2id\xa1x\xa5value\1\x82\xa2id\xa1x\xa5value\2";
	static const char three[] = HEAD "\x93\x82\xa2id\xa1x\xa5value\1"
	    "\x82\xa2id\xa1x\xa5value\2\x82\xa2id\xa1x\xa5value\3";
	const lc_id ids[] = { { "x", 1 }, { "x", 1 } };
	struct lc__items *batch = make_batch(ids, 2);
	struct lc__subbatch *subbatch = lc__subbatch_of(batch);
	struct lc__answer answer = { 0 };
	struct lc__answered got;
	uint64_t number;

	subbatch->number = 7;
	ck_assert_int_eq(lc__answer_read(&answer, subbatch, BYTES(three)), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "it has 'x' twice");
	ck_assert_int_eq(read_answer(&answer, subbatch, (const unsigned char *)two,
	    sizeof(two) - 1, &got), LC_OK);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(lc_value_as_unsigned(batch->items[i].value, &number), LC_OK);
		ck_assert_uint_eq(number, i + 1);
	}
	lc__answer_free(&answer);
	free(subbatch);
	lc__items_free(batch);
}
END_TEST

/* The member "metrics" of an answer, and the numbers that it reports. */
static const struct {
	const char *bytes;
	size_t size;
	const char *text;
} reports[] = {
	{ BYTES("\x81\xa4loss\xcb\x3f\xe0\0\0\0\0\0\0"), "loss 0.5 " },
	{ BYTES("\x82\xa4loss\xca\x40\0\0\0\xa4" "a/b-\x07"), "loss 2 a/b- 7 " },
	{ BYTES("\x81\xa4loss\xcb\x7f\xf8\0\0\0\0\0\0"), "loss nan " },
	{ BYTES("\x81\xa4loss\xff"), "loss -1 " },
	/* other names, and what is not a number */
	{ BYTES("\x83\xa2<b\1\xa1x\xa1" "1\xa1y\2"), "y 2 " },
	{ BYTES("\x83\xa0\1\x05\1\xa1y\x91\2"), "" },
	{ BYTES("\x8a\xa1" "0\0\xa1" "1\1\xa1" "2\2\xa1" "3\3\xa1" "4\4\xa1" "5\5\xa1" "6\6"
	    "\xa1" "7\7\xa1" "8\x08\xa1" "9\x09"), "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 " },
	{ BYTES("\xc0"), "" },
	{ BYTES("\x91\1"), "" },
};

START_TEST(numbers_are_reported)
{
	static const char head[] = "\x83\xa5" "batch\x07\xa7results\x90\xa7metrics";
	static const char plain[] = HEAD "\x90";
	const lc_id ids[] = { { "a", 1 } };
	struct lc__items *batch = make_batch(ids, 1);
	struct lc__subbatch *subbatch = lc__subbatch_of(batch);
	struct lc__answer answer = { 0 };
	struct lc__buf bytes = { 0 }, text = { 0 };

	subbatch->number = 7;
	lc__buf_append(&bytes, head, sizeof(head) - 1);
	lc__buf_append(&bytes, reports[_i].bytes, reports[_i].size);
	ck_assert_int_eq(lc__answer_read(&answer, subbatch, bytes.data, bytes.size), LC_OK);
	for (size_t i = 0; i < answer.n_reported; i++)
		lc__buf_printf(&text, "%s %g ", answer.reported[i].name,
		    fabs(answer.reported[i].value) >= 0 ? answer.reported[i].value : (double)NAN);
	lc__buf_append(&text, "", 1);
	ck_assert_str_eq((char *)text.data, reports[_i].text);
	/* They are of one answer alone. */
	ck_assert_int_eq(lc__answer_read(&answer, subbatch, BYTES(plain)), LC_OK);
	ck_assert_uint_eq(answer.n_reported, 0);
	lc__answer_free(&answer);
	lc__buf_free(&bytes);
	lc__buf_free(&text);
	free(subbatch);
	lc__items_free(batch);
}
END_TEST

/* ---- MessagePack of others ----------------------------------------------------------------- */

static const struct {
	const char *bytes;
	size_t size;
	enum lc__token_kind kind;
	uint64_t number;
} longer[] = {
	{ BYTES("\xcc\5"), LC__TOKEN_UINT, 5 },
	{ BYTES("\xcd\0\5"), LC__TOKEN_UINT, 5 },
	{ BYTES("\xd0\5"), LC__TOKEN_UINT, 5 },
	{ BYTES("\xd1\xff\xff"), LC__TOKEN_NEGATIVE, UINT64_MAX },
	{ BYTES("\xd0\xf0"), LC__TOKEN_NEGATIVE, UINT64_MAX - 15 },
	{ BYTES("\xca\x3f\x80\0\0"), LC__TOKEN_FLOAT, 0x3ff0000000000000 },
	{ BYTES("\xca\xff\xa0\0\3"), LC__TOKEN_FLOAT, 0xfff4000060000000 },
	{ BYTES("\xca\0\0\0\1"), LC__TOKEN_FLOAT, 0x36a0000000000000 },
	{ BYTES("\xd9\0"), LC__TOKEN_STR, 0 },
	{ BYTES("\xda\0\1x"), LC__TOKEN_STR, 0 },
	{ BYTES("\xc5\0\1x"), LC__TOKEN_BIN, 0 },
	{ BYTES("\xc7\4\1abcd"), LC__TOKEN_EXT, 0 },
	{ BYTES("\xdc\0\0"), LC__TOKEN_ARRAY, 0 },
	{ BYTES("\xde\0\0"), LC__TOKEN_MAP, 0 },
};

START_TEST(longer_forms)
{
	const unsigned char *bytes = (const unsigned char *)longer[_i].bytes;
	struct lc__tokens in = { bytes, bytes + longer[_i].size };
	struct lc__mpack_token token = { 0 };

	ck_assert(!lc__token_next(&in, &token));
	in = (struct lc__tokens){ bytes, bytes + longer[_i].size };
	ck_assert(lc__token_next_any(&in, &token));
	ck_assert_int_eq(token.kind, longer[_i].kind);
	ck_assert_ptr_eq(in.at, in.end);
	if (token.kind <= LC__TOKEN_FLOAT)
		ck_assert_uint_eq(token.number, longer[_i].number);
	in = (struct lc__tokens){ bytes, bytes + longer[_i].size - 1 };
	ck_assert(!lc__token_next_any(&in, &token));
}
END_TEST

/* No stack is needed, and no more members are believed than there are bytes. */
START_TEST(skipping)
{
	enum { depth = 1000000 };
	unsigned char *bytes = malloc(depth + 1);
	struct lc__tokens in = { bytes, bytes + depth + 1 };

	memset(bytes, 0x91, depth);
	bytes[depth] = 0xc0;
	ck_assert(lc__token_skip_any(&in));
	ck_assert_ptr_eq(in.at, in.end);
	in = (struct lc__tokens){ bytes, bytes + depth };
	ck_assert(!lc__token_skip_any(&in));
	free(bytes);
}
END_TEST

/* ---- standard error -------------------------------------------------------------------------- */

static void
hear(void *ctx, unsigned child, const char *line)
{
	lc__buf_printf(ctx, "%u<%zu %.10s>", child, strlen(line), line);
}

START_TEST(lines)
{
	struct lc__buf heard = { 0 };
	struct lc__messages m = { .line = hear, .ctx = &heard, .child = 3 };
	char longer_line[2500], last[100];

	memset(longer_line, 'x', sizeof(longer_line));
	lc__messages_last_line(&m, last, sizeof(last));
	ck_assert_str_eq(last, "");
	lc__messages_add(&m, BYTES("one\n\ntw"));
	lc__messages_add(&m, BYTES("o\r\nb\0c\r 10%\r 20%"));
	lc__messages_add(&m, longer_line, sizeof(longer_line));
	lc__messages_add(&m, BYTES("\n\033[1mend \n\n"));
	lc__messages_add(&m, BYTES("open"));
	lc__messages_last_line(&m, last, sizeof(last));
	ck_assert_str_eq(last, "open");
	lc__messages_end(&m);
	lc__messages_add(&m, BYTES("\n\tred\033[m \n\n"));
	lc__messages_last_line(&m, last, sizeof(last));
	ck_assert_str_eq(last, " red [m");
	lc__buf_append(&heard, "", 1);
	ck_assert_str_eq((char *)heard.data, "3<3 one>3<3 two>3<3 b c>3<4  10%>"
	    "3<1000  20%xxxxxx>3<1000 xxxxxxxxxx>3<504 xxxxxxxxxx>3<8 \033[1mend >3<4 open>"
	    "3<8 \tred\033[m >");
	lc__buf_free(&heard);
}
END_TEST

START_TEST(last_kept)
{
	struct lc__messages m = { 0 };
	char text[3 * LC__MESSAGES_KEPT];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	for (size_t piece = 1; piece < sizeof(text); piece = piece * 3 + 1) {
		memset(&m, 0, sizeof(m));
		for (size_t at = 0; at < sizeof(text); at += piece)
			lc__messages_add(&m, text + at, piece < sizeof(text) - at ? piece :
			    sizeof(text) - at);
		ck_assert_uint_eq(m.last_size, LC__MESSAGES_KEPT);
		ck_assert_mem_eq(m.last, text + 2 * LC__MESSAGES_KEPT, LC__MESSAGES_KEPT);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("protocol");
	TCase *tc = tcase_create("protocol");
	const int n_values = sizeof(values) / sizeof(values[0]);
	const int n_answers = sizeof(answers) / sizeof(answers[0]);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, request_bytes);
	tcase_add_test(tc, request_of_some);
	tcase_add_test(tc, request_too_large);
	tcase_add_loop_test(tc, value_kinds, 0, n_values);
	tcase_add_loop_test(tc, value_cut, 0, n_values);
	tcase_add_test(tc, value_depth);
	tcase_add_loop_test(tc, answer_bytes, 0, n_answers);
	tcase_add_loop_test(tc, answer_damage, 0, n_answers);
	tcase_add_test(tc, answer_twins);
	tcase_add_loop_test(tc, numbers_are_reported, 0, sizeof(reports) / sizeof(reports[0]));
	tcase_add_loop_test(tc, longer_forms, 0, sizeof(longer) / sizeof(longer[0]));
	tcase_add_test(tc, skipping);
	tcase_add_test(tc, lines);
	tcase_add_test(tc, last_kept);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
