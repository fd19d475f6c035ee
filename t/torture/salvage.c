/* SPDX-License-Identifier: BSD-2-Clause */
/* Salvage after damage of every kind: what is whole comes back, whatever else does not. */
#include "torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "salvaging.h"
#include "base/fileio.h"
#include "lmdbcache.h"

enum { FAULTS, RECORDS, MODULES };

static void
make(const char *dir, uint64_t *random, struct salvaging *s)
{
	salvaging_make(dir, (enum salvaging_kind)(run_random(random) %
	    SALVAGING_KINDS), random);
	salvaging_load(dir, s);
	torture_count(RECORDS, s->nlive);
}

/* Damage that one thing does: a bit, a page, the end of the file. What it has not
 * touched is there. */
static void
one_fault(uint64_t seed, const char *dir)
{
	uint64_t random = seed;
	struct salvaging s;
	unsigned char *bytes;

	make(dir, &random, &s);
	bytes = malloc(s.size);
	need(bytes != NULL);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t from = run_random(&random) % s.size;
		size_t size = s.size;
		struct salvaging_result r;

		memcpy(bytes, s.bytes, s.size);
		switch (run_random(&random) % 4) {
		case 0:
			size = from;
			break;
		case 1:
			from -= from % s.page_size;
			memset(bytes + from, (int)(run_random(&random) % 256),
			    s.page_size);
			break;
		default:
			bytes[from] ^= (unsigned char)(1u << run_random(&random) % 8);
		}
		r = salvaging_try(&s, bytes, size);
		need(r.status == LC_OK || (r.status == LC_NOT_MODULE &&
		    size <= 3 * (size_t)s.page_size));
		need(r.status != LC_OK || r.missing == 0);
		need(r.status != LC_OK || r.extra <= r.result.undecided);
		torture_count(FAULTS, 1);
	}
	free(bytes);
	salvaging_free(&s);
}

/* Damage the file in many places at once; the new module verifies all the same. */
static void
many_faults(uint64_t seed, const char *dir)
{
	uint64_t random = seed;
	char data[4200], from[4200], name[16];
	struct salvaging s;
	unsigned char *bytes;

	make(dir, &random, &s);
	bytes = malloc(s.size);
	need(bytes != NULL);
	snprintf(data, sizeof(data), "%s/m/data.mdb", dir);
	snprintf(from, sizeof(from), "%s/m", dir);
	for (unsigned i = 0; i < 5; i++) {
		lc_salvage_result result = { 0 };
		lc_verify_result verified;
		lc_cache *cache;
		lc_status status;

		memcpy(bytes, s.bytes, s.size);
		for (uint64_t n = run_random(&random) % 30 + 1; n > 0; n--) {
			const uint64_t at = run_random(&random) % s.size;
			const uint64_t page = at - at % s.page_size;
			const uint64_t other = run_random(&random) % s.size;

			if (run_random(&random) % 8 == 0)
				memmove(bytes + page, bytes + (other - other %
				    s.page_size), s.page_size);
			else
				bytes[at] ^= (unsigned char)(1u <<
				    run_random(&random) % 8);
			torture_count(FAULTS, 1);
		}
		need_ok(lc__write_file_atomic(data, bytes, s.size));
		snprintf(name, sizeof(name), "n%u", i);
		status = lc_salvage(from, dir, name, NULL, &result);
		need(status == LC_OK || status == LC_NOT_MODULE);
		if (status != LC_OK)
			continue;
		need_ok(lc_open(dir, name, NULL, &cache));
		need_ok(lc_verify(cache, NULL, &verified));
		need(verified.live == result.records);
		need_ok(lc_close(cache));
		torture_count(MODULES, 1);
	}
	free(bytes);
	salvaging_free(&s);
}

static const struct torture_case cases[] = {
	{ "one_fault", one_fault, 12 },
	{ "many_faults", many_faults, 10 },
	{ .name = NULL }
};

int
main(void)
{
	const struct torture attack = {
		.name = "salvage", .cases = cases,
		.counts = { "faults", "records", "modules made anew" }
	};

	return torture_run(&attack);
}
