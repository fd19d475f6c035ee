/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/report.h"
#include "ui/size.h"

const char *task_option;

/* ---- the environment --------------------------------------------------------------- */

static bool
read_number(const char *name, uint64_t *out, char *why, size_t room)
{
	const char *text = getenv(name);

	if (text != NULL && count_parse(text, out) && *out <= UINT32_MAX)
		return true;
	if (text == NULL)
		snprintf(why, room, "%s is not set", name);
	else
		snprintf(why, room, "%s: '%.60s' is not a number", name, text);
	return false;
}

/* A task of an array: its ids are those from MIN to MAX in steps. */
static bool
read_array(uint64_t *number, uint64_t *of, char *why, size_t room)
{
	uint64_t id, min, max, step;

	if (!read_number("SLURM_ARRAY_TASK_ID", &id, why, room) ||
	    !read_number("SLURM_ARRAY_TASK_MIN", &min, why, room) ||
	    !read_number("SLURM_ARRAY_TASK_MAX", &max, why, room) ||
	    !read_number("SLURM_ARRAY_TASK_STEP", &step, why, room) ||
	    !read_number("SLURM_ARRAY_TASK_COUNT", of, why, room))
		return false;
	if (step == 0 || max < min || (max - min) / step + 1 != *of) {
		snprintf(why, room,
		    "SLURM_ARRAY_TASK_COUNT: %llu are not all from %llu to %llu in steps "
		    "of %llu; give the task as I/N",
		    (unsigned long long)*of, (unsigned long long)min,
		    (unsigned long long)max, (unsigned long long)step);
		return false;
	}
	if (id < min || id > max || (id - min) % step != 0) {
		snprintf(why, room,
		    "SLURM_ARRAY_TASK_ID: %llu is not in %llu to %llu in steps of %llu",
		    (unsigned long long)id, (unsigned long long)min,
		    (unsigned long long)max, (unsigned long long)step);
		return false;
	}
	*number = (id - min) / step;
	return true;
}

/* Programs that start tasks, in order of precedence: a task of an array may run others by
 * MPI. The first variable is the number of the task, or the base for it. */
static const struct scheduler {
	const char *names[5]; /* names of its environment variables */
	bool counts;          /* the second one is the number of tasks */
} schedulers[] = {
	{ { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
	      "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT" },
	    true },
	{ { "JOB_COMPLETION_INDEX" }, false },
	{ { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, true },
	{ { "PMI_RANK", "PMI_SIZE" }, true },
	{ { "SLURM_PROCID", "SLURM_NTASKS" }, true },
};

#define SCHEDULERS (sizeof(schedulers) / sizeof(*schedulers))

/* The first one with any of its variables set: an incomplete set is an error, not a
 * reason to try the next. */
static const struct scheduler *
find_scheduler(void)
{
	for (size_t i = 0; i < SCHEDULERS; i++)
		for (size_t k = 0; k < 5 && schedulers[i].names[k] != NULL; k++)
			if (getenv(schedulers[i].names[k]) != NULL)
				return &schedulers[i];
	return NULL;
}

/* @p of is 0 unless the user gives the number of tasks. */
static bool
read_auto(uint64_t of, struct job_task *out, char *why, size_t room)
{
	const struct scheduler *scheduler = find_scheduler();
	uint64_t number, count = of;

	if (scheduler == NULL) {
		snprintf(why, room,
		    "no scheduler's variable is set (%s, %s, %s, %s, %s); "
		    "give the task as I/N",
		    schedulers[0].names[0], schedulers[1].names[0],
		    schedulers[2].names[0], schedulers[3].names[0],
		    schedulers[4].names[0]);
		return false;
	}
	if (scheduler == &schedulers[0]) {
		if (!read_array(&number, &count, why, room))
			return false;
	} else if (!read_number(scheduler->names[0], &number, why, room) ||
	    (scheduler->counts && !read_number(scheduler->names[1], &count, why, room))) {
		return false;
	}
	out->from = scheduler->names[0];
	if (!scheduler->counts && of == 0)
		snprintf(why, room, "%s has no count; use auto/N", out->from);
	else if (of != 0 && count != of)
		snprintf(why, room, "%s is a task of %llu, not of %llu", out->from,
		    (unsigned long long)count, (unsigned long long)of);
	else if (count == 0)
		snprintf(why, room, "%s is 0", scheduler->names[1]);
	else if (number >= count)
		snprintf(why, room, "%s is %llu; tasks of %llu are numbered 0 to %llu",
		    out->from, (unsigned long long)number, (unsigned long long)count,
		    (unsigned long long)(count - 1));
	else {
		out->number = (uint32_t)number;
		out->of = (uint32_t)count;
		return true;
	}
	return false;
}

/* ---- the option -------------------------------------------------------------------- */

bool
task_parse(const char *text, struct job_task *out, char *why, size_t room)
{
	const char *slash = strchr(text, '/');
	const size_t first = slash != NULL ? (size_t)(slash - text) : strlen(text);
	uint64_t number = 0, of = 0;
	char word[12] = "";
	struct job_task task = { 0 };

	if (first < sizeof(word))
		memcpy(word, text, first);
	if (slash != NULL && (!count_parse(slash + 1, &of) || of > UINT32_MAX || of == 0))
		word[0] = '\0';
	if (strcmp(word, "auto") == 0) {
		if (!read_auto(of, &task, why, room))
			return false;
	} else if (of == 0 || !count_parse(word, &number)) {
		snprintf(why, room, "'%.60s' is neither I/N, as 0/4, nor auto or auto/N",
		    text);
		return false;
	} else if (number >= of) {
		snprintf(why, room, "'%.60s': tasks of %llu are numbered 0 to %llu", text,
		    (unsigned long long)of, (unsigned long long)(of - 1));
		return false;
	} else {
		task.number = (uint32_t)number;
		task.of = (uint32_t)of;
	}
	*out = task;
	return true;
}

int
task_take(const struct opt *options, const char *command, struct job_task *out)
{
	char why[OPT_TEXT_ROOM], spelling[80];

	*out = (struct job_task){ 0, 1, NULL };
	if (task_option == NULL)
		return EXIT_DONE;
	if (!task_parse(task_option, out, why, sizeof(why)))
		return report_usage("%s: %s",
		    opt_spelling(options, &task_option, command, spelling,
			sizeof(spelling)),
		    why);
	if (out->from != NULL)
		report_note("task %u/%u, from %s", (unsigned)out->number,
		    (unsigned)out->of, out->from);
	return EXIT_DONE;
}
