/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of MDS, byte by byte, from records and to records. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fileio.h"
#include "formats/formats.h"
#include "formats/value_json.h"
#include "made_image.h"
#include "need.h"

static const struct lc__incoming_format *const in = &lc__incoming_mds;
static const struct lc__outgoing_format *const out = &lc__outgoing_mds;
static const struct lc__incoming_how how_in = { .limit = 1 << 20 };
static const struct lc__outgoing_how how_out = { .shard_bytes = 4096 };

static lc_value *
tensor(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor made;

	assert_ok(lc_tensor_init(&made, dtype, ndim, shape, data));
	return lc_value_tensor(&made);
}

static lc_value *
row(lc_dtype dtype, uint64_t n, const void *data)
{
	return tensor(dtype, 1, &n, data);
}

/* A directory that is not there. */
static char *
fresh(void)
{
	return lc__path_join(run_scratch(), "mds");
}

static void
check_file(const char *dir, const char *name, const void *bytes, size_t size)
{
	char *path = lc__path_join(dir, name);
	struct lc__buf got = { 0 };

	assert_ok(lc__read_file(path, 1 << 20, &got));
	ck_assert_uint_eq(got.size, size);
	ck_assert_mem_eq(got.data, bytes, size);
	lc__buf_free(&got);
	free(path);
}

struct record {
	const char *id;
	lc_value *value;
};

static void
write_all(const char *dir, const struct lc__outgoing_how *how, struct record *records,
    size_t count, uint64_t *bytes)
{
	void *file;

	assert_ok(out->begin(dir, how, &file));
	for (size_t i = 0; i < count; i++)
		assert_ok(out->plan(file, lc_id_of(records[i].id), records[i].value));
	for (size_t i = 0; i < count; i++)
		assert_ok(out->put(file, lc_id_of(records[i].id), records[i].value));
	assert_ok(out->finish(file, bytes));
}

static void
free_all(struct record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		lc_value_free(records[i].value);
}

/* What comes in are the records that went out, in their order. */
static void
read_all(const char *dir, struct record *records, size_t count)
{
	void *file;
	lc_id id;

	assert_ok(in->open(dir, &how_in, &file));
	ck_assert_uint_eq(in->count(file), count);
	for (size_t i = 0; i < count; i++) {
		struct lc__loaded loaded = { 0 };
		assert_ok(in->next(file, &id));
		ck_assert_uint_eq(id.size, strlen(records[i].id));
		ck_assert_mem_eq(id.data, records[i].id, id.size);
		assert_ok(in->load(file, &loaded));
		ck_assert(lc_value_equal(loaded.value, records[i].value));
		lc__loaded_free(&loaded);
	}
	ck_assert_int_eq(in->next(file, &id), LC_END);
	in->close(file);
}

/* ---- byte by byte --------------------------------------------------------------- */

#define CONFIG "{\"column_encodings\": [\"str\", \"ndarray:uint8\"], " \
	"\"column_names\": [\"id\", \"tensor\"], \"column_sizes\": [null, null], " \
	"\"compression\": null, \"format\": \"mds\", \"hashes\": [], "
#define U32(low, high) low high "\0\0"

START_TEST(byte_by_byte)
{
	struct record records[] = { { "a", row(LC_U8, 1, "x") }, { "bc", row(LC_U8, 3, "xyz") } };
	static const char shard[] = U32("\2", "\0") U32("\xd4", "\0") U32("\xe0", "\0")
	    U32("\xef", "\0") CONFIG "\"size_limit\": 4096, \"version\": 2}"
	    U32("\1", "\0") U32("\3", "\0") "a" "\4\1x"
	    U32("\2", "\0") U32("\5", "\0") "bc" "\4\3xyz";
	static const char index[] = "{\"shards\": [" CONFIG "\"raw_data\": {\"basename\": "
	    "\"shard.00000.mds\", \"bytes\": 239, \"hashes\": {}}, \"samples\": 2, "
	    "\"size_limit\": 4096, \"version\": 2, \"zip_data\": null}], \"version\": 2}";
	char *dir = fresh();
	uint64_t bytes = 0;

	write_all(dir, &how_out, records, 2, &bytes);
	check_file(dir, "shard.00000.mds", shard, sizeof(shard) - 1);
	check_file(dir, "index.json", index, sizeof(index) - 1);
	ck_assert_uint_eq(bytes, sizeof(shard) + sizeof(index) - 2);
	read_all(dir, records, 2);
	free_all(records, 2);
	free(dir);
}
END_TEST

