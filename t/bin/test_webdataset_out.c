/* SPDX-License-Identifier: BSD-2-Clause */
/* WebDataset's tar archives on their way out. */
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
#include "formats/webdataset_layout.h"
#include "format/npy.h"
#include "formats/value_json.h"
#include "made_tar.h"
#include "made_value.h"
#include "need.h"
#include "sample.h"

static void
load(const char *json, struct lc__loaded *out)
{
	assert_ok(lc__value_json_read(json, strlen(json), NULL, NULL, out));
}

#define TENSOR "{\"$tensor\":\"u8[1]\",\"data\":\"YQ==\"}"
#define BYTES(base64) "{\"$bytes\":\"" base64 "\"}"
#define PNG BYTES("iVBORw0KGgo=")
#define JPEG BYTES("/9j/4A==")

/* ---- files of a record ---------------------------------------------------------------- */

/* Files of the record "a" with what is in them, but tensors. */
static const struct {
	const char *value, *files;
} layouts[] = {
	{ TENSOR, "a.npy" },
	{ "\"caf\xc3\xa9\"", "a.txt=caf\xc3\xa9" },
	{ "\"\"", "a.txt=" },
	{ "{\"$str\":\"/w==\"}", "a.json={\"$str\":\"/w==\"}" },
	{ BYTES("YWI="), "a.bin=ab" },
	{ PNG, "a.png=\x89PNG\r\n\x1a\n" },
	{ JPEG, "a.jpg=\xff\xd8\xff\xe0" },
	{ "null", "a.json=null" },
	{ "7", "a.json=7" },
	{ "-1.5", "a.json=-1.5" },
	{ "[1,\"x\"," BYTES("YWI=") "]", "a.json=[1,\"x\",{\"$bytes\":\"YWI=\"}]" },
	{ "{}", "a.json={}" },
	{ "[]", "a.json=[]" },
	/* parts */
	{ "{\"x\":" TENSOR "}", "a.x.npy" },
	{ "{\"x\":" TENSOR ",\"y\":" TENSOR "}", "a.x.npy a.y.npy" },
	{ "{\"x\":" TENSOR ",\"y\":{\"z\":" TENSOR ",\"w\":[1]}}",
	    "a.x.npy a.y.z.npy a.y.w.json=[1]" },
	{ "{\"x\":[" TENSOR "," TENSOR ",\"s\"]}", "a.x.0.npy a.x.1.npy a.x.2.txt=s" },
	{ "[" TENSOR "," TENSOR "]", "a.0.npy a.1.npy" },
	{ "{\"x\":" TENSOR ",\"m\":{\"w\":1,\"h.h\":\"s\"},\"e\":{}}",
	    "a.x.npy a.m.json={\"w\":1,\"h.h\":\"s\"} a.e.json={}" },
	{ "{\"caption\":\"s\",\"label\":3}", "a.caption.txt=s a.label.json=3" },
	{ "{\"X\":" TENSOR ",\"caf\xc3\xa9 2\":1}", "a.X.npy a.caf\xc3\xa9 2.json=1" },
	{ "{\"b\\\\c\":" TENSOR "}", "a.b\\c.npy" },
	/* bytes */
	{ "{\"jpg\":" BYTES("YWI=") ",\"pdf\":" BYTES("YWI=") ",\"pkl\":" BYTES("YWI=")
	    "}", "a.jpg=ab a.pdf=ab a.pkl=ab" },
	{ "{\"seg\":{\"png\":" PNG "}}", "a.seg.png=\x89PNG\r\n\x1a\n" },
	{ "{\"txt\":" BYTES("YWI=") ",\"npy\":" BYTES("YWI=") ",\"bin\":" BYTES("YWI=")
	    "}", "a.txt.bin=ab a.npy.bin=ab a.bin.bin=ab" },
	/* names of their own type */
	{ "{\"npy\":" TENSOR ",\"cls\":-3,\"txt\":\"s\",\"json\":[1]}",
	    "a.npy a.cls=-3 a.txt=s a.json=[1]" },
	{ "{\"npy\":" TENSOR "}", "a.npy.npy" },
	{ "{\"txt\":\"s\"}", "a.txt.txt=s" },
	{ "{\"cls\":1.0,\"id\":\"x\",\"index\":true,\"count\":" TENSOR "}",
	    "a.cls.json=1.0 a.id.txt=x a.index.json=true a.count.npy" },
	{ "{\"Cls\":1,\"x\":{\"cls\":1,\"y\":" TENSOR "}}",
	    "a.Cls.json=1 a.x.cls.json=1 a.x.y.npy" },
	/* plain data whose names are no extensions stays together */
	{ "{\"a.b\":1}", "a.json={\"a.b\":1}" },
	{ "{\"a/b\":1}", "a.json={\"a/b\":1}" },
	{ "{\"_x\":1}", "a.json={\"_x\":1}" },
	{ "{\"0\":1,\"1\":2}", "a.json={\"0\":1,\"1\":2}" },
};

