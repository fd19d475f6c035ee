/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sum of the lines "NAME: n kB" of a file in /proc whose name starts so. */
static double
sum_of_lines(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[256];
	double sum = 0;

	if (file == NULL)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *colon = strchr(line, ':');
		if (colon != NULL && strncmp(line, name, strlen(name)) == 0)
			sum += strtod(colon + 1, NULL) * 1024;
	}
	fclose(file);
	return sum;
}

double
memory_anonymous(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	return sum_of_lines(path, "RssAnon");
}

double
memory_private(void)
{
	return sum_of_lines("/proc/self/smaps_rollup", "Private_Dirty");
}

double
memory_mapped(void)
{
	return sum_of_lines("/proc/self/smaps_rollup", "Private_Clean");
}

double
memory_total(void)
{
	return sum_of_lines("/proc/meminfo", "MemTotal");
}