START_TEST(of_no_records)
{
	char *dir = fresh();
	uint64_t bytes = 0;
	void *file;

	write_all(dir, &how_out, NULL, 0, &bytes);
	check_file(dir, "index.json", "{\"shards\": [], \"version\": 2}", 28);
	read_all(dir, NULL, 0);
	ck_assert_int_eq(out->begin(dir, &how_out, &file), LC_EXISTS);
	free(dir);
}
END_TEST

/* ---- what columns are planned ---------------------------------------------------- */

static lc_value *
nothing(void)
{
	return NULL;
}

static const uint64_t dims[] = { 1, 2, 3, 4, 5 };

static lc_value *u8_2(void) { return row(LC_U8, 2, "ab"); }
static lc_value *u8_3(void) { return row(LC_U8, 3, "abc"); }
static lc_value *u8_1_2(void) { return tensor(LC_U8, 2, dims, "ab"); }
static lc_value *i8_2(void) { return row(LC_I8, 2, "ab"); }
static lc_value *bf16_1(void) { return row(LC_BF16, 1, "ab"); }
static lc_value *f8_2(void) { return row(LC_F8_E5M2, 2, "ab"); }
static lc_value *bool_1(void) { return row(LC_BOOL, 1, "\1"); }
static lc_value *c64_1(void) { return row(LC_C64, 1, "12345678"); }
static lc_value *empty(void) { return row(LC_U8, 0, NULL); }
static lc_value *f32_0(void) { return tensor(LC_F32, 0, NULL, "\0\0\x80\x3f"); }
static lc_value *f64_0(void) { return tensor(LC_F64, 0, NULL, "\0\0\0\0\0\0\xf0\x3f"); }
static lc_value *text(void) { return lc_value_str("t\xc3\xa9"); }
static lc_value *no_text(void) { return lc_value_str("\xff"); }
static lc_value *bytes_1(void) { return lc_value_bytes("\0", 1); }
static lc_value *minus(void) { return lc_value_integer(-1); }
static lc_value *huge(void) { return lc_value_unsigned(UINT64_MAX); }
static lc_value *half(void) { return lc_value_float(0.5); }
static lc_value *nil(void) { return lc_value_nil(); }
static lc_value *truth(void) { return lc_value_boolean(1); }

static lc_value *
list(void)
{
	lc_value *value = lc_value_list();

	lc_value_append(value, lc_value_integer(1));
	lc_value_append(value, lc_value_tuple());
	return value;
}

static const struct {
	lc_value *(*first)(void), *(*second)(void);
	const char *encoding, *error; /* one of the two */
	bool other;                   /* a part comes back as something else */
	bool bits;
} plan_rows[] = {
	{ u8_2, u8_2, "ndarray:uint8:2", NULL, false, false },
	{ u8_2, u8_3, "ndarray:uint8", NULL, false, false },
	{ u8_2, u8_1_2, "ndarray:uint8", NULL, false, false },
	{ u8_2, i8_2, "ndarray", NULL, false, false },
	{ f32_0, f32_0, "float32", NULL, true, false },
	{ text, text, "str", NULL, false, false },
	{ text, no_text, "json", NULL, false, false },
	{ text, minus, "json", NULL, false, false },
	{ bytes_1, bytes_1, "bytes", NULL, false, false },
	{ bytes_1, text, "json", NULL, false, false },
	{ minus, minus, "int", NULL, false, false },
	{ minus, huge, "json", NULL, false, false },
	{ minus, half, "json", NULL, false, false },
	{ half, half, "float64", NULL, false, false },
	{ nil, truth, "json", NULL, false, false },
	{ list, list, "json", NULL, false, false },
	{ list, half, "json", NULL, false, false },
	{ bf16_1, bf16_1, "ndarray:uint16:1", NULL, true, true },
	{ f8_2, f8_2, "ndarray:uint8:2", NULL, true, true },
	{ bf16_1, nothing, NULL, "'r1': 'p': MDS has no arrays of bf16", false, false },
	{ f8_2, nothing, NULL, "'r1': 'p': MDS has no arrays of f8_e5m2", false, false },
	{ bool_1, nothing, NULL, "'r1': 'p': MDS has no arrays of bool", false, true },
	{ c64_1, nothing, NULL, "'r1': 'p': MDS has no arrays of c64", false, true },
	{ empty, nothing, NULL, "'r1': 'p': MDS has no arrays without elements", false,
	    false },
	{ u8_2, f32_0, NULL, "'r2': 'p': a tensor of another rank, 0 or not, than in "
	    "other records", false, false },
	{ f64_0, f32_0, NULL, "'r2': 'p': a tensor of another dtype, with rank 0, than in "
	    "other records", false, false },
	{ u8_2, minus, NULL, "'r2': 'p': a tensor in some records, plain data in others",
	    false, false },
	{ half, f64_0, NULL, "'r2': 'p': a tensor in some records, plain data in others",
	    false, false },
	{ u8_2, nothing, NULL, "'r2': it has no part 'p' as other records have, and in MDS "
	    "all have the same", false, false },
	{ nothing, u8_2, NULL, "'r2': 'p': other records have no such part, and in MDS all "
	    "have the same", false, false },
};