static void
describe(const struct lc__wds_files *files, struct lc__buf *out)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct lc__wds_file *file = &files->files[i];
		struct lc__buf head = { 0 };
		const void *data;
		size_t size;

		assert_ok(lc__wds_file_bytes(file, false, &head, &data, &size));
		lc__buf_printf(out, "%s%s", i > 0 ? " " : "", lc__wds_file_name(files, i));
		if (file->form != LC__WDS_AS_NPY) {
			lc__buf_append(out, "=", 1);
			lc__buf_append(out, head.data, head.size);
			lc__buf_append(out, data, size);
		} else {
			ck_assert_uint_eq(head.size, 128);
			ck_assert_uint_eq(size, 1);
			ck_assert_mem_eq(data, "a", 1);
		}
		lc__buf_free(&head);
	}
	lc__buf_append(out, "", 1);
}

START_TEST(files_of_a_record)
{
	struct lc__loaded loaded = { 0 };
	struct lc__wds_files files = { 0 };
	struct lc__buf got = { 0 };

	load(layouts[_i].value, &loaded);
	assert_ok(lc__wds_layout(lc_id_of("a"), loaded.value, &files));
	describe(&files, &got);
	ck_assert_str_eq((char *)got.data, layouts[_i].files);
	lc__buf_free(&got);
	lc__wds_files_free(&files);
	lc__loaded_free(&loaded);
}
END_TEST

static const struct {
	const char *id, *value, *message;
} refused[] = {
	{ "a.b", TENSOR, "'a.b': WebDataset cannot have this key: it would end at the first "
	    "dot after its last slash" },
	{ "d/a.b", TENSOR, "'d/a.b': WebDataset cannot have this key: it would end at the "
	    "first dot after its last slash" },
	{ "a/", TENSOR, "'a/': WebDataset cannot have this key: nothing is between its "
	    "last slash and the extension" },
	{ ".a", TENSOR, "'.a': WebDataset cannot have this key: nothing is between its "
	    "last slash and the extension" },
	{ "__d__/a", TENSOR, "'__d__/a': WebDataset cannot have this key: names between "
	    "double underscores are skipped" },
	{ "__a", "{\"b__\":" BYTES("YWI=") "}", "'__a': WebDataset cannot have this key: "
	    "names between double underscores are skipped" },
	{ "/a", TENSOR, "'/a': WebDataset cannot have this key: it begins with a slash" },
	{ "../a", TENSOR, "'../a': WebDataset cannot have this key: it leads up by .." },
	{ "a\nb", TENSOR, "'a\\x0ab': WebDataset cannot have this key: it has a line break" },
	{ "\xff", TENSOR, "'\\xff': WebDataset cannot have this key: it is not UTF-8" },
	{ "a", "{\"x\":{\"$tuple\":[" TENSOR "]}}",
	    "'a': x: a tuple with tensors would come back as a list" },
	{ "a", "{\"$tuple\":[" TENSOR "]}",
	    "'a': a tuple with tensors would come back as a list" },
	{ "a", "{\"x\":{\"$tagged\":[\"t\"," TENSOR "]}}",
	    "'a': x: a tagged value with tensors would come back as a map" },
	{ "a", "{\"x\":{\"$pairs\":[[1," TENSOR "]]}}",
	    "'a': x: pairs with tensors would come back as a list" },
	{ "a", "{\"0\":" TENSOR "}", "'a': a map of such names would come back as a list" },
	{ "a", "{\"x\":{\"1\":1,\"0\":" TENSOR "}}",
	    "'a': x: a map of such names would come back as a list" },
	{ "a", "{\"x\":" TENSOR ",\"y.z\":1}",
	    "'a': y\\.z: a name with a dot or a slash cannot be an extension" },
	{ "a", "{\"x\":" TENSOR ",\"y/z\":1}",
	    "'a': y/z: a name with a dot or a slash cannot be an extension" },
	{ "a", "{\"x\":" TENSOR ",\"y\\nz\":1}",
	    "'a': y\nz: a name with a line break cannot be an extension" },
	{ "a", "{\"_x\":" TENSOR "}", "'a': _x: names that begin with _ are WebDataset's own" },
	{ "a", "{\"x\":" TENSOR ",\"X\":" TENSOR "}",
	    "'a': 'a.x.npy' and 'a.X.npy' are one name for WebDataset" },
};

