/* SPDX-License-Identifier: BSD-2-Clause */
/* WebDataset's tar archives on their way in: made here byte by byte. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "format/npy.h"
#include "formats/formats.h"
#include "formats/value_json.h"
#include "formats/webdataset_sample.h"
#include "made_tar.h"
#include "need.h"
#include "sample.h"

/* ---- names ------------------------------------------------------------------------ */

static const struct {
	const char *name, *key; /* NULL: in no sample */
} splits[] = {
	{ "a.npy", "a" }, { "a.seg.png", "a" }, { "d/a.npy", "d/a" },
	{ "d.x/a.b.c", "d.x/a" }, { "./a.npy", "./a" }, { "/a.npy", "/a" },
	{ "a.", "a" }, { "a", NULL }, { "d.x/a", NULL }, { ".npy", NULL },
	{ "d/.npy", NULL }, { "d/", NULL }, { "d.x/", NULL }, { "", NULL },
	{ "../a.npy", "../a" }, { "a b\xc3\xa9.npy", "a b\xc3\xa9" },
};

START_TEST(first_dot)
{
	size_t size = 0;

	ck_assert_int_eq(lc__wds_split(splits[_i].name, &size), splits[_i].key != NULL);
	if (splits[_i].key != NULL) {
		ck_assert_uint_eq(size, strlen(splits[_i].key));
		ck_assert_mem_eq(splits[_i].name, splits[_i].key, size);
	}
}
END_TEST

static const struct {
	const char *name;
	bool meta;
} metas[] = {
	{ "__info__", true }, { "__info.x__", true }, { "__info__/a.npy", true },
	{ "____", true }, { "____/a.npy", true }, { "__a__.npy", false },
	{ "d/__info__", false }, { "__info", false }, { "info__", false },
	{ "___", false }, { "__a.npy", false }, { "_a__/b.npy", false },
};

START_TEST(about_the_archive)
{
	ck_assert_int_eq(lc__wds_is_meta(metas[_i].name), metas[_i].meta);
}
END_TEST

/* ---- reading ------------------------------------------------------------------------ */

/* A .npy file of bytes. */
static void
add_npy(struct made_tar *tar, const char *name, const char *text)
{
	const lc_tensor tensor = sample_bytes(text, strlen(text));
	struct lc__buf file = { 0 };

	assert_ok(lc__npy_encode_header(&tensor, false, &file));
	lc__buf_append(&file, text, strlen(text));
	made_tar_add(tar, name, file.data, file.size);
	lc__buf_free(&file);
}

static void
show(struct lc__buf *out, const lc_value *value)
{
	const struct lc__json_tensors tensors = { .data = LC__JSON_DATA };
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_ok(lc__value_json_write(stream, value, &tensors));
	ck_assert_int_eq(fclose(stream), 0);
	lc__buf_append(out, text, size);
	free(text);
}

/* What went wrong, without the file's path. */
static void
show_error(struct lc__buf *out, const char *path, lc_status status)
{
	const char *text = lc_last_error()->text;

	ck_assert_msg(strncmp(text, path, strlen(path)) == 0, "%s", text);
	lc__buf_printf(out, "! %s%s\n", lc_status_name(status), text + strlen(path));
}

/* Every record on a line of its own; those at odd places only named with @p every 2. */
static char *
dump(const char *path, const struct lc__incoming_how *how, unsigned every)
{
	struct lc__buf out = { 0 };
	void *file = NULL;
	lc_status status;
	lc_id id;

	status = lc__incoming_webdataset.open(path, how, &file);
	if (status != LC_OK) {
		show_error(&out, path, status);
		lc__buf_append(&out, "", 1);
		return (char *)out.data;
	}
	for (unsigned i = 0;
	    (status = lc__incoming_webdataset.next(file, &id)) != LC_END; i++) {
		struct lc__loaded loaded = { 0 };

		ck_assert_uint_lt(i, 10000);
		if (status != LC_OK) {
			show_error(&out, path, status);
			continue;
		}
		lc__buf_printf(&out, "%.*s", (int)id.size, (const char *)id.data);
		if (i % every != 0) {
			lc__buf_printf(&out, "\n");
			continue;
		}
		lc__buf_printf(&out, " ");
		status = lc__incoming_webdataset.load(file, &loaded);
		if (status == LC_OK) {
			show(&out, loaded.value);
			lc__buf_printf(&out, "\n");
		} else {
			show_error(&out, path, status);
		}
		lc__loaded_free(&loaded);
	}
	lc__incoming_webdataset.close(file);
	lc__buf_append(&out, "", 1);
	ck_assert(!out.failed);
	return (char *)out.data;
}