static lc_value *
make_record(lc_value *part)
{
	lc_value *value = lc_value_map();

	if (part != NULL)
		lc_value_set(value, "p", part);
	lc_value_set(value, "q", lc_value_str("always"));
	return value;
}

START_TEST(planned)
{
	struct record records[] = { { "r1", make_record(plan_rows[_i].first()) },
	    { "r2", make_record(plan_rows[_i].second()) } };
	struct lc__outgoing_how how = { .bits = plan_rows[_i].bits };
	struct lc__buf index = { 0 }, want = { 0 };
	char *dir = fresh(), *path = lc__path_join(dir, "index.json");
	uint64_t bytes = 0;
	void *file;

	if (plan_rows[_i].error != NULL) {
		lc_status status;
		assert_ok(out->begin(dir, &how, &file));
		status = out->plan(file, lc_id_of("r1"), records[0].value);
		if (status == LC_OK)
			status = out->plan(file, lc_id_of("r2"), records[1].value);
		ck_assert_int_eq(status, LC_UNSUPPORTED);
		ck_assert_str_eq(lc_last_error()->text, plan_rows[_i].error);
		out->discard(file);
	} else {
		write_all(dir, &how, records, 2, &bytes);
		assert_ok(lc__read_file(path, 1 << 20, &index));
		lc__buf_printf(&want, "[\"str\", \"%s\", \"str\"]", plan_rows[_i].encoding);
		ck_assert_ptr_nonnull(memmem(index.data, index.size, want.data, want.size));
		if (!plan_rows[_i].other)
			read_all(dir, records, 2);
	}
	lc__buf_free(&index);
	lc__buf_free(&want);
	free_all(records, 2);
	free(path);
	free(dir);
}
END_TEST

START_TEST(nested_parts)
{
	lc_value *value = lc_value_map(), *part;
	struct record records[] = { { "\xff\xfe", value } };
	char *dir = fresh();
	uint64_t bytes = 0;

	part = lc_value_set(value, "a.b", lc_value_map());
	lc_value_set(part, "x", row(LC_U8, 2, "ab"));
	lc_value_set(part, "meta", lc_value_map());
	part = lc_value_set(part, "list", lc_value_list());
	lc_value_append(part, row(LC_I16, 1, "ab"));
	lc_value_append(part, lc_value_str("plain beside it"));
	lc_value_set(value, "none", lc_value_list());
	write_all(dir, &how_out, records, 1, &bytes);
	/* A map's names come back sorted, as columns are: not the same order. */
	{
		struct lc__loaded loaded = { 0 };
		const lc_value *got;
		void *file;
		lc_id id;
		assert_ok(in->open(dir, &how_in, &file));
		assert_ok(in->next(file, &id));
		ck_assert_uint_eq(id.size, 2);
		ck_assert_mem_eq(id.data, "\xff\xfe", 2);
		assert_ok(in->load(file, &loaded));
		got = loaded.value;
		ck_assert_uint_eq(lc_value_count(got), 2);
		ck_assert(lc_value_equal(lc_value_find(got, "a\\.b.x"),
		    lc_value_find(value, "a\\.b.x")));
		ck_assert(lc_value_equal(lc_value_find(got, "a\\.b.meta"),
		    lc_value_find(value, "a\\.b.meta")));
		ck_assert(lc_value_equal(lc_value_find(got, "a\\.b.list"),
		    lc_value_find(value, "a\\.b.list")));
		ck_assert(lc_value_equal(lc_value_find(got, "none"),
		    lc_value_find(value, "none")));
		lc__loaded_free(&loaded);
		in->close(file);
	}
	lc_value_free(value);
	free(dir);
}
END_TEST

