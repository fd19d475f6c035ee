/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB environments of other software, and as records: made by liblmdb itself. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "env/foreign.h"
#include "formats/formats.h"
#include "format/npy.h"
#include "need.h"
#include "rawdb.h"
#include "sample.h"

#define FILE_ENV MDB_NOSUBDIR

static void
put(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_size, const void *value,
    size_t size)
{
	MDB_val k = { key_size, (void *)(uintptr_t)key };
	MDB_val v = { size, (void *)(uintptr_t)value };

	rawdb_must(mdb_put(txn, dbi, &k, &v, 0));
}

/* Commit one pair of texts to an environment. */
static void
put_pair(MDB_env *env, const char *key, const char *value)
{
	MDB_txn *txn = rawdb_begin(env, 0);

	put(txn, rawdb_table(txn, NULL, 0), key, strlen(key), value, strlen(value));
	rawdb_must(mdb_txn_commit(txn));
}

static char *
make_env(const char *name, unsigned flags, const char *key, const char *value)
{
	char *path = lc__path_join(run_scratch(), name);
	MDB_env *env;

	if (!(flags & MDB_NOSUBDIR))
		ck_assert_int_eq(mkdir(path, 0777), 0);
	env = rawdb_open_env(path, flags);
	put_pair(env, key, value);
	mdb_env_close(env);
	return path;
}

static bool
is_there(const char *path, const char *suffix)
{
	char *name = NULL;
	struct stat st;
	bool there;

	ck_assert_int_ge(asprintf(&name, "%s%s", path, suffix), 0);
	there = stat(name, &st) == 0;
	free(name);
	return there;
}

static void
remove_file(const char *path, const char *suffix)
{
	char *name = NULL;

	ck_assert_int_ge(asprintf(&name, "%s%s", path, suffix), 0);
	ck_assert_int_eq(unlink(name), 0);
	free(name);
}

static void
expect_entry(struct lc__foreign *f, const void *key, size_t key_size,
    const void *value, size_t size)
{
	struct lc__foreign_entry entry;

	assert_ok(lc__foreign_next(f, &entry));
	ck_assert_uint_eq(entry.key.size, key_size);
	ck_assert_mem_eq(entry.key.data, key, key_size);
	ck_assert(!entry.table);
	ck_assert_uint_eq(entry.value.size, size);
	if (size > 0)
		ck_assert_mem_eq(entry.value.data, value, size);
}

static void
expect_text(struct lc__foreign *f, const char *key, const char *value)
{
	expect_entry(f, key, strlen(key), value, strlen(value));
}

static void
expect_end(struct lc__foreign *f)
{
	struct lc__foreign_entry entry;

	assert_status(lc__foreign_next(f, &entry), LC_END);
	assert_status(lc__foreign_next(f, &entry), LC_END);
	lc__foreign_close(f);
}

/* ---- what is read ----------------------------------------------------------------- */

static bool
holds_environment(const char *dir)
{
	bool holds;

	assert_ok(lc__foreign_is_dir(dir, &holds));
	return holds;
}

/* Keys of any bytes, values on leaves and on pages of their own, no value at all. */
START_TEST(in_order_of_keys)
{
	static const char large[300000] = "large";
	char long_key[511];
	char *path = lc__path_join(run_scratch(), "env");
	struct lc__foreign *f;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	memset(long_key, 0xff, sizeof(long_key));
	ck_assert_int_eq(mkdir(path, 0777), 0);
	env = rawdb_open_env(path, 0);
	txn = rawdb_begin(env, 0);
	dbi = rawdb_table(txn, NULL, 0);
	put(txn, dbi, "b", 1, large, sizeof(large));
	put(txn, dbi, long_key, sizeof(long_key), "long", 4);
	put(txn, dbi, "a\0b", 3, "binary", 6);
	put(txn, dbi, "a", 1, "", 0);
	put(txn, dbi, "\0", 1, "nul", 3);
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);

	ck_assert(holds_environment(path));
	assert_ok(lc__foreign_open(path, &f));
	ck_assert_uint_eq(lc__foreign_count(f), 5);
	expect_entry(f, "\0", 1, "nul", 3);
	expect_entry(f, "a", 1, "", 0);
	expect_entry(f, "a\0b", 3, "binary", 6);
	expect_entry(f, "b", 1, large, sizeof(large));
	expect_entry(f, long_key, sizeof(long_key), "long", 4);
	expect_end(f);
	free(path);
}
END_TEST

