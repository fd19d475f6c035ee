/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes records for tests of the tool:
 *
 *   mkrecords N SEED [DIMS] >records.jsonl
 *     plain=1 in the environment: none that is bad, blank or has another's name
 *     v2=1: what a migration is to make of them
 */
#include <stdio.h>
#include <stdlib.h>

#include "records.h"

int
main(int argc, char **argv)
{
	struct records records = { .dims = 4, .plain = getenv("plain") != NULL };
	struct records_line line = { .kind = RECORDS_GOOD };
	uint64_t n;

	if (argc < 3 || argc > 4)
		return 2;
	n = strtoull(argv[1], NULL, 10);
	records.random = strtoull(argv[2], NULL, 10);
	if (argc == 4)
		records.dims = (unsigned)strtoul(argv[3], NULL, 10);
	while (n-- > 0) {
		const struct lc__buf *out = getenv("v2") != NULL ? &line.v2 : &line.v1;
		records_next(&records, &line);
		if (fwrite(out->data, 1, out->size, stdout) != out->size)
			return 1;
	}
	records_line_free(&line);
	records_free(&records);
	return fflush(stdout) == 0 ? 0 : 1;
}
