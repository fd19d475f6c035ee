/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same records three times: in a module, in one flat file, and in an environment
 * of liblmdb with a value a record; and the orders that they are read in.
 */
#ifndef BENCH_ORDER_SET_H
#define BENCH_ORDER_SET_H

#include "lmdbcache.h"
#include "load.h"

#define ORDER_RECORD ((size_t)2048) /* bytes: f32[512] */
#define ORDER_WORDS (ORDER_RECORD / sizeof(uint64_t))
#define ORDER_BATCH 256
#define ORDER_SEED 5
#define ORDER_MODULE "module"

enum order_kind { IN_ORDER, BLOCK_SHUFFLED, FULLY_SHUFFLED, ORDER_KINDS };

struct order_set {
	struct load load;
	const char *root;       /* of the module */
	char module[4200];      /* its file */
	char flat[4200];
	char lmdb[4200];        /* a directory */
	char lmdb_file[4200];   /* in it */
	uint64_t *sums;         /* of each record's words */
	uint32_t *order[ORDER_KINDS]; /* the record that each example is */
};

/** Write @p n records, all durable. */
void order_set_make(struct order_set *set, const char *root, uint64_t n);
void order_set_free(struct order_set *set);

/** The shuffle of a kind, with the default blocks. */
lc_shuffle order_shuffle(enum order_kind kind);

/** What is summed up to be compared: it tells another record and another order. */
static inline uint64_t
order_weighed(uint64_t example, uint64_t sum)
{
	return (2 * example + 1) * sum;
}

/** The sum of order_weighed() of the first examples. */
uint64_t order_expected(const struct order_set *set, enum order_kind kind,
    uint64_t examples);

/** The sum of a record's words, as fast as they come. */
static inline uint64_t
order_sum(const void *record)
{
	const uint64_t *words = record;
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (size_t i = 0; i < ORDER_WORDS; i += 4) {
		a += words[i];
		b += words[i + 1];
		c += words[i + 2];
		d += words[i + 3];
	}
	return a + b + c + d;
}

#endif
