/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/settings.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "codec/codec.h"

/* Offsets in the row. */
enum {
	at_codec = 0,      /* u32 */
	at_level = 4,      /* u32, two's complement */
	at_policy = 8,     /* u32 */
	at_evict = 12,     /* u32 */
	at_max_bytes = 16, /* u64 */
	at_checksum = 24,  /* u64, XXH3-64 of what stands before */
	row_size = 32
};

#define ROW_NAME "settings"

static void
set_defaults(lc_settings *out)
{
	memset(out, 0, sizeof(*out));
	out->struct_size = sizeof(*out);
	out->codec = LC_CODEC_NONE;
	out->policy = LC_EVOLVE;
	out->evict = LC_EVICT_OLDEST;
}

lc_status
lc__settings_check(const lc_settings *settings)
{
	return_if_error(lc__codec_check("settings", settings->codec,
	    settings->level));
	if (settings->codec == LC_CODEC_DEFAULT)
		return lc__error(LC_INVALID, 0, "settings: the codec of a module "
		    "must be named");
	if (settings->policy != LC_EVOLVE && settings->policy != LC_STRICT)
		return lc__error(LC_INVALID, 0, "settings: unknown policy %d",
		    (int)settings->policy);
	if (settings->evict != LC_EVICT_OLDEST &&
	    settings->evict != LC_EVICT_UNREAD)
		return lc__error(LC_INVALID, 0, "settings: unknown order of "
		    "eviction %d", (int)settings->evict);
	return LC_OK;
}

static void
encode(const lc_settings *settings, unsigned char out[row_size])
{
	lc__set32(out + at_codec, (uint32_t)settings->codec);
	lc__set32(out + at_level, (uint32_t)settings->level);
	lc__set32(out + at_policy, (uint32_t)settings->policy);
	lc__set32(out + at_evict, (uint32_t)settings->evict);
	lc__set64(out + at_max_bytes, settings->max_bytes);
	lc__set64(out + at_checksum, lc__hash64(out, at_checksum));
}

static bool
decode(const struct lc__slice *row, lc_settings *out)
{
	if (row->size != row_size || lc__get64(row->data + at_checksum) !=
	    lc__hash64(row->data, at_checksum))
		return false;
	out->codec = (lc_codec)lc__get32(row->data + at_codec);
	out->level = (int)lc__get32(row->data + at_level);
	out->policy = (lc_policy)lc__get32(row->data + at_policy);
	out->evict = (lc_evict)lc__get32(row->data + at_evict);
	out->max_bytes = lc__get64(row->data + at_max_bytes);
	return lc__settings_check(out) == LC_OK;
}

lc_status
lc__settings_load(struct lc__env *env, struct lc__txn *txn, lc_settings *out)
{
	struct lc__slice row;
	lc_status status;

	set_defaults(out);
	status = lc__txn_get_meta(txn, ROW_NAME, &row);
	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	if (decode(&row, out))
		return LC_OK;
	set_defaults(out);
	return lc__error(LC_CORRUPT, 0, "%s: the settings row is damaged",
	    lc__env_dir(env));
}

lc_status
lc__settings_mend(struct lc__env *env, struct lc__txn *txn, bool *mended)
{
	unsigned char row[row_size];
	lc_settings settings;
	const lc_status status = lc__settings_load(env, txn, &settings);

	*mended = status == LC_CORRUPT;
	if (!*mended)
		return status;
	encode(&settings, row);
	return lc__txn_put_meta(txn, ROW_NAME, row, row_size);
}

void
lc__known_settings_init(struct lc__known_settings *known)
{
	lc_settings settings;

	set_defaults(&settings);
	known->txn = 0;
	lc__settings_learn(known, 0, &settings);
}

void
lc__settings_learn(struct lc__known_settings *known, uint64_t txn,
    const lc_settings *settings)
{
	if (txn < known->txn)
		return;
	known->txn = txn;
	atomic_store(&known->codec, (int)settings->codec);
	atomic_store(&known->level, settings->level);
	atomic_store(&known->policy, (int)settings->policy);
	atomic_store(&known->evict, (int)settings->evict);
	atomic_store(&known->max_bytes, settings->max_bytes);
}

lc_status
lc__settings_store(struct lc__txn *txn, const lc_settings *settings)
{
	unsigned char row[row_size];

	encode(settings, row);
	return lc__txn_put_meta(txn, ROW_NAME, row, sizeof(row));
}