static const struct lc__incoming_how plain = { .raw_dtype = LC__NPY_ANY_DTYPE,
	.limit = 1 << 20 };

static char *
write_tar(struct made_tar *tar)
{
	char *path = lc__path_join(run_scratch(), "set.tar");

	made_tar_write(tar, path);
	return path;
}

static void
expect_every(struct made_tar *tar, const struct lc__incoming_how *how, unsigned every,
    const char *expected)
{
	char *path = write_tar(tar);
	char *got = dump(path, how, every);

	ck_assert_str_eq(got, expected);
	free(got);
	free(path);
}

static void
expect(struct made_tar *tar, const char *expected)
{
	made_tar_end(tar);
	expect_every(tar, &plain, 1, expected);
}

#define U8(n, base64) "{\"$tensor\":\"u8[" n "]\",\"data\":\"" base64 "\"}"

START_TEST(records)
{
	struct made_tar tar = { 0 };

	add_npy(&tar, "0000.npy", "abc");
	made_tar_add(&tar, "d/0001.cls", "7\n", 2);
	made_tar_add(&tar, "d/0001.txt", "caf\xc3\xa9", 5);
	add_npy(&tar, "d/0001.seg.npy", "de");
	made_tar_add(&tar, "0002.JSON", "{\"a\": [1, 2.5, null]}", 21);
	expect(&tar,
	    "0000 " U8("3", "YWJj") "\n"
	    "d/0001 {\"cls\":7,\"txt\":\"caf\xc3\xa9\",\"seg\":" U8("2", "ZGU=") "}\n"
	    "0002 {\"a\":[1,2.5,null]}\n");
}
END_TEST

/* What the package passes over is passed over here; a key that comes again is another
 * record. */
START_TEST(what_is_no_member)
{
	struct made_tar tar = { 0 };

	made_tar_add_type(&tar, "d/", '5', NULL, 0);
	made_tar_add(&tar, "__info__", "x", 1);
	made_tar_add(&tar, "__notes__/a.txt", "x", 1);
	made_tar_add(&tar, "README", "x", 1);
	made_tar_add(&tar, "a.txt", "1", 1);
	made_tar_add(&tar, "d/.hidden.txt", "x", 1);
	made_tar_add_type(&tar, "a.lnk", '2', NULL, 0);
	made_tar_add(&tar, "a.cls", "1", 1);
	made_tar_add(&tar, "b.txt", "2", 1);
	made_tar_add(&tar, "a.txt", "3", 1);
	expect(&tar, "a {\"txt\":\"1\",\"cls\":1}\nb \"2\"\na \"3\"\n");
}
END_TEST

/* Records that are not wanted are passed over, whatever is in them. */
START_TEST(not_loaded)
{
	struct made_tar tar = { 0 };

	for (int i = 0; i < 5; i++) {
		char name[20];

		snprintf(name, sizeof(name), "%d.txt", i);
		made_tar_add(&tar, name, "text", 4);
		snprintf(name, sizeof(name), "%d.xyz", i);
		made_tar_add(&tar, name, "unknown", i % 2 ? 7 : 0);
		if (i % 2 == 0) {
			snprintf(name, sizeof(name), "%d.cls", i);
			made_tar_add(&tar, name, "5", 1);
		}
	}
	made_tar_end(&tar);
	expect_every(&tar, &plain, 2,
	    "0 ! unsupported: '0.xyz': neither .npy nor a JPEG, PNG, WebP or TIFF image\n"
	    "1\n"
	    "2 ! unsupported: '2.xyz': neither .npy nor a JPEG, PNG, WebP or TIFF image\n"
	    "3\n"
	    "4 ! unsupported: '4.xyz': neither .npy nor a JPEG, PNG, WebP or TIFF image\n");
}
END_TEST

