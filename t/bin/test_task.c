/* SPDX-License-Identifier: BSD-2-Clause */
/* --shard: which task of a job this process is, as the user or a scheduler says. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/task.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static const char *const variables[] = {
	"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
	"SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT", "JOB_COMPLETION_INDEX",
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
	"SLURM_PROCID", "SLURM_NTASKS",
};

/* An environment of "A=1 B=2" and no other of these variables. */
static void
set_environment(const char *text)
{
	char copy[400], *rest = copy, *word;

	for (int i = 0; i < ROWS(variables); i++)
		unsetenv(variables[i]);
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " ")) != NULL) {
		char *value = strchr(word, '=');

		if (value == NULL)
			continue;
		*value++ = '\0';
		ck_assert_int_eq(setenv(word, value, 1), 0);
	}
}

#define ARRAY(id, min, max, step, count) \
	"SLURM_ARRAY_TASK_ID=" id " SLURM_ARRAY_TASK_MIN=" min \
	" SLURM_ARRAY_TASK_MAX=" max " SLURM_ARRAY_TASK_STEP=" step \
	" SLURM_ARRAY_TASK_COUNT=" count

static const struct {
	const char *text, *environment;
	uint32_t number, of;
	const char *from;
} good[] = {
	{ "0/1", "", 0, 1, NULL },
	{ "2/8", "SLURM_PROCID=x", 2, 8, NULL },
	{ "4294967294/4294967295", "", 4294967294, 4294967295, NULL },
	{ "auto", ARRAY("0", "0", "7", "1", "8"), 0, 8, "SLURM_ARRAY_TASK_ID" },
	{ "auto", ARRAY("20", "10", "25", "5", "4"), 2, 4, "SLURM_ARRAY_TASK_ID" },
	{ "auto", ARRAY("25", "10", "25", "5", "4"), 3, 4, "SLURM_ARRAY_TASK_ID" },
	/* --array=10-27:5 is 10, 15, 20, 25. */
	{ "auto", ARRAY("15", "10", "27", "5", "4"), 1, 4, "SLURM_ARRAY_TASK_ID" },
	{ "auto/4", ARRAY("15", "10", "27", "5", "4"), 1, 4, "SLURM_ARRAY_TASK_ID" },
	{ "auto", ARRAY("3", "3", "3", "1", "1"), 0, 1, "SLURM_ARRAY_TASK_ID" },
	{ "auto", ARRAY("1", "0", "1", "1", "2") " SLURM_PROCID=0 SLURM_NTASKS=1",
	    1, 2, "SLURM_ARRAY_TASK_ID" },
	{ "auto/3", "JOB_COMPLETION_INDEX=2", 2, 3, "JOB_COMPLETION_INDEX" },
	{ "auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3", 1, 3,
	    "OMPI_COMM_WORLD_RANK" },
	{ "auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 SLURM_PROCID=0 "
	    "SLURM_NTASKS=1", 1, 3, "OMPI_COMM_WORLD_RANK" },
	{ "auto", "PMI_RANK=0 PMI_SIZE=2", 0, 2, "PMI_RANK" },
	{ "auto", "PMI_RANK=0 PMI_SIZE=2 SLURM_PROCID=4 SLURM_NTASKS=5", 0, 2,
	    "PMI_RANK" },
	{ "auto", "SLURM_PROCID=4 SLURM_NTASKS=5", 4, 5, "SLURM_PROCID" },
	{ "auto/5", "SLURM_PROCID=4 SLURM_NTASKS=5", 4, 5, "SLURM_PROCID" },
};

START_TEST(tasks)
{
	struct job_task task = { 9, 9, "x" };
	char why[OPT_TEXT_ROOM] = "";

	set_environment(good[_i].environment);
	ck_assert_msg(task_parse(good[_i].text, &task, why, sizeof(why)), "%s", why);
	ck_assert_uint_eq(task.number, good[_i].number);
	ck_assert_uint_eq(task.of, good[_i].of);
	ck_assert_pstr_eq(task.from, good[_i].from);
}
END_TEST

#define SHAPE(text) "'" text "' is neither I/N, as 0/4, nor auto or auto/N"
#define NONE \
	"no scheduler's variable is set (SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, " \
	"OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID); give the task as I/N"