START_TEST(what_is_refused)
{
	struct lc__loaded loaded = { 0 };
	struct lc__wds_files files = { 0 };

	load(refused[_i].value, &loaded);
	assert_status(lc__wds_layout(lc_id_of(refused[_i].id), loaded.value, &files),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, refused[_i].message);
	lc__wds_files_free(&files);
	lc__loaded_free(&loaded);
}
END_TEST

START_TEST(a_nul_in_the_key)
{
	const lc_tensor tensor = sample_bytes("a", 1);
	lc_value *value = lc_value_tensor(&tensor);
	struct lc__wds_files files = { 0 };
	const lc_id id = { "a\0b", 3 };

	assert_status(lc__wds_layout(id, value, &files), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "'a\\x00b': WebDataset cannot have this key: it has a NUL byte");
	lc__wds_files_free(&files);
	lc_value_free(value);
}
END_TEST

/* ---- archives ---------------------------------------------------------------------------- */

static const struct lc__outgoing_how plain = { .shard_bytes = 1 << 30 };
static const struct lc__incoming_how reading = { .raw_dtype = LC__NPY_ANY_DTYPE,
	.raw = true, .limit = 1 << 30 };

static void *
begin(const char *path, const struct lc__outgoing_how *how)
{
	void *file = NULL;

	assert_ok(lc__outgoing_webdataset.begin(path, how, &file));
	return file;
}

static lc_status
put_text(void *file, const char *id, const char *text)
{
	lc_value *value = lc_value_str(text);
	const lc_status status = lc__outgoing_webdataset.put(file, lc_id_of(id), value);

	lc_value_free(value);
	return status;
}

static uint64_t
finish(void *file)
{
	uint64_t bytes = 0;

	assert_ok(lc__outgoing_webdataset.finish(file, &bytes));
	return bytes;
}

static void
expect_bytes(const char *path, const struct made_tar *tar)
{
	struct lc__buf got = { 0 };

	assert_ok(lc__read_file(path, 1 << 30, &got));
	ck_assert_uint_eq(got.size, tar->bytes.size);
	ck_assert_mem_eq(got.data, tar->bytes.data, got.size);
	lc__buf_free(&got);
}

START_TEST(exact_bytes)
{
	char *path = lc__path_join(run_scratch(), "set.tar");
	const lc_tensor tensor = sample_bytes("abc", 3);
	lc_value *value = lc_value_map();
	struct made_tar tar = { 0 };
	struct lc__buf npy = { 0 };
	void *file = begin(path, &plain);

	assert_ok(lc__npy_encode_header(&tensor, false, &npy));
	lc__buf_append(&npy, "abc", 3);
	made_tar_add(&tar, "d/0.x.npy", npy.data, npy.size);
	made_tar_add(&tar, "d/0.cls", "7", 1);
	made_tar_add(&tar, "1.txt", "", 0);
	made_tar_end(&tar);
	lc_value_set(value, "x", lc_value_tensor(&tensor));
	lc_value_set(value, "cls", lc_value_integer(7));
	assert_ok(lc__outgoing_webdataset.put(file, lc_id_of("d/0"), value));
	assert_ok(put_text(file, "1", ""));
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_uint_eq(finish(file), tar.bytes.size);
	expect_bytes(path, &tar);
	lc__buf_free(&tar.bytes);
	lc__buf_free(&npy);
	lc_value_free(value);
	free(path);
}
END_TEST

START_TEST(nothing_to_write)
{
	char *path = lc__path_join(run_scratch(), "set.tar");
	struct made_tar tar = { 0 };

	made_tar_end(&tar);
	finish(begin(path, &plain));
	expect_bytes(path, &tar);
	lc__buf_free(&tar.bytes);
	free(path);
}
END_TEST

