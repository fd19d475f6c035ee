/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that allocations and the library that it preloads share. */
#ifndef T_FAILING_H
#define T_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Names the file, in the environment. */
#define FAILING_STATE "CACHEX_TEST_FAILING"

struct failing {
	uint64_t at;              /* which allocation fails; 0: none */
	bool and_on;              /* and all after it */
	_Atomic uint64_t points;  /* allocations so far */
	_Atomic uint64_t hits;    /* that have failed */
	size_t size;              /* of the first one that did */
	bool by_archive;          /* libarchive itself asked for that one */
};

#endif