START_TEST(names_that_are_taken)
{
	lc_value *value = lc_value_map(), *odd = lc_value_map();
	char *dir = fresh();
	void *file;

	lc_value_set(value, "id", lc_value_str("x"));
	lc_value_set(odd, "\xff", lc_value_str("x"));
	assert_ok(out->begin(dir, &how_out, &file));
	ck_assert_int_eq(out->plan(file, lc_id_of("r"), value), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "'r': 'id': the column id is that of cache_ids");
	out->discard(file);
	ck_assert_int_eq(access(dir, F_OK), -1);
	assert_ok(out->begin(dir, &how_out, &file));
	ck_assert_int_eq(out->plan(file, lc_id_of("r"), odd), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "'r': '\\xff': MDS has no columns with names that are not UTF-8");
	out->discard(file);
	lc_value_free(value);
	lc_value_free(odd);
	free(dir);
}
END_TEST

START_TEST(changed_after_the_plan)
{
	lc_value *two = row(LC_U8, 2, "ab"), *three = row(LC_U8, 3, "abc");
	lc_value *map = make_record(lc_value_nil());
	char *dir = fresh();
	void *file;

	assert_ok(out->begin(dir, &how_out, &file));
	assert_ok(out->plan(file, lc_id_of("r"), two));
	ck_assert_int_eq(out->put(file, lc_id_of("r"), three), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "'r': changed after the files were planned");
	ck_assert_int_eq(out->put(file, lc_id_of("r"), map), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "'r': 'p': came after the files were planned");
	out->discard(file);
	lc_value_free(two);
	lc_value_free(three);
	lc_value_free(map);
	free(dir);
}
END_TEST

/* ---- series --------------------------------------------------------------------- */

static lc_status
by_size(void *ctx, lc_id id, const lc_value *value, const char **name)
{
	lc_tensor found;

	(void)ctx;
	(void)id;
	return_if_error(lc_value_as_tensor(value, &found));
	*name = found.nbytes > 10 ? "large/ones" : "small";
	return LC_OK;
}

START_TEST(many_shards)
{
	enum { count = 300 };
	struct record records[count];
	char ids[count][13], data[64] = "some bytes", *dir = fresh(), *path;
	struct lc__outgoing_how how = { .shard_bytes = 1000 };
	uint64_t bytes = 0;
	struct stat st;

	for (int i = 0; i < count; i++) {
		snprintf(ids[i], sizeof(ids[i]), "r%d", i);
		records[i] = (struct record){ ids[i],
		    row(LC_U8, 1 + (uint64_t)i * 7 % 60, data) };
	}
	if (_i == 1)
		how.shard_records = 3;
	write_all(dir, &how, records, count, &bytes);
	read_all(dir, records, count);
	for (int i = 0; ; i++) {
		char name[32];
		snprintf(name, sizeof(name), "shard.%05d.mds", i);
		path = lc__path_join(dir, name);
		if (stat(path, &st) == -1) {
			ck_assert_int_gt(i, 10);
			if (_i == 1)
				ck_assert_int_eq(i, 100);
			free(path);
			break;
		}
		ck_assert_int_le(st.st_size, 1000);
		bytes -= (uint64_t)st.st_size;
		free(path);
	}
	path = lc__path_join(dir, "index.json");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(bytes, st.st_size);
	free(path);
	free_all(records, count);
	free(dir);
}
END_TEST

START_TEST(groups)
{
	struct record records[] = { { "a", row(LC_U8, 2, "ab") },
	    { "b", row(LC_U8, 11, "hello world") }, { "c", row(LC_U8, 2, "cd") } };
	struct record small[] = { records[0], records[2] };
	struct lc__outgoing_how how = { .group = by_size };
	char *dir = fresh(), *path;
	uint64_t bytes = 0;

	write_all(dir, &how, records, 3, &bytes);
	path = lc__path_join(dir, "small");
	read_all(path, small, 2);
	free(path);
	path = lc__path_join(dir, "large/ones");
	read_all(path, records + 1, 1);
	free(path);
	path = lc__path_join(dir, "index.json");
	ck_assert_int_eq(access(path, F_OK), -1);
	free(path);
	free_all(records, 3);
	free(dir);
}
END_TEST

