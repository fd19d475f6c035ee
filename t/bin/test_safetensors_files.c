/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of safetensors, byte by byte, from records and to records. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/fileio.h"
#include "formats/formats.h"
#include "need.h"

static const struct lc__incoming_format *const in = &lc__incoming_safetensors;
static const struct lc__outgoing_format *const out = &lc__outgoing_safetensors;
static const struct lc__incoming_how how_in = { .limit = 1 << 20 };
static const struct lc__outgoing_how how_out;

#define HEADER \
	"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," \
	"\"b.x\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[8,10]}," \
	"\"b.y.0\":{\"dtype\":\"F16\",\"shape\":[1,0],\"data_offsets\":[10,10]}," \
	"\"c\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[10,13]}}"
static const char whole[] = "\xe0\0\0\0\0\0\0\0" HEADER "eightbyttwxyz";

static lc_value *
tensor(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor made;

	assert_ok(lc_tensor_init(&made, dtype, ndim, shape, data));
	return lc_value_tensor(&made);
}

struct records {
	const char *ids[3];
	lc_value *values[3];
};

static struct records
make_records(void)
{
	static const uint64_t two = 2, three = 3, empty[] = { 1, 0 };
	struct records r = { { "c", "b", "a" }, { NULL } };
	lc_value *list;

	r.values[0] = tensor(LC_U8, 1, &three, "xyz");
	r.values[1] = lc_value_map();
	lc_value_set(r.values[1], "x", tensor(LC_F16, 0, NULL, "tw"));
	list = lc_value_set(r.values[1], "y", lc_value_list());
	lc_value_append(list, tensor(LC_F16, 2, empty, NULL));
	r.values[2] = tensor(LC_F32, 1, &two, "eightbyt");
	return r;
}

static void
free_records(struct records *r)
{
	for (int i = 0; i < 3; i++)
		lc_value_free(r->values[i]);
}

static char *
scratch(const char *name)
{
	return lc__path_join(run_scratch(), name);
}

/* ---- out ------------------------------------------------------------------------ */

START_TEST(written_in_any_order)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 } };
	struct records r = make_records();
	char *path = scratch("out.safetensors");
	struct lc__buf bytes = { 0 };
	uint64_t size = 0;
	void *file;

	assert_ok(out->begin(path, &how_out, &file));
	for (int i = 0; i < 3; i++)
		assert_ok(out->plan(file, lc_id_of(r.ids[i]), r.values[i]));
	for (int i = 0; i < 3; i++) {
		const int k = orders[_i][i];
		ck_assert_int_eq(access(path, F_OK), -1);
		assert_ok(out->put(file, lc_id_of(r.ids[k]), r.values[k]));
	}
	assert_ok(out->finish(file, &size));
	assert_ok(lc__read_file(path, 4096, &bytes));
	ck_assert_uint_eq(bytes.size, sizeof(whole) - 1);
	ck_assert_uint_eq(size, sizeof(whole) - 1);
	ck_assert_mem_eq(bytes.data, whole, bytes.size);
	lc__buf_free(&bytes);
	free_records(&r);
	free(path);
}
END_TEST

START_TEST(of_no_records)
{
	char *path = scratch("none.safetensors");
	struct lc__buf bytes = { 0 };
	uint64_t size = 0;
	void *file;

	assert_ok(out->begin(path, &how_out, &file));
	assert_ok(out->finish(file, &size));
	ck_assert_uint_eq(size, 16);
	assert_ok(lc__read_file(path, 4096, &bytes));
	ck_assert_uint_eq(bytes.size, 16);
	ck_assert_mem_eq(bytes.data, "\x08\0\0\0\0\0\0\0{}      ", 16);
	ck_assert_int_eq(out->begin(path, &how_out, &file), LC_EXISTS);
	lc__buf_free(&bytes);
	free(path);
}
END_TEST

static lc_status
no_group(void *ctx, lc_id id, const lc_value *value, const char **name)
{
	(void)ctx;
	(void)id;
	(void)value;
	*name = "x";
	return LC_OK;
}