START_TEST(many_keys)
{
	char *path = make_env("env", 0, "~", "last");
	MDB_env *env = rawdb_open_env(path, MDB_NOSYNC);
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi dbi = rawdb_table(txn, NULL, 0);
	struct lc__foreign *f;
	char key[20], value[40];

	for (unsigned i = 0; i < 20000; i++) {
		snprintf(key, sizeof(key), "%08u", i);
		snprintf(value, sizeof(value), "value of %u", i);
		put(txn, dbi, key, strlen(key), value, strlen(value));
	}
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	assert_ok(lc__foreign_open(path, &f));
	ck_assert_uint_eq(lc__foreign_count(f), 20001);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(key, sizeof(key), "%08u", i);
		snprintf(value, sizeof(value), "value of %u", i);
		expect_text(f, key, value);
	}
	expect_text(f, "~", "last");
	expect_end(f);
	free(path);
}
END_TEST

/* Tables are told from values, also from those of a record's size. */
START_TEST(named_tables)
{
	char forty_eight[49] = "as long as what LMDB knows of a table, and none";
	char *path = make_env("env", 0, "c", "value");
	MDB_env *env = rawdb_open_env(path, 0);
	MDB_txn *txn = rawdb_begin(env, 0);
	struct lc__foreign_entry entry;
	struct lc__foreign *f;

	rawdb_put_text(txn, rawdb_table(txn, "a table", 0), "inner", 5000);
	rawdb_put_text(txn, rawdb_table(txn, "d", MDB_DUPSORT), "inner", 5);
	put(txn, rawdb_table(txn, NULL, 0), "b", 1, forty_eight, 48);
	put(txn, rawdb_table(txn, NULL, 0), "e\0", 2, forty_eight, 48);
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	assert_ok(lc__foreign_open(path, &f));
	ck_assert_uint_eq(lc__foreign_count(f), 5);
	assert_ok(lc__foreign_next(f, &entry));
	ck_assert(entry.table);
	ck_assert_uint_eq(entry.key.size, 7);
	expect_entry(f, "b", 1, forty_eight, 48);
	expect_text(f, "c", "value");
	assert_ok(lc__foreign_next(f, &entry));
	ck_assert(entry.table);
	expect_entry(f, "e\0", 2, forty_eight, 48);
	expect_end(f);
	free(path);
}
END_TEST

START_TEST(nothing_in_it)
{
	char *path = lc__path_join(run_scratch(), "env");
	struct lc__foreign *f;

	ck_assert_int_eq(mkdir(path, 0777), 0);
	mdb_env_close(rawdb_open_env(path, 0));
	assert_ok(lc__foreign_open(path, &f));
	ck_assert_uint_eq(lc__foreign_count(f), 0);
	expect_end(f);
	free(path);
}
END_TEST

/* ---- files and locks ---------------------------------------------------------------- */

START_TEST(a_file)
{
	char *path = make_env("file.lmdb", FILE_ENV, "key", "value");
	struct lc__foreign *f;
	struct lc__buf bytes = { 0 };

	ck_assert(!holds_environment(path));
	assert_ok(lc__read_file(path, 1 << 20, &bytes));
	ck_assert(lc__foreign_is(bytes.data, bytes.size));
	ck_assert(lc__foreign_is(bytes.data, 24));
	ck_assert(!lc__foreign_is(bytes.data, 23));
	ck_assert(!lc__foreign_is(bytes.data + 1, bytes.size - 1));
	lc__buf_free(&bytes);
	assert_ok(lc__foreign_open(path, &f));
	expect_text(f, "key", "value");
	expect_end(f);
	free(path);
}
END_TEST

/* Its data file stands for the directory, and has that one's lock file. */
START_TEST(data_file_of_a_directory)
{
	char *path = make_env("env", 0, "key", "value");
	char *data = lc__path_join(path, "data.mdb");
	struct lc__foreign *f;

	assert_ok(lc__foreign_open(data, &f));
	expect_text(f, "key", "value");
	expect_end(f);
	ck_assert(!is_there(data, "-lock"));
	ck_assert_int_eq(chdir(path), 0);
	assert_ok(lc__foreign_open("data.mdb", &f));
	expect_text(f, "key", "value");
	expect_end(f);
	ck_assert(!is_there(data, "-lock"));
	free(data);
	free(path);
}
END_TEST

