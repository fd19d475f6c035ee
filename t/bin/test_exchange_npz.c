/* SPDX-License-Identifier: BSD-2-Clause */
/* .npz and .npy as formats of the exchange, and the files and names under them. */
#include "run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/outfile.h"
#include "formats/archive.h"
#include "format/npy.h"
#include "need.h"
#include "sample.h"

static const struct lc__incoming_how in_how = { .raw_dtype = LC__NPY_ANY_DTYPE,
	.limit = 1 << 20 };

static char *
scratch_path(const char *name)
{
	static char paths[8][5000];
	static unsigned n;
	char *path = paths[n++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", run_scratch(), name);
	return path;
}

static lc_value *
byte_value(const char *text)
{
	const lc_tensor tensor = sample_bytes(text, strlen(text));

	return lc_value_tensor(&tensor);
}

static size_t
entries_of(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

/* ---- names ------------------------------------------------------------------------ */

static const struct {
	const char *name;
	size_t size;
	const char *text, *member, *file; /* a word of each rule's fault; NULL for none */
} name_rows[] = {
	{ "a", 1, NULL, NULL, NULL },
	{ "dir/a.b", 7, NULL, NULL, NULL },
	{ "..a/...", 7, NULL, NULL, NULL },
	{ "\xc3\xa9", 2, NULL, NULL, NULL },
	{ "a\nb", 3, NULL, NULL, NULL },
	{ "a\0b", 3, "NUL", "NUL", "NUL" },
	{ "\xff", 1, "UTF-8", "UTF-8", NULL },
	{ "/a", 2, NULL, "slash", "slash" },
	{ "..", 2, NULL, "..", ".." },
	{ "../a", 4, NULL, "..", ".." },
	{ "a/../b", 6, NULL, "..", ".." },
	{ "a/..", 4, NULL, "..", ".." },
	{ "a//b", 4, NULL, NULL, "empty" },
	{ "a/", 2, NULL, NULL, "empty" },
	{ "./a", 3, NULL, NULL, "is ." },
	{ "a/.", 3, NULL, NULL, "is ." },
};

static void
check_fault(enum lc__name_rule rule, const char *name, size_t size,
    const char *suffix, const char *want)
{
	const char *fault = lc__name_fault(rule, name, size, suffix);

	ck_assert_msg((fault == NULL) == (want == NULL) &&
	    (want == NULL || strstr(fault, want) != NULL), "'%s': %s, not %s", name,
	    fault ? fault : "good", want ? want : "good");
}

START_TEST(faults)
{
	char longest[300];

	for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++) {
		const char *name = name_rows[i].name;
		const size_t size = name_rows[i].size;
		check_fault(LC__NAME_TEXT, name, size, ".npy", name_rows[i].text);
		check_fault(LC__NAME_MEMBER, name, size, ".npy", name_rows[i].member);
		check_fault(LC__NAME_FILE, name, size, ".npy", name_rows[i].file);
	}
	memset(longest, 'x', sizeof(longest));
	check_fault(LC__NAME_FILE, longest, 251, ".npy", NULL);
	check_fault(LC__NAME_FILE, longest, 252, ".npy", "too long");
	check_fault(LC__NAME_MEMBER, longest, 300, ".npy", NULL);
	longest[255] = '/';
	check_fault(LC__NAME_FILE, longest, 258, ".npy", NULL);
	longest[255] = 'x';
	longest[256] = '/';
	check_fault(LC__NAME_FILE, longest, 258, ".npy", "too long");
}
END_TEST

static lc_status
note(void *ctx, const char *name, const lc_tensor *tensor)
{
	lc__buf_printf(ctx, "%s=%.*s;", name, (int)tensor->nbytes,
	    (const char *)tensor->data);
	return LC_OK;
}

static lc_value *
tree(void)
{
	lc_value *map = lc_value_map(), *list = lc_value_list(), *part = lc_value_map();

	lc_value_append(list, byte_value("1"));
	lc_value_append(list, part);
	lc_value_set(part, "x.y", byte_value("2"));
	lc_value_set(map, "list", list);
	lc_value_set(map, "a", byte_value("3"));
	return map;
}

START_TEST(each)
{
	struct lc__flat_names names = { .rule = LC__NAME_TEXT, .suffix = "" };
	struct lc__buf out = { 0 };
	lc_value *value = tree(), *byte = byte_value("4");

	assert_ok(lc__names_each(&names, lc_id_of("id"), value, note, &out));
	assert_ok(lc__names_each(&names, lc_id_of("id.b"), byte, note, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((char *)out.data,
	    "id.list.0=1;id.list.1.x\\.y=2;id.a=3;id.b=4;");
	assert_status(lc__names_each(&names, lc_id_of("id.a"), byte, note, &out),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "a tensor of 'id' and one of 'id.a' would both be named 'id.a'");
	lc__names_free(&names);
	lc__buf_free(&out);
	lc_value_free(value);
	lc_value_free(byte);
}
END_TEST

static lc_value *
map_of(const char *name, lc_value *part)
{
	lc_value *map = lc_value_map();

	lc_value_set(map, name, part);
	return map;
}

START_TEST(no_names)
{
	const struct {
		const char *id;
		size_t id_size;
		lc_value *value;
		const char *message;
	} rows[] = {
		{ "i", 1, lc_value_str("x"), "'i' is a string: only tensors can be written" },
		{ "i", 1, map_of("a", lc_value_nil()),
		    "'i': a is a nil: only tensors can be written" },
		{ "i", 1, map_of("a", lc_value_list()),
		    "'i': a is an empty list: only tensors can be written" },
		{ "i", 1, lc_value_map(), "'i' is an empty map: only tensors can be written" },
		{ "i\0j", 3, byte_value("x"),
		    "'i\\x00j' cannot be a name there: it has a NUL byte" },
		{ "../i", 4, byte_value("x"),
		    "'../i' cannot be a name there: it leads up by .." },
		{ "i", 1, map_of("../../x", byte_value("x")), "leads up by .." },
		{ "i", 1, map_of("/../x", byte_value("x")), "leads up by .." },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lc__flat_names names = { .rule = LC__NAME_FILE, .suffix = ".npy" };
		struct lc__buf out = { 0 };
		const lc_status status = lc__names_each(&names,
		    (lc_id) { rows[i].id, rows[i].id_size }, rows[i].value, note, &out);
		/* A name of a part is escaped: its dots lead nowhere. */
		if (i >= 6) {
			ck_assert_int_eq(status, LC_OK);
		} else {
			ck_assert_int_eq(status, LC_UNSUPPORTED);
			ck_assert_str_eq(lc_last_error()->text, rows[i].message);
		}
		lc__names_free(&names);
		lc__buf_free(&out);
		lc_value_free(rows[i].value);
	}
}
END_TEST

/* ---- files -------------------------------------------------------------------------- */

static void
check_file(const char *path, const void *want, size_t size)
{
	struct lc__buf got = { 0 };

	assert_ok(lc__read_file(path, 1 << 30, &got));
	ck_assert_uint_eq(got.size, size);
	ck_assert_mem_eq(got.data, want, size);
	lc__buf_free(&got);
}

/* Pieces of all sizes, the largest ones past the buffer. */
START_TEST(whole_file)
{
	enum { n = 3000000 };
	const struct lc__outgoing_how how = { .bits = false };
	struct lc__out_file file = LC__OUT_FILE_NONE;
	char *path = scratch_path("file"), *dir = strndup(path, strlen(path) - 5);
	unsigned char *bytes = malloc(n);
	uint64_t seed = run_seed();

	sample_fill(bytes, n, 1);
	assert_ok(lc__out_file_open(path, &how, &file));
	for (size_t at = 0, size; at < n; at += size) {
		size = run_random(&seed) % (run_random(&seed) % 4 == 0 ? 700000 : 3000);
		size = size < n - at ? size : n - at;
		assert_ok(lc__out_file_write(&file, bytes + at, size));
		ck_assert_uint_eq(file.size, at + size);
	}
	memcpy(bytes + 100, "again", 5);
	assert_ok(lc__out_file_rewrite(&file, 100, "again", 5));
	memcpy(bytes + n - 2, "ok", 2);
	assert_ok(lc__out_file_rewrite(&file, n - 2, "ok", 2));
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_uint_eq(entries_of(dir), 1);
	assert_ok(lc__out_file_finish(&file));
	check_file(path, bytes, n);
	ck_assert_uint_eq(entries_of(dir), 1);
	free(bytes);
	free(dir);
}
END_TEST

START_TEST(in_the_way)
{
	struct lc__outgoing_how how = { .bits = false };
	struct lc__out_file file = LC__OUT_FILE_NONE, other = LC__OUT_FILE_NONE;
	char *path = scratch_path("file"), *dir = strndup(path, strlen(path) - 5);

	/* Two at once: the second one is told in the end. */
	assert_ok(lc__out_file_open(path, &how, &file));
	assert_ok(lc__out_file_open(path, &how, &other));
	assert_ok(lc__out_file_write(&file, "one", 3));
	assert_ok(lc__out_file_finish(&file));
	assert_status(lc__out_file_finish(&other), LC_EXISTS);
	check_file(path, "one", 3);
	assert_status(lc__out_file_open(path, &how, &file), LC_EXISTS);
	how.force = true;
	assert_ok(lc__out_file_open(path, &how, &file));
	assert_ok(lc__out_file_write(&file, "three", 5));
	lc__out_file_discard(&file);
	check_file(path, "one", 3);
	assert_ok(lc__out_file_open(path, &how, &file));
	assert_ok(lc__out_file_write(&file, "two", 3));
	assert_ok(lc__out_file_place(&file));
	check_file(path, "two", 3);
	ck_assert_uint_eq(entries_of(dir), 1);
	assert_status(lc__out_file_open("/dev/null", &how, &file), LC_INVALID);
	assert_status(lc__out_file_open(dir, &how, &file), LC_INVALID);
	lc__out_file_discard(&file);
	free(dir);
}
END_TEST

START_TEST(dry_run)
{
	struct lc__outgoing_how how = { .dry_run = true };
	struct lc__out_file file = LC__OUT_FILE_NONE;
	struct lc__out_tree out = { 0 };
	char *path = scratch_path("sub/tree"), *dir = strndup(path, strlen(path) - 9);
	uint64_t bytes = 0;

	assert_ok(lc__out_tree_begin(path, &how, &out));
	assert_ok(lc__out_tree_open(&out, "a/b/c.npy", &file));
	assert_ok(lc__out_file_write(&file, "12345", 5));
	assert_ok(lc__out_file_rewrite(&file, 0, "x", 1));
	assert_ok(lc__out_tree_place(&out, &file));
	assert_ok(lc__out_tree_finish(&out, &bytes));
	ck_assert_uint_eq(bytes, 5);
	ck_assert_uint_eq(entries_of(dir), 0);
	free(dir);
}
END_TEST

START_TEST(file_tree)
{
	struct lc__outgoing_how how = { .bits = false };
	struct lc__out_file file = LC__OUT_FILE_NONE;
	struct lc__out_tree out = { 0 };
	char *path = scratch_path("new/tree"), name[5100];
	static const char *const names[] = { "a", "d/b", "d/c", "d/e/f", "g/h", "d/i" };
	uint64_t bytes = 0;

	assert_ok(lc__out_tree_begin(path, &how, &out));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_ok(lc__out_tree_open(&out, names[i], &file));
		assert_ok(lc__out_file_write(&file, names[i], strlen(names[i])));
		assert_ok(lc__out_tree_place(&out, &file));
	}
	assert_status(lc__out_tree_open(&out, "d/b", &file), LC_EXISTS);
	ck_assert_int_ne(lc__out_tree_open(&out, "a/under a file", &file), LC_OK);
	ck_assert_int_ne(lc__out_tree_open(&out, "a/under/a file", &file), LC_OK);
	assert_ok(lc__out_tree_finish(&out, &bytes));
	ck_assert_uint_eq(bytes, 18);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[i]);
		check_file(name, names[i], strlen(names[i]));
	}
	assert_status(lc__out_tree_begin(path, &how, &out), LC_EXISTS);
	assert_status(lc__out_tree_begin(name, &how, &out), LC_INVALID);
	how.force = true;
	assert_status(lc__out_tree_begin(name, &how, &out), LC_INVALID);
	assert_ok(lc__out_tree_begin(path, &how, &out));
	assert_ok(lc__out_tree_open(&out, "a", &file));
	assert_ok(lc__out_file_write(&file, "again", 5));
	assert_ok(lc__out_tree_place(&out, &file));
	lc__out_tree_discard(&out);
	snprintf(name, sizeof(name), "%s/a", path);
	check_file(name, "again", 5);
	ck_assert_uint_eq(entries_of(path), 3);
	/* Nothing came: nothing stays. */
	path = scratch_path("gone");
	assert_ok(lc__out_tree_begin(path, &how, &out));
	assert_ok(lc__out_tree_open(&out, "a/b/c", &file));
	lc__out_file_discard(&file);
	lc__out_tree_discard(&out);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* ---- round trips ---------------------------------------------------------------------- */

#define RECORDS 40

static size_t
text_id(char out[64], uint64_t i)
{
	static const char *const forms[] = { "img", "dir/img", "a.b", "caf\xc3\xa9 ",
		"a..\n" };

	return (size_t)snprintf(out, 64, "%s%d", forms[i % 5], (int)i);
}

static void
write_all(const struct lc__outgoing_format *format, const char *path, bool bits)
{
	const struct lc__outgoing_how how = { .bits = bits };
	struct sample_range range = { 0, 90000 };
	uint64_t bytes = 0;
	void *file;

	assert_ok(format->begin(path, &how, &file));
	for (uint64_t i = 0; i < RECORDS; i++) {
		char id[64];
		const size_t size = text_id(id, i);
		lc_value *value;
		lc_tensor tensor;
		sample_make(&tensor, id, size, i, range);
		value = lc_value_tensor(&tensor);
		assert_ok(format->put(file, (lc_id) { id, size }, value));
		lc_value_free(value);
		sample_free(&tensor);
	}
	assert_ok(format->finish(file, &bytes));
	ck_assert_uint_gt(bytes, 0);
}

/* sample_make() takes dtypes of all kinds; raw bits come back as what they were only
 * if told, so that those are compared by their bytes. */
static void
check_record(uint64_t i, lc_id id, const lc_value *value)
{
	struct sample_range range = { 0, 90000 };
	lc_tensor want, got;
	char text[64];
	const size_t size = text_id(text, i);

	ck_assert_uint_eq(id.size, size);
	ck_assert_mem_eq(id.data, text, size);
	sample_make(&want, text, size, i, range);
	assert_ok(lc_value_as_tensor(value, &got));
	ck_assert_uint_eq(got.nbytes, want.nbytes);
	if (want.nbytes > 0)
		ck_assert_mem_eq(got.data, want.data, got.nbytes);
	if (lc_dtype_size(want.dtype) > 2)
		ck_assert(sample_same(&want, &got));
	sample_free(&want);
}

START_TEST(npz_round_trip)
{
	const struct lc__outgoing_format *out = lc__outgoing_named("npz");
	const struct lc__incoming_format *in = NULL;
	struct lc__incoming_how how = in_how;
	char *path = scratch_path("a.npz");
	struct lc__buf bytes = { 0 };
	uint64_t n = 0;
	void *file;
	lc_id id;

	ck_assert_ptr_eq(lc__outgoing_of("x.npz"), out);
	ck_assert_ptr_null(lc__outgoing_of(".npz"));
	ck_assert_ptr_null(lc__outgoing_of("dir/.npz"));
	write_all(out, path, true);
	assert_ok(lc__read_file(path, 1 << 30, &bytes));
	write_all(out, scratch_path("b.npz"), true);
	assert_ok(lc__incoming_of(path, &in));
	ck_assert_ptr_eq(in, lc__incoming_named("npz"));
	how.raw_dtype = LC_BF16;
	assert_ok(in->open(path, &how, &file));
	while (in->next(file, &id) == LC_OK) {
		struct lc__loaded loaded = { 0 };
		const lc_status status = in->load(file, &loaded);
		/* f8 is no bf16: that record alone is refused. */
		if (status == LC_OK)
			check_record(n, id, loaded.value);
		else
			ck_assert_int_eq(status, LC_INVALID);
		lc__loaded_free(&loaded);
		n++;
	}
	in->close(file);
	ck_assert_uint_eq(n, RECORDS);
	lc__buf_free(&bytes);
}
END_TEST

/* The hour does not stand in it. */
START_TEST(npz_same_bytes)
{
	const struct lc__outgoing_format *out = lc__outgoing_named("npz");
	char *paths[2] = { scratch_path("a.npz"), scratch_path("b.npz") };
	struct lc__buf bytes[2] = { { 0 } };

	for (int i = 0; i < 2; i++) {
		setenv("TZ", i == 0 ? "UTC" : "Asia/Tokyo", 1);
		write_all(out, paths[i], true);
		assert_ok(lc__read_file(paths[i], 1 << 30, &bytes[i]));
	}
	ck_assert_uint_eq(bytes[0].size, bytes[1].size);
	ck_assert_mem_eq(bytes[0].data, bytes[1].data, bytes[0].size);
	lc__buf_free(&bytes[0]);
	lc__buf_free(&bytes[1]);
}
END_TEST

START_TEST(npy_files)
{
	const struct lc__outgoing_format *out = lc__outgoing_named("npy");
	char *path = scratch_path("files"), name[5200], id[64];
	struct sample_range range = { 0, 90000 };

	write_all(out, path, true);
	for (uint64_t i = 0; i < RECORDS; i++) {
		struct lc__buf bytes = { 0 };
		void *owned = NULL;
		lc_tensor want, got;
		const size_t size = text_id(id, i);
		sample_make(&want, id, size, i, range);
		snprintf(name, sizeof(name), "%s/%s.npy", path, id);
		assert_ok(lc__read_file(name, 1 << 30, &bytes));
		assert_ok(lc__npy_read(bytes.data, bytes.size,
		    (int)want.dtype, &got, &owned));
		ck_assert(sample_same(&want, &got));
		free(owned);
		lc__buf_free(&bytes);
		sample_free(&want);
	}
}
END_TEST

/* What cannot be written ends an export; nothing is there then. */
START_TEST(refused)
{
	static const char *const formats[] = { "npy", "npz" };
	const struct lc__outgoing_how how = { .bits = false };
	const struct lc__outgoing_format *out = lc__outgoing_named(formats[_i]);
	char *path = scratch_path("target"), *dir = strndup(path, strlen(path) - 7);
	lc_value *byte = byte_value("x"), *half, *map = lc_value_map();
	uint64_t shape = 1;
	lc_tensor tensor;
	void *file;

	assert_ok(lc_tensor_init(&tensor, LC_BF16, 1, &shape, "ab"));
	half = lc_value_tensor(&tensor);
	assert_ok(out->begin(path, &how, &file));
	assert_status(out->put(file, lc_id_of("half"), half), LC_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'half': .npy has no name"));
	assert_status(out->put(file, lc_id_of("../x"), byte), LC_UNSUPPORTED);
	assert_status(out->put(file, lc_id_of("/x"), byte), LC_UNSUPPORTED);
	ck_assert_int_eq(out->put(file, lc_id_of("x\\y"), byte), _i == 0 ? LC_OK :
	    LC_UNSUPPORTED);
	out->discard(file);
	ck_assert_uint_eq(entries_of(dir), _i == 0 ? 1 : 0);
	path = scratch_path("target");
	free(dir);
	dir = strndup(path, strlen(path) - 7);
	lc_value_free(map);
	map = map_of("a", byte_value("x"));
	assert_ok(out->begin(path, &how, &file));
	assert_ok(out->put(file, lc_id_of("id"), map));
	assert_status(out->put(file, lc_id_of("id.a"), byte), LC_UNSUPPORTED);
	out->discard(file);
	ck_assert_uint_eq(entries_of(dir), _i == 0 ? 1 : 0);
	lc_value_free(byte);
	lc_value_free(half);
	lc_value_free(map);
	free(dir);
}
END_TEST

/* ---- damage --------------------------------------------------------------------------- */

/* How many records of a file are good; *status is what ended it. */
static size_t
read_npz(const char *path, lc_status *status)
{
	const struct lc__incoming_format *in = lc__incoming_named("npz");
	size_t good = 0;
	void *file;
	lc_id id;

	*status = in->open(path, &in_how, &file);
	if (*status != LC_OK)
		return 0;
	while ((*status = in->next(file, &id)) == LC_OK) {
		struct lc__loaded loaded = { 0 };
		if (in->load(file, &loaded) == LC_OK)
			good++;
		else
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text, path));
		lc__loaded_free(&loaded);
	}
	in->close(file);
	return good;
}