static const struct {
	const char *members[4]; /* names; the text of each is 1 */
	const char *value;
} shapes[] = {
	{ { "a.txt" }, "\"1\"" },
	{ { "a.seg.txt" }, "{\"seg\":\"1\"}" },
	{ { "a.seg.TXT", "a.Mask.txt" }, "{\"seg\":\"1\",\"Mask\":\"1\"}" },
	{ { "a.TXT", "a.CLS" }, "{\"txt\":\"1\",\"cls\":1}" },
	{ { "a.x.y.txt", "a.x.z.cls", "a.w.txt" },
	    "{\"x\":{\"y\":\"1\",\"z\":1},\"w\":\"1\"}" },
	{ { "a.x.1.txt", "a.x.0.cls" }, "{\"x\":[1,\"1\"]}" },
	{ { "a.b\\c.txt" }, "{\"b\\\\c\":\"1\"}" },
	/* names that exclude each other */
	{ { "a.x.txt", "a.x.cls" }, "{\"x.txt\":\"1\",\"x.cls\":1}" },
	{ { "a.x.txt", "a.x-y.cls", "a.x.z.cls" },
	    "{\"x.txt\":\"1\",\"x-y.cls\":1,\"x.z.cls\":1}" },
	{ { "a.txt", "a.txt.cls" }, "{\"txt\":\"1\",\"txt.cls\":1}" },
	{ { "a..txt" }, "{\".txt\":\"1\"}" },
	{ { "a.x..y.txt", "a.cls" }, "{\"x..y.txt\":\"1\",\"cls\":1}" },
	{ { "a.txt", "a.x.txt", "a.txt" }, "! invalid: 'a': 'txt' occurs twice" },
	{ { "a.txt", "a.Txt" }, "! invalid: 'a': 'txt' occurs twice" },
	{ { "a.X.txt", "a.x.txt" }, "! invalid: 'a': 'x.txt' occurs twice" },
};

START_TEST(names_of_members)
{
	struct made_tar tar = { 0 };
	char *line = NULL;

	for (int i = 0; i < 4 && shapes[_i].members[i] != NULL; i++)
		made_tar_add(&tar, shapes[_i].members[i], "1", 1);
	ck_assert_int_ge(asprintf(&line, "a %s\n", shapes[_i].value), 0);
	expect(&tar, line);
	free(line);
}
END_TEST

#define PNG "\x89PNG\r\n\x1a\n"

