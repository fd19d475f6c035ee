/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/codecs.h"

#include "ui/report.h"

#define FASTEST (-65537) /* as LZ4 has it */
#define DENSEST 12

static const lc_codec codecs[] = { LC_CODEC_DEFAULT, LC_CODEC_NONE, LC_CODEC_LZ4,
	LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK, LC_CODEC_U8PACK_LZ4, LC_CODEC_AUTO };

lc_codec
codec_of_choice(int choice)
{
	return codecs[choice];
}

int
choice_of_codec(lc_codec codec)
{
	const int n = (int)(sizeof(codecs) / sizeof(codecs[0]));
	int choice = 1;

	while (choice < n - 1 && codecs[choice] != codec)
		choice++;
	return choice;
}

int
codec_check_level(int level)
{
	if (level >= FASTEST && level <= DENSEST)
		return EXIT_DONE;
	return report_usage("--level: %d is not %d to %d", level, FASTEST, DENSEST);
}

lc_status
codec_put(lc_cache *cache, lc_id id, const lc_value *value, int choice, int level)
{
	const lc_codec codec = codec_of_choice(choice);

	if (codec == LC_CODEC_DEFAULT)
		return lc_put_value(cache, id.data, id.size, value);
	return lc_put_coded(cache, id.data, id.size, value, codec, level);
}