START_TEST(replaced_and_dry)
{
	struct record old[] = { { "old", row(LC_U8, 2, "ab") } };
	struct record new[] = { { "new", row(LC_F32, 1, "abcd") } };
	struct lc__outgoing_how dry = { .dry_run = true, .force = true };
	struct lc__outgoing_how force = { .force = true };
	char *dir = fresh();
	uint64_t bytes = 0, would = 0;

	write_all(dir, &how_out, old, 1, &bytes);
	write_all(dir, &dry, new, 1, &would);
	read_all(dir, old, 1);
	write_all(dir, &force, new, 1, &bytes);
	ck_assert_uint_eq(bytes, would);
	read_all(dir, new, 1);
	free_all(old, 1);
	free_all(new, 1);
	free(dir);
}
END_TEST

/* ---- columns that only come in ---------------------------------------------------- */

/* A directory with one shard of one sample: of a column "id" and of a column "x". */
static char *
make_set(const char *id_encoding, const void *id, uint32_t id_size, const char *encoding,
    const void *bytes, uint32_t size)
{
	char *dir = fresh(), *path = lc__path_join(dir, "shard.00000.mds");
	char *index = lc__path_join(dir, "index.json");
	const uint32_t head[] = { 1, 12, 12 + 8 + id_size + size, id_size, size };
	struct lc__buf shard = { 0 }, text = { 0 };

	ck_assert_int_eq(mkdir(dir, 0777), 0);
	lc__buf_append(&shard, head, sizeof(head));
	lc__buf_append(&shard, id, id_size);
	lc__buf_append(&shard, bytes, size);
	lc__buf_printf(&text, "{\"shards\":[{\"column_encodings\":[\"%s\",\"%s\"],"
	    "\"column_names\":[\"id\",\"x\"],\"column_sizes\":[null,null],"
	    "\"compression\":null,\"format\":\"mds\",\"hashes\":[],\"raw_data\":"
	    "{\"basename\":\"shard.00000.mds\",\"bytes\":%zu,\"hashes\":{}},"
	    "\"samples\":1,\"size_limit\":null,\"version\":2,\"zip_data\":null}],"
	    "\"version\":2}", id_encoding, encoding, shard.size);
	assert_ok(lc__write_file_atomic(path, shard.data, shard.size));
	assert_ok(lc__write_file_atomic(index, text.data, text.size));
	lc__buf_free(&shard);
	lc__buf_free(&text);
	free(path);
	free(index);
	return dir;
}

#define PIXELS(width, height, mode_size, mode, data) \
	width "\0\0\0" height "\0\0\0" mode_size "\0\0\0" mode data
#define RGB PIXELS("\2", "\1", "\3", "RGB", "abcdef")
#define LA PIXELS("\1", "\2", "\2", "LA", "abcd")
#define GREY PIXELS("\2", "\2", "\1", "L", "abcd")

#define LIST(count) "\0\0\0\0" count "\0\0\0" /* then the sizes of its elements */

