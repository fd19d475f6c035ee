/* SPDX-License-Identifier: BSD-2-Clause */
/* The manifest of a directory of shards, twh1(5): JSON text to and from a struct. */
#ifndef LC_FORMAT_MANIFEST_H
#define LC_FORMAT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The manifest's own version, stored as manifest_version. A manifest that has one also
 *  has a digest of itself, manifest_sha256; only this module uses both. */
#define LC__MANIFEST_VERSION 1
#define LC__MANIFEST_OF_PARTS 2 /* it names other manifests instead of shards */

#define LC__MANIFEST_PART_MOST 4096u                  /* shards of a part, written */
#define LC__MANIFEST_PART_LIMIT ((uint64_t)1 << 20)   /* the same, read */
#define LC__MANIFEST_PART_BYTES ((uint64_t)1 << 30)   /* of its text */
#define LC__MANIFEST_SHARDS_LIMIT ((uint64_t)1 << 26) /* of all parts together */

/** One shard, as the manifest describes it. Strings are malloc'ed. */
struct lc__manifest_shard {
	char *id;                         /* its name, "shard-000000" */
	char *relative_path;              /* from the manifest's directory */
	uint32_t shard_version;           /* of its header */
	uint64_t samples;                 /* how many */
	uint32_t width, height, channels; /* of an image */
	uint32_t max_boxes;               /* rows of boxes a sample */
	lc_dtype dtype;                   /* of images */
	lc_dtype boxes_dtype;             /* of boxes and mask */
	bool big_endian;                  /* "Big" instead of "Little" */
	char sha256[65];                  /* of the file, "" while unknown */
	char xxh3[33];                    /* or its 128-bit XXH3, or "" */
	bool has_bytes;                   /* bytes counts */
	uint64_t bytes;                   /* size of the file */
	char section_xxh3[17]; /* that ends its checksum section, "" if unknown */
	char samples_hash[33]; /* hash of what its samples were computed from, "" if
	                        * unknown */
};

/** What all shards of a manifest of parts have in common; names as for a shard. */
struct lc__manifest_layout {
	uint32_t width, height, channels;
	uint32_t max_boxes;
	lc_dtype dtype, boxes_dtype;
};

/** One part of a manifest of parts: the manifest of some of its shards. Paths are
 *  relative to the directory of the manifest that names the part. Strings are
 *  malloc'ed. */
struct lc__manifest_part {
	char *relative_path; /* path of the manifest; may begin with ../ */
	char *base;          /* of the directory to which its shards' paths are relative;
	                      * may begin with ../, or "." for that of the manifest; ""
	                      * for that of the part's file */
	char sha256[65];     /* SHA-256 of the manifest */
	uint64_t samples;    /* samples in all its shards */
	uint64_t bytes;      /* of their files, as far as they are known */
	uint64_t shards;     /* how many */
	char *counts;        /* samples of each, see lc__manifest_counts_next() */
};

/** A manifest. Strings are malloc'ed; text that is JSON may be any JSON value. */
struct lc__manifest {
	char *dataset_root;             /* where the samples came from */
	char *transform;                /* JSON text: what was done to them */
	char *version;                  /* SHA-256 of version_recipe, hex */
	char *version_recipe;           /* identifies this content */
	char *code_version;             /* of the program that wrote them */
	lc_dtype default_dtype;         /* of its shards */
	uint32_t default_shard_version; /* of its shards */
	uint64_t created_at_ms;         /* ms since 1970 */
	char *thresholds;               /* JSON text: validation limits */
	char *summary;                  /* JSON text: validation counts */
	size_t n;                       /* how many shards */
	struct lc__manifest_shard *shards;
	size_t n_parts; /* if it is of parts; it has no shards of its own then */
	struct lc__manifest_part *parts;
	struct lc__manifest_layout layout; /* of the shards of its parts */
	uint32_t manifest_version;         /* 0 if another program wrote it */
	char *warehouse;    /* JSON text: what a warehouse's build adds, or NULL */
	char *export_state; /* of an unfinished export: its recipe */
};

/**
 * Read a manifest and check its digest, which a manifest of another program may lack.
 * @param name  for messages
 * @return LC_OK; LC_NOT_MODULE if the JSON is not a manifest; LC_VERSION; LC_CORRUPT,
 * naming the line or the field, or if a byte was changed; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__manifest_parse(const void *text, size_t size, const char *name,
    struct lc__manifest *out);

/** The same, and a manifest of parts is accepted too, which lc__manifest_parse() refuses
 *  with LC_UNSUPPORTED. */
LC_CHECKED lc_status lc__manifest_parse_any(const void *text, size_t size,
    const char *name, struct lc__manifest *out);

/**
 * Append the manifest's text with its digest; NULL strings are "", NULL JSON text is null.
 * @return LC_OK; LC_INVALID for text that is not UTF-8 or JSON; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__manifest_format(const struct lc__manifest *manifest,
    struct lc__buf *out);

/** Append @p text as a JSON string. LC_INVALID if it is not UTF-8. */
LC_CHECKED lc_status lc__manifest_quote(const char *text, struct lc__buf *out);

/** Free its members. */
void lc__manifest_free(struct lc__manifest *manifest);

/** Is the path relative, and does it stay inside its directory? */
bool lc__manifest_path_ok(const char *path);

/** The same for the path of a part, which may begin with ../ once or more. */
bool lc__manifest_part_path_ok(const char *path);

/* ---- parts ------------------------------------------------------------------ */

/**
 * Take the next run off the sample counts of a part's shards, "1024x3 17": three shards
 * of 1,024 samples, then one of 17.
 * @param at  advances; initially the text of a part from lc__manifest_parse_any()
 * @return false at the end.
 */
bool lc__manifest_counts_next(const char **at, uint64_t *samples, uint64_t *shards);

/** The directory to which the paths of a part's shards are relative; @p dir is that of
 *  the manifest that names the part. Malloc'ed, NULL without memory. */
char *lc__manifest_part_base(const char *dir, const struct lc__manifest_part *part);

/** Describe a manifest as a part of another: samples, bytes, shards and counts, which are
 *  malloc'ed. LC_INVALID if there are too many of them. */
LC_CHECKED lc_status lc__manifest_describe_part(const struct lc__manifest *manifest,
    const char *name, struct lc__manifest_part *out);

struct lc__manifest_layout lc__manifest_shard_layout(
    const struct lc__manifest_shard *shard);

/** The layout that all shards of a manifest share; LC_INVALID if there are no shards, or
 *  if layouts differ: then the message names the shard and the difference. */
LC_CHECKED lc_status lc__manifest_layout_of(const struct lc__manifest *manifest,
    const char *name, struct lc__manifest_layout *out);

/** The difference between two layouts, in words, or NULL. */
const char *lc__manifest_layout_differs(const struct lc__manifest_layout *a,
    const struct lc__manifest_layout *b);

/**
 * Read the file of a part of @p set and compare it with the set's entry: digest, shards,
 * samples of each, layout.
 * @param path  of the file
 * @return LC_OK; LC_CORRUPT, also if the file is missing; LC_PERMISSION, LC_IO,
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__manifest_read_part(const struct lc__manifest *set,
    const struct lc__manifest_part *said, const char *path, struct lc__manifest *out);

#endif
