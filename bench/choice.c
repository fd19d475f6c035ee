/* SPDX-License-Identifier: BSD-2-Clause */
#include "choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' && strcmp(value, "0") != 0;
}

static struct choice
parse(int argc, char **argv, unsigned rounds, const char *options)
{
	struct choice choice = { .rounds = rounds };
	int option;

	choice.quick = is_set("BENCH_QUICK");
	choice.longer = is_set("BENCH_LONG");
	while ((option = getopt(argc, argv, options)) != -1)
		switch (option) {
		case 'c':
			choice.cases = optarg;
			break;
		case 'k':
			choice.contenders = optarg;
			break;
		case 'l':
			choice.longer = true;
			break;
		case 'o':
			choice.results = optarg;
			break;
		case 'q':
			choice.quick = true;
			break;
		case 'r':
			choice.rounds = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			fprintf(stderr, "usage: %s [-q] [-c CASE] %s[-r ROUNDS] "
			    "[-o RESULTS]\n", argv[0], strchr(options, 'k') != NULL ?
			    "[-k CONTENDER,...] [-l] " : "");
			exit(2);
		}
	return choice;
}

struct choice
choice_parse(int argc, char **argv, unsigned rounds)
{
	return parse(argc, argv, rounds, "c:o:qr:");
}

struct choice
choice_parse_contenders(int argc, char **argv, unsigned rounds)
{
	return parse(argc, argv, rounds, "c:k:lo:qr:");
}

bool
choice_has_contender(const struct choice *choice, const char *name)
{
	return choice->contenders == NULL ||
	    strstr(choice->contenders, name) != NULL;
}

bool
choice_has(const struct choice *choice, const char *case_name, bool smallest)
{
	if (choice->cases != NULL)
		return strstr(case_name, choice->cases) != NULL;
	return !choice->quick || smallest;
}