static const struct {
	unsigned flags;
	const char *lock;
} layouts[] = { { 0, "/lock.mdb" }, { FILE_ENV, "-lock" } };

struct commits {
	const char *path;
	unsigned flags;
};

static void
commit_often(void *ctx)
{
	const struct commits *commits = ctx;
	MDB_env *env = rawdb_open_env(commits->path, commits->flags);

	for (int i = 0; i < 50; i++)
		put_pair(env, i % 2 ? "a" : "b", "new");
	mdb_env_close(env);
}

/* With a lock file the writer keeps what is being read. */
START_TEST(a_writer_with_locks)
{
	char *path = make_env("env", layouts[_i].flags, "a", "1");
	struct commits commits = { path, layouts[_i].flags };
	struct lc__foreign *f;

	assert_ok(lc__foreign_open(path, &f));
	ck_assert_int_eq(child_run(commit_often, &commits), 0);
	assert_ok(lc__foreign_check(f));
	expect_text(f, "a", "1");
	expect_end(f);
	assert_ok(lc__foreign_open(path, &f));
	expect_text(f, "a", "new");
	expect_text(f, "b", "new");
	expect_end(f);
	free(path);
}
END_TEST

/* Without one nothing is left behind, and a commit is noticed. */
START_TEST(a_writer_without_locks)
{
	char *path = make_env("env", layouts[_i].flags, "a", "1");
	struct lc__foreign_entry entry;
	struct lc__foreign *f;
	MDB_env *env;

	remove_file(path, layouts[_i].lock);
	assert_ok(lc__foreign_open(path, &f));
	ck_assert(!is_there(path, layouts[_i].lock));
	expect_text(f, "a", "1");
	env = rawdb_open_env(path, layouts[_i].flags | MDB_NOLOCK);
	assert_ok(lc__foreign_check(f));
	put_pair(env, "b", "2");
	mdb_env_close(env);
	assert_status(lc__foreign_check(f), LC_CHANGED);
	assert_status(lc__foreign_next(f, &entry), LC_CHANGED);
	lc__foreign_close(f);
	ck_assert(!is_there(path, layouts[_i].lock));
	free(path);
}
END_TEST

/* What is in the lock file's place cannot be used: the environment can. */
START_TEST(a_lock_file_of_others)
{
	char *path = make_env("env", 0, "a", "1");
	char *lock = lc__path_join(path, "lock.mdb");
	struct lc__foreign *f;

	ck_assert_int_eq(unlink(lock), 0);
	ck_assert_int_eq(mkdir(lock, 0777), 0);
	assert_ok(lc__foreign_open(path, &f));
	expect_text(f, "a", "1");
	expect_end(f);
	free(lock);
	free(path);
}
END_TEST

