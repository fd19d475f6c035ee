/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store of objects: bytes under names, on a place that many machines write to at once
 * and that has no locks. A back end is the functions of a struct lc__objects; nothing else
 * of it is known here. What they all promise:
 *
 * Names        components of letters, digits, '-', '_' and '.', that do not begin with a dot,
 *              with '/' between them: "obj/4f/4f1c….twh1". lc__object_name_ok().
 * Whole        an object appears whole or not at all, whatever happens to who puts it; what
 *              is read of it is of one put. After LC_OK it survives a loss of power.
 * Once         of several put_new() of a name at once exactly one is LC_OK.
 * Time         an object has one, of the store's own clock: when it was put, or when a later
 *              put_new() of the name came upon it, or touch(). Those two leave it as it is,
 *              and do not fail, where this process may not change it: in a directory, that
 *              of a file of another user that this one cannot write. Then whoever removes
 *              what is old may remove what was just found there.
 * Listing      may lag behind: it may lack what was put a moment ago. get_range() does not.
 * Threads      any number may call at once.
 *
 * Errors are LC_NO_FILE for an object that is not there, LC_EXISTS from put_new(),
 * LC_PERMISSION, LC_NO_SPACE, LC_NO_MEMORY, LC_IO; LC_UNSUPPORTED, in one line that says
 * what to do, from put_new() on a store that has no such thing; LC_INVALID for a bad name.
 */
#ifndef LC_OBJECTS_OBJECTS_H
#define LC_OBJECTS_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Longest name, and a terminator. */
#define LC__OBJECT_NAME 256

/** An object as the store knows it. */
struct lc__object {
	const char *name; /* valid during the callback */
	uint64_t size;    /* bytes */
	uint64_t time_ms; /* ms since 1970 */
};

/** Bytes to be put. */
struct lc__body {
	uint64_t size;
	/** Write the next bytes to @p out. Offsets start at 0 and continue where the last call
	 *  ended; a back end that tries again begins with 0 again. What it returns but LC_OK
	 *  ends the put with that status, and nothing is named. */
	lc_status (*read)(void *ctx, uint64_t offset, void *out, size_t size);
	void *ctx;
	const char *sha256; /* of all of them in hex, if the caller knows it; else NULL */
};

/** Where the bytes of an object go. */
struct lc__object_sink {
	/** Receive the next bytes. A status other than LC_OK ends the reading with that
	 *  status. */
	lc_status (*write)(void *ctx, const void *data, size_t size);
	void *ctx;
	/** Called about once a second while nothing arrives: likewise. NULL: not
	 *  called. */
	lc_status (*waits)(void *ctx);
};

/** Statistics of a store that is reached through a network. */
struct lc__traffic {
	_Atomic uint64_t requests;       /* sent, retries included */
	_Atomic uint64_t retries;        /* sent again */
	_Atomic uint64_t waited_ns;      /* before they were sent again */
	_Atomic uint64_t received, sent; /* bytes of objects and listings */
};

struct lc__objects {
	const char *url;    /* for messages */
	const char *advice; /* advice for messages if it does not keep "once" */
	struct lc__traffic traffic;

	/**
	 * Read up to @p size bytes from @p offset on; *got is less only at the end of the
	 * object. With size 0 only its size and time are requested.
	 * @param about  gets its size and time, without a name; or NULL
	 */
	lc_status (*get_range)(struct lc__objects *objects, const char *name,
	    uint64_t offset, void *out, size_t size, size_t *got,
	    struct lc__object *about);
	/**
	 * Pass its bytes from @p offset on to @p sink, in order, each once: after an
	 * interruption it continues from there.
	 * @param about  gets its size and time before the first byte; or NULL
	 * @return also LC_CHANGED if another object is put meanwhile.
	 */
	lc_status (*get)(struct lc__objects *objects, const char *name, uint64_t offset,
	    const struct lc__object_sink *sink, struct lc__object *about);
	/** Put it unless it exists: then LC_EXISTS, and its time becomes now. */
	lc_status (*put_new)(struct lc__objects *objects, const char *name,
	    const struct lc__body *body);
	/** Set its time to now. */
	lc_status (*touch)(struct lc__objects *objects, const char *name);
	/** Put it, replacing any existing one. */
	lc_status (*put)(struct lc__objects *objects, const char *name,
	    const struct lc__body *body);
	/** Call @p fn for each object whose name begins with @p prefix, in no particular
	 *  order, until it returns something other than LC_OK, which is then returned. */
	lc_status (*list)(struct lc__objects *objects, const char *prefix,
	    lc_status (*fn)(void *ctx, const struct lc__object *object), void *ctx);
	/** Remove it; LC_OK also if it does not exist. */
	lc_status (*remove)(struct lc__objects *objects, const char *name);

	/** Count, and unless @p dry remove, remains of incomplete puts of names that
	 *  begin with @p prefix, begun before @p before_ms. */
	lc_status (*sweep)(struct lc__objects *objects, const char *prefix,
	    uint64_t before_ms, bool dry, uint64_t *files, uint64_t *bytes);
	void (*close)(struct lc__objects *objects);
};

bool lc__object_name_ok(const char *name);
/** LC_INVALID, naming the store, if it is not. */
LC_CHECKED lc_status lc__object_check_name(const struct lc__objects *objects,
    const char *name);

/** Append a whole object; LC_CORRUPT if it is larger than @p limit. */
LC_CHECKED lc_status lc__object_read(struct lc__objects *objects, const char *name,
    uint64_t limit, struct lc__buf *out);
/** Does it exist? Returns its size and time. LC_NO_FILE. */
LC_CHECKED lc_status lc__object_find(struct lc__objects *objects, const char *name,
    struct lc__object *about);
/** get() for a store that has only get_range(). */
LC_CHECKED lc_status lc__object_get(struct lc__objects *objects, const char *name,
    uint64_t offset, const struct lc__object_sink *sink, struct lc__object *about);
/** put_new() and put() of bytes in memory. */
LC_CHECKED lc_status lc__object_add(struct lc__objects *objects, const char *name,
    const void *data, size_t size);
LC_CHECKED lc_status lc__object_replace(struct lc__objects *objects, const char *name,
    const void *data, size_t size);

/** The beginning of names of objects that the next two functions put; a killed process
 *  leaves them. */
#define LC__PROBES "probe/"

/**
 * Does the store keep "once" and "whole"? Puts an object of a new name twice, reads it and
 * removes it.
 * @return LC_OK; LC_UNSUPPORTED, in one line, if not.
 */
LC_CHECKED lc_status lc__objects_probe(struct lc__objects *objects);
/** The same, and that put() replaces, list() lists and remove() removes. A listing may miss
 *  the object. */
LC_CHECKED lc_status lc__objects_check(struct lc__objects *objects);
/** The time of the store's clock, in ms since 1970, from an object that is put and
 *  removed. */
LC_CHECKED lc_status lc__objects_now(struct lc__objects *objects, uint64_t *ms);

/** NULL is allowed. */
void lc__objects_close(struct lc__objects *objects);

#endif
