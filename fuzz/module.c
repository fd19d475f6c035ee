/* SPDX-License-Identifier: BSD-2-Clause */
#include "module.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fileio.h"
#include "fuzz.h"

const char *const fuzz_ids[FUZZ_IDS] = {
	"a", "b", "c", "img/00001.jpg", "img/00002.jpg", "img/00003.jpg", "in0:0:0", "in1:1:1",
	"missing", "z", "k7", "k33"
};

/* ---- the same bytes in every run ----------------------------------------------- */

static bool fixed; /* a module is being made */

/* In the place of the C library's: the uuid of a module decides where its index has
 * things. */
ssize_t
getrandom(void *out, size_t size, unsigned flags)
{
	unsigned char *bytes = out;

	if (!fixed)
		return syscall(SYS_getrandom, out, size, flags);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(17 * i + 3);
	return (ssize_t)size;
}

static void
must(lc_status status)
{
	if (status != LC_OK) {
		fprintf(stderr, "fuzz: %s\n", lc_last_error()->text);
		abort();
	}
}

/* ---- modules ------------------------------------------------------------------- */

/* A tensor of the bytes of @p data, which follow from @p seed. */
static lc_tensor
tensor_of(lc_dtype dtype, uint64_t rows, uint64_t columns, unsigned seed,
    unsigned char data[4096])
{
	const uint64_t shape[2] = { rows, columns };
	lc_tensor tensor;

	for (size_t i = 0; i < 4096; i++)
		data[i] = (unsigned char)((i * 7 + seed) % (seed % 5 + 2));
	must(lc_tensor_init(&tensor, dtype, 2, shape, data));
	fuzz_require(tensor.nbytes <= 4096);
	return tensor;
}

static void
put(lc_cache *cache, const char *id, unsigned seed)
{
	unsigned char data[4096];
	const lc_tensor tensor = tensor_of(LC_F32, 1 + seed % 4, 3, seed, data);

	must(lc_put(cache, id, strlen(id), &tensor));
}

static void
fill_tensors(lc_cache *cache)
{
	for (unsigned i = 0; i < 5; i++)
		put(cache, fuzz_ids[i], i);
	must(lc_flush(cache));
	put(cache, "b", 9);
	put(cache, "z", 3);
	must(lc_delete(cache, "c", 1));
	must(lc_flush(cache));
	put(cache, "k7", 4);
	must(lc_flush(cache));
}

static lc_value *
make_value(unsigned seed)
{
	unsigned char data[4096];
	const lc_tensor tensor = tensor_of(LC_F16, 8 + seed, 16, seed, data);
	lc_value *map = lc_value_map(), *list, *copy;

	lc_value_set(map, "x", lc_value_tensor(&tensor));
	lc_value_set(map, "n", lc_value_integer(seed));
	lc_value_set(map, "text", lc_value_str("a text"));
	list = lc_value_set(map, "list", seed % 2 == 0 ? lc_value_list() : lc_value_tuple());
	lc_value_append(list, lc_value_float(1.5));
	lc_value_append(list, lc_value_bytes("\1\2", 2));
	lc_value_set(map, "tagged", lc_value_tagged("tag", lc_value_bytes("\1", 1)));
	list = lc_value_set(map, "pairs", lc_value_pairs());
	lc_value_pair(list, lc_value_integer(seed),
	    seed % 2 == 0 ? lc_value_tensor(&tensor) : lc_value_nil());
	if (seed % 3 == 0) {
		list = lc_value_set(map, "deep", lc_value_map());
		lc_value_set(list, "y", lc_value_tensor(&tensor));
	}
	copy = lc_value_copy(map); /* with bytes of its own */
	lc_value_free(map);
	if (copy == NULL)
		abort();
	return copy;
}

static void
fill_values(lc_cache *cache)
{
	static const lc_codec codecs[] = {
		LC_CODEC_NONE, LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK,
		LC_CODEC_U8PACK_LZ4
	};
	lc_settings settings = { .struct_size = sizeof(settings) };

	must(lc_settings_get(cache, &settings));
	snprintf(settings.length_field, sizeof(settings.length_field), "x");
	settings.max_bytes = 1 << 30;
	must(lc_settings_set(cache, &settings));
	for (unsigned i = 0; i < 10; i++) {
		lc_value *value = make_value(i);

		must(lc_put_coded(cache, fuzz_ids[i % 6], strlen(fuzz_ids[i % 6]), value,
		    codecs[i % 5], 1));
		lc_value_free(value);
		if (i % 4 == 3)
			must(lc_flush(cache));
	}
	must(lc_flush(cache));
}

static void
fill_inputs(lc_cache *cache)
{
	static const lc_input inputs[] = { { "in0", { "f0", 2 } }, { "in1", { "f1", 2 } },
		{ "in2", { NULL, 0 } } };
	unsigned char data[4096];

	must(lc_inputs_declare(cache, 3, inputs));
	for (unsigned i = 0; i < 3; i++) {
		lc_writer *writer;

		must(lc_writer_open(cache, inputs[i].name, &writer));
		for (unsigned chunk = 0; chunk < 3 - i; chunk++) {
			for (unsigned k = 0; k < 2 + i; k++) {
				const lc_tensor tensor = tensor_of(LC_U8, 2, 1 + k, k, data);

				must(lc_writer_put(writer, NULL, 0, &tensor));
			}
			must(lc_writer_commit(writer, "line 7", 6));
		}
		if (i == 1)
			must(lc_writer_finish(writer, NULL, 0));
		lc_writer_close(writer);
	}
}

