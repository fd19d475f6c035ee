/* SPDX-License-Identifier: BSD-2-Clause */
/* The R* order against lists of units that are written out. */
#include "run.h"

#include <stdlib.h>

#include "fail_malloc.h"
#include "model_order.h"
#include "order/rstar.h"
#include "sample.h"

#define CHUNKS_MAX 24

/* A few chunks, many of them empty. */
struct chunks {
	struct model_chunk list[CHUNKS_MAX];
	uint64_t ends[CHUNKS_MAX];
	size_t n;
};

static void
any_chunks(uint64_t *seed, size_t n, struct chunks *out)
{
	const uint64_t most = 1 + run_random(seed) % 12;
	uint64_t end = 0;

	out->n = n;
	for (size_t i = 0; i < n; i++) {
		const uint64_t units = run_random(seed) % 3 == 0 ? 0 :
		    run_random(seed) % most;

		out->list[i] = (struct model_chunk) { units, units };
		out->ends[i] = end += units;
	}
}

static void
must_stand(const struct lc__rstar *rstar, uint32_t readers, uint32_t r,
    const struct lc__rstar_place *place, const struct model_unit *want, size_t n)
{
	if (place->chunk != want->chunk || place->offset != want->unit ||
	    lc__rstar_epoch(rstar, r, place) != want->epoch ||
	    place->step != (want->epoch * n + want->chunk - r) / readers)
		ck_abort_msg("reader %u of %u: step %llu, chunk %llu, unit %llu, instead "
		    "of epoch %llu, chunk %llu, unit %llu", r, readers,
		    (unsigned long long)place->step, (unsigned long long)place->chunk,
		    (unsigned long long)place->offset, (unsigned long long)want->epoch,
		    (unsigned long long)want->chunk, (unsigned long long)want->unit);
}

/* The first unit behind number i that is in another chunk, or in the same one of a
 * later time; list->n if there is none. */
static size_t
next_chunk(const struct model_units *list, size_t i)
{
	size_t next = i + 1;

	while (next < list->n && list->units[next].chunk == list->units[i].chunk &&
	    list->units[next].epoch == list->units[i].epoch)
		next++;
	return next;
}

static void
check_reader(const struct lc__rstar *rstar, const struct chunks *chunks,
    uint32_t readers, uint32_t r, const struct model_units *list, bool final)
{
	for (size_t q = 0; q < list->n; q++) {
		const size_t next = next_chunk(list, q);
		struct lc__rstar_place place;

		lc__rstar_seek(rstar, r, q, &place);
		must_stand(rstar, readers, r, &place, &list->units[q], chunks->n);
		if (next < list->n) {
			if (!lc__rstar_next(rstar, r, &place))
				ck_abort_msg("reader %u ends after unit %zu", r, q);
			must_stand(rstar, readers, r, &place, &list->units[next],
			    chunks->n);
		} else if (!final && lc__rstar_next(rstar, r, &place)) {
			ck_abort_msg("reader %u goes on after unit %zu", r, q);
		}
	}
}

static bool
all_have_data(const struct chunks *chunks, uint32_t readers)
{
	const struct model_source source = { chunks->list, chunks->n };
	bool all = true;

	for (uint32_t r = 0; r < readers; r++) {
		struct model_units list = model_rstar(&source, readers, r, true, true, 1);

		all = all && list.n > 0;
		model_units_free(&list);
	}
	return all;
}

static void
check_all(const struct chunks *chunks, uint32_t readers, bool final)
{
	const struct model_source source = { chunks->list, chunks->n };
	struct lc__rstar *rstar = NULL;

	if (final && !all_have_data(chunks, readers)) {
		ck_assert_int_eq(lc__rstar_new(readers, chunks->ends, chunks->n, final,
		    &rstar), LC_INVALID);
		ck_assert_ptr_null(rstar);
		return;
	}
	ck_assert_int_eq(lc__rstar_new(readers, chunks->ends, chunks->n, final, &rstar),
	    LC_OK);
	for (uint32_t r = 0; r < readers; r++) {
		struct model_units list = model_rstar(&source, readers, r, final, true,
		    200);

		ck_assert_uint_eq(lc__rstar_known(rstar, r),
		    final ? UINT64_MAX : list.n);
		check_reader(rstar, chunks, readers, r, &list, final);
		model_units_free(&list);
	}
	lc__rstar_free(rstar);
}

/* All numbers of chunks and readers, whatever they have in common. */
START_TEST(same_as_written_out)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(3);
	struct chunks chunks;

	for (unsigned k = 0; k < times; k++)
		for (size_t n = 0; n <= CHUNKS_MAX; n++)
			for (uint32_t readers = 1; readers <= 2 * CHUNKS_MAX; readers++) {
				any_chunks(&seed, n, &chunks);
				check_all(&chunks, readers, _i == 1);
			}
}
END_TEST

