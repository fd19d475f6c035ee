/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Salvage: extracts the records of a data file whose trees cannot be trusted. The pages
 * are read one after another as plain bytes; LMDB never opens the file. Checksums
 * identify the content of a page: chunks and index runs begin with a checked header, and
 * every row ends with a hash. The trees and the free list only tell which pages the
 * newest commit uses and which ones hold older versions.
 */
#ifndef LC_LIFE_SALVAGE_H
#define LC_LIFE_SALVAGE_H

#include <stdbool.h>

#include "env/rows.h"
#include "life/progress.h"
#include "lmdbcache.h"
#include "value/schema.h"

/** A data file: an open one, or bytes in memory. */
struct lc__salvage_file {
	int fd; /* -1: use bytes */
	const unsigned char *bytes;
	uint64_t size;         /* its state when salvage began */
	const char *path;      /* for messages */
	unsigned char *window; /* bytes read last; malloc'ed */
	uint64_t window_at;    /* their offset in the file */
	size_t window_size, window_room;
};

/** The use of a page, or of the value that begins on it. */
enum lc__salvage_use {
	LC__USE_FREED,   /* not used by the newest commit: it holds an old version */
	LC__USE_UNKNOWN, /* unknown */
	LC__USE_CURRENT  /* used by the newest commit */
};

/** The value of a chunk, or of something that may be one. */
struct lc__salvage_chunk {
	uint64_t id;      /* 0 if unknown */
	uint64_t page;    /* where its row's value begins */
	uint64_t at;      /* where it begins in the value */
	uint64_t size;    /* how much of it the file has */
	bool headless;    /* its header is damaged */
	uint8_t use;      /* enum lc__salvage_use */
	uint64_t records; /* as the header says */
	uint64_t whole;   /* records with a correct checksum */
	uint64_t damaged; /* other records */
};

/** An index run with an intact header. */
struct lc__salvage_run {
	uint64_t id;
	uint64_t page; /* page where it begins, or the leaf that contains it */
	uint64_t entries;
	uint64_t keys;      /* offset of the key section in the file */
	uint64_t keys_size; /* its bytes */
	uint32_t level;
	uint8_t use; /* enum lc__salvage_use */
};

/** An intact row. */
struct lc__salvage_row {
	uint64_t page; /* the leaf that contains it */
	uint64_t at;   /* its offset in the file */
	uint32_t size;
	uint64_t number; /* schema: its id, UINT64_MAX if it is under another key; state:
	                  * the generation; settings: 1 if damaged */
	uint8_t use;     /* enum lc__salvage_use */
};

struct lc__salvage_rows {
	struct lc__salvage_row *row; /* malloc'ed */
	uint64_t count;
	size_t room;
};

/** A record with a correct checksum. */
struct lc__salvage_record {
	uint64_t hash[2];    /* hash of its cache_id: equal for records of one cache_id */
	uint64_t location;   /* as in the index; those of a later commit are larger */
	uint64_t at;         /* offset in the file */
	uint64_t newest;     /* first record of its cache_id: location that the newest run
	                    * names */
	uint32_t newest_run; /* index of that run plus 1; 0 if no run has the cache_id */
	uint32_t size;
	uint32_t schema;
	uint32_t chunk : 28;  /* index in chunks */
	uint32_t named : 1;   /* a run names it */
	uint32_t taken : 1;   /* it is rescued */
	uint32_t doubted : 1; /* it may have been deleted or replaced */
	uint32_t old : 1;     /* it is an old version */
};

/** A meta page. */
struct lc__salvage_meta {
	bool good; /* it is valid */
	uint64_t txnid, last_page;
	uint64_t free_root, free_entries, main_root, main_entries;
};

