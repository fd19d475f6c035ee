/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that the report on a module is made of. */
#ifndef CACHEX_REPORT_MODULE_FACTS_H
#define CACHEX_REPORT_MODULE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"
#include "report/facts.h"
#include "report/record_fields.h"
#include "store/tool.h"

/** What a page shows at most. */
#define LC__MODULE_INPUTS 300
#define LC__MODULE_KEYS 12
#define LC__MODULE_DAMAGE 20
#define LC__MODULE_FAILURES 20
#define LC__MODULE_EXAMPLES 48

/** A structure of records: struct lc_schema_stats with a copy of its text. */
struct lc__module_schema {
	lc_schema_stats stats;
	char *structure; /* malloc'ed */
};

/** An input: struct lc_input_info with a copy of its name. */
struct lc__module_input {
	lc_input_info info;
	char *name; /* malloc'ed */
};

/** A record that is shown. */
struct lc__module_example {
	lc_id id;               /* malloc'ed */
	uint64_t stored;        /* bytes in its chunk */
	struct lc__buf png;     /* a picture, or else */
	uint32_t width, height; /* (of it) */
	struct lc__buf text;    /* a text */
	char *note;             /* malloc'ed: its type */
	bool bad;               /* the text is why it could not be read */
};

struct lc__module_facts {
	const char *module; /* borrowed */
	lc_stats stats;
	lc_counters counters;
	lc_fill fill;
	struct lc__module_schema *schemas;
	size_t n_schemas, schemas_room;
	struct lc__chunk_facts *chunks; /* of the newest commit */
	size_t n_chunks;
	struct lc__buf map, narrow_map; /* of the chunks, as SVG; empty without cairo */
	struct lc__buf vectors, narrow_vectors; /* a map of vectors, the same */
	struct lc__module_input inputs[LC__MODULE_INPUTS];
	size_t n_inputs; /* of those shown */

	uint64_t listed,
	    unlisted;          /* records that were listed; places where that failed */
	uint64_t listed_bytes; /* of them, as stored */
	uint64_t least_bytes, most_bytes;
	uint64_t least_key, most_key, key_bytes;
	struct lc__histogram sizes;     /* logarithms to base 2 of bytes */
	struct lc__histogram key_sizes; /* bytes */
	struct lc__texts prefixes;      /* of keys, with the bytes of their records */
	lc_id keys[LC__MODULE_KEYS];    /* spread evenly; malloc'ed */
	size_t n_keys;

	struct lc__record_fields fields;
	uint64_t damaged;                /* records that were read and are damaged */
	char *damage[LC__MODULE_DAMAGE]; /* the first; also what verifying found */
	size_t n_damage;
	struct lc__module_example examples[LC__MODULE_EXAMPLES];
	size_t n_examples;

	bool verified;
	lc_verify_result verify;

	uint64_t failures;                             /* lines of failures.jsonl */
	struct lc__texts reasons;                      /* of them */
	struct lc__fields failed[LC__MODULE_FAILURES]; /* the last */
};

/** How much of it is read. */
struct lc__module_look {
	uint64_t samples;    /* records whose values are read, spread evenly; 0: all */
	uint64_t examples;   /* records that are shown, LC__MODULE_EXAMPLES at most */
	bool verify;         /* everything, with lc_verify() */
	lc_progress records; /* step counts records */
	lc_progress bytes;   /* of lc_verify(), without damage */
};

/**
 * Read the facts of a module. Damage is counted, and does not end it.
 * @param out  free with lc__module_facts_free(), also after a failure
 * @return LC_OK; LC_CANCELLED; LC_IO; LC_NO_MEMORY; LC_CORRUPT where nothing can be read.
 */
LC_CHECKED lc_status lc__module_facts_read(lc_cache *cache, const char *module,
    const struct lc__module_look *look, struct lc__module_facts *out);
void lc__module_facts_free(struct lc__module_facts *facts);

#endif
