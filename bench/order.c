/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of a stream beside plain ways of reading the same records in the same order,
 * what the arithmetic of an order costs, seeking among a million chunks, windows of
 * tokens beside memcpy; shards in the order of shares; and lists beside one module.
 */
#include <stdio.h>

#include "order_part.h"
#include "scratch.h"

#define ROUNDS 5
#define ROOM ((uint64_t)16 << 30)
#define QUICK_ROOM ((uint64_t)1 << 30)

static const struct order_part *const parts[] = {
	&order_permutation, &order_reads, &order_windows, &order_chunks, &order_shares,
	&order_lists
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse_contenders(argc, argv, ROUNDS);
	struct bench *bench = bench_start("order", choice.results);
	const char *root = scratch_make(choice.quick ? QUICK_ROOM : ROOM);

	printf("data on %s\n", scratch_filesystem());
	for (unsigned i = 0; i < PARTS; i++)
		parts[i]->measure(bench, &choice, root);
	for (unsigned i = 0; i < PARTS; i++)
		parts[i]->ratios(bench);
	bench_finish(bench);
	scratch_end();
	return 0;
}
