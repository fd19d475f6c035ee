/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A dataset to a version of a warehouse: frames are validated, decoded and
 * transformed by threads, stored by one writer in the order of the frames, and
 * exported when all are there. What an earlier run stored of unchanged sources
 * under the same sample key is taken from the module.
 */
#ifndef CACHEX_BUILD_INGEST_H
#define CACHEX_BUILD_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/summary.h"
#include "build/recipe.h"
#include "lmdbcache.h"

enum lc__phase {
	LC__PHASE_SCAN,  /* listing frames */
	LC__PHASE_READ,  /* files, and their hashes */
	LC__PHASE_LABEL, /* parsing and checking */
	LC__PHASE_DECODE,
	LC__PHASE_RESIZE,
	LC__PHASE_STORE,  /* into the module */
	LC__PHASE_EXPORT, /* shards */
	LC__PHASES
};

/** "scan", "read", … */
const char *lc__phase_name(enum lc__phase phase);

/** Where a build stands; for progress, trace, metrics and the final table. */
struct lc__ingest_state {
	uint64_t frames, frames_done; /* to look at; looked at */
	uint64_t samples;             /* accepted */
	uint64_t reused;              /* of frames_done: unchanged since an earlier run */
	uint64_t reduced;             /* of samples: their images have 16 bits, of which
	                                   the upper 8 were used */
	uint64_t rejected[LC__REJECTS]; /* by reason */
	uint64_t bytes_read, bytes_stored, bytes_exported, bytes_to_export;
	uint64_t ns[LC__PHASES]; /* of all threads together */
	uint64_t wall_ns;
	enum lc__phase phase; /* SCAN, STORE (frames) or EXPORT */
};

/** Told of what happens; never by two threads at once, of the export by its own. */
struct lc__ingest_watch {
	void *ctx;
	/** After each frame and with each piece of a shard, and some times a second
	 *  while neither ends; another value than 0 stops the build. */
	int (*step)(void *ctx, const struct lc__ingest_state *state);
	/** A frame that is no sample. */
	void (*rejected)(void *ctx, const struct lc__frame *frame, enum lc__reject reason,
	    const char *detail);
	/** One line: something that does not stop the build. */
	void (*warn)(void *ctx, const char *line);
};

struct lc__ingest {
	const char *dataset;       /* its root, an existing directory */
	const char *labels;        /* COCO's file or NULL */
	const char *warehouse;     /* made if missing */
	struct lc__recipe *recipe; /* layout AUTO and learned buckets are filled in; its
	                            learned classes are there during the build */
	size_t learn_buckets;      /* k-means with this many; 0: those of the recipe */
	struct lc__thresholds thresholds;
	unsigned threads; /* that decode; 0 for the number of processors */
	bool clear;       /* forget what is stored, rebuild */
	bool rehash;      /* read every file, do not trust size and time */
	bool force_fs;    /* store on network and FUSE file systems */
	bool keep_going;  /* a file that the system does not let be read (EIO,
	                            EACCES …) makes its frame `unreadable`; without it
	                            the build ends with that error */
	uint32_t task;    /* of tasks: only each frame whose number modulo tasks is
	                            this is looked at, and stored; no version is made */
	uint32_t tasks;   /* 0: all frames, and a version */
	uint32_t pack;    /* of packs: only the shards whose place in the version modulo
	                            packs is this are written, to WAREHOUSE/packed. All
	                            samples are of samples_from, no version is made, and
	                            nothing is locked */
	uint32_t packs;   /* 0: no shards are packed */
	const char *const *samples_from; /* warehouses that have samples of some frames,
	                            which are read from there; the first that has one
	                            counts, after the warehouse itself */
	size_t n_samples_from;
	bool dry_run;         /* look, validate and count; write nothing */
	bool no_sync;         /* tests: do not wait for the disk */
	uint64_t flush_every; /* tests: frames a commit; 0: by size and time */
	const struct lc__ingest_watch *watch;
};

struct lc__ingest_result {
	bool up_to_date;     /* nothing had changed; nothing was written */
	bool limits_changed; /* the same but for the manifest's thresholds, or the
	                            place of the sources */
	char *version_dir;   /* malloc'ed: WAREHOUSE/v… */
	char *rejected_list; /* malloc'ed: where the rejected frames are listed after
	                            LC_FAILED; NULL if nowhere */
	char version[65], fingerprint[65];
	uint64_t shards, shards_reused, bytes;
	struct lc__images_ignored ignored; /* images of kinds that are not read */
	uint64_t forgotten; /* frames that were stored and are gone from the dataset */
	struct lc__summary summary;
	struct lc__ingest_state state;
};

/**
 * Build.
 * @return LC_OK; LC_INVALID for what is no dataset; LC_FAILED if a threshold is
 * exceeded and does not only warn: then `current` is as it was, and result has
 * the summary; LC_CANCELLED: what was stored stays for the next run; LC_BUSY while
 * another build runs there; LC_NO_SPACE with what is needed and what there is,
 * LC_IO, LC_CORRUPT, LC_NO_MEMORY.
 * @param out  filled as far as it came, also on failure; free with
 *             lc__ingest_result_free()
 */
LC_CHECKED lc_status lc__ingest_run(const struct lc__ingest *ingest,
    struct lc__ingest_result *out);
void lc__ingest_result_free(struct lc__ingest_result *result);

#endif
