/* SPDX-License-Identifier: BSD-2-Clause */
/* Datasets and warehouses of them that are made up; every sample's bytes follow from
 * its number. */
#ifndef T_MADE_WAREHOUSE_H
#define T_MADE_WAREHOUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

#define MADE_MAX_BOXES 4u
#define MADE_FIRST 70u            /* samples of the first series, [3, 24, 32] */
#define MADE_SECOND 33u           /* and of the second, [3, 48, 16] */
#define MADE_IMAGE (3u * 24u * 32u * 2u) /* bytes of an image of either */
#define MADE_SAMPLES (MADE_FIRST + MADE_SECOND)

/** What may vary; zeros are the defaults. */
struct made_variant {
	uint32_t version;       /* shard_version, default 2 with metadata */
	bool bare;              /* version 2 without metadata and block checksums */
	bool no_sha256;         /* only XXH3 of shards in the manifest */
	bool no_about;          /* no member `warehouse`: a plain export */
	uint64_t shard_bytes;   /* default 100 KiB: about 20 samples */
	bool long_rows;         /* rows of 5 KiB, which fill blocks of their own */
	bool shapes;            /* rows give images another shape */
	const char *thresholds; /* JSON; default "{}" */
	const char *summary;    /* JSON; default of MADE_SAMPLES good frames and one bad */
	const char *recipe;     /* default "{\"made\":1}" */
};

/** A warehouse. Strings live until the program ends. */
struct made {
	const char *dataset;   /* directory of the sources */
	const char *warehouse; /* directory with `current` */
	const char *version;   /* directory of the version */
};

/** Make dataset and warehouse in a scratch directory. */
struct made made_warehouse(const struct made_variant *variant);
/** Another version of the same dataset in the same warehouse, which becomes current. */
void made_another(struct made *made, const struct made_variant *variant);

/** Whether a sample is the one of this number, every byte of it. */
bool made_is(const lc_sample *sample, uint64_t i, const struct made_variant *variant);

/** The bytes that sample @p i has of image, boxes and mask; until the next call. */
const void *made_image(uint64_t i);
const void *made_boxes(uint64_t i);
const void *made_mask(uint64_t i);

/** The default options but for the mode. */
lc_warehouse_options made_options(lc_warehouse_mode mode);

#endif
