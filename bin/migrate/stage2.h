/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of records with arrays in their lines, made lighter: the arrays go to a
 * module, the lines get image_id, aspect_bucket and format_version, and encoders fill
 * further modules (cachex-migrate(1)).
 *
 * The lines are gone through in steps. Of each step, first the arrays are made durable
 * in their module, then the new lines in a file beside the old one, and then, in one
 * commit, the image_ids that were given, how far it is, and what was counted. When it is
 * killed between two of these, the next run does the step again and comes to the same
 * arrays, lines and ids. The new file takes the old one's place by rename, after the
 * state has said that this is what happens next.
 */
#ifndef CACHEX_MIGRATE_STAGE2_H
#define CACHEX_MIGRATE_STAGE2_H

#include "fill/fill.h"
#include "migrate/state.h"

/** What a migration does; the first three each fill a module. */
enum lc__stage2_pass {
	LC__PASS_DINOV3, /* extract arrays; the encoder makes what has none */
	LC__PASS_VAE,
	LC__PASS_T5,
	LC__PASS_MODULES,                    /* how many have modules */
	LC__PASS_MIGRATE = LC__PASS_MODULES, /* the lines */
	LC__PASSES
};

/** "dinov3", "vae", "t5", "migrate". */
extern const char *const lc__stage2_passes[LC__PASSES + 1];

struct lc__stage2 {
	const char *file;  /* the records, a JSON object a line */
	const char *dir;   /* root of the modules */
	const char *field; /* the array's name */
	lc_dtype dtype;    /* of the array's elements */
	uint32_t ndim;
	const uint64_t *shape; /* of the array */
	const char *images;    /* where image_path is looked up for records without height
	                          and width; NULL: nowhere */
	const char
	    *backup; /* NULL: FILE.stage1.backup, or the first of FILE.stage1.backup.2
	                          and on that is free */
	bool pass[LC__PASSES];
	bool named; /* the passes were named; else a verification leaves out modules
	                          that nothing was to fill */
	const char *module[LC__PASS_MODULES];
	const char *encoder[LC__PASS_MODULES];      /* commands; NULL for none */
	struct lc__expect expect[LC__PASS_MODULES]; /* of what is stored there */
	struct lc__producers producers;             /* but command and module */
	uint64_t batch;
	uint64_t step_lines; /* a step has so many lines at most; 0: LC__STEP_LINES */
	bool force;     /* replace tensors that differ; take over another file's state */
	bool dry_run;   /* change nothing */
	bool repair;    /* tensors that are damaged, not finite or of another form are
	                          made anew as well: from arrays in the lines, from those in
	                          the originals that were kept, by encoders */
	uint32_t task;  /* encoders are given each line, counted from 0, whose number
	                          modulo tasks is this */
	uint32_t tasks; /* 0: all lines; else no pass but vae and t5 may be asked for */
	uint64_t limit; /* leave the lines alone after so many records that needed
	                          something; 0: none */

	/** A line that stays as it is, and why: "FILE:LINE:COLUMN: why". */
	void (*bad)(void *ctx, uint64_t line, uint64_t column, const char *why);
	/** Something unusual. */
	void (*warn)(void *ctx, const char *text);
	/** Something that --verify found. */
	void (*finding)(void *ctx, uint64_t line, const char *id, const char *what);
	/** Called often. Bytes of the lines; non-zero stops with LC_CANCELLED. */
	int (*step)(void *ctx, const struct lc__stage2_counts *counts, uint64_t done,
	    uint64_t total);
	/** Called often while an encoder runs; likewise. */
	int (*filling)(void *ctx, enum lc__stage2_pass pass,
	    const struct lc__filled *so_far);
	void *ctx;
};

/** What a migration needs on the disk, told by the first lines. */
struct lc__stage2_needs {
	uint64_t records; /* about so many */
	uint64_t
	    lines; /* bytes of the new file, with the old one that is kept beside it */
	uint64_t modules[LC__PASS_MODULES]; /* bytes; 0 for those that are not filled */
};

/** What came of it. */
struct lc__stage2_done {
	struct lc__stage2_counts counts; /* of the whole migration, with what interrupted
	                                      runs of it did */
	uint64_t total;                  /* records: the sum of the first four counts */
	struct lc__stage2_needs needs;
	struct lc__filled filled[LC__PASS_MODULES]; /* of this run */
	bool resumed;                               /* an interrupted run went before */
	uint64_t restored;           /* tensors that were taken from kept originals, by
	                                      this run */
	bool rewritten;              /* the file was replaced, by this run */
	char backup[LC__STATE_TEXT]; /* where the original is, if this migration changed
	                                      it; else "" */
};

/**
 * Migrate, or go on with it.
 * @return LC_OK, also with lines that are bad and items that encoders failed on;
 * LC_BUSY if another process migrates into dir, or the file without tasks; LC_NO_SPACE
 * if the estimate is above what is free; LC_CHANGED if the file was changed meanwhile;
 * LC_CANCELLED; LC_FAILED by an encoder; LC_EXISTS for a backup that is there;
 * LC_INVALID, LC_IO ...
 */
LC_CHECKED lc_status lc__stage2_run(const struct lc__stage2 *how,
    struct lc__stage2_done *out);

/** What --verify counted. */
struct lc__stage2_verified {
	uint64_t records;                   /* lines that hold one */
	uint64_t bad;                       /* other lines that are not blank */
	uint64_t tensors[LC__PASS_MODULES]; /* that are as they should be */
	uint64_t findings;                  /* all that is wrong; each was told */
	bool asked[LC__PASS_MODULES];       /* the module was looked at */
};

/** Read the lines and all that belongs to them. LC_OK, also with findings; LC_CANCELLED,
 *  LC_IO ... */
LC_CHECKED lc_status lc__stage2_verify(const struct lc__stage2 *how,
    struct lc__stage2_verified *out);

/** What a rollback counted; each line that is not blank once in the first four. */
struct lc__stage2_rolled {
	uint64_t back;    /* lines that have their array again */
	uint64_t without; /* lines that are rolled back, to a record without an array: the
	                       module has no tensor for them */
	uint64_t kept;    /* lines of version 2 that stay: their tensor is damaged, or not
	                       what it should be */
	uint64_t other;   /* all other lines, which stay */
	uint64_t blank;
	bool rewritten; /* the file was replaced */
	char backup
	    [LC__STATE_TEXT]; /* where the file is as it was; "" if it is not replaced */
};

/**
 * Write the lines as they were before they were migrated: with their arrays, from the
 * module, and without the members of version 2. Modules stay as they are. The file is
 * replaced in one step, or not at all.
 * @return LC_OK, also with lines that stay; LC_BUSY, LC_CHANGED, LC_CANCELLED, LC_EXISTS,
 * LC_NO_SPACE, LC_IO ... as lc__stage2_run() does.
 */
LC_CHECKED lc_status lc__stage2_rollback(const struct lc__stage2 *how,
    struct lc__stage2_rolled *out);

#endif
