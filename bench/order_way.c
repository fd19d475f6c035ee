/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_way.h"

#include <err.h>
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

#define MOST_READERS 16

struct reading {
	const struct order_way *way;
	void *state;
	const struct order_run *run;
	unsigned reader;
	uint64_t total;
};

static void *
labour(void *arg)
{
	struct reading *reading = arg;

	reading->total = reading->way->read(reading->state, reading->run,
	    reading->reader);
	return NULL;
}

double
order_seconds(const struct order_way *way, void *state, const struct order_run *run,
    uint64_t expected)
{
	struct reading readings[MOST_READERS];
	pthread_t ids[MOST_READERS];
	const double start = bench_seconds();
	uint64_t total = 0;
	double seconds;

	for (unsigned i = 0; i < run->readers; i++) {
		readings[i] = (struct reading){ way, state, run, i, 0 };
		if (pthread_create(&ids[i], NULL, labour, &readings[i]) != 0)
			errx(1, "no thread can be started");
	}
	for (unsigned i = 0; i < run->readers; i++) {
		pthread_join(ids[i], NULL);
		total += readings[i].total;
	}
	seconds = bench_seconds() - start;
	if (total != expected)
		errx(1, "%s: wrong data", way->name);
	return seconds;
}

void
order_share(const struct order_run *run, unsigned reader, uint64_t *first,
    uint64_t *end)
{
	const uint64_t batches = (run->examples + ORDER_BATCH - 1) / ORDER_BATCH;

	*first = batches * reader / run->readers * ORDER_BATCH;
	*end = batches * (reader + 1) / run->readers * ORDER_BATCH;
	if (*end > run->examples)
		*end = run->examples;
}

void *
order_room(void)
{
	void *room = aligned_alloc(64, ORDER_BATCH * ORDER_RECORD);

	if (room == NULL)
		err(1, NULL);
	return room;
}

uint64_t
order_sum_batch(const void *records, uint64_t first, uint64_t n)
{
	const unsigned char *record = records;
	uint64_t total = 0;

	for (uint64_t i = 0; i < n; i++)
		total += order_weighed(first + i, order_sum(record + i * ORDER_RECORD));
	return total;
}
