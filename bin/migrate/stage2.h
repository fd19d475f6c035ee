/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Migrates a file of records with arrays in its lines: the arrays go to a module, the
 * lines get image_id, aspect_bucket and format_version, and encoders fill further modules
 * (cachex-migrate(1)).
 *
 * The lines are processed in steps. In each step, first the arrays are made durable in
 * their module, then the new lines in a file next to the old one, and then, in one
 * commit, the new image_ids, the position and the counts. If it is killed in between, the
 * next run repeats the step with the same arrays, lines and ids. The new file replaces
 * the old one by rename, after the state says that this is the next action.
 */
#ifndef CACHEX_MIGRATE_STAGE2_H
#define CACHEX_MIGRATE_STAGE2_H

#include "fill/fill.h"
#include "migrate/state.h"

/** The passes of a migration; the first three each fill a module. */
enum lc__stage2_pass {
	LC__PASS_DINOV3, /* extract arrays; the encoder computes missing ones */
	LC__PASS_VAE,
	LC__PASS_T5,
	LC__PASS_MODULES,                    /* number of passes with modules */
	LC__PASS_MIGRATE = LC__PASS_MODULES, /* the lines */
	LC__PASSES
};

/** "dinov3", "vae", "t5", "migrate". */
extern const char *const lc__stage2_passes[LC__PASSES + 1];

struct lc__stage2 {
	const char *file;  /* the records, a JSON object on each line */
	const char *dir;   /* root of the modules */
	const char *field; /* the array's name */
	lc_dtype dtype;    /* of the array's elements */
	uint32_t ndim;
	const uint64_t *shape; /* of the array */
	const char *images;    /* where image_path is looked up for records without height
	                        * and width; NULL: not at all */
	const char *backup;    /* NULL: FILE.stage1.backup, or the first free name of
	              * FILE.stage1.backup.2 and on */
	bool pass[LC__PASSES];
	bool named; /* the passes were named; else a verification skips modules that were
	             * not to be filled */
	const char *module[LC__PASS_MODULES];
	const char *encoder[LC__PASS_MODULES];      /* commands; NULL for none */
	struct lc__expect expect[LC__PASS_MODULES]; /* of what is stored there */
	struct lc__producers producers;             /* except command and module */
	uint64_t batch;
	uint64_t step_lines; /* most lines in a step; 0: LC__STEP_LINES */
	bool force;     /* replace tensors that differ; accept another file's state */
	bool dry_run;   /* change nothing */
	bool repair;    /* replace also tensors that are damaged, not finite or of another
	                 * form: from arrays in the lines, from those in kept originals,
	                 * by encoders */
	uint32_t task;  /* encoders get each line, counted from 0, whose number modulo
	                 * tasks is this */
	uint32_t tasks; /* 0: all lines; else only the passes vae and t5 are allowed */
	uint64_t limit; /* leave lines alone after this many records that were changed; 0:
	                 * no limit */

	/** Called for a line that stays unchanged, with the reason: "FILE:LINE:COLUMN:
	 *  why". */
	void (*bad)(void *ctx, uint64_t line, uint64_t column, const char *why);
	/** Called for something unusual. */
	void (*warn)(void *ctx, const char *text);
	/** Called for a finding of --verify. */
	void (*finding)(void *ctx, uint64_t line, const char *id, const char *what);
	/** Called often. Bytes of the lines; non-zero stops with LC_CANCELLED. */
	int (*step)(void *ctx, const struct lc__stage2_counts *counts, uint64_t done,
	    uint64_t total);
	/** Called often while an encoder runs; likewise. */
	int (*filling)(void *ctx, enum lc__stage2_pass pass,
	    const struct lc__filled *so_far);
	void *ctx;
};

/** The disk space that a migration needs, estimated from the first lines. */
struct lc__stage2_needs {
	uint64_t records; /* approximate number of records */
	uint64_t lines;   /* size of the new file, and of the old one that is kept */
	uint64_t modules[LC__PASS_MODULES]; /* bytes; 0 for those that are not filled */
};

/** The result. */
struct lc__stage2_done {
	struct lc__stage2_counts counts; /* of the whole migration, including interrupted
	                                  * runs */
	uint64_t total;                  /* records: the sum of the first four counts */
	struct lc__stage2_needs needs;
	struct lc__filled filled[LC__PASS_MODULES]; /* of this run */
	bool resumed;                               /* it continued an interrupted run */
	uint64_t restored;           /* tensors restored from kept originals, by this run
	                              * */
	bool rewritten;              /* the file was replaced, by this run */
	char backup[LC__STATE_TEXT]; /* the path of the original, if this migration
	                              * changed the file; else "" */
};

/**
 * Migrate, or continue a migration.
 * @return LC_OK, even with bad lines and items on which encoders failed; LC_BUSY if
 * another process migrates into dir, or the file without tasks; LC_NO_SPACE if the
 * estimate exceeds the free space; LC_CHANGED if the file was changed meanwhile;
 * LC_CANCELLED; LC_FAILED from an encoder; LC_EXISTS for an existing backup; LC_INVALID,
 * LC_IO ...
 */
LC_CHECKED lc_status lc__stage2_run(const struct lc__stage2 *how,
    struct lc__stage2_done *out);

/** The counts of --verify. */
struct lc__stage2_verified {
	uint64_t records;                   /* lines with a record */
	uint64_t bad;                       /* other lines that are not blank */
	uint64_t tensors[LC__PASS_MODULES]; /* tensors that are right */
	uint64_t findings;                  /* findings; each was reported */
	bool asked[LC__PASS_MODULES];       /* the module was checked */
};

/** Check the lines and everything that belongs to them. LC_OK, also with findings;
 *  LC_CANCELLED, LC_IO ... */
LC_CHECKED lc_status lc__stage2_verify(const struct lc__stage2 *how,
    struct lc__stage2_verified *out);

/** The counts of a rollback; each line that is not blank is in one of the first four. */
struct lc__stage2_rolled {
	uint64_t back;    /* lines that got their array back */
	uint64_t without; /* lines rolled back without an array: the module has no tensor
	                   * for them */
	uint64_t kept;    /* lines of version 2 that stay: their tensor is damaged or
	                   * wrong */
	uint64_t other;   /* all other lines, which stay */
	uint64_t blank;
	bool rewritten; /* the file was replaced */
	char backup
	    [LC__STATE_TEXT]; /* path of a copy of the replaced file; "" if it was not
	                       * replaced */
};

/**
 * Restore the lines as they were before the migration: with their arrays, from the
 * module, and without the members of version 2. Modules do not change. The file is
 * replaced in one step, or not at all.
 * @return LC_OK, also with lines that stay; LC_BUSY, LC_CHANGED, LC_CANCELLED, LC_EXISTS,
 * LC_NO_SPACE, LC_IO ... as lc__stage2_run().
 */
LC_CHECKED lc_status lc__stage2_rollback(const struct lc__stage2 *how,
    struct lc__stage2_rolled *out);

#endif