static const struct {
	const char *encoding, *bytes;
	uint32_t size;
	bool raw, keep_alpha;
	enum lc__image_layout layout;
	uint64_t max_pixels;
	const char *want;  /* as JSON, or the error's text */
} image_rows[] = {
#define B(bytes) bytes, sizeof(bytes) - 1
	{ "pil", B(RGB), false, false, LC__IMAGE_HWC, 0,
	    "{\"$tensor\":\"u8[1,2,3]\",\"data\":\"YWJjZGVm\"}" },
	{ "pil", B(RGB), false, false, LC__IMAGE_CHW, 0,
	    "{\"$tensor\":\"u8[3,1,2]\",\"data\":\"YWRiZWNm\"}" },
	{ "pil", B(LA), false, false, LC__IMAGE_HWC, 0,
	    "{\"$tensor\":\"u8[2,1,1]\",\"data\":\"YWM=\"}" },
	{ "pil", B(LA), false, true, LC__IMAGE_HWC, 0,
	    "{\"$tensor\":\"u8[2,1,2]\",\"data\":\"YWJjZA==\"}" },
	{ "pil", B(LA), false, true, LC__IMAGE_CHW, 0,
	    "{\"$tensor\":\"u8[2,2,1]\",\"data\":\"YWNiZA==\"}" },
	{ "pil", B(GREY), false, false, LC__IMAGE_CHW, 4,
	    "{\"$tensor\":\"u8[1,2,2]\",\"data\":\"YWJjZA==\"}" },
	{ "pil", B(GREY), false, false, LC__IMAGE_HWC, 3,
	    "an image of 2 x 2 has more pixels than 3" },
	{ "pil", B("abc"), false, false, LC__IMAGE_HWC, 0, "an image that is cut" },
	{ "pil", B("abc"), true, false, LC__IMAGE_HWC, 0, "{\"$bytes\":\"YWJj\"}" },
	{ "jpeg", B("\xff\xd8"), true, false, LC__IMAGE_HWC, 0, "{\"$bytes\":\"/9g=\"}" },
	{ "list[pil]", B(LIST("\2") "\x10\0\0\0\x12\0\0\0" PIXELS("\1", "\1", "\2", "LA", "xy")
	    LA), false, false, LC__IMAGE_HWC, 0, "[{\"$tensor\":\"u8[1,1,1]\",\"data\":"
	    "\"eA==\"},{\"$tensor\":\"u8[2,1,1]\",\"data\":\"YWM=\"}]" },
	{ "list[pil]", B(LIST("\2") "\x0f\0\0\0\x12\0\0\0" PIXELS("\1", "\1", "\2", "LA", "x")
	    LA), false, false, LC__IMAGE_HWC, 0, "image 0: an image of 1 x 1 with 1 bytes" },
	{ "list[pil]", B(LIST("\0")), false, false, LC__IMAGE_HWC, 0, "[]" },
	{ "list[png]", B(LIST("\1") "\3\0\0\0abc"), false, false, LC__IMAGE_HWC, 0,
	    "image 0: neither .npy nor a JPEG, PNG, WebP or TIFF image" },
	{ "list[jpeg]", B(LIST("\1") "\4\0\0\0abc"), false, false, LC__IMAGE_HWC, 0,
	    "a list whose elements do not fill it" },
	{ "jpeg_array", B("\1\0\0\0\3\0\0\0abc"), false, false, LC__IMAGE_HWC, 0,
	    "image 0: neither .npy nor a JPEG, PNG, WebP or TIFF image" },
#undef B
};

START_TEST(images)
{
	const struct lc__incoming_how how = { .limit = 1 << 20, .raw = image_rows[_i].raw,
	    .images = { .keep_alpha = image_rows[_i].keep_alpha,
	    .layout = image_rows[_i].layout, .max_pixels = image_rows[_i].max_pixels } };
	const char *want = image_rows[_i].want;
	struct lc__loaded loaded = { 0 }, wanted = { 0 };
	char *dir = make_set("str", "a", 1, image_rows[_i].encoding, image_rows[_i].bytes,
	    image_rows[_i].size);
	void *file;
	lc_id id;

	assert_ok(in->open(dir, &how, &file));
	assert_ok(in->next(file, &id));
	if (strchr("{[", *want) != NULL) {
		assert_ok(in->load(file, &loaded));
		assert_ok(lc__value_json_read(want, strlen(want), NULL, NULL, &wanted));
		ck_assert(lc_value_equal(loaded.value, wanted.value));
	} else {
		ck_assert_int_ne(in->load(file, &loaded), LC_OK);
		ck_assert_msg(strstr(lc_last_error()->text, want) != NULL,
		    "%s", lc_last_error()->text);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    "/shard.00000.mds: sample 0: column 'x': "));
	}
	lc__loaded_free(&loaded);
	lc__loaded_free(&wanted);
	in->close(file);
	free(dir);
}
END_TEST

/* A picture keeps its pixels, however it came. */
START_TEST(images_of_other_formats)
{
	static const uint8_t pixels[] = { 1, 2, 3, 250, 0, 9 };
	const struct lc__incoming_how how = { .limit = 1 << 20 };
	struct lc__loaded loaded = { 0 };
	struct lc__buf png = { 0 };
	lc_tensor tensor;
	char *dir;
	void *file;
	lc_id id;

	make_png_of(pixels, 2, 1, 3, &png);
	dir = make_set("str", "a", 1, "png", png.data, (uint32_t)png.size);
	assert_ok(in->open(dir, &how, &file));
	assert_ok(in->next(file, &id));
	assert_ok(in->load(file, &loaded));
	assert_ok(lc_value_as_tensor(loaded.value, &tensor));
	ck_assert_uint_eq(tensor.nbytes, sizeof(pixels));
	ck_assert_mem_eq(tensor.data, pixels, sizeof(pixels));
	lc__loaded_free(&loaded);
	in->close(file);
	lc__buf_free(&png);
	free(dir);
}
END_TEST