/* Names that no plain header has room for, or letters. */
START_TEST(long_names)
{
	char *path = lc__path_join(run_scratch(), "set.tar"), id[2000];
	struct lc__loaded loaded = { 0 };
	void *file = begin(path, &plain);
	const char *text;
	lc_id got;

	memset(id, 'x', sizeof(id));
	for (size_t i = 50; i < sizeof(id); i += 50)
		id[i] = '/';
	memcpy(id + sizeof(id) - 4, "\xe2\x82\xac", 4);
	assert_ok(put_text(file, id, "long"));
	assert_ok(put_text(file, "caf\xc3\xa9", "accent"));
	finish(file);
	assert_ok(lc__incoming_webdataset.open(path, &reading, &file));
	assert_ok(lc__incoming_webdataset.next(file, &got));
	ck_assert_uint_eq(got.size, sizeof(id) - 1);
	ck_assert_mem_eq(got.data, id, sizeof(id) - 1);
	assert_ok(lc__incoming_webdataset.next(file, &got));
	ck_assert_uint_eq(got.size, 5);
	assert_ok(lc__incoming_webdataset.load(file, &loaded));
	assert_ok(lc_value_as_str(loaded.value, &text, NULL));
	ck_assert_str_eq(text, "accent");
	lc__loaded_free(&loaded);
	lc__incoming_webdataset.close(file);
	free(path);
}
END_TEST

START_TEST(raw_bits)
{
	char *path = lc__path_join(run_scratch(), "set.tar");
	struct lc__outgoing_how how = plain;
	const uint64_t shape = 1;
	lc_tensor tensor;
	lc_value *value;
	void *file = begin(path, &how);

	assert_ok(lc_tensor_init(&tensor, LC_BF16, 1, &shape, "ab"));
	value = lc_value_tensor(&tensor);
	assert_status(lc__outgoing_webdataset.put(file, lc_id_of("a"), value),
	    LC_UNSUPPORTED);
	ck_assert_msg(strncmp(lc_last_error()->text, "'a.npy': ", 9) == 0, "%s",
	    lc_last_error()->text);
	lc__outgoing_webdataset.discard(file);
	ck_assert_int_ne(access(path, F_OK), 0);
	how.bits = true;
	file = begin(path, &how);
	assert_ok(lc__outgoing_webdataset.put(file, lc_id_of("a"), value));
	finish(file);
	lc_value_free(value);
	free(path);
}
END_TEST

/* What can be written comes back as it was, and the same bytes are made of it. */
START_TEST(round_trips)
{
	const unsigned rounds = sample_times(200);
	uint64_t seed = run_seed();
	unsigned written = 0;

	for (unsigned round = 0; round < rounds; round++) {
		const struct made_value how = { .tensors = true, .plain = round % 2,
		    .deep = 5 };
		char *path = lc__path_join(run_scratch(), "set.tar");
		lc_value *value = lc_value_map();
		struct lc__loaded loaded = { 0 };
		void *file = begin(path, &plain);
		lc_status status;
		lc_id id;

		lc_value_set(value, "root", make_value(&seed, how));
		lc_value_set(value, "other", lc_value_nil());
		status = lc__outgoing_webdataset.put(file, lc_id_of("a"), value);
		ck_assert(status == LC_OK || status == LC_UNSUPPORTED);
		if (status == LC_OK) {
			finish(file);
			assert_ok(lc__incoming_webdataset.open(path, &reading, &file));
			assert_ok(lc__incoming_webdataset.next(file, &id));
			assert_ok(lc__incoming_webdataset.load(file, &loaded));
			ck_assert_msg(lc_value_equal(value, loaded.value), "%s\n%s",
			    lc__value_json_text(value), lc__value_json_text(loaded.value));
			lc__incoming_webdataset.close(file);
			lc__loaded_free(&loaded);
			written++;
		} else {
			lc__outgoing_webdataset.discard(file);
		}
		lc_value_free(value);
		free(path);
	}
	printf("# %u of %u written\n", written, rounds);
	ck_assert_uint_gt(written, rounds / 20);
}
END_TEST

/* ---- series -------------------------------------------------------------------------------- */