START_TEST(refused)
{
	struct lc__outgoing_how grouped = { .group = no_group };
	struct records r = make_records();
	const uint64_t two = 2;
	lc_value *other = tensor(LC_U16, 1, &two, "1234");
	lc_value *wide = tensor(LC_C128, 0, NULL, "sixteen bytes...");
	lc_value *text = lc_value_str("text");
	char *path = scratch("refused.safetensors");
	uint64_t size = 0;
	void *file;

	ck_assert_int_eq(out->begin(path, &grouped, &file), LC_INVALID);
	assert_ok(out->begin(path, &how_out, &file));
	ck_assert_int_eq(out->plan(file, lc_id_of("w"), wide), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, "'w': safetensors has no dtype c128");
	ck_assert_int_eq(out->plan(file, lc_id_of("t"), text), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "'t' is a string: only tensors can be written");
	out->discard(file);
	assert_ok(out->begin(path, &how_out, &file));
	assert_ok(out->plan(file, lc_id_of("a"), r.values[2]));
	assert_ok(out->plan(file, lc_id_of("c"), r.values[0]));
	ck_assert_int_eq(out->plan(file, lc_id_of("c"), r.values[0]), LC_UNSUPPORTED);
	ck_assert_int_eq(out->put(file, lc_id_of("b"), other), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "'b': came after the file was planned");
	ck_assert_int_eq(out->put(file, lc_id_of("a"), other), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "'a': changed after the file was planned");
	assert_ok(out->put(file, lc_id_of("c"), r.values[0]));
	ck_assert_int_eq(out->finish(file, &size), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "1 of 2 tensors came"));
	ck_assert_int_eq(access(path, F_OK), -1);
	lc_value_free(other);
	lc_value_free(wide);
	lc_value_free(text);
	free_records(&r);
	free(path);
}
END_TEST

/* A hole of 5 GiB before the last tensors: places do not fit 32 bits. */
START_TEST(beyond_4_gib)
{
	static const uint64_t large = (uint64_t)5 << 30, three = 3;
	static const char header[] = "{\"z\":{\"dtype\":\"I64\",\"shape\":[671088640],"
	    "\"data_offsets\":[0,5368709120]},\"c\":{\"dtype\":\"U8\",\"shape\":[3],"
	    "\"data_offsets\":[5368709120,5368709123]}}";
	struct lc__loaded loaded = { 0 };
	char *path = scratch("large.safetensors");
	const size_t n = sizeof(header) - 1;
	unsigned char prefix[8];
	const lc_value *value;
	lc_tensor got;
	void *file;
	FILE *f = fopen(path, "w");
	lc_id id;

	lc__set64(prefix, n);
	fwrite(prefix, 1, 8, f);
	fwrite(header, 1, n, f);
	ck_assert_int_eq(fseeko(f, (off_t)(8 + n + large), SEEK_SET), 0);
	fwrite("xyz", 1, three, f);
	ck_assert_int_eq(fclose(f), 0);
	assert_ok(in->open(path, &how_in, &file));
	assert_ok(in->next(file, &id));
	ck_assert_int_eq(in->load(file, &loaded), LC_INVALID);
	lc__loaded_free(&loaded);
	assert_ok(in->next(file, &id));
	ck_assert_mem_eq(id.data, "c", 1);
	assert_ok(in->load(file, &loaded));
	value = loaded.value;
	assert_ok(lc_value_as_tensor(value, &got));
	ck_assert_uint_eq(got.nbytes, 3);
	ck_assert_mem_eq(got.data, "xyz", 3);
	lc__loaded_free(&loaded);
	in->close(file);
	unlink(path);
	free(path);
}
END_TEST

/* ---- in ------------------------------------------------------------------------- */