static void
fill_many(lc_cache *cache)
{
	char id[400];

	for (unsigned i = 0; i < 40; i++) {
		snprintf(id, sizeof(id), "k%u", i);
		put(cache, id, i);
		if (i % 3 == 0 && i > 3) {
			snprintf(id, sizeof(id), "k%u", i / 2);
			(void)!lc_delete(cache, id, strlen(id));
		}
		must(lc_flush(cache));
	}
	/* Long ids: some index pages of their own. */
	for (unsigned i = 0; i < 4; i++) {
		memset(id, 'x', sizeof(id));
		id[0] = (char)('a' + i);
		must(lc_flush(cache));
		id[sizeof(id) - 1] = '\0';
		put(cache, id, i);
	}
	must(lc_flush(cache));
}

void
fuzz_module_make(enum fuzz_module kind, const char *root, const char *name)
{
	static void (*const fill[FUZZ_MODULES])(lc_cache *) = {
		[FUZZ_TENSORS] = fill_tensors, [FUZZ_VALUES] = fill_values,
		[FUZZ_INPUTS] = fill_inputs, [FUZZ_MANY] = fill_many
	};
	lc_options options;
	lc_cache *cache;

	fixed = true;
	if (setenv("SOURCE_DATE_EPOCH", "1700000000", 1) != 0) /* the time of commits */
		abort();
	lc_options_init(&options);
	options.flush_interval_ms = 0;
	options.map_size = 16 << 20;
	must(lc_open(root, name, &options, &cache));
	fill[kind](cache);
	must(lc_close(cache));
	fixed = false;
}

void
fuzz_module_image(enum fuzz_module kind, struct lc__buf *out)
{
	char name[20], path[300];

	snprintf(name, sizeof(name), "template%d", (int)kind);
	fuzz_module_make(kind, fuzz_dir(), name);
	snprintf(path, sizeof(path), "%s/%s/data.mdb", fuzz_dir(), name);
	must(lc__read_file(path, 1 << 26, out));
}

/* ---- environments of other programs --------------------------------------------- */

static void
must_mdb(int rc)
{
	if (rc != 0) {
		fprintf(stderr, "fuzz: %s\n", mdb_strerror(rc));
		abort();
	}
}

static void
put_pair(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_size, size_t size)
{
	static char bytes[16384];
	MDB_val k = { key_size, (void *)(uintptr_t)key }, v = { size, bytes };

	memset(bytes, (int)(key_size + size) & 0x7f, sizeof(bytes));
	must_mdb(mdb_put(txn, dbi, &k, &v, 0));
}

static void
fill_pairs(MDB_txn *txn, MDB_dbi dbi)
{
	put_pair(txn, dbi, "a", 1, 0);
	put_pair(txn, dbi, "a\0b", 3, 48);
	put_pair(txn, dbi, "large", 5, 9000);
	put_pair(txn, dbi, "z", 1, 5);
}

/* Long keys: few on a page. */
static void
fill_tree(MDB_txn *txn, MDB_dbi dbi)
{
	char key[440];

	memset(key, 'k', sizeof(key));
	for (unsigned i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%03u", i * 37 % 100);
		key[3] = 'k';
		put_pair(txn, dbi, key, sizeof(key), i % 10 == 0 ? 5000 : i);
	}
}

/* In a later commit, so that pages become free. */
static void
thin_tree(MDB_txn *txn, MDB_dbi dbi)
{
	char key[440];

	memset(key, 'k', sizeof(key));
	for (unsigned i = 20; i < 30; i++) {
		MDB_val k = { sizeof(key), key };

		snprintf(key, sizeof(key), "%03u", i);
		key[3] = 'k';
		must_mdb(mdb_del(txn, dbi, &k, NULL));
	}
}

static void
fill_tables(MDB_txn *txn, MDB_dbi dbi)
{
	MDB_dbi one, several;

	put_pair(txn, dbi, "like a table", 12, 48);
	must_mdb(mdb_dbi_open(txn, "one", MDB_CREATE, &one));
	put_pair(txn, one, "x", 1, 7);
	must_mdb(mdb_dbi_open(txn, "several", MDB_CREATE | MDB_DUPSORT, &several));
	for (size_t size = 1; size < 5; size++)
		put_pair(txn, several, "y", 1, size);
}

static void
commit(MDB_env *env, void (*fill)(MDB_txn *, MDB_dbi))
{
	MDB_txn *txn;
	MDB_dbi dbi;

	must_mdb(mdb_txn_begin(env, NULL, 0, &txn));
	must_mdb(mdb_dbi_open(txn, NULL, 0, &dbi));
	fill(txn, dbi);
	must_mdb(mdb_txn_commit(txn));
}

void
fuzz_env_make(enum fuzz_env kind, const char *root, const char *name)
{
	static void (*const fill[FUZZ_ENVS])(MDB_txn *, MDB_dbi) = {
		[FUZZ_PAIRS] = fill_pairs, [FUZZ_TREE] = fill_tree, [FUZZ_TABLES] = fill_tables
	};
	char path[400];
	MDB_env *env;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fuzz_require(mkdir(root, 0700) == 0 && mkdir(path, 0700) == 0);
	must_mdb(mdb_env_create(&env));
	must_mdb(mdb_env_set_maxdbs(env, 4));
	must_mdb(mdb_env_set_mapsize(env, 16 << 20));
	must_mdb(mdb_env_open(env, path, kind == FUZZ_TABLES ? 0 : MDB_NOLOCK, 0600));
	commit(env, fill[kind]);
	if (kind == FUZZ_TREE) {
		commit(env, thin_tree);
		commit(env, fill_pairs);
	}
	mdb_env_close(env);
}
