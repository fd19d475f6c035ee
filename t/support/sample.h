/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors that follow from a cache_id and a version, so that any mix-up is seen. */
#ifndef T_SAMPLE_H
#define T_SAMPLE_H

#include <stdbool.h>

#include "lmdbcache.h"

/** The smallest and the largest number of bytes of a sample. */
struct sample_range {
	size_t min, max;
};

/** At least the eight bytes that hold the version. */
#define SAMPLE_SMALL ((struct sample_range){ 8, 400 })

/** Room for any id of sample_id(). */
#define SAMPLE_ID_ROOM 700

/** The i-th of a set of ids: text, binary and long ones, all different. Its size. */
size_t sample_id(char out[SAMPLE_ID_ROOM], uint64_t i);

/** The tensor of (id, version): dtype, rank, size and bytes follow from them.
 *  From eight bytes up the first eight are the version. Free with sample_free(). */
void sample_make(lc_tensor *out, const void *id, size_t id_size,
    uint64_t version, struct sample_range range);
void sample_free(lc_tensor *tensor);

/** The version that a tensor of at least eight bytes says it has. */
uint64_t sample_version(const lc_tensor *tensor);

/** Same dtype, shape and bytes. */
bool sample_same(const lc_tensor *a, const lc_tensor *b);

/** @p tensor is what sample_make() gives. */
bool sample_is(const lc_tensor *tensor, const void *id, size_t id_size,
    uint64_t version, struct sample_range range);

/** Fill with bytes that follow from @p seed. */
void sample_fill(void *data, size_t size, uint64_t seed);

/** Put the sample of (id, version); the status of lc_put(). */
LC_CHECKED lc_status sample_put(lc_cache *cache, const void *id, size_t id_size,
    uint64_t version, struct sample_range range);

/** A one-dimensional u8 tensor of these bytes. */
lc_tensor sample_bytes(const void *data, size_t size);

/** How often to do what normally is done @p times: less under T_SLOW, more under T_LONG. */
unsigned sample_times(unsigned times);

/** The options that most tests start from: the defaults, and no flushes by time. */
lc_options sample_options(void);

/** Open or end the process. */
lc_cache *sample_open(const char *root, const char *module,
    const lc_options *options);

/** Give the module this length field, unless it has it; or end the process. */
void sample_set_length(lc_cache *cache, const char *field);

#endif