static void
read_as_nobody(void *path)
{
	struct lc__foreign_entry entry;
	struct lc__foreign *f;

	need(geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
	need_ok(lc__foreign_open(path, &f));
	need_ok(lc__foreign_next(f, &entry));
	need(entry.value.size == 1);
	lc__foreign_close(f);
}

/* As on a read-only medium: neither the directory nor the lock file can be written. */
START_TEST(nothing_can_be_written)
{
	char *path = make_env("env", layouts[_i].flags, "a", "1");
	char *lock = NULL;

	ck_assert_int_ge(asprintf(&lock, "%s%s", path, layouts[_i].lock), 0);
	/* The way there may be closed to others. */
	path[strlen(path) - strlen("/env")] = '\0';
	ck_assert_int_eq(chdir(path), 0);
	path[strlen(path)] = '/';
	ck_assert_int_eq(chmod(".", 0755), 0);
	ck_assert_int_eq(chmod(lock, 0444), 0);
	ck_assert_int_eq(chmod(path, layouts[_i].flags ? 0444 : 0555), 0);
	ck_assert_int_eq(child_run(read_as_nobody, (void *)(uintptr_t)"env"), 0);
	ck_assert_int_eq(chmod(path, 0755), 0);
	free(lock);
	free(path);
}
END_TEST

/* ---- what is refused ----------------------------------------------------------------- */

static void
expect_refused(const char *path, lc_status status, const char *message)
{
	struct lc__foreign *f = NULL;
	char *line = NULL;

	assert_status(lc__foreign_open(path, &f), status);
	ck_assert_ptr_null(f);
	ck_assert_int_ge(asprintf(&line, "%s: %s", path, message), 0);
	ck_assert_str_eq(lc_last_error()->text, line);
	free(line);
}

static const struct {
	unsigned flags;
	const char *message;
} main_tables[] = {
	{ MDB_DUPSORT, "keys with several values (MDB_DUPSORT) are not supported" },
	{ MDB_INTEGERKEY, "keys that are integers, or in reverse order (flags 0x8), are "
	    "not supported" },
	{ MDB_REVERSEKEY, "keys that are integers, or in reverse order (flags 0x2), are "
	    "not supported" },
};

START_TEST(other_main_tables)
{
	char *path = lc__path_join(run_scratch(), "env");
	MDB_env *env = rawdb_open_env(path, MDB_NOSUBDIR);
	MDB_txn *txn = rawdb_begin(env, 0);

	put(txn, rawdb_table(txn, NULL, main_tables[_i].flags), "12345678", 8, "v", 1);
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	expect_refused(path, LC_UNSUPPORTED, main_tables[_i].message);
	free(path);
}
END_TEST

static const char module_message[] =
    "a module of cachex: `cachex copy` copies its records";

/* Also while this process has it open: its locks must stay as they are. */
START_TEST(a_module)
{
	const lc_tensor tensor = sample_bytes("abc", 3);
	const char *root = run_scratch();
	char *path = lc__path_join(root, "module");
	lc_cache *cache = sample_open(root, "module", NULL);

	assert_ok(lc_put(cache, "id", 2, &tensor));
	assert_ok(lc_flush(cache));
	ck_assert(holds_environment(path));
	expect_refused(path, LC_INVALID, module_message);
	assert_ok(lc_put(cache, "another", 7, &tensor));
	assert_ok(lc_close(cache));
	expect_refused(path, LC_INVALID, module_message);
	free(path);
}
END_TEST

static void
change_file(const char *path, size_t at, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT, 0666);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, (off_t)at), (int)size);
	close(fd);
}

START_TEST(no_environments)
{
	char *path = lc__path_join(run_scratch(), "file");
	char *dir = lc__path_join(run_scratch(), "dir");

	expect_refused(path, LC_NO_FILE, "open: No such file or directory");
	change_file(path, 0, "", 0);
	expect_refused(path, LC_NOT_MODULE, "an empty file, not an LMDB environment");
	change_file(path, 0, "text", 4);
	expect_refused(path, LC_NOT_MODULE, "not an LMDB data file");
	ck_assert_int_eq(mkdir(dir, 0777), 0);
	ck_assert(!holds_environment(dir));
	expect_refused(dir, LC_NO_FILE, "open: No such file or directory");
	free(dir);
	free(path);
}
END_TEST

START_TEST(other_versions)
{
	char *path = make_env("env", FILE_ENV, "a", "1");
	const unsigned char two = 2, swapped[4] = { 0xBE, 0xEF, 0xC0, 0xDE };

	change_file(path, 20, &two, 1);
	change_file(path, 4096 + 20, &two, 1);
	expect_refused(path, LC_VERSION, "LMDB data version 2, not 1");
	change_file(path, 16, swapped, 4);
	expect_refused(path, LC_NOT_MODULE,
	    "written on a machine of the other byte order");
	free(path);
}
END_TEST

/* ---- as records ------------------------------------------------------------------------ */

static lc_status
load_next(void *file, const char *key, struct lc__loaded *out)
{
	lc_id id;

	assert_ok(lc__incoming_lmdb.next(file, &id));
	ck_assert_uint_eq(id.size, strlen(key));
	ck_assert_mem_eq(id.data, key, id.size);
	return lc__incoming_lmdb.load(file, out);
}

static void
expect_bad(void *file, const char *path, const char *key, lc_status status,
    const char *message)
{
	struct lc__loaded loaded = { 0 };
	char *line = NULL;

	assert_status(load_next(file, key, &loaded), status);
	ck_assert_ptr_null(loaded.value);
	ck_assert_int_ge(asprintf(&line, "%s: '%s': %s", path, key, message), 0);
	ck_assert_str_eq(lc_last_error()->text, line);
	lc__loaded_free(&loaded);
	free(line);
}

#define PNG "\x89PNG\r\n\x1a\n"

