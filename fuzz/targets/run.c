/* SPDX-License-Identifier: BSD-2-Clause */
/* Index runs: index/run*.c. Input: u16, so many bytes of one run, then another run; the
 * checksums of both are put right. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "index/run.h"
#include "index/run_build.h"
#include "mend.h"

static const char *const ids[] = { "", "a", "img/00001.jpg", "zzz" };

static void
look_up(const struct lc__run *run, uint64_t hash)
{
	struct lc__run_probe probe;
	struct lc__run_entry entry;
	uint64_t location;

	for (int verify = LC_VERIFY_NEVER; verify <= LC_VERIFY_ONCE; verify++) {
		lc__run_probe_start(&probe, run, hash, (lc_verify_mode)verify);
		while (lc__run_probe_next(&probe, &location) == LC__RUN_MATCH)
			if (lc__run_tombstone(run, location, &entry))
				fuzz_touch(entry.id, entry.id_size);
	}
	(void)lc__run_has(run, hash, 64);
}

static void
walk(const struct lc__run *run, const char *from)
{
	struct lc__run_cursor cursor;

	for (bool more = lc__run_seek(&cursor, run, from, from == NULL ? 0 : strlen(from));
	    more; more = lc__run_next(&cursor))
		fuzz_touch(cursor.entry.id, cursor.entry.id_size);
	for (uint32_t block = 0; block < run->blocks; block++)
		(void)lc__run_enter(&cursor, run, block);
}

/* A merge of what is damaged too ends, with LC_OK or LC_CORRUPT. */
static void
merge(const struct lc__run *runs, uint32_t n)
{
	struct lc__run_merge *walked = lc__run_merge_open(runs, n, NULL, 0);
	struct lc__run_builder builder;
	struct lc__run_entry entry;
	struct lc__run built;
	uint64_t entries = 0, bytes = 0;
	unsigned corrupt = 0;
	lc_status status;

	fuzz_require(walked != NULL);
	while ((status = lc__run_merge_next(walked, &entry)) != LC_END) {
		fuzz_require(status == LC_OK || (status == LC_CORRUPT && ++corrupt <= n));
		if (status == LC_OK)
			fuzz_touch(entry.id, entry.id_size);
	}
	lc__run_merge_close(walked);
	for (uint32_t i = 0; i < n; i++) {
		entries += runs[i].entries;
		bytes += runs[i].keys_size;
	}
	fuzz_require(lc__run_build_start(&builder, 7, entries, bytes) == LC_OK);
	if (lc__run_build_merged(&builder, runs, n, true) == LC_OK) {
		lc__run_build_finish(&builder, 9, 1);
		fuzz_require(lc__run_parse(builder.bytes, builder.used, 9, &built));
		fuzz_require(lc__run_table_intact(&built));
	}
	lc__run_build_free(&builder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const size_t told = fuzz_u16(&in);
	unsigned char *values[2];
	struct lc__run runs[2];
	uint32_t n = 0;

	for (int i = 0; i < 2; i++) {
		size_t got;
		const uint8_t *bytes = fuzz_take(&in, i == 0 ? told : SIZE_MAX, &got);

		values[i] = fuzz_copy(bytes, got);
		mend_run(values[i], got);
		if (got >= 16 && lc__run_parse(values[i], got, lc__get64(values[i] + 8),
		    &runs[n]))
			n++;
	}
	for (uint32_t i = 0; i < n; i++) {
		(void)lc__run_table_intact(&runs[i]);
		for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++) {
			look_up(&runs[i], lc__run_hash(7, ids[k], strlen(ids[k])));
			walk(&runs[i], k == 0 ? NULL : ids[k]);
		}
	}
	if (n > 0)
		merge(runs, n);
	free(values[0]);
	free(values[1]);
	return 0;
}
