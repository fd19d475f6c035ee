/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB without the engine: what tests of its file write and check. */
#ifndef T_RAWDB_H
#define T_RAWDB_H

#include <lmdb.h>

#include "pages/pages.h"

/** Fail the test unless LMDB said 0. */
void rawdb_must(int rc);
MDB_env *rawdb_open_env(const char *dir, unsigned flags);
MDB_txn *rawdb_begin(MDB_env *env, unsigned flags);
/** A table, made if it is missing. */
MDB_dbi rawdb_table(MDB_txn *txn, const char *name, unsigned flags);
/** A value of size bytes; its first byte is fill, the rest zeros. */
void rawdb_put_bytes(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_size,
    size_t size, int fill);
void rawdb_put_u64(MDB_txn *txn, MDB_dbi dbi, uint64_t key, size_t size);
void rawdb_put_text(MDB_txn *txn, MDB_dbi dbi, const char *key, size_t size);
/** What mdb_del() says. */
int rawdb_del_u64(MDB_txn *txn, MDB_dbi dbi, uint64_t key);
/** lc__pages_check() of a file by its name. */
lc_status rawdb_check_file(const char *path, const struct lc__pages_options *options,
    struct lc__pages_report *report);

#endif