static int
visible(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Names in a directory, a space between them. */
static void
expect_names(const char *dir, const char *expected)
{
	struct dirent **entries;
	struct lc__buf names = { 0 };
	const int n = scandir(dir, &entries, visible, alphasort);

	ck_assert_int_ge(n, 0);
	for (int i = 0; i < n; i++) {
		lc__buf_printf(&names, "%s%s", i > 0 ? " " : "", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	lc__buf_append(&names, "", 1);
	ck_assert_str_eq((char *)names.data, expected);
	lc__buf_free(&names);
}

/* The keys of all archives below a path, in their order. */
static void
expect_keys(const char *path, const char *expected)
{
	struct lc__buf keys = { 0 };
	void *file;
	lc_id id;

	assert_ok(lc__incoming_webdataset.open(path, &reading, &file));
	while (lc__incoming_webdataset.next(file, &id) == LC_OK)
		lc__buf_printf(&keys, "%s%.*s", keys.size > 0 ? " " : "", (int)id.size,
		    (const char *)id.data);
	lc__incoming_webdataset.close(file);
	lc__buf_append(&keys, "", 1);
	ck_assert_str_eq((char *)keys.data, expected);
	lc__buf_free(&keys);
}

static void
put_numbers(void *file, int n)
{
	char id[20];

	for (int i = 0; i < n; i++) {
		snprintf(id, sizeof(id), "%d", i);
		assert_ok(put_text(file, id, id));
	}
}

START_TEST(by_records)
{
	struct lc__outgoing_how how = plain;
	char *dir = lc__path_join(run_scratch(), "out/set"), *shard;
	void *file;

	how.shard_records = 3;
	file = begin(dir, &how);
	put_numbers(file, 7);
	expect_keys(dir, "0 1 2 3 4 5");
	finish(file);
	expect_names(dir, "shard-000000.tar shard-000001.tar shard-000002.tar");
	shard = lc__path_join(dir, "shard-000001.tar");
	expect_keys(shard, "3 4 5");
	expect_keys(dir, "0 1 2 3 4 5 6");
	free(shard);
	free(dir);
}
END_TEST

/* A record takes 1,024 bytes here. */
START_TEST(by_bytes)
{
	struct lc__outgoing_how how = plain;
	char *dir = lc__path_join(run_scratch(), "set");
	void *file;

	how.shard_bytes = 2048 + _i;
	file = begin(dir, &how);
	put_numbers(file, 5);
	finish(file);
	expect_names(dir, _i < 0 ? "shard-000000.tar shard-000001.tar shard-000002.tar "
	    "shard-000003.tar shard-000004.tar" :
	    "shard-000000.tar shard-000001.tar shard-000002.tar");
	expect_keys(dir, "0 1 2 3 4");
	free(dir);
}
END_TEST

static lc_status
by_last_digit(void *ctx, lc_id id, const lc_value *value, const char **out)
{
	static char name[40];

	(void)value;
	snprintf(name, sizeof(name), "bucket_%cx%d",
	    ((const char *)id.data)[id.size - 1], *(int *)ctx);
	*out = name;
	return LC_OK;
}

START_TEST(by_groups)
{
	int height = 1;
	struct lc__outgoing_how how = { .shard_bytes = 1 << 30, .shard_records = 2,
		.group = by_last_digit, .group_ctx = &height };
	char *dir = lc__path_join(run_scratch(), "set"), *bucket;
	void *file = begin(dir, &how);

	put_numbers(file, 23);
	finish(file);
	expect_names(dir, "bucket_0x1 bucket_1x1 bucket_2x1 bucket_3x1 bucket_4x1 "
	    "bucket_5x1 bucket_6x1 bucket_7x1 bucket_8x1 bucket_9x1");
	bucket = lc__path_join(dir, "bucket_0x1");
	expect_names(bucket, "shard-000000.tar shard-000001.tar");
	expect_keys(bucket, "0 10 20");
	free(bucket);
	/* Those of a longer series with other groups go, what is not of one stays. */
	bucket = lc__path_join(dir, "bucket_3x1/notes.tar");
	assert_ok(lc__write_file_atomic(bucket, "", 0));
	free(bucket);
	how.force = true;
	how.shard_records = 3;
	file = begin(dir, &how);
	put_numbers(file, 3);
	finish(file);
	expect_names(dir, "bucket_0x1 bucket_1x1 bucket_2x1 bucket_3x1");
	bucket = lc__path_join(dir, "bucket_3x1");
	expect_names(bucket, "notes.tar");
	free(bucket);
	bucket = lc__path_join(dir, "bucket_0x1");
	expect_names(bucket, "shard-000000.tar");
	expect_keys(bucket, "0");
	free(bucket);
	free(dir);
}
END_TEST

static lc_status
by_id(void *ctx, lc_id id, const lc_value *value, const char **out)
{
	static char name[40];

	(void)value;
	(void)ctx;
	snprintf(name, sizeof(name), "bucket_%.*s", (int)id.size - 1,
	    (const char *)id.data);
	*out = name;
	return LC_OK;
}

static size_t
count_open_files(void)
{
	struct dirent **entries;
	const int n = scandir("/proc/self/fd", &entries, NULL, NULL);

	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return (size_t)n;
}

/* As many groups as there may be: files that are open are bounded. */
START_TEST(many_groups)
{
	struct lc__outgoing_how how = { .shard_bytes = 1 << 30, .group = by_id };
	char *dir = lc__path_join(run_scratch(), "set"), *bucket, id[20];
	void *file = begin(dir, &how);
	const size_t before = count_open_files();

	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 100; i++) {
			snprintf(id, sizeof(id), "%d%c", i, 'a' + turn);
			assert_ok(put_text(file, id, "x"));
			ck_assert_uint_le(count_open_files(), before + 64);
		}
	finish(file);
	bucket = lc__path_join(dir, "bucket_7");
	expect_names(bucket, "shard-000000.tar shard-000001.tar");
	expect_keys(bucket, "7a 7b");
	free(bucket);
	free(dir);
}
END_TEST

START_TEST(what_is_there)
{
	struct lc__outgoing_how how = plain;
	char *dir = lc__path_join(run_scratch(), "set"), *tar;
	void *file = begin(dir, &how);

	put_numbers(file, 1);
	finish(file);
	assert_status(lc__outgoing_webdataset.begin(dir, &how, &file), LC_EXISTS);
	tar = lc__path_join(dir, "shard-000000.tar");
	assert_status(lc__outgoing_webdataset.begin(tar, &how, &file), LC_EXISTS);
	how.force = true;
	file = begin(tar, &how);
	put_numbers(file, 2);
	expect_keys(tar, "0");
	lc__outgoing_webdataset.discard(file);
	expect_keys(tar, "0");
	file = begin(tar, &how);
	put_numbers(file, 2);
	finish(file);
	expect_keys(tar, "0 1");
	expect_names(dir, "shard-000000.tar");
	free(tar);
	free(dir);
}
END_TEST

/* Given up: whole archives stay, and nothing else. */
START_TEST(given_up)
{
	struct lc__outgoing_how how = plain;
	char *dir = lc__path_join(run_scratch(), "set");
	void *file;

	how.shard_records = 2;
	file = begin(dir, &how);
	put_numbers(file, 3);
	assert_status(put_text(file, "a.b", ""), LC_UNSUPPORTED);
	lc__outgoing_webdataset.discard(file);
	expect_names(dir, "shard-000000.tar");
	expect_keys(dir, "0 1");
	free(dir);
}
END_TEST

START_TEST(dry_run)
{
	struct lc__outgoing_how how = plain;
	char *dir = lc__path_join(run_scratch(), "set");
	uint64_t size;
	void *file;

	how.shard_records = 2;
	how.dry_run = true;
	file = begin(dir, &how);
	put_numbers(file, 3);
	size = finish(file);
	ck_assert_int_ne(access(dir, F_OK), 0);
	how.dry_run = false;
	file = begin(dir, &how);
	put_numbers(file, 3);
	ck_assert_uint_eq(finish(file), size);
	ck_assert_uint_eq(size, 5 * 1024);
	free(dir);
}
END_TEST

START_TEST(one_file_is_no_series)
{
	struct lc__outgoing_how how = plain;
	char *path = lc__path_join(run_scratch(), "set.tar");
	void *file;

	if (_i == 0)
		how.shard_records = 2;
	else
		how.group = by_id;
	assert_status(lc__outgoing_webdataset.begin(path, &how, &file), LC_INVALID);
	ck_assert_int_ne(access(path, F_OK), 0);
	free(path);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof(*(a)))

int
main(void)
{
	Suite *suite = suite_create("webdataset_out");
	TCase *tc = tcase_create("webdataset_out");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, files_of_a_record, 0, COUNT(layouts));
	tcase_add_loop_test(tc, what_is_refused, 0, COUNT(refused));
	tcase_add_test(tc, a_nul_in_the_key);
	tcase_add_test(tc, exact_bytes);
	tcase_add_test(tc, nothing_to_write);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, raw_bits);
	tcase_add_test(tc, round_trips);
	tcase_add_test(tc, by_records);
	tcase_add_loop_test(tc, by_bytes, -1, 2);
	tcase_add_test(tc, by_groups);
	tcase_add_test(tc, many_groups);
	tcase_add_test(tc, what_is_there);
	tcase_add_test(tc, given_up);
	tcase_add_test(tc, dry_run);
	tcase_add_loop_test(tc, one_file_is_no_series, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