/* A .npy file, pictures and other files, a table, and what data sets keep beside. */
static char *
make_set(const lc_tensor *tensor)
{
	char *path = make_env("env", 0, "num-samples", "2");
	MDB_env *env = rawdb_open_env(path, 0);
	MDB_txn *txn = rawdb_begin(env, 0);
	const MDB_dbi dbi = rawdb_table(txn, NULL, 0);
	static const char large[1001];
	struct lc__buf npy = { 0 };

	assert_ok(lc__npy_encode_header(tensor, false, &npy));
	lc__buf_append(&npy, tensor->data, tensor->nbytes);
	put(txn, dbi, "a", 1, npy.data, npy.size);
	put(txn, dbi, "b", 1, PNG, strlen(PNG));
	put(txn, dbi, "c", 1, large, sizeof(large));
	put(txn, dbi, "d", 1, "", 0);
	put(txn, dbi, "e", 1, npy.data, npy.size - 1);
	rawdb_put_text(txn, rawdb_table(txn, "f", 0), "inner", 10);
	put(txn, dbi, "z", 1, npy.data, npy.size);
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	lc__buf_free(&npy);
	return path;
}

static void
expect_tensor(void *file, const char *key, const lc_tensor *tensor)
{
	struct lc__loaded loaded = { 0 };
	lc_tensor got;

	assert_ok(load_next(file, key, &loaded));
	assert_ok(lc_value_as_tensor(loaded.value, &got));
	ck_assert(sample_same(&got, tensor));
	lc__loaded_free(&loaded);
}

static void
expect_raw(void *file, const char *key, const char *content)
{
	struct lc__loaded loaded = { 0 };
	const void *bytes;
	size_t size;

	assert_ok(load_next(file, key, &loaded));
	assert_ok(lc_value_check(loaded.value));
	assert_ok(lc_value_as_bytes(loaded.value, &bytes, &size));
	ck_assert_uint_eq(size, strlen(content));
	ck_assert_mem_eq(bytes, content, size);
	lc__loaded_free(&loaded);
}

/* Damage of which others have their own words. */
static void
expect_corrupt(void *file, const char *key)
{
	struct lc__loaded loaded = { 0 };

	assert_status(load_next(file, key, &loaded), LC_CORRUPT);
	lc__loaded_free(&loaded);
}

static const char no_file[] = "neither .npy nor a JPEG, PNG, WebP or TIFF image";