static void
write_small(const char *path)
{
	const struct lc__outgoing_how how = { .force = true };
	const struct lc__outgoing_format *out = lc__outgoing_named("npz");
	lc_value *a = byte_value("hello"), *b = byte_value("world, this is it");
	uint64_t bytes;
	void *file;

	assert_ok(out->begin(path, &how, &file));
	assert_ok(out->put(file, lc_id_of("a"), a));
	assert_ok(out->put(file, lc_id_of("b"), b));
	assert_ok(out->finish(file, &bytes));
	lc_value_free(a);
	lc_value_free(b);
}

START_TEST(npz_cut)
{
	char *path = scratch_path("a.npz");
	struct lc__buf bytes = { 0 };
	lc_status status;

	write_small(path);
	ck_assert_uint_eq(read_npz(path, &status), 2);
	ck_assert_int_eq(status, LC_END);
	assert_ok(lc__read_file(path, 1 << 20, &bytes));
	for (size_t size = bytes.size; size-- > 0; ) {
		ck_assert_int_eq(truncate(path, (off_t)size), 0);
		ck_assert_uint_eq(read_npz(path, &status), 0);
		ck_assert_int_eq(status, LC_CORRUPT);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, path));
	}
	lc__buf_free(&bytes);
}
END_TEST

/* A record that is changed is bad, the one behind it is not. */
START_TEST(npz_changed)
{
	char *path = scratch_path("a.npz");
	struct lc__buf bytes = { 0 };
	lc_status status;
	const char *place;

	write_small(path);
	assert_ok(lc__read_file(path, 1 << 20, &bytes));
	place = memmem(bytes.data, bytes.size, "hello", 5);
	ck_assert_ptr_nonnull(place);
	bytes.data[place - (char *)bytes.data] ^= 1;
	assert_ok(lc__write_file_atomic(path, bytes.data, bytes.size));
	ck_assert_uint_eq(read_npz(path, &status), 1);
	ck_assert_int_eq(status, LC_END);
	bytes.data[place - (char *)bytes.data] ^= 1;
	for (size_t i = 0; i < bytes.size; i++) {
		bytes.data[i] ^= 0x41;
		assert_ok(lc__write_file_atomic(path, bytes.data, bytes.size));
		ck_assert_uint_le(read_npz(path, &status), 2);
		bytes.data[i] ^= 0x41;
	}
	lc__buf_free(&bytes);
}
END_TEST

