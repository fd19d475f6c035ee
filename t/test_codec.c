/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"
int
main(void)
{
	return run_suite(suite_create("codec"));
}
