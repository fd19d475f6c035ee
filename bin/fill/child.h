/* SPDX-License-Identifier: BSD-2-Clause */
/* One producer: its process, what goes to it, what comes from it. */
#ifndef CACHEX_FILL_CHILD_H
#define CACHEX_FILL_CHILD_H

#include <stdbool.h>

#include "fill/items.h"
#include "fill/protocol.h"
#include "fill/produce.h"
#include "fill/spawn.h"

/** All zero but for how, number and count: no process. */
struct lc__child {
	const struct lc__producers *how;
	unsigned number;            /* CACHEX_WORKER */
	struct lc__produced *count; /* bytes are counted here */
	struct lc__spawned process; /* pid 0: none; a pipe that is closed is -1 */
	struct lc__spawned guard;   /* kills its group when we are gone */
	int status; /* of wait(2), when it has been stopped; -1: unknown */
	struct lc__messages messages;

	struct lc__subbatches work; /* requests without an answer, the oldest first */
	struct lc__buf requests;    /* bytes on their way */
	size_t sent;                /* of them */
	unsigned char head[LC__FRAME_HEAD]; /* of the answer that comes */
	size_t head_size;                   /* bytes of it that have come */
	struct lc__buf frame;               /* the answer so far */
	uint32_t frame_size;                /* what its head claims */

	int sys;           /* errno of a pipe that the system refused, else 0 */
	bool broken;       /* nobody reads its standard input any more */
	bool answered;     /* it has given an answer */
	bool retiring;     /* it gets no more work */
	bool leaving;      /* it should end by itself now */
	uint64_t since_ns; /* when the oldest request became that */
	uint64_t left_ns;  /* when it should have begun to end */
};

enum lc__received {
	LC__NOTHING,  /* not yet */
	LC__FRAME,    /* child->frame is an answer */
	LC__TOO_LONG, /* child->frame_size is more than may be, or 0 */
	LC__END,    /* there will be no more, or child->sys says why it cannot be read */
	LC__NO_ROOM /* out of memory */
};

/** Start its program, with the pipes that it talks by. */
LC_CHECKED lc_status lc__child_start(struct lc__child *child);

static inline bool
lc__child_runs(const struct lc__child *child)
{
	return child->process.pid != 0;
}

/** Bytes of an answer, at most. */
static inline uint32_t
lc__child_frame_max(const struct lc__child *child)
{
	return child->how->frame_max < UINT32_MAX ? (uint32_t)child->how->frame_max
						  : UINT32_MAX;
}

/** Add the request for a subbatch, which is the child's then. As lc__request_write(). */
LC_CHECKED lc_status lc__child_ask(struct lc__child *child, struct lc__subbatch *subbatch,
    uint64_t number);

/** Write what its pipe takes. */
void lc__child_send(struct lc__child *child);

/** Read what there is, up to the end of an answer. */
enum lc__received lc__child_receive(struct lc__child *child);

/** LC_OK, or why the system refused to read or write one of its pipes: that is no failure
 *  of the producer's. */
LC_CHECKED lc_status lc__child_check(const struct lc__child *child);

/** Begin with the next answer; the frame was moved or is not needed. */
void lc__child_next_frame(struct lc__child *child);

/** Read what there is on its standard error. */
void lc__child_listen(struct lc__child *child);

/** No more requests: it sees the end of its standard input when it has read all. */
void lc__child_retire(struct lc__child *child);

/** True if it has closed its standard input before it read all that was sent: there will be
 *  no answer to that. */
bool lc__child_closed_input(const struct lc__child *child);

/** True if it cannot have begun on the oldest request: no byte of it has been read. To be
 *  asked before it is stopped. */
bool lc__child_untouched(const struct lc__child *child);

/** Has the process ended? It stays there until it is stopped. */
bool lc__child_ended(const struct lc__child *child);

/** Kill what is left of it and its process group. */
void lc__child_stop(struct lc__child *child);

/** How it ended, after lc__child_stop(): "ended with status 1". */
void lc__child_describe_end(const struct lc__child *child, char *out, size_t room);

/** LC_FAILED: "producer 'command' @p what: the last line of its standard error". */
lc_status lc__child_error(const struct lc__child *child, const char *what);

/** Tell who listens about this producer, as if it had written it. */
void lc__child_tell(const struct lc__child *child, const char *what);

void lc__child_free(struct lc__child *child);

#endif