static const struct {
	const char *name, *text, *value;
	bool raw;
} types[] = {
	{ "a.text", "", "\"\"", false },
	{ "a.transcript", "x", "\"x\"", false },
	{ "a.txt", "\xff", "! corrupt: 'a.txt': text that is not UTF-8", false },
	{ "a.jsn", "[true]", "[true]", false },
	{ "a.json", "{", "! invalid: 'a.json': ", false },
	{ "a.json", "{\"$tensor\": \"u8[2]\", \"data\": \"YWI=\"}", U8("2", "YWI="), false },
	{ "a.cls", " \t-12\n", "-12", false },
	{ "a.cls2", "+0", "0", false },
	{ "a.class", "9223372036854775807", "9223372036854775807", false },
	{ "a.count", "-9223372036854775808", "-9223372036854775808", false },
	{ "a.index", "18446744073709551615", "{\"$u64\":\"18446744073709551615\"}", false },
	{ "a.inx", "007", "7", false },
	{ "a.id", "18446744073709551616",
	    "! corrupt: 'a.id': not an integer from -2^63 to 2^64-1", false },
	{ "a.id", "-9223372036854775809",
	    "! corrupt: 'a.id': not an integer from -2^63 to 2^64-1", false },
	{ "a.id", "", "! corrupt: 'a.id': not an integer from -2^63 to 2^64-1", false },
	{ "a.id", "- 1", "! corrupt: 'a.id': not an integer from -2^63 to 2^64-1", false },
	{ "a.id", "1.0", "! corrupt: 'a.id': not an integer from -2^63 to 2^64-1", false },
	{ "a.bin", "ab", "{\"$bytes\":\"YWI=\"}", false },
	{ "a.bin", "", "{\"$bytes\":\"\"}", false },
	{ "a.pyd", "x", "! unsupported: 'a.pyd': pickled data, which runs as a program, "
	    "is never loaded", false },
	{ "a.PICKLE", "x", "! unsupported: 'a.PICKLE': pickled data, which runs as a "
	    "program, is never loaded", false },
	{ "a.x.pkl", "x", "{\"x\":{\"pkl\":{\"$bytes\":\"eA==\"}}}", true },
	{ "a.npy", "x", "! unsupported: 'a.npy': neither .npy nor a JPEG, PNG, WebP or TIFF image",
	    false },
	{ "a.npz", "x", "! corrupt: 'a.npz': ", false },
	{ "a.jpg", PNG, "! corrupt: 'a.jpg': PNG: ", false },
	{ "a.jpg", PNG, "{\"$bytes\":\"iVBORw0KGgo=\"}", true },
	{ "a.x.jpg", PNG, "{\"x\":{\"jpg\":{\"$bytes\":\"iVBORw0KGgo=\"}}}", true },
	{ "a.mp4", "", "! unsupported: 'a.mp4': neither .npy nor a JPEG, PNG, WebP or TIFF image",
	    false },
	{ "a.mp4", "", "{\"$bytes\":\"\"}", true },
	{ "a.", "x", "{\"$bytes\":\"eA==\"}", true },
};

START_TEST(types_of_members)
{
	struct lc__incoming_how how = plain;
	struct made_tar tar = { 0 };
	char *line = NULL, *path, *got;

	how.raw = types[_i].raw;
	made_tar_add(&tar, types[_i].name, types[_i].text, strlen(types[_i].text));
	made_tar_end(&tar);
	path = write_tar(&tar);
	got = dump(path, &how, 1);
	ck_assert_int_ge(asprintf(&line, "a %s", types[_i].value), 0);
	/* The rest of a message is that of others. */
	if (line[strlen(line) - 1] == ' ')
		got[strlen(line)] = '\0';
	else
		got[strlen(got) - 1] = '\0';
	ck_assert_str_eq(got, line);
	free(line);
	free(got);
	free(path);
}
END_TEST

/* ---- archives ------------------------------------------------------------------------ */

START_TEST(nothing_in_it)
{
	struct made_tar tar = { 0 };

	expect(&tar, "");
}
END_TEST

START_TEST(above_the_limit)
{
	struct lc__incoming_how how = plain;
	struct made_tar tar = { 0 };

	how.limit = 10;
	made_tar_add(&tar, "a.txt", "0123456789", 10);
	made_tar_add(&tar, "b.txt", "0123456789", 10);
	made_tar_add(&tar, "b.cls", "1", 1);
	made_tar_add(&tar, "c.txt", "", 0);
	made_tar_end(&tar);
	expect_every(&tar, &how, 1,
	    "a \"0123456789\"\n"
	    "b ! invalid: 'b.cls': larger than 0 bytes\n"
	    "c \"\"\n");
}
END_TEST

/* A record has members up to a number: without one, headers alone would fill memory. */
START_TEST(too_many_members)
{
	struct made_tar tar = { 0 };
	char name[40];

	for (int i = 0; i <= 65536; i++) {
		snprintf(name, sizeof(name), "a.%d.txt", i);
		made_tar_add(&tar, name, NULL, 0);
	}
	made_tar_add(&tar, "b.txt", "2", 1);
	expect(&tar, "a ! invalid: 'a.65536.txt': more than 65536 members of one sample\n"
	    "b \"2\"\n");
}
END_TEST