/* What belongs to the set and is no file does not keep the others back. */
START_TEST(records)
{
	const struct lc__incoming_how how = { .raw_dtype = LC__NPY_ANY_DTYPE,
		.limit = 1000, .raw = _i == 1 };
	const lc_tensor tensor = sample_bytes("abc", 3);
	char *path = make_set(&tensor);
	void *file;
	bool is;
	lc_id id;

	assert_ok(lc__incoming_lmdb.is(path, NULL, 0, &is));
	ck_assert(is);
	assert_ok(lc__incoming_lmdb.open(path, &how, &file));
	ck_assert_uint_eq(lc__incoming_lmdb.count(file), 8);
	expect_tensor(file, "a", &tensor);
	if (how.raw)
		expect_raw(file, "b", PNG);
	else
		expect_corrupt(file, "b");
	expect_bad(file, path, "c", LC_INVALID, "larger than 1000 bytes");
	if (how.raw)
		expect_raw(file, "d", "");
	else
		expect_bad(file, path, "d", LC_UNSUPPORTED, no_file);
	expect_corrupt(file, "e");
	expect_bad(file, path, "f", LC_UNSUPPORTED, "a named table, no value");
	if (how.raw)
		expect_raw(file, "num-samples", "2");
	else
		expect_bad(file, path, "num-samples", LC_UNSUPPORTED, no_file);
	expect_tensor(file, "z", &tensor);
	assert_status(lc__incoming_lmdb.next(file, &id), LC_END);
	lc__incoming_lmdb.close(file);
	free(path);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------- */

static uint64_t sum; /* of all keys and values, in their order */

static void
add(const void *data, size_t size)
{
	sum = lc__hash64_seed(data, size, sum);
}

static lc_status
read_all(const char *path)
{
	struct lc__foreign_entry entry;
	struct lc__foreign *f;
	lc_status status;

	sum = 0;
	return_if_error(lc__foreign_open(path, &f));
	while ((status = lc__foreign_next(f, &entry)) == LC_OK) {
		add(entry.key.data, entry.key.size);
		add(entry.value.data, entry.value.size);
	}
	lc__foreign_close(f);
	return status;
}

/* Values of all sizes, a table, freed pages. */
static char *
make_victim(uint64_t *seed)
{
	char *path = make_env("victim", FILE_ENV, "first", "value");
	MDB_env *env = rawdb_open_env(path, MDB_NOSUBDIR | MDB_NOSYNC);

	for (unsigned commit = 0; commit < 30; commit++) {
		MDB_txn *txn = rawdb_begin(env, 0);
		MDB_dbi dbi = rawdb_table(txn, NULL, 0);
		char key[40];

		for (unsigned i = 0; i < 12; i++) {
			snprintf(key, sizeof(key), "%03llu-key",
			    (unsigned long long)(run_random(seed) % 400));
			rawdb_put_text(txn, dbi, key, run_random(seed) % 3 * 2000);
		}
		if (commit == 10)
			rawdb_put_text(txn, rawdb_table(txn, "table", 0), "inner", 10);
		rawdb_must(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
	remove_file(path, "-lock");
	return path;
}

/* Whatever bytes are wrong: an error or wrong bytes, never a crash. */
START_TEST(random_damage)
{
	const unsigned trials = sample_times(4000);
	uint64_t seed = run_seed();
	char *path = make_victim(&seed);
	struct lc__buf good = { 0 };
	unsigned refused = 0;

	assert_ok(lc__read_file(path, 1 << 26, &good));
	assert_status(read_all(path), LC_END);
	for (unsigned i = 0; i < trials; i++) {
		const unsigned changes = 1 + (unsigned)(run_random(&seed) % 3);
		size_t at[3];

		for (unsigned c = 0; c < changes; c++) {
			const uint64_t r = run_random(&seed);
			const unsigned char byte = (unsigned char)(r >> 40);

			/* Many of them where they tell most. */
			at[c] = r % 4 == 0 ? (r >> 8) % 2 * 4096 + (r >> 16) % 152 :
			    (r >> 8) % good.size;
			change_file(path, at[c], &byte, 1);
		}
		refused += read_all(path) != LC_END;
		for (unsigned c = 0; c < changes; c++)
			change_file(path, at[c], good.data + at[c], 1);
	}
	printf("# %u of %u refused\n", refused, trials);
	ck_assert_uint_gt(refused, trials / 20);
	assert_status(read_all(path), LC_END);
	lc__buf_free(&good);
	free(path);
}
END_TEST

/* Cut at every page and in the middle of each: never SIGBUS, and nothing is missing but
 * pages that hold nothing. */
START_TEST(cut_short)
{
	uint64_t seed = run_seed(), whole;
	char *path = make_victim(&seed);
	struct stat st;

	assert_status(read_all(path), LC_END);
	whole = sum;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_size, 20 * 4096);
	for (off_t size = st.st_size - 2048; size > 0; size -= 2048) {
		ck_assert_int_eq(truncate(path, size), 0);
		if (read_all(path) == LC_END)
			ck_assert_uint_eq(sum, whole);
	}
	assert_status(read_all(path), LC_CORRUPT);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("foreign");
	TCase *tc = tcase_create("foreign");
	const int n_layouts = sizeof(layouts) / sizeof(*layouts);

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, in_order_of_keys);
	tcase_add_test(tc, many_keys);
	tcase_add_test(tc, named_tables);
	tcase_add_test(tc, nothing_in_it);
	tcase_add_test(tc, a_file);
	tcase_add_test(tc, data_file_of_a_directory);
	tcase_add_loop_test(tc, a_writer_with_locks, 0, n_layouts);
	tcase_add_loop_test(tc, a_writer_without_locks, 0, n_layouts);
	tcase_add_test(tc, a_lock_file_of_others);
	tcase_add_loop_test(tc, nothing_can_be_written, 0, n_layouts);
	tcase_add_loop_test(tc, other_main_tables, 0,
	    (int)(sizeof(main_tables) / sizeof(*main_tables)));
	tcase_add_test(tc, a_module);
	tcase_add_test(tc, no_environments);
	tcase_add_test(tc, other_versions);
	tcase_add_loop_test(tc, records, 0, 2);
	tcase_add_test(tc, random_damage);
	tcase_add_test(tc, cut_short);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
