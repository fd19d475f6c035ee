/* SPDX-License-Identifier: BSD-2-Clause */
#include "rawdb.h"

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void
rawdb_must(int rc)
{
	ck_assert_msg(rc == 0, "%s", mdb_strerror(rc));
}

MDB_env *
rawdb_open_env(const char *dir, unsigned flags)
{
	MDB_env *env;

	rawdb_must(mdb_env_create(&env));
	rawdb_must(mdb_env_set_maxdbs(env, 128));
	rawdb_must(mdb_env_set_mapsize(env, (size_t)1 << 30));
	rawdb_must(mdb_env_open(env, dir, flags | MDB_NOTLS, 0644));
	return env;
}

MDB_txn *
rawdb_begin(MDB_env *env, unsigned flags)
{
	MDB_txn *txn;

	rawdb_must(mdb_txn_begin(env, NULL, flags, &txn));
	return txn;
}

MDB_dbi
rawdb_table(MDB_txn *txn, const char *name, unsigned flags)
{
	MDB_dbi dbi;

	rawdb_must(mdb_dbi_open(txn, name, MDB_CREATE | flags, &dbi));
	return dbi;
}

/* A value of size bytes; its first byte is fill, the rest zeros. */
void
rawdb_put_bytes(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_size, size_t size,
    int fill)
{
	MDB_val k = { key_size, (void *)key }, v = { size, NULL };

	rawdb_must(mdb_put(txn, dbi, &k, &v, MDB_RESERVE));
	memset(v.mv_data, 0, size);
	if (size > 0)
		memset(v.mv_data, fill, 1);
}

void
rawdb_put_u64(MDB_txn *txn, MDB_dbi dbi, uint64_t key, size_t size)
{
	rawdb_put_bytes(txn, dbi, &key, sizeof(key), size, (int)key);
}

void
rawdb_put_text(MDB_txn *txn, MDB_dbi dbi, const char *key, size_t size)
{
	rawdb_put_bytes(txn, dbi, key, strlen(key), size, key[0]);
}

int
rawdb_del_u64(MDB_txn *txn, MDB_dbi dbi, uint64_t key)
{
	MDB_val k = { sizeof(key), &key };

	return mdb_del(txn, dbi, &k, NULL);
}

lc_status
rawdb_check_file(const char *path, const struct lc__pages_options *options,
    struct lc__pages_report *report)
{
	const int fd = open(path, O_RDONLY);
	lc_status status;

	ck_assert_int_ge(fd, 0);
	status = lc__pages_check(fd, path, options, report);
	close(fd);
	return status;
}
