/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that the report on a module shows. */
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

/** The most that a page shows of each kind. */
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
	uint64_t stored;        /* bytes in its chunk, as stored */
	struct lc__buf png;     /* an image; empty if `text` is shown */
	uint32_t width, height; /* size of the image, in pixels */
	struct lc__buf text;    /* shown where there is no image */
	char *note;             /* the type of the record, malloc'ed */
	bool bad;               /* `text` tells why the record could not be read */
};

struct lc__module_facts {
	const char *module; /* borrowed */
	lc_stats stats;
	lc_counters counters;
	lc_fill fill;
	struct lc__module_schema *schemas;
	size_t n_schemas, schemas_room;
	struct lc__chunk_facts *chunks; /* chunks of the newest commit */
	size_t n_chunks;
	/* Maps of the chunks, as SVG; empty without cairo. */
	struct lc__buf map, narrow_map;
	/* Maps of vectors, as SVG; empty without cairo. */
	struct lc__buf vectors, narrow_vectors;
	struct lc__module_input inputs[LC__MODULE_INPUTS];
	size_t n_inputs; /* number of inputs that are shown */

	/* Records in the listing; places where the listing failed. */
	uint64_t listed, unlisted;
	uint64_t listed_bytes; /* stored bytes of the listed records */
	uint64_t least_bytes, most_bytes;
	uint64_t least_key, most_key, key_bytes;
	/* Sizes of records: base-2 logarithms of bytes. */
	struct lc__histogram sizes;
	struct lc__histogram key_sizes; /* sizes of keys, in bytes */
	/* Prefixes of keys, with the bytes of their records. */
	struct lc__texts prefixes;
	lc_id keys[LC__MODULE_KEYS]; /* examples, spread evenly; malloc'ed */
	size_t n_keys;

	struct lc__record_fields fields;
	uint64_t damaged; /* damaged records among those read */
	/* The first messages, including those of lc_verify(). */
	char *damage[LC__MODULE_DAMAGE];
	size_t n_damage;
	struct lc__module_example examples[LC__MODULE_EXAMPLES];
	size_t n_examples;

	bool verified;
	lc_verify_result verify;

	uint64_t failures;                             /* lines of failures.jsonl */
	struct lc__texts reasons;                      /* reasons of the failures */
	struct lc__fields failed[LC__MODULE_FAILURES]; /* the last failures */
};

/** What of a module is read. */
struct lc__module_look {
	uint64_t samples;    /* how many records to read, spread evenly; 0: all */
	uint64_t examples;   /* how many records to show, at most LC__MODULE_EXAMPLES */
	bool verify;         /* verify the whole module with lc_verify() */
	lc_progress records; /* step() counts records */
	lc_progress bytes;   /* progress of lc_verify(); damage() is ignored */
};

/**
 * Read the facts of a module. Damage is counted and does not stop the reading.
 * @param out  free with lc__module_facts_free(), also after a failure
 * @return LC_OK; LC_CANCELLED; LC_IO; LC_NO_MEMORY; LC_CORRUPT if nothing can be read.
 */
LC_CHECKED lc_status lc__module_facts_read(lc_cache *cache, const char *module,
    const struct lc__module_look *look, struct lc__module_facts *out);
void lc__module_facts_free(struct lc__module_facts *facts);

#endif
