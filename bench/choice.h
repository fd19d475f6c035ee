/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of a bench that measures whole cases. */
#ifndef BENCH_CHOICE_H
#define BENCH_CHOICE_H

#include <stdbool.h>

struct choice {
	bool quick;          /* only the smallest case */
	bool longer;         /* also the cases that take long */
	const char *cases;   /* part of the case's name; NULL for all */
	const char *contenders; /* those to measure, "lmdb,cachex"; NULL for all */
	unsigned rounds;     /* how often a store is filled */
	const char *results; /* file; NULL for none */
};

/** Read it and $BENCH_QUICK; @p rounds unless -r says otherwise. */
struct choice choice_parse(int argc, char **argv, unsigned rounds);
/** The same with -k for contenders, and -l and $BENCH_LONG for longer cases. */
struct choice choice_parse_contenders(int argc, char **argv, unsigned rounds);

/** Is a contender to be measured? */
bool choice_has_contender(const struct choice *choice, const char *name);

/** Is a case to be measured? @p smallest: a quick run has it. */
bool choice_has(const struct choice *choice, const char *case_name, bool smallest);

#endif
