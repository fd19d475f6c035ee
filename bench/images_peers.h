/* SPDX-License-Identifier: BSD-2-Clause */
/* Other programs that decode and resize, as whole commands over a list of files. */
#ifndef BENCH_IMAGES_PEERS_H
#define BENCH_IMAGES_PEERS_H

#include <stdbool.h>

#include "images_set.h"

struct images_peer {
	const char *name;
	const char *package;    /* that has it in Debian */
	const char *command;    /* what it is, or */
	const char *module;     /* the module of Python that it is */
	const char *program;    /* what is run; NULL if it is not to be had */
	const char *const *args; /* before the files */
	const char *limit;      /* environment variable for the number of threads;
	                           NULL: it never has more than one */
	bool scales;            /* large JPEGs are shrunk while they are decoded */
};

#define IMAGES_PEERS 4
extern struct images_peer images_peers[IMAGES_PEERS];

/** Set its program; a line if it is not installed. */
void images_peer_find(struct images_peer *peer);

/**
 * Images a second of all files of a set, the program's start included. None
 * writes more than one file.
 * @param threads  0: as many as it likes
 */
double images_peer_rate(const struct images_peer *peer,
    const struct image_set *set, unsigned threads);

#endif
