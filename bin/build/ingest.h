/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds a version of a warehouse from a dataset: threads validate, decode and transform
 * frames, one writer stores them in order, and they are exported when all are there.
 * Samples that an earlier run stored from unchanged sources under the same sample key are
 * taken from the module.
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
	LC__PHASE_READ,  /* reading files, and their hashes */
	LC__PHASE_LABEL, /* parsing and checking */
	LC__PHASE_DECODE,
	LC__PHASE_RESIZE,
	LC__PHASE_STORE,  /* into the module */
	LC__PHASE_EXPORT, /* shards */
	LC__PHASES
};

/** "scan", "read", … */
const char *lc__phase_name(enum lc__phase phase);

/** The state of a build; for progress, trace, metrics and the final table. */
struct lc__ingest_state {
	uint64_t frames, frames_done; /* to process; processed */
	uint64_t samples;             /* accepted */
	uint64_t reused;              /* of frames_done: unchanged since an earlier run */
	uint64_t reduced;             /* of samples: from 16-bit images, of which the
	                               * upper 8 bits were used */
	uint64_t rejected[LC__REJECTS]; /* by reason */
	uint64_t bytes_read, bytes_stored, bytes_exported, bytes_to_export;
	uint64_t ns[LC__PHASES]; /* sums over all threads */
	uint64_t wall_ns;
	enum lc__phase phase; /* SCAN, STORE (frames) or EXPORT */
};

/** Callbacks; never called by two threads at once, but during the export by its own
 *  threads. */
struct lc__ingest_watch {
	void *ctx;
	/** After each frame and with each piece of a shard, and several times a second in
	 *  between; a value other than 0 stops the build. */
	int (*step)(void *ctx, const struct lc__ingest_state *state);
	/** A frame that is not a sample. */
	void (*rejected)(void *ctx, const struct lc__frame *frame, enum lc__reject reason,
	    const char *detail);
	/** One line about something that does not stop the build. */
	void (*warn)(void *ctx, const char *line);
};

struct lc__ingest {
	const char *dataset;       /* its root, an existing directory */
	const char *labels;        /* COCO's file or NULL */
	const char *warehouse;     /* created if missing */
	struct lc__recipe *recipe; /* layout AUTO and learned buckets are filled in;
	                            * learned classes are valid during the build */
	size_t learn_buckets;      /* k-means with this many clusters; 0: the recipe's
	                            * buckets */
	struct lc__thresholds thresholds;
	unsigned threads; /* threads that decode; 0 for the number of processors */
	bool clear;       /* drop what is stored, rebuild */
	bool rehash;      /* read every file, do not trust size and time */
	bool force_fs;    /* allow network and FUSE file systems */
	bool keep_going;  /* a file that the system refuses to read (EIO, EACCES ...)
	                   * makes its frame `unreadable`; otherwise the build ends with
	                   * that error */
	uint32_t task;    /* index among the tasks: process and store only frames whose
	                   * number modulo tasks is this; create no version */
	uint32_t tasks;   /* 0: all frames, and a version */
	uint32_t pack;    /* index among the packs: write only the shards whose index in
	                   * the version modulo packs is this, to WAREHOUSE/packed. All
	                   * samples come from samples_from, no version is created, and
	                   * nothing is locked */
	uint32_t packs;   /* 0: no shards are packed */
	const char *const *samples_from; /* warehouses from which samples of some frames
	                                  * are read; the first one with a sample counts,
	                                  * after the warehouse itself */
	size_t n_samples_from;
	bool dry_run;         /* validate and count; write nothing */
	bool no_sync;         /* tests: do not wait for the disk */
	uint64_t flush_every; /* tests: frames in a commit; 0: by size and time */
	const struct lc__ingest_watch *watch;
};

struct lc__ingest_result {
	bool up_to_date;     /* nothing had changed; nothing was written */
	bool limits_changed; /* the same except for the manifest's thresholds, or the
	                      * location of the sources */
	char *version_dir;   /* malloc'ed: WAREHOUSE/v... */
	char *rejected_list; /* malloc'ed: the list of rejected frames after LC_FAILED;
	                      * NULL if there is none */
	char version[65], fingerprint[65];
	uint64_t shards, shards_reused, bytes;
	struct lc__images_ignored ignored; /* images of kinds that are not read */
	uint64_t forgotten; /* frames that were stored and are no longer in the dataset */
	struct lc__summary summary;
	struct lc__ingest_state state;
};

/**
 * Build.
 * @return LC_OK; LC_INVALID if it is not a dataset; LC_FAILED if a threshold is exceeded
 * and does not only warn: then `current` is unchanged, and result has the summary;
 * LC_CANCELLED: stored samples stay for the next run; LC_BUSY while another build runs
 * there; LC_NO_SPACE with the required and the free space, LC_IO, LC_CORRUPT,
 * LC_NO_MEMORY.
 * @param out  filled as far as possible, also on failure; free with
 *             lc__ingest_result_free()
 */
LC_CHECKED lc_status lc__ingest_run(const struct lc__ingest *ingest,
    struct lc__ingest_result *out);
void lc__ingest_result_free(struct lc__ingest_result *result);

#endif
