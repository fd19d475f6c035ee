/* SPDX-License-Identifier: BSD-2-Clause */
/* Commits that do not wait for the disk, to make a data set of a million of them. */
#ifndef BENCH_UNSYNCED_H
#define BENCH_UNSYNCED_H

/** From here on fdatasync() does nothing, in all of the program. */
void unsynced_begin(void);
/** It works again, and what was written is on the disk. */
void unsynced_end(void);

#endif