/* A member that says that it has 8 EiB less a byte, or less than nothing. */
static const char *const sizes[] = { "28 size=9223372036854775807\n", "11 size=-1\n" };

START_TEST(sizes_that_are_lies)
{
	struct made_tar tar = { 0 };
	const struct rlimit memory = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
	char *path, *got;

#if !defined(__SANITIZE_ADDRESS__)
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &memory), 0);
#endif
	(void)memory;
	made_tar_add(&tar, "a.txt", "1", 1);
	made_tar_add_type(&tar, "pax", 'x', sizes[_i], strlen(sizes[_i]));
	made_tar_add(&tar, "b.txt", "2", 1);
	made_tar_add(&tar, "c.txt", "3", 1);
	made_tar_end(&tar);
	path = write_tar(&tar);
	got = dump(path, &plain, 1);
	/* Only what stands behind it would tell that the first is whole. */
	ck_assert_msg(strncmp(got, "a ! corrupt: 'a': the archive ends unexpectedly after it\n"
	    "! corrupt: ", 61) == 0, "%s", got);
	free(got);
	free(path);
}
END_TEST

/* As far as the number goes it could be true. */
START_TEST(a_member_of_an_exabyte)
{
	struct made_tar tar = { 0 };
	char *path, *got;

	made_tar_add_type(&tar, "pax", 'x', "28 size=1152921504606846976\n", 28);
	made_tar_add(&tar, "a.txt", "2", 1);
	made_tar_add(&tar, "b.txt", "3", 1);
	made_tar_end(&tar);
	path = write_tar(&tar);
	got = dump(path, &plain, 1);
	ck_assert_msg(strncmp(got, "a ! invalid: 'a.txt': larger than 1048576 bytes\n"
	    "! corrupt: ", 57) == 0, "%s", got);
	free(got);
	free(path);
}
END_TEST

/* Headers about headers without an end. */
START_TEST(endless_pax_headers)
{
	struct made_tar tar = { 0 };
	char *path, *got;

	made_tar_add(&tar, "a.txt", "1", 1);
	for (int i = 0; i < 20000; i++)
		made_tar_add_type(&tar, "pax", 'x', "15 path=b.txt\n\n", 14);
	made_tar_add(&tar, "b.txt", "2", 1);
	made_tar_end(&tar);
	path = write_tar(&tar);
	got = dump(path, &plain, 1);
	ck_assert_msg(strncmp(got, "a ", 2) == 0, "%s", got);
	free(got);
	free(path);
}
END_TEST

/* Names are ids and nothing else: no file is ever made of them. */
START_TEST(names_that_lead_out)
{
	struct made_tar tar = { 0 };

	made_tar_add(&tar, "../../etc/a.txt", "1", 1);
	made_tar_add(&tar, "/etc/passwd.txt", "2", 1);
	made_tar_add(&tar, "d//a.txt", "3", 1);
	expect(&tar, "../../etc/a \"1\"\n/etc/passwd \"2\"\nd//a \"3\"\n");
}
END_TEST

START_TEST(wrong_checksum)
{
	struct made_tar tar = { 0 };
	char *path, *got;

	made_tar_add(&tar, "a.txt", "1", 1);
	made_tar_add(&tar, "b.txt", "2", 1);
	tar.bytes.data[2 * 512] ^= 1;
	made_tar_end(&tar);
	path = write_tar(&tar);
	got = dump(path, &plain, 1);
	ck_assert_msg(strncmp(got, "a ! corrupt: 'a': the archive ends unexpectedly after it\n"
	    "! corrupt: ", 61) == 0, "%s", got);
	free(got);
	free(path);
}
END_TEST