static const struct {
	const char *encoding, *bytes;
	uint32_t size;
	const char *id;    /* NULL: the error */
	const char *error;
} id_rows[] = {
	{ "str", "ab", 2, "ab", NULL },
	{ "bytes", "a\xff", 2, "a\xff", NULL },
	{ "str_int", "0012", 4, "0012", NULL },
	{ "int", "\xfd\xff\xff\xff\xff\xff\xff\xff", 8, "-3", NULL },
	{ "uint64", "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "18446744073709551615", NULL },
	{ "uint8", "\x07", 1, "7", NULL },
	{ "int16", "\x00\x80", 2, "-32768", NULL },
	{ "str", "", 0, NULL, "sample 0: id of 0 bytes is not a cache_id of 1 to " },
	{ "int", "abc", 3, NULL, "sample 0" },
	/* Without a column that names, by the place. */
	{ "float32", "\0\0\0\0", 4, "shard.00000.mds:0", NULL },
	{ "float64", "\0\0\0\0\0\0\0\0", 8, "shard.00000.mds:0", NULL },
	{ "float16", "\0\0", 2, "shard.00000.mds:0", NULL },
	{ "json", "1", 1, "shard.00000.mds:0", NULL },
};

START_TEST(ids)
{
	struct lc__incoming_how how = { .limit = 1 << 20 };
	char *dir = make_set(id_rows[_i].encoding, id_rows[_i].bytes, id_rows[_i].size,
	    "str", "x", 1);
	const bool by_place = id_rows[_i].id != NULL && id_rows[_i].id[0] == 's';
	struct lc__loaded loaded = { 0 };
	void *file;
	lc_id id;

	how.id = by_place ? NULL : "id";
	assert_ok(in->open(dir, &how, &file));
	if (id_rows[_i].id != NULL) {
		assert_ok(in->next(file, &id));
		ck_assert_uint_eq(id.size, strlen(id_rows[_i].id));
		ck_assert_mem_eq(id.data, id_rows[_i].id, id.size);
	} else {
		ck_assert(in->next(file, &id) != LC_OK || in->load(file, &loaded) != LC_OK);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, id_rows[_i].error));
	}
	in->close(file);
	if (by_place) {
		how.id = "id";
		ck_assert_int_eq(in->open(dir, &how, &file), LC_INVALID);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    ": no column 'id' of text, bytes or integers in every shard"));
	}
	free(dir);
}
END_TEST

/* ---- damage --------------------------------------------------------------------- */

static void
edit(const char *dir, const char *name, size_t at, unsigned char byte)
{
	char *path = lc__path_join(dir, name);
	struct lc__buf bytes = { 0 };

	assert_ok(lc__read_file(path, 1 << 20, &bytes));
	bytes.data[at] = byte;
	assert_ok(lc__write_file_atomic(path, bytes.data, bytes.size));
	lc__buf_free(&bytes);
	free(path);
}

/* The place of a byte of the shard of byte_by_byte(), and what is said of it. */
static const struct {
	size_t at;
	unsigned char byte;
	bool behind; /* a sample behind it is good */
	const char *text;
} damage_rows[] = {
	{ 0, 3, false, "/shard.00000.mds: 3 samples, of which the index has 2" },
	{ 4, 15, false, "/shard.00000.mds: the first sample begins at 15, among the places" },
	{ 13, 1, false, "/shard.00000.mds: the samples end at 495 of 239 bytes" },
	{ 212, 9, true, "/shard.00000.mds: sample 0: column 'id': 9 bytes, of which 4 are "
	    "there" },
	{ 216, 2, true, "/shard.00000.mds: sample 0: 1 bytes are of no column" },
	{ 212, 0, true, "/shard.00000.mds: sample 0: 1 bytes are of no column" },
	{ 221, 6, true, "/shard.00000.mds: sample 0: column 'tensor': an array that is cut" },
	{ 222, 2, true, "/shard.00000.mds: sample 0: column 'tensor': an array of 1 bytes, "
	    "of which its shape makes 2" },
};