START_TEST(read_in_the_order_of_places)
{
	static const struct {
		const char *id, *data;
		lc_dtype dtype;
		uint32_t ndim;
		uint64_t shape[2];
	} want[] = {
		{ "a", "eightbyt", LC_F32, 1, { 2 } }, { "b.x", "tw", LC_F16, 0, { 0 } },
		{ "b.y.0", "", LC_F16, 2, { 1, 0 } }, { "c", "xyz", LC_U8, 1, { 3 } }
	};
	const struct lc__incoming_format *format;
	char *path = scratch("in.bin");
	void *file;
	lc_id id;

	assert_ok(lc__write_file_atomic(path, whole, sizeof(whole) - 1));
	assert_ok(lc__incoming_of(path, &format));
	ck_assert_ptr_eq(format, in);
	assert_ok(in->open(path, &how_in, &file));
	ck_assert_uint_eq(in->count(file), 4);
	for (size_t i = 0; i < 4; i++) {
		struct lc__loaded loaded = { 0 };
		lc_tensor got;
		assert_ok(in->next(file, &id));
		ck_assert_uint_eq(id.size, strlen(want[i].id));
		ck_assert_mem_eq(id.data, want[i].id, id.size);
		assert_ok(in->load(file, &loaded));
		assert_ok(lc_value_as_tensor(loaded.value, &got));
		ck_assert_int_eq(got.dtype, want[i].dtype);
		ck_assert_uint_eq(got.ndim, want[i].ndim);
		ck_assert_mem_eq(got.shape, want[i].shape, got.ndim * 8);
		ck_assert_uint_eq(got.nbytes, strlen(want[i].data));
		ck_assert_mem_eq(got.data, want[i].data, got.nbytes);
		lc__loaded_free(&loaded);
	}
	ck_assert_int_eq(in->next(file, &id), LC_END);
	in->close(file);
	free(path);
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
	lc_status status;
	const char *text;
} bad_rows[] = {
	{ "", 0, LC_CORRUPT, ": 0 bytes are not a safetensors file" },
	{ "\2\0\0\0\0\0\0", 7, LC_CORRUPT, ": 7 bytes are not a safetensors file" },
	{ "\2\0\0\0\0\0\0\0{", 9, LC_CORRUPT, ": a header of 2 bytes in a file of 9" },
	{ "\1\0\0\0\0\0\0\x80{}", 10, LC_CORRUPT, ": a header of 9223372036854775809 bytes, "
	    "of which 100000000 are allowed" },
	{ "\0\0\0\0\0\0\0\0{}", 10, LC_CORRUPT, ": the header does not begin with {" },
	{ "\2\0\0\0\0\0\0\0{}x", 11, LC_CORRUPT,
	    ": the tensors end at 0 of 1 bytes of data" },
	{ "\64\0\0\0\0\0\0\0{\"\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
	    60, LC_UNSUPPORTED,
	    ": the name '' of 0 bytes is not a cache_id of 1 to 65536 bytes" },
};

START_TEST(malformed_files)
{
	char *path = scratch("bad.safetensors");
	const struct lc__incoming_format *format;
	void *file;

	assert_ok(lc__write_file_atomic(path, bad_rows[_i].bytes, bad_rows[_i].size));
	assert_ok(lc__incoming_of(path, &format)); /* by its name */
	ck_assert_ptr_eq(format, in);
	ck_assert_int_eq(in->open(path, &how_in, &file), bad_rows[_i].status);
	ck_assert_mem_eq(lc_last_error()->text, path, strlen(path));
	ck_assert_str_eq(lc_last_error()->text + strlen(path), bad_rows[_i].text);
	free(path);
}
END_TEST

START_TEST(cut_behind_our_back)
{
	struct lc__loaded loaded = { 0 };
	char *path = scratch("cut.safetensors");
	void *file;
	lc_id id;

	assert_ok(lc__write_file_atomic(path, whole, sizeof(whole) - 1));
	assert_ok(in->open(path, &how_in, &file));
	ck_assert_int_eq(truncate(path, sizeof(whole) - 8), 0);
	assert_ok(in->next(file, &id));
	ck_assert_int_eq(in->load(file, &loaded), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, ": ends early"));
	lc__loaded_free(&loaded);
	in->close(file);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("safetensors files");
	TCase *tc = tcase_create("safetensors files");

	tcase_add_loop_test(tc, written_in_any_order, 0, 3);
	tcase_add_test(tc, of_no_records);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, beyond_4_gib);
	tcase_add_test(tc, read_in_the_order_of_places);
	tcase_add_loop_test(tc, malformed_files, 0,
	    (int)(sizeof(bad_rows) / sizeof(bad_rows[0])));
	tcase_add_test(tc, cut_behind_our_back);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
