/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/vectors.h"

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx"))) static void
clear(void)
{
	_mm256_zeroupper();
}

void
lc__vectors_clear(void)
{
	if (__builtin_cpu_supports("avx"))
		clear();
}
#else
void
lc__vectors_clear(void)
{
}
#endif