START_TEST(damaged)
{
	struct record records[] = { { "a", row(LC_U8, 1, "x") }, { "bc", row(LC_U8, 3, "xyz") } };
	struct lc__loaded loaded = { 0 };
	char *dir = fresh();
	uint64_t bytes = 0;
	lc_status status;
	void *file;
	lc_id id;

	write_all(dir, &how_out, records, 2, &bytes);
	edit(dir, "shard.00000.mds", damage_rows[_i].at, damage_rows[_i].byte);
	assert_ok(in->open(dir, &how_in, &file));
	status = in->next(file, &id);
	if (status == LC_OK)
		status = in->load(file, &loaded);
	ck_assert_int_eq(status, LC_CORRUPT);
	ck_assert_mem_eq(lc_last_error()->text, dir, strlen(dir));
	ck_assert_str_eq(lc_last_error()->text + strlen(dir), damage_rows[_i].text);
	lc__loaded_free(&loaded);
	if (damage_rows[_i].behind) {
		assert_ok(in->next(file, &id));
		ck_assert_mem_eq(id.data, "bc", 2);
		assert_ok(in->load(file, &loaded));
		lc__loaded_free(&loaded);
	}
	ck_assert_int_eq(in->next(file, &id), LC_END);
	in->close(file);
	free_all(records, 2);
	free(dir);
}
END_TEST

START_TEST(mutated)
{
	lc_value *map = lc_value_map();
	struct record records[] = { { "first", map }, { "second", map } };
	struct lc__buf shard = { 0 };
	uint64_t bytes = 0, seed = run_seed();
	char *dir = fresh(), *path = lc__path_join(dir, "shard.00000.mds");
	int whole = 0, bad;

	lc_value_set(map, "a", row(LC_F32, 2, "12345678"));
	lc_value_set(map, "j", list());
	lc_value_set(map, "s", lc_value_str("text"));
	write_all(dir, &how_out, records, 2, &bytes);
	assert_ok(lc__read_file(path, 1 << 20, &shard));
	for (int round = 0; round < 3000; round++) {
		struct lc__buf copy = { 0 };
		FILE *f = fopen(path, "w");
		lc_status status;
		void *file;
		lc_id id;
		lc__buf_append(&copy, shard.data, shard.size);
		for (int i = 1 + (int)(run_random(&seed) % 3); i > 0; i--)
			copy.data[run_random(&seed) % shard.size] =
			    (unsigned char)run_random(&seed);
		fwrite(copy.data, 1, copy.size, f);
		ck_assert_int_eq(fclose(f), 0);
		lc__buf_free(&copy);
		assert_ok(in->open(dir, &how_in, &file));
		for (bad = 0; (status = in->next(file, &id)) != LC_END;) {
			struct lc__loaded loaded = { 0 };
			bad += status != LC_OK;
			ck_assert_int_le(bad, 2);
			if (status == LC_OK)
				(void)!in->load(file, &loaded);
			lc__loaded_free(&loaded);
		}
		whole += bad == 0;
		in->close(file);
	}
	ck_assert_int_gt(whole, 0);
	lc__buf_free(&shard);
	lc_value_free(map);
	free(path);
	free(dir);
}
END_TEST

#define ROWS(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

int
main(void)
{
	Suite *suite = suite_create("mds files");
	TCase *tc = tcase_create("mds files");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, byte_by_byte);
	tcase_add_test(tc, of_no_records);
	tcase_add_loop_test(tc, planned, 0, ROWS(plan_rows));
	tcase_add_test(tc, nested_parts);
	tcase_add_test(tc, names_that_are_taken);
	tcase_add_test(tc, changed_after_the_plan);
	tcase_add_loop_test(tc, many_shards, 0, 2);
	tcase_add_test(tc, groups);
	tcase_add_test(tc, replaced_and_dry);
	tcase_add_loop_test(tc, images, 0, ROWS(image_rows));
	tcase_add_test(tc, images_of_other_formats);
	tcase_add_loop_test(tc, ids, 0, ROWS(id_rows));
	tcase_add_loop_test(tc, damaged, 0, ROWS(damage_rows));
	tcase_add_test(tc, mutated);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