static lc_status
keep(void *ctx, const void *data, size_t size)
{
	return lc__buf_append(ctx, data, size) != NULL ? LC_OK : LC_NO_MEMORY;
}

/* A header that promises more than there is, more than may be, and members that are
 * none: bad one by one. */
START_TEST(npz_hostile)
{
	static const char *const names[] = { "../up.npy", "/etc/abs.npy", "same.npy",
		"same.npy", "no", "big.npy", "short.npy", "good.npy" };
	static const uint64_t says[] = { 4, 4, 4, 4, 4, 1 << 20, 5, 4 };
	struct lc__archive_writer *writer;
	struct lc__buf bytes = { 0 };
	char *path = scratch_path("a.npz");
	lc_status status;

	assert_ok(lc__archive_create(LC__ARCHIVE_ZIP, keep, &bytes, &writer));
	for (size_t i = 0; i < 8; i++) {
		struct lc__buf header = { 0 };
		static char zeros[1 << 20];
		lc_tensor tensor;
		assert_ok(lc_tensor_init(&tensor, LC_U8, 1, &says[i], zeros));
		if (strcmp(names[i], "no") != 0)
			assert_ok(lc__npy_encode_header(&tensor, false, &header));
		lc__buf_append(&header, "data", 4);
		assert_ok(lc__archive_add(writer, names[i], header.size));
		assert_ok(lc__archive_append(writer, header.data, header.size));
		lc__buf_free(&header);
	}
	assert_ok(lc__archive_finish(writer));
	assert_ok(lc__write_file_atomic(path, bytes.data, bytes.size));
	ck_assert_uint_eq(read_npz(path, &status), 5);
	ck_assert_int_eq(status, LC_END);
	lc__buf_free(&bytes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("exchange_npz");
	TCase *tcase = tcase_create("exchange_npz");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, faults);
	tcase_add_test(tcase, each);
	tcase_add_test(tcase, no_names);
	tcase_add_test(tcase, whole_file);
	tcase_add_test(tcase, in_the_way);
	tcase_add_test(tcase, dry_run);
	tcase_add_test(tcase, file_tree);
	tcase_add_test(tcase, npz_round_trip);
	tcase_add_test(tcase, npz_same_bytes);
	tcase_add_test(tcase, npy_files);
	tcase_add_loop_test(tcase, refused, 0, 2);
	tcase_add_test(tcase, npz_cut);
	tcase_add_test(tcase, npz_changed);
	tcase_add_test(tcase, npz_hostile);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
