/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows over units, and shares of a batch, counted one by one. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "model_order.h"
#include "order/split.h"
#include "order/window.h"
#include "sample.h"

#define LENGTH_MAX 200

/* Where the next window begins when all full ones are counted. */
static uint64_t
count_full(const struct lc__windows *windows, uint64_t length, bool *covered,
    uint64_t *next)
{
	uint64_t n = 0;

	for (*next = 0; *next + windows->size <= length; *next += windows->stride) {
		for (uint64_t i = 0; i < windows->size; i++)
			covered[*next + i] = true;
		n++;
	}
	return n;
}

/* Units that are in no window could be in one that begins at the next stride. */
START_TEST(windows_one_by_one)
{
	for (uint64_t size = 1; size <= 20; size++)
		for (uint64_t stride = 1; stride <= 25; stride++)
			for (uint64_t length = 0; length <= LENGTH_MAX; length++) {
				const struct lc__windows windows = { size, stride };
				bool covered[LENGTH_MAX] = { false };
				uint64_t next, full, more = 0;

				full = count_full(&windows, length, covered, &next);
				for (uint64_t i = next; i < length; i++)
					more |= !covered[i];
				if (lc__windows_full(&windows, length) != full ||
				    lc__windows_padded(&windows, length) != full + more)
					ck_abort_msg("size %u, stride %u, length %u",
					    (unsigned)size, (unsigned)stride,
					    (unsigned)length);
			}
}
END_TEST

/* size, stride, length, full, padded */
static const uint64_t far[][5] = {
	{ UINT64_MAX, 1, UINT64_MAX, 1, 1 },
	{ UINT64_MAX, 1, UINT64_MAX - 1, 0, 1 },
	{ 1, UINT64_MAX, UINT64_MAX, 1, 1 },
	{ 1, UINT64_MAX, 1, 1, 1 },
	{ 1, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ 2, UINT64_MAX - 1, UINT64_MAX, 1, 2 },
	{ 2, UINT64_MAX, UINT64_MAX, 1, 1 },
	{ UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX, 1, 2 },
	{ UINT64_C(1) << 63, UINT64_C(1) << 63, UINT64_MAX, 1, 2 },
	{ 1, 1, 0, 0, 0 },
};

START_TEST(windows_without_overflow)
{
	const struct lc__windows windows = { far[_i][0], far[_i][1] };

	ck_assert_uint_eq(lc__windows_full(&windows, far[_i][2]), far[_i][3]);
	ck_assert_uint_eq(lc__windows_padded(&windows, far[_i][2]), far[_i][4]);
}
END_TEST

/* All readers together have each position once, and each what it is dealt. */
START_TEST(shares_of_a_batch)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(2000);

	for (unsigned k = 0; k < times; k++) {
		struct lc__share share = { .split = (lc_split)_i,
		    .readers = 1 + (uint32_t)(run_random(&seed) % 40),
		    .batch = 1 + run_random(&seed) % 100 };
		unsigned seen[100] = { 0 };

		for (; share.reader < share.readers; share.reader++) {
			size_t n;
			uint64_t *list = model_share(share.split, share.readers, share.reader,
			    share.batch, &n);

			ck_assert_uint_eq(lc__share_rows(&share), n);
			for (size_t row = 0; row < n; row++) {
				ck_assert_uint_eq(lc__share_at(&share, row), list[row]);
				seen[list[row]]++;
			}
			free(list);
		}
		for (uint64_t x = 0; x < share.batch; x++)
			ck_assert_uint_eq(seen[x], 1);
	}
}
END_TEST

START_TEST(shares_without_overflow)
{
	struct lc__share share = { LC_SPLIT_STRIDED, UINT32_MAX - 1, UINT32_MAX,
	    UINT64_MAX };

	ck_assert_uint_eq(lc__share_at(&share, lc__share_rows(&share) - 1),
	    UINT64_MAX - 1);
	share.split = LC_SPLIT_CONTIGUOUS;
	ck_assert_uint_eq(lc__share_at(&share, lc__share_rows(&share) - 1),
	    UINT64_MAX - 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("window");
	TCase *tc = tcase_create("windows");

	tcase_add_test(tc, windows_one_by_one);
	tcase_add_loop_test(tc, windows_without_overflow, 0,
	    (int)(sizeof(far) / sizeof(far[0])));
	suite_add_tcase(suite, tc);
	tc = tcase_create("shares");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, shares_of_a_batch, 0, LC_SPLIT_CONTIGUOUS + 1);
	tcase_add_test(tc, shares_without_overflow);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