static const struct {
	const char *text, *environment, *why;
} bad[] = {
	{ "", "", SHAPE("") },
	{ "3", "", SHAPE("3") },
	{ "/", "", SHAPE("/") },
	{ "/3", "", SHAPE("/3") },
	{ "1/", "", SHAPE("1/") },
	{ "0/0", "", SHAPE("0/0") },
	{ "-1/3", "", SHAPE("-1/3") },
	{ "1/3/5", "", SHAPE("1/3/5") },
	{ "1 /3", "", SHAPE("1 /3") },
	{ "0/4294967296", "", SHAPE("0/4294967296") },
	{ "000000000000/1", "", SHAPE("000000000000/1") },
	{ "Auto", "", SHAPE("Auto") },
	{ "auto/", "SLURM_PROCID=4 SLURM_NTASKS=5", SHAPE("auto/") },
	{ "auto/0", "JOB_COMPLETION_INDEX=0", SHAPE("auto/0") },
	{ "auto/x", "JOB_COMPLETION_INDEX=0", SHAPE("auto/x") },
	{ "3/3", "", "'3/3': tasks of 3 are numbered 0 to 2" },
	{ "4/3", "", "'4/3': tasks of 3 are numbered 0 to 2" },
	{ "auto", "", NONE },
	{ "auto/4", "", NONE },
	{ "auto", "JOB_COMPLETION_INDEX=0",
	    "JOB_COMPLETION_INDEX has no count; use auto/N" },
	{ "auto/3", "JOB_COMPLETION_INDEX=3",
	    "JOB_COMPLETION_INDEX is 3; tasks of 3 are numbered 0 to 2" },
	{ "auto/3", "JOB_COMPLETION_INDEX=", "JOB_COMPLETION_INDEX: '' is not a number" },
	{ "auto/3", "JOB_COMPLETION_INDEX=-1",
	    "JOB_COMPLETION_INDEX: '-1' is not a number" },
	{ "auto/3", "JOB_COMPLETION_INDEX=4294967296",
	    "JOB_COMPLETION_INDEX: '4294967296' is not a number" },
	{ "auto", "SLURM_PROCID=1", "SLURM_NTASKS is not set" },
	{ "auto", "SLURM_NTASKS=2", "SLURM_PROCID is not set" },
	{ "auto", "SLURM_PROCID=2 SLURM_NTASKS=2",
	    "SLURM_PROCID is 2; tasks of 2 are numbered 0 to 1" },
	{ "auto", "SLURM_PROCID=0 SLURM_NTASKS=0", "SLURM_NTASKS is 0" },
	{ "auto/3", "SLURM_PROCID=0 SLURM_NTASKS=2",
	    "SLURM_PROCID is a task of 2, not of 3" },
	/* Half of one is not another one. */
	{ "auto", "PMI_RANK=0 SLURM_PROCID=0 SLURM_NTASKS=2", "PMI_SIZE is not set" },
	{ "auto", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is not set" },
	{ "auto", "SLURM_ARRAY_TASK_ID=3 SLURM_PROCID=0 SLURM_NTASKS=2",
	    "SLURM_ARRAY_TASK_MIN is not set" },
	{ "auto", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_ID is not set" },
	{ "auto", ARRAY("x", "0", "1", "1", "2"),
	    "SLURM_ARRAY_TASK_ID: 'x' is not a number" },
	{ "auto", ARRAY("1", "0", "1", "", "2"),
	    "SLURM_ARRAY_TASK_STEP: '' is not a number" },
	{ "auto", ARRAY("9", "10", "25", "5", "4"),
	    "SLURM_ARRAY_TASK_ID: 9 is not in 10 to 25 in steps of 5" },
	{ "auto", ARRAY("30", "10", "25", "5", "4"),
	    "SLURM_ARRAY_TASK_ID: 30 is not in 10 to 25 in steps of 5" },
	{ "auto", ARRAY("16", "10", "25", "5", "4"),
	    "SLURM_ARRAY_TASK_ID: 16 is not in 10 to 25 in steps of 5" },
	/* --array=1,3,7 */
	{ "auto", ARRAY("3", "1", "7", "1", "3"),
	    "SLURM_ARRAY_TASK_COUNT: 3 are not all from 1 to 7 in steps of 1; give the "
	    "task as I/N" },
	{ "auto", ARRAY("3", "1", "7", "0", "3"),
	    "SLURM_ARRAY_TASK_COUNT: 3 are not all from 1 to 7 in steps of 0; give the "
	    "task as I/N" },
	{ "auto", ARRAY("3", "7", "1", "1", "3"),
	    "SLURM_ARRAY_TASK_COUNT: 3 are not all from 7 to 1 in steps of 1; give the "
	    "task as I/N" },
	{ "auto/5", ARRAY("15", "10", "25", "5", "4"),
	    "SLURM_ARRAY_TASK_ID is a task of 4, not of 5" },
};

START_TEST(no_tasks)
{
	struct job_task task = { 9, 9, "x" };
	char why[OPT_TEXT_ROOM] = "";

	set_environment(bad[_i].environment);
	ck_assert(!task_parse(bad[_i].text, &task, why, sizeof(why)));
	ck_assert_str_eq(why, bad[_i].why);
	ck_assert_uint_eq(task.number, 9);
	ck_assert_uint_eq(task.of, 9);
	ck_assert_str_eq(task.from, "x");
}
END_TEST

/* Each part is for one task, whatever their number. */
START_TEST(parts)
{
	for (uint32_t of = 1; of < 20; of++)
		for (uint64_t part = 0; part < 50; part++) {
			unsigned owners = 0;

			for (uint32_t i = 0; i < of; i++)
				owners += task_has(&(struct job_task){ i, of, NULL }, part);
			ck_assert_uint_eq(owners, 1);
		}
	ck_assert(task_has(&(struct job_task){ 0, 1, NULL }, UINT64_MAX));
	ck_assert(task_has(&(struct job_task){ 2, 5, NULL }, 7));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("task");
	TCase *tcase = tcase_create("task");

	tcase_add_loop_test(tcase, tasks, 0, ROWS(good));
	tcase_add_loop_test(tcase, no_tasks, 0, ROWS(bad));
	tcase_add_test(tcase, parts);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
