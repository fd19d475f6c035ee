/* SPDX-License-Identifier: BSD-2-Clause */
/* What cachex export writes: TWH1 shards, or records in another format. */
#ifndef CACHEX_CMD_EXPORT_H
#define CACHEX_CMD_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/stream_sources.h"
#include "formats/formats.h"
#include "lmdbcache.h"

/* ---- An export as TWH1 shards ------------------------------------------------------ */

/**
 * Export into a directory. how->dataset_root NULL is the module's name.
 * @param force  replace an export of something else
 * Reports and shows; an exit status.
 */
int export_shards(lc_cache *cache, const char *module, const char *dir,
    const lc_export_options *how, bool force);

/* ---- Records of several modules put together for an export ------------------------- */

struct export_join;

/**
 * Of a join that stream_source_open_join() has opened, which must outlive it.
 * Reports; an exit status.
 */
int export_join_new(const struct stream_source *source, lc_missing missing,
    struct export_join **out);
/** NULL is harmless. */
void export_join_free(struct export_join *join);

/** A value of a tensor, also of a listed one, which has no data; NULL without memory. */
lc_value *export_join_tensor(const lc_tensor *tensor);

/**
 * A map with the first module's record, @p first, and the partners' records of this
 * cache_id, each under the name of its module. Tensors stay where they are, in memory
 * of @p first and of the modules, until the next call.
 * @param listed  tensors have no data
 * @param out     gets NULL if a partner is missing and that was asked to be left out;
 *                else a value of the caller's
 * @return LC_OK; LC_CHANGED if one is missing that was there; LC_CORRUPT, LC_NO_MEMORY.
 */
LC_CHECKED lc_status export_join_record(struct export_join *join, lc_id id,
    const lc_value *first, bool listed, lc_value **out);

/* ---- An export into a format of another system ------------------------------------- */

/** What is exported, and how. */
struct export_choice {
	const struct lc__outgoing_format *format;
	struct lc__outgoing_how how; /* its group is set by whoever exports */
	unsigned order;              /* LC_BY_KEY or LC_BY_COMMIT */
	const char *field;           /* the part of each record; NULL for all of it */
	struct export_join *join;    /* records of several modules; NULL: of one */
	bool by_bucket;              /* a directory for each bucket */
	uint64_t bucket_scale;       /* pixels for each element of a tensor's side; 0: see
	                                struct export_bucket */
	const char *bucket_field;    /* the part that names the bucket; or NULL */
};

/** Reports and shows; an exit status. */
int export_records(lc_cache *cache, const char *target,
    const struct export_choice *choice);

#endif
