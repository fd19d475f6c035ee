/* SPDX-License-Identifier: BSD-2-Clause */
/* A migration of generated records, and whether it came out as it should. */
#ifndef T_MIGRATION_H
#define T_MIGRATION_H

#include "migrate/stage2.h"
#include "records.h"

struct migration {
	char file[200], dir[200], backup[220];
	uint64_t lines, seed;
	unsigned dims;
	bool plain, cut;          /* see records.h; a last line that ends too early */
	uint64_t shape[1];
	struct lc__stage2 how;
	uint64_t bad, warnings;   /* told by the last run */
	char last_bad[1200];      /* "LINE:COLUMN: why" */
};

/** Below a directory; the file is written. */
void migration_make(struct migration *m, const char *root, uint64_t lines, uint64_t seed,
    unsigned dims);
/** Write the records anew. */
void migration_write(const struct migration *m);

/** Run it. */
lc_status migration_run(struct migration *m, struct lc__stage2_done *done);

/** The lines, the tensors and the counts are those of the records; the backup has what
 *  there was. For test bodies and for other places: ends the process if not. */
void migration_check(const struct migration *m, const struct lc__stage2_done *done);
/** The same of a run that found everything done. */
void migration_check_again(const struct migration *m, const struct lc__stage2_done *done);
/** The tensors alone. */
void migration_check_tensors(const struct migration *m);

/** All of a file; to be freed. */
char *migration_read(const char *path, size_t *size);

#endif
