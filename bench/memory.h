/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a process as the kernel counts it, in bytes. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <sys/types.h>

/** Anonymous memory of process @p pid: cheap to ask, right to a few hundred KiB. */
double memory_anonymous(pid_t pid);

/**
 * Memory that only this process holds and that the kernel cannot drop: heap,
 * stacks, written pages; exact.
 */
double memory_private(void);

/** Unwritten pages of files that only this process maps now: the page cache's. */
double memory_mapped(void);

/** Memory of the machine. */
double memory_total(void);

#endif
