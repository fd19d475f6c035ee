/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of tensors in formats without structure: the cache_id if the record is a tensor,
 * else cache_id.PATH with the paths of lc_value_find().
 */
#ifndef CACHEX_FORMATS_NAMES_H
#define CACHEX_FORMATS_NAMES_H

#include "base/idset.h"

/** What a format takes for a name. */
enum lc__name_rule {
	LC__NAME_TEXT,   /* UTF-8 without a NUL */
	LC__NAME_MEMBER, /* that, and inside of a directory: no slash first, no ".." */
	LC__NAME_FILE    /* any bytes that are a path below a directory */
};

/** The longest name of a file or directory, in bytes. */
#define LC__NAME_FILE_MAX 255

/**
 * Why the name cannot be used, as a phrase ("it is not UTF-8"); NULL if it can.
 * @param suffix  appended to it in a file's name, "" for nothing
 */
const char *lc__name_fault(enum lc__name_rule rule, const void *name, size_t size,
    const char *suffix);

/** Names that are given to tensors, each once. */
struct lc__flat_names {
	enum lc__name_rule rule;
	const char *suffix;    /* as for lc__name_fault() */
	struct lc__idset seen; /* those given; numbers are sizes of cache_ids */
};

/** Called with each tensor of a record, in order. */
typedef lc_status (*lc__named_fn)(void *ctx, const char *name, const lc_tensor *tensor);

/**
 * Name the tensors of a record.
 * @return LC_OK; what @p fn returned, with the cache_id before it; LC_UNSUPPORTED for
 * a part that is no tensor, for a record without a tensor, for a name that cannot be
 * used and for one that another tensor has; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__names_each(struct lc__flat_names *names, lc_id id,
    const lc_value *value, lc__named_fn fn, void *ctx);

void lc__names_free(struct lc__flat_names *names);

#endif
