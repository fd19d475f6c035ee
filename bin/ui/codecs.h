/* SPDX-License-Identifier: BSD-2-Clause */
/* The options --codec and --level, which say how tensors are stored. */
#ifndef CACHEX_UI_CODECS_H
#define CACHEX_UI_CODECS_H

#include "lmdbcache.h"

/** The words of an OPT_CHOICE, behind one that stands for LC_CODEC_DEFAULT. */
#define CODEC_WORDS "none|lz4|shuffle-lz4|u8pack|u8pack-lz4|auto"

/** The codec of a choice; 0 is LC_CODEC_DEFAULT. */
lc_codec codec_of_choice(int choice);
/** The choice, 1 or more, of a codec that is not LC_CODEC_DEFAULT. */
int choice_of_codec(lc_codec codec);

/** The usage error for a level that no codec has; an exit status. */
int codec_check_level(int level);

/** Put a value, its tensors coded as chosen. */
LC_CHECKED lc_status codec_put(lc_cache *cache, lc_id id, const lc_value *value,
    int choice, int level);

#endif