/* What the error says. */
START_TEST(readers_without_data)
{
	const uint64_t ends[] = { 0, 3, 3, 4 };
	struct lc__rstar *rstar = NULL;

	ck_assert_int_eq(lc__rstar_new(2, ends, 4, true, &rstar), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "idealised reader 0 of 2 has no data in 4 chunks");
	ck_assert_int_eq(lc__rstar_new(6, ends + 1, 3, true, &rstar), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "idealised reader 1 of 6 has no data in 3 chunks");
	ck_assert_int_eq(lc__rstar_new(3, ends, 0, true, &rstar), LC_INVALID);
	ck_assert_int_eq(lc__rstar_new(0, ends, 4, true, &rstar), LC_INVALID);
	ck_assert_int_eq(lc__rstar_new(1, ends, (UINT64_C(1) << 32) + 1, true, &rstar),
	    LC_INVALID);
	ck_assert_ptr_null(rstar);
	lc__rstar_free(rstar);
}
END_TEST

/* 1,009 chunks of 2^40 units and a few more each: q near 2^63. */
START_TEST(large_numbers)
{
	enum { N = 1009 };
	static const uint32_t readers[] = { 1, 2, 1009, 2018, 65536, UINT32_MAX };
	uint64_t ends[N], end = 0, seed = run_seed();
	const uint32_t total = readers[_i];
	struct lc__rstar *rstar;

	for (unsigned i = 0; i < N; i++)
		ends[i] = end += (UINT64_C(1) << 40) + i;
	ck_assert_int_eq(lc__rstar_new(total, ends, N, true, &rstar), LC_OK);
	for (unsigned k = 0; k < 1000; k++) {
		const uint32_t r = (uint32_t)(run_random(&seed) % total);
		uint64_t q = run_random(&seed) >> 1, left = q, chunk, step, round = 0;
		struct lc__rstar_place place;

		/* Whole rounds of the reader, whose length does not matter, then chunk
		 * after chunk. */
		for (step = 0; step < N; step++)
			round += (UINT64_C(1) << 40) + (r + step * total) % N;
		left %= round;
		for (step = q / round * N;; step++) {
			chunk = (r + step % N * total) % N;
			if (left < (UINT64_C(1) << 40) + chunk)
				break;
			left -= (UINT64_C(1) << 40) + chunk;
		}
		lc__rstar_seek(rstar, r, q, &place);
		ck_assert_uint_eq(place.step, step);
		ck_assert_uint_eq(place.chunk, chunk);
		ck_assert_uint_eq(place.offset, left);
	}
	lc__rstar_free(rstar);
}
END_TEST

/* More steps than can be counted: chunk and offset are right all the same. */
START_TEST(endless_steps)
{
	enum { N = 1 << 12 };
	uint64_t ends[N];
	struct lc__rstar_place place;
	struct lc__rstar *rstar;

	for (unsigned i = 0; i < N; i++)
		ends[i] = i >= 77;
	ck_assert_int_eq(lc__rstar_new(1, ends, N, true, &rstar), LC_OK);
	lc__rstar_seek(rstar, 0, UINT64_MAX / N - 1, &place);
	ck_assert_uint_eq(place.step, (UINT64_MAX / N - 1) * N + 77);
	ck_assert_uint_eq(lc__rstar_epoch(rstar, 0, &place), UINT64_MAX / N - 1);
	ck_assert(lc__rstar_next(rstar, 0, &place));
	ck_assert_uint_eq(place.step, UINT64_MAX / N * N + 77);
	ck_assert(lc__rstar_next(rstar, 0, &place));
	ck_assert_uint_eq(place.step, UINT64_MAX);
	lc__rstar_seek(rstar, 0, UINT64_C(1) << 63, &place);
	ck_assert_uint_eq(place.step, UINT64_MAX);
	ck_assert_uint_eq(place.chunk, 77);
	ck_assert_uint_eq(place.offset, 0);
	lc__rstar_free(rstar);
}
END_TEST

/* Of chunks passed before, more than 2^64: epochs are whole rounds over all of them. */
START_TEST(late_epochs)
{
	enum { N = 1 << 12, READERS = 65535 };
	uint64_t ends[N];
	struct lc__rstar_place place;
	struct lc__rstar *rstar;

	for (unsigned i = 0; i < N; i++)
		ends[i] = i + 1;
	ck_assert_int_eq(lc__rstar_new(READERS, ends, N, true, &rstar), LC_OK);
	lc__rstar_seek(rstar, 0, (UINT64_C(1) << 58) + 1, &place);
	ck_assert_uint_eq(place.step, (UINT64_C(1) << 58) + 1);
	ck_assert_uint_eq(place.chunk, READERS % N);
	ck_assert_uint_eq(lc__rstar_epoch(rstar, 0, &place),
	    (UINT64_C(1) << 46) * READERS + READERS / N);
	lc__rstar_free(rstar);
}
END_TEST

START_TEST(without_memory)
{
	const uint64_t ends[] = { 1, 2, 3 };
	struct lc__rstar *rstar = NULL;
	lc_status status;

	fail_malloc(1, true);
	status = lc__rstar_new(2, ends, 3, true, &rstar);
	fail_malloc(0, false);
	ck_assert_int_eq(status, LC_NO_MEMORY);
	ck_assert_ptr_null(rstar);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("rstar");
	TCase *tc = tcase_create("rstar");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, same_as_written_out, 0, 2);
	tcase_add_test(tc, readers_without_data);
	tcase_add_loop_test(tc, large_numbers, 0, 6);
	tcase_add_test(tc, endless_steps);
	tcase_add_test(tc, late_epochs);
	tcase_add_test(tc, without_memory);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
