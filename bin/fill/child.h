/* SPDX-License-Identifier: BSD-2-Clause */
/* One producer: its process, the data sent to it, and the data received from it. */
#ifndef CACHEX_FILL_CHILD_H
#define CACHEX_FILL_CHILD_H

#include <stdbool.h>

#include "fill/items.h"
#include "fill/protocol.h"
#include "fill/produce.h"
#include "fill/spawn.h"

/** All zero except how, number and count: no process. */
struct lc__child {
	const struct lc__producers *how;
	unsigned number;            /* CACHEX_WORKER */
	struct lc__produced *count; /* bytes are counted here */
	struct lc__spawned process; /* pid 0: none; a closed pipe is -1 */
	struct lc__spawned guard;   /* kills its group when cachex is gone */
	int status; /* of wait(2), when it has been stopped; -1: unknown */
	struct lc__messages messages;

	struct lc__subbatches work; /* requests not answered yet, the oldest first */
	struct lc__buf requests;    /* bytes to be sent */
	size_t sent;                /* bytes of `requests` that have been sent */
	unsigned char head[LC__FRAME_HEAD]; /* of the answer being received */
	size_t head_size;                   /* bytes of it received */
	struct lc__buf frame;               /* the answer so far */
	uint32_t frame_size;                /* its size according to its head */

	int sys;           /* errno of a pipe that failed, else 0 */
	bool broken;       /* its standard input has no reader any more */
	bool answered;     /* it has given an answer */
	bool retiring;     /* it gets no more work */
	bool leaving;      /* it should end by itself now */
	uint64_t since_ns; /* when the oldest request became the oldest */
	uint64_t left_ns;  /* when it should have started to end */
};

enum lc__received {
	LC__NOTHING,  /* not yet complete */
	LC__FRAME,    /* child->frame is an answer */
	LC__TOO_LONG, /* child->frame_size is above the limit, or 0 */
	LC__END,      /* no answer will follow, or child->sys is why it cannot be read */
	LC__NO_ROOM   /* out of memory */
};

/** Start its program, with pipes for communication. */
LC_CHECKED lc_status lc__child_start(struct lc__child *child);

static inline bool
lc__child_runs(const struct lc__child *child)
{
	return child->process.pid != 0;
}

/** The largest size of an answer. */
static inline uint32_t
lc__child_frame_max(const struct lc__child *child)
{
	return child->how->frame_max < UINT32_MAX ? (uint32_t)child->how->frame_max
						  : UINT32_MAX;
}

/** Add the request for a subbatch, whose ownership passes to the child. As
 *  lc__request_write(). */
LC_CHECKED lc_status lc__child_ask(struct lc__child *child, struct lc__subbatch *subbatch,
    uint64_t number);

/** Write as much as its pipe accepts. */
void lc__child_send(struct lc__child *child);

/** Read what is available, up to the end of an answer. */
enum lc__received lc__child_receive(struct lc__child *child);

/** LC_OK, or the error of the system for one of its pipes: that is not the producer's
 *  fault. */
LC_CHECKED lc_status lc__child_check(const struct lc__child *child);

/** Start with the next answer; the frame was moved or is not needed. */
void lc__child_next_frame(struct lc__child *child);

/** Read what is available on its standard error. */
void lc__child_listen(struct lc__child *child);

/** Send no more requests: it sees the end of its standard input once it has read
 *  everything. */
void lc__child_retire(struct lc__child *child);

/** True if it closed its standard input before reading everything that was sent: the rest
 *  will not be answered. */
bool lc__child_closed_input(const struct lc__child *child);

/** True if it cannot have started the oldest request: no byte of it has been read. Ask
 *  before stopping it. */
bool lc__child_untouched(const struct lc__child *child);

/** Has the process ended? It stays a zombie until it is stopped. */
bool lc__child_ended(const struct lc__child *child);

/** Kill what is left of it and its process group. */
void lc__child_stop(struct lc__child *child);

/** How it ended, after lc__child_stop(): "ended with status 1". */
void lc__child_describe_end(const struct lc__child *child, char *out, size_t room);

/** LC_FAILED: "producer 'command' @p what: the last line of its standard error". */
lc_status lc__child_error(const struct lc__child *child, const char *what);

/** Pass a line about this producer to the listener, as if it had written it. */
void lc__child_tell(const struct lc__child *child, const char *what);

void lc__child_free(struct lc__child *child);

#endif
