/* SPDX-License-Identifier: BSD-2-Clause */
/* What all batches of a reader have in common. */
#ifndef LC_STREAM_READER_RULE_H
#define LC_STREAM_READER_RULE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "order/split.h"
#include "stream/stream.h"

struct lc__reader_rule {
	lc_stream *stream;
	struct lc__share share;
	size_t rows;         /* of the share */
	uint64_t window;     /* units; 0: records */
	bool has_lengths;    /* a unit is one of the first axis, not a record */
	bool views, documents;
	bool heads;          /* only those are read: in place, and not verified */
	pthread_mutex_t lock; /* guards the making of what follows */
	atomic_bool named;   /* the fields are known */
	char **names;        /* of fields, malloc'ed and each too */
	size_t n_fields;
};

/** Check options and take what they say; @p rule is zeros and to be freed with
 *  lc__reader_rule_end() also if that fails. */
LC_CHECKED lc_status lc__reader_rule_begin(struct lc__reader_rule *rule,
    lc_stream *stream, const lc_reader_options *options);
void lc__reader_rule_end(struct lc__reader_rule *rule);

/** Take options or the defaults. */
LC_CHECKED lc_status lc__reader_options_take(const lc_reader_options *given,
    lc_reader_options *out);

/** The fields, if they are known by now. */
static inline bool
lc__reader_rule_named(const struct lc__reader_rule *rule)
{
	return atomic_load_explicit(&rule->named, memory_order_acquire);
}

/** Give the fields their names, unless they have them; owns @p names then. */
void lc__reader_rule_name(struct lc__reader_rule *rule, char **names, size_t n);

#endif
