/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/entries.h"

#include <string.h>

static int
visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int
entries_read(const char *dir, struct dirent ***out)
{
	return scandir(dir, out, visible, by_bytes);
}
