/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of one of several processes: it is task I of N, --shard I/N. The parts of the
 * job, such as the inputs of a module, are numbered by its list alone; part p belongs to
 * task I if p modulo N is I. A process finds its task in the environment that a scheduler
 * sets: --shard auto.
 */
#ifndef CACHEX_UI_TASK_H
#define CACHEX_UI_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/opt.h"

struct job_task {
	uint32_t number, of; /* number < of; 0 of 1 is all */
	const char *from;    /* the variable that defines it; NULL: the user */
};

/** Is this part for the task? */
static inline bool
task_has(const struct job_task *task, uint64_t part)
{
	return part % task->of == task->number;
}

/**
 * Read "I/N", "auto", or "auto/N" for a scheduler that does not say how many tasks there
 * are. The environment is read for auto only: the first of these that is there counts.
 *   SLURM_ARRAY_TASK_ID, with _MIN, _MAX, _STEP, _COUNT
 *   JOB_COMPLETION_INDEX, without a count
 *   OMPI_COMM_WORLD_RANK, with OMPI_COMM_WORLD_SIZE
 *   PMI_RANK, with PMI_SIZE
 *   SLURM_PROCID, with SLURM_NTASKS
 * False with one phrase in @p why, which names the variable that is missing or wrong.
 */
bool task_parse(const char *text, struct job_task *out, char *why, size_t room);

/** The argument of --shard; NULL: none. */
extern const char *task_option;

/* clang-format off */
#define TASK_OPTION \
	{ "", "shard", OPT_TEXT, &task_option, .value = "I/N|auto", \
	    .help = "be task I of N, counted from 0, and do only its work; auto: from " \
		    "the scheduler" }
/* clang-format on */

/** The task given by --shard of @p command, the only one without it; reports which
 *  variables auto used. Reports; an exit status. */
int task_take(const struct opt *options, const char *command, struct job_task *out);

#endif