/* Cut at every block and within it: what comes out is whole records, and an error. */
START_TEST(cut_short)
{
	static const char whole[] = "a {\"txt\":\"1\",\"cls\":2}\nb \"3\"\n";
	struct made_tar tar = { 0 };
	struct stat st;
	char *path;

	made_tar_add(&tar, "a.txt", "1", 1);
	made_tar_add(&tar, "a.cls", "2", 1);
	made_tar_add(&tar, "b.txt", "3", 1);
	made_tar_end(&tar);
	path = write_tar(&tar);
	ck_assert_int_eq(stat(path, &st), 0);
	for (off_t size = st.st_size - 1; size >= 0; size--) {
		char *got, *bad;

		ck_assert_int_eq(truncate(path, size), 0);
		got = dump(path, &plain, 1);
		if (size >= st.st_size - 512) {
			/* One of the two blocks that end it is there. */
			ck_assert_str_eq(got, whole);
			free(got);
			continue;
		}
		ck_assert_msg(strstr(got, "! ") != NULL, "%lld: %s", (long long)size, got);
		ck_assert_msg(strstr(got, "b \"") == NULL, "%lld: %s", (long long)size, got);
		bad = strstr(got, "a ");
		ck_assert_msg(bad == NULL || strncmp(bad, "a ! ", 4) == 0 ||
		    strncmp(bad, "a {\"txt\":\"1\",\"cls\":2}\n", 22) == 0,
		    "%lld: %s", (long long)size, got);
		free(got);
	}
	free(path);
}
END_TEST

START_TEST(random_damage)
{
	const unsigned trials = sample_times(5000);
	uint64_t seed = run_seed();
	struct made_tar tar = { 0 };
	unsigned different = 0;
	char *path, *good;

	for (int i = 0; i < 4; i++) {
		char name[20];

		snprintf(name, sizeof(name), "%d.npy", i);
		add_npy(&tar, name, "abcd");
		snprintf(name, sizeof(name), "%d.json", i);
		made_tar_add(&tar, name, "{\"a\": 1}", 8);
		made_tar_add_type(&tar, "pax", 'x', "16 path=long.txt\n", 17);
	}
	made_tar_end(&tar);
	path = lc__path_join(run_scratch(), "set.tar");
	made_tar_copy(&tar, path);
	good = dump(path, &plain, 1);
	for (unsigned i = 0; i < trials; i++) {
		const size_t at = run_random(&seed) % tar.bytes.size;
		const unsigned char old = tar.bytes.data[at];
		char *got;

		tar.bytes.data[at] = (unsigned char)run_random(&seed);
		made_tar_copy(&tar, path);
		got = dump(path, &plain, 1);
		different += strcmp(got, good) != 0;
		free(got);
		tar.bytes.data[at] = old;
	}
	printf("# %u of %u read otherwise\n", different, trials);
	ck_assert_uint_gt(different, 0);
	lc__buf_free(&tar.bytes);
	free(good);
	free(path);
}
END_TEST

/* ---- series ----------------------------------------------------------------------------- */

static void
write_shard(const char *dir, const char *name, const char *member, const char *text)
{
	struct made_tar tar = { 0 };
	char *path = lc__path_join(dir, name);

	made_tar_add(&tar, member, text, strlen(text));
	made_tar_end(&tar);
	made_tar_write(&tar, path);
	free(path);
}

static char *
make_dir(const char *dir, const char *name)
{
	char *path = lc__path_join(dir, name);

	ck_assert_int_eq(mkdir(path, 0777), 0);
	return path;
}

static bool
is_webdataset(const char *path, const void *first, size_t size)
{
	bool is;

	assert_ok(lc__incoming_webdataset.is(path, first, size, &is));
	return is;
}

/* A record does not go on in the next archive. */
START_TEST(a_directory)
{
	const char *dir = run_scratch();
	char *bucket = make_dir(dir, "bucket_2x3"), *other = make_dir(dir, "other"), *got;

	write_shard(dir, "b.tar", "k.cls", "1");
	write_shard(dir, "a.tar", "k.txt", "1");
	write_shard(dir, ".hidden.tar", "hidden.txt", "1");
	write_shard(dir, "notes.txt", "no-archive.txt", "1");
	write_shard(bucket, "shard-000000.tar", "z.txt", "1");
	write_shard(other, "o.tar", "o.txt", "1");
	ck_assert(is_webdataset(dir, NULL, 0));
	got = dump(dir, &plain, 1);
	ck_assert_str_eq(got, "k \"1\"\nk 1\nz \"1\"\n");
	free(got);
	write_shard(dir, "image.PNG", "k.cls", "1");
	ck_assert(!is_webdataset(dir, NULL, 0));
	free(bucket);
	free(other);
}
END_TEST

