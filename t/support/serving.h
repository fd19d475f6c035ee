/* SPDX-License-Identifier: BSD-2-Clause */
/* t/support/s3_server.py on loopback, and t/support/fault_proxy.py before it: programs of the
 * tests that end with this process. What goes wrong ends it. */
#ifndef T_SERVING_H
#define T_SERVING_H

#include <stdbool.h>

struct serving {
	int port;
	char control[4200]; /* the file of its options */
};

/** Is there a python3? */
bool serving_possible(void);

/** Unset the variables that say how S3 is reached, set keys that the server takes, and the
 *  endpoint to this port. */
void serving_environment(int port);

/** Start the server: its objects are files in DIR/bucket. */
void serving_s3(struct serving *out, const char *dir);
/** Start a proxy before a server. */
void serving_faults(struct serving *out, const char *dir, const struct serving *server);
/** What it does from now on, as words of a shell. */
void serving_does(const struct serving *serving, const char *options);

#endif