/** Everything found in a file. */
struct lc__salvage {
	struct lc__salvage_file *file;
	const lc_progress *progress; /* may be NULL */
	uint64_t done, total;        /* bytes, for progress */
	uint32_t page_size;
	uint64_t pages; /* intact or cut short */
	struct lc__salvage_meta meta[2];
	struct lc__salvage_chunk *chunks; /* by page */
	struct lc__salvage_chunk *values; /* overflow pages and the nodes that lead to
	                                   * them */
	struct lc__salvage_run *runs;     /* by page; later only those that count, oldest
	                               * first */
	uint64_t nchunks, nvalues, nruns;
	size_t chunks_room, values_room, runs_room;
	struct lc__salvage_rows states, settings, schemas, inputs, anchors;
	struct lc__salvage_record *records; /* by hash and location */
	uint64_t nrecords;
	size_t records_room;
	uint64_t rows_read;            /* bytes of large rows read, which are limited */
	uint64_t wasted;               /* bytes hashed in vain, which are limited too */
	unsigned char *free, *reached; /* a bit for each page: it is in the free list; a
	                                * walk reached it; malloc'ed */
	unsigned char *disputed;       /* bit per page: free, and reached by a walk */
	unsigned char *tree_pages;     /* bit per page: a walk found a tree page */
	/* Bit per page: begins inside an intact record. */
	unsigned char *inside;
	bool trees_whole;    /* the walk met no damage: pages that it did not reach are
	                      * old */
	uint64_t last_page;  /* pages above belong to no commit */
	bool newest;         /* the base is certainly the newest commit */
	bool state_found;    /* state is that of the base, or of a commit close to it */
	bool state_reached;  /* it is certainly that of the base */
	bool state_disputed; /* it is on a page that is free and that a tree also names */
	struct lc__state state;
	uint64_t *reach;            /* for each run: the largest location that it and
	                             * earlier runs name; malloc'ed */
	uint32_t gap;               /* runs before this index plus 1 may lack an entry;
	                             * UINT32_MAX: a later run may be missing */
	struct lc__schema **schema; /* by id; NULL: not found; malloc'ed */
	uint32_t nschema;
	size_t schema_room;
};

/** @p size bytes at @p at, valid until the next call; LC_CORRUPT if the file ends
 *  before. */
LC_CHECKED lc_status lc__salvage_at(struct lc__salvage_file *file, uint64_t at,
    uint64_t size, const unsigned char **out);

/** Count bytes done; LC_CANCELLED. */
LC_CHECKED lc_status lc__salvage_step(struct lc__salvage *s, uint64_t bytes);

/** Find page size and meta pages; LC_NOT_MODULE if no page of the file is LMDB's. */
LC_CHECKED lc_status lc__salvage_read_metas(struct lc__salvage *s);
/** Read all pages and find chunks, runs and rows, whether or not anything leads to
 *  them. */
LC_CHECKED lc_status lc__salvage_scan(struct lc__salvage *s);
/** Read the records of all chunks; drop chunks that lie inside intact records. */
LC_CHECKED lc_status lc__salvage_read_records(struct lc__salvage *s);
/** Determine for everything found whether the newest commit uses it. */
LC_CHECKED lc_status lc__salvage_classify(struct lc__salvage *s);
/** Find the structure of each schema id. */
LC_CHECKED lc_status lc__salvage_read_schemas(struct lc__salvage *s);
/** Read the index runs, and decide which records to take. */
LC_CHECKED lc_status lc__salvage_decide(struct lc__salvage *s, bool stale,
    lc_salvage_result *out);

/**
 * All of these in order: find the content of the file and decide which records to take.
 * Free @p s with lc__salvage_free() in any case.
 */
LC_CHECKED lc_status lc__salvage_find(struct lc__salvage *s,
    struct lc__salvage_file *file, bool stale, const lc_progress *progress,
    lc_salvage_result *out);
void lc__salvage_free(struct lc__salvage *s);

/** The offset of a value in the file. */
static inline uint64_t
lc__salvage_value(const struct lc__salvage *s, uint64_t page)
{
	return page * s->page_size + 16;
}

static inline bool
lc__salvage_bit(const unsigned char *bits, uint64_t i)
{
	return (bits[i / 8] >> i % 8 & 1) != 0;
}

#endif
