/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a job that one of several processes does: --shard I/N. Its pieces, as the
 * inputs of a module, are numbered by the job's list alone; piece p is of part I when
 * p modulo N is I. A scheduler's task finds its part in its environment: --shard auto.
 */
#ifndef CACHEX_UI_PART_H
#define CACHEX_UI_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/opt.h"

struct part {
	uint32_t number, of; /* number < of; 0 of 1 is all */
	const char *from;    /* the variable that says so; NULL for the user */
};

/** Is this piece of the part? */
static inline bool
part_has(const struct part *part, uint64_t piece)
{
	return piece % part->of == part->number;
}

/**
 * Read "I/N", "auto", or "auto/N" for a scheduler that does not say how many parts there
 * are. The environment is read for auto only: the first of these that is there counts.
 *   SLURM_ARRAY_TASK_ID, with _MIN, _MAX, _STEP, _COUNT
 *   JOB_COMPLETION_INDEX, without a count
 *   OMPI_COMM_WORLD_RANK, with OMPI_COMM_WORLD_SIZE
 *   PMI_RANK, with PMI_SIZE
 *   SLURM_PROCID, with SLURM_NTASKS
 * False with one phrase in @p why, which names the variable that is missing or wrong.
 */
bool part_parse(const char *text, struct part *out, char *why, size_t room);

/** What --shard was given; NULL: nothing. */
extern const char *part_option;

/* clang-format off */
#define PART_OPTION \
	{ "", "shard", OPT_TEXT, &part_option, .value = "I/N|auto", \
	    .help = "do part I of N, counted from 0; auto: the part of the " \
		    "scheduler's task" }
/* clang-format on */

/** The part that --shard of @p command asks for, all without it; what auto took is told.
 *  Reports; an exit status. */
int part_take(const struct opt *options, const char *command, struct part *out);

#endif