/* Those after it are read; it is reported once, whether it is broken or cut. */
START_TEST(bad_archives_in_a_directory)
{
	const char *dir = run_scratch();
	char *got, *again, *name;

	for (const char *bad = "acf"; *bad != '\0'; bad++) {
		ck_assert_int_ge(asprintf(&name, "%s/%c.tar", dir, *bad), 0);
		assert_ok(lc__write_file_atomic(name, "garbage", 7));
		free(name);
	}
	write_shard(dir, "b.tar", "b.txt", "1");
	write_shard(dir, "d.tar", "d.txt", "1");
	name = lc__path_join(dir, "d.tar");
	ck_assert_int_eq(truncate(name, 1024), 0);
	free(name);
	write_shard(dir, "e.tar", "e.txt", "1");
	got = dump(dir, &plain, 1);
	ck_assert_str_eq(got,
	    "! corrupt/a.tar: Unrecognized archive format\n"
	    "b \"1\"\n"
	    "! corrupt/c.tar: Unrecognized archive format\n"
	    "d ! corrupt/d.tar: 'd': the archive ends unexpectedly after it\n"
	    "! corrupt/d.tar: the end of the archive is missing\n"
	    "e \"1\"\n"
	    "! corrupt/f.tar: Unrecognized archive format\n");
	again = dump(dir, &plain, 2);
	ck_assert_msg(strstr(again, "b\n") != NULL && strstr(again, "\nd ") == NULL,
	    "%s", again);
	free(again);
	free(got);
}
END_TEST

START_TEST(by_name_and_content)
{
	struct made_tar tar = { 0 };

	made_tar_add(&tar, "a.txt", "1", 1);
	ck_assert(is_webdataset("x", tar.bytes.data, 1024));
	ck_assert(!is_webdataset("x", tar.bytes.data, 511));
	ck_assert(!is_webdataset("x", "\x1f\x8b", 2));
	ck_assert(is_webdataset("x.tar.gz", "\x1f\x8b", 2));
	ck_assert(is_webdataset("x.TGZ", "\x1f\x8b", 2));
	ck_assert(is_webdataset("x.tar", "", 0));
	ck_assert(!is_webdataset("x.tar", "\x93NUMPY", 6));
	ck_assert(!is_webdataset("x.gz", "\x1f\x8b", 2));
	ck_assert(!is_webdataset(".tar", "\x1f\x8b", 2));
	lc__buf_free(&tar.bytes);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof(*(a)))

int
main(void)
{
	Suite *suite = suite_create("webdataset");
	TCase *tc = tcase_create("webdataset");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, first_dot, 0, COUNT(splits));
	tcase_add_loop_test(tc, about_the_archive, 0, COUNT(metas));
	tcase_add_test(tc, records);
	tcase_add_test(tc, what_is_no_member);
	tcase_add_test(tc, not_loaded);
	tcase_add_loop_test(tc, names_of_members, 0, COUNT(shapes));
	tcase_add_loop_test(tc, types_of_members, 0, COUNT(types));
	tcase_add_test(tc, nothing_in_it);
	tcase_add_test(tc, above_the_limit);
	tcase_add_test(tc, too_many_members);
	tcase_add_loop_test(tc, sizes_that_are_lies, 0, COUNT(sizes));
	tcase_add_test(tc, a_member_of_an_exabyte);
	tcase_add_test(tc, endless_pax_headers);
	tcase_add_test(tc, names_that_lead_out);
	tcase_add_test(tc, wrong_checksum);
	tcase_add_test(tc, cut_short);
	tcase_add_test(tc, random_damage);
	tcase_add_test(tc, a_directory);
	tcase_add_test(tc, bad_archives_in_a_directory);
	tcase_add_test(tc, by_name_and_content);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
