/* SPDX-License-Identifier: BSD-2-Clause */
/* A hundred thousand records: the same care for each, and no more memory than for few. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "migration.h"
#include "need.h"
#include "sample.h"

#define RECORDS 100000
#define MEMORY ((size_t)32 << 20)

/* AddressSanitizer keeps memory that was freed. */
#define KEEPS_FREED 0
#if defined(__SANITIZE_ADDRESS__)
#undef KEEPS_FREED
#define KEEPS_FREED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef KEEPS_FREED
#define KEEPS_FREED 1
#endif
#endif

/* Memory of the process that no file is behind. */
static size_t
memory(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long resident = 0, shared = 0;

	if (file != NULL) {
		ck_assert_int_eq(fscanf(file, "%*u %lu %lu", &resident, &shared), 2);
		fclose(file);
	}
	return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t first, most;
static unsigned stop_in; /* calls; 0: never */

static int
step(void *ctx, const struct lc__stage2_counts *counts, uint64_t done, uint64_t total)
{
	const size_t now = memory();

	(void)ctx;
	(void)counts;
	ck_assert_uint_le(done, total);
	if (first == 0)
		first = now;
	if (now > most)
		most = now;
	return stop_in > 0 && --stop_in == 0;
}

START_TEST(hundred_thousand)
{
	const unsigned records = sample_times(RECORDS) < RECORDS ?
	    sample_times(RECORDS) : RECORDS;
	struct lc__stage2_verified verified;
	struct lc__stage2_done done;
	struct migration m;
	struct stat st;

	migration_make(&m, run_scratch(), records, run_seed(), 16);
	m.cut = true;
	migration_write(&m);
	m.how.step = step;
	m.how.step_lines = records / 9;
	stop_in = 4;
	assert_status(migration_run(&m, &done), LC_CANCELLED);
	ck_assert_uint_lt(done.total, records / 2);
	assert_ok(migration_run(&m, &done));
	ck_assert(done.resumed);
	ck_assert_int_eq(stat(m.backup, &st), 0);
	if (records == RECORDS)
		ck_assert_uint_gt((uint64_t)st.st_size, MEMORY);
	ck_assert_msg(KEEPS_FREED || most - first < MEMORY, "%zu more bytes of memory",
	    most - first);
	migration_check(&m, &done);

	/* What is bad or has no array is all that there is to find. */
	m.how.pass[LC__PASS_DINOV3] = false;
	assert_ok(lc__stage2_verify(&m.how, &verified));
	ck_assert_uint_eq(verified.records, done.total);
	ck_assert_uint_eq(verified.bad, done.counts.bad);
	ck_assert_uint_eq(verified.findings, done.counts.bad);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("migrate_large");
	TCase *tcase = tcase_create("migrate_large");

	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, hundred_thousand);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
