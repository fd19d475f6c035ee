/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/sqlite_schema.h"

/* No journal: the file is a temporary one, which nobody reads before the end. */
const char lc__sqlite_schema[] =
    "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
    "PRAGMA cache_size=-16384; PRAGMA application_id=1129862984;"
    "PRAGMA user_version=1; BEGIN;"
    "CREATE TABLE warehouse(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE runs(run_id TEXT PRIMARY KEY, total INTEGER NOT NULL,"
    " non_empty INTEGER NOT NULL, empty INTEGER NOT NULL,"
    " missing_image INTEGER NOT NULL, missing_file INTEGER NOT NULL,"
    " invalid INTEGER NOT NULL, written INTEGER NOT NULL);"
    "CREATE TABLE reasons(reason TEXT PRIMARY KEY,"
    " frames INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE rejected(run_id TEXT, name TEXT, label TEXT, image TEXT,"
    " reason TEXT, detail TEXT);"
    "CREATE TABLE series(series INTEGER PRIMARY KEY, width INTEGER NOT NULL,"
    " height INTEGER NOT NULL, channels INTEGER NOT NULL,"
    " first_sample INTEGER NOT NULL, samples INTEGER NOT NULL);"
    "CREATE TABLE shards(path TEXT PRIMARY KEY, samples INTEGER NOT NULL,"
    " width INTEGER NOT NULL, height INTEGER NOT NULL, bytes INTEGER,"
    " sha256 TEXT);"
    "CREATE TABLE histograms(name TEXT NOT NULL, bin INTEGER NOT NULL,"
    " low REAL, high REAL, count INTEGER NOT NULL,"
    " PRIMARY KEY(name, bin)) WITHOUT ROWID;"
    "CREATE TABLE classes(class_id INTEGER PRIMARY KEY,"
    " boxes INTEGER NOT NULL, name TEXT);"
    "CREATE TABLE samples(sample INTEGER PRIMARY KEY, cache_id, run_id TEXT,"
    " frame_id INTEGER, width INTEGER, height INTEGER,"
    " boxes INTEGER NOT NULL, boxes_total INTEGER NOT NULL,"
    " series INTEGER NOT NULL REFERENCES series,"
    " brightness REAL, contrast REAL);"
    "CREATE TABLE boxes(sample INTEGER NOT NULL REFERENCES samples,"
    " box INTEGER NOT NULL, class_id INTEGER, x0 REAL, y0 REAL, x1 REAL,"
    " y1 REAL, PRIMARY KEY(sample, box)) WITHOUT ROWID;";

const char *const lc__sqlite_inserts[LC__INSERTS] = {
	[LC__INSERT_WAREHOUSE] = "INSERT INTO warehouse VALUES(?,?)",
	[LC__INSERT_RUNS] = "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?)",
	[LC__INSERT_REASONS] = "INSERT INTO reasons VALUES(?,?)",
	[LC__INSERT_REJECTED] = "INSERT INTO rejected VALUES(?,?,?,?,?,?)",
	[LC__INSERT_SERIES] = "INSERT INTO series VALUES(?,?,?,?,?,?)",
	[LC__INSERT_SHARDS] = "INSERT INTO shards VALUES(?,?,?,?,?,?)",
	[LC__INSERT_HISTOGRAMS] = "INSERT INTO histograms VALUES(?,?,?,?,?)",
	[LC__INSERT_CLASSES] = "INSERT INTO classes VALUES(?,?,?)",
	[LC__INSERT_SAMPLES] = "INSERT INTO samples VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[LC__INSERT_BOXES] = "INSERT INTO boxes VALUES(?,?,?,?,?,?,?)",
};
