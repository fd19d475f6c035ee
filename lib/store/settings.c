/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/settings.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/words.h"
#include "codec/codec.h"
#include "store/cache.h"
#include "store/record.h"

/* Offsets in the row. */
enum {
	at_codec = 0,      /* u32 */
	at_level = 4,      /* u32, two's complement */
	at_policy = 8,     /* u16 */
	at_flags = 10,     /* u16 */
	at_evict = 12,     /* u32 */
	at_max_bytes = 16, /* u64 */
	at_field = 24 /* the length field without a terminator, empty for none; then a
			      row's checksum */
};

/* The longest row. */
#define ROW_ROOM (at_field + LC_LENGTH_FIELD_MAX + LC__ROW_SUM)

#define ROW_NAME "settings"

/* Flags in the row. */
#define NO_AUTO_COMPACT 0x01u

void
lc__settings_default(lc_settings *out)
{
	memset(out, 0, sizeof(*out));
	out->struct_size = sizeof(*out);
	out->codec = LC_CODEC_NONE;
	out->policy = LC_EVOLVE;
	out->evict = LC_EVICT_OLDEST;
	out->auto_compact = 1;
}

lc_status
lc__settings_check(const lc_settings *settings)
{
	return_if_error(lc__codec_check("settings", settings->codec, settings->level));
	if (settings->codec == LC_CODEC_DEFAULT)
		return lc__error(LC_INVALID, 0,
		    "settings: the codec of a module must be named");
	if (settings->policy != LC_EVOLVE && settings->policy != LC_STRICT)
		return lc__error(LC_INVALID, 0, "settings: unknown policy %d",
		    (int)settings->policy);
	if (settings->evict != LC_EVICT_OLDEST && settings->evict != LC_EVICT_UNREAD)
		return lc__error(LC_INVALID, 0, "settings: unknown order of eviction %d",
		    (int)settings->evict);
	if (settings->auto_compact != 0 && settings->auto_compact != 1)
		return lc__error(LC_INVALID, 0, "settings: auto_compact must be 0 or 1");
	if (memchr(settings->length_field, '\0', sizeof(settings->length_field)) == NULL)
		return lc__error(LC_INVALID, 0,
		    "settings: the length field is above the limit of %d bytes",
		    LC_LENGTH_FIELD_MAX);
	if (!lc__is_length_field(settings->length_field))
		return lc__error(LC_INVALID, 0, "settings: length field %s: not a path",
		    lc__quote_id(settings->length_field, strlen(settings->length_field)));
	return LC_OK;
}

/* ---- the row ------------------------------------------------------------- */

static bool
decode(const struct lc__slice *row, lc_settings *out)
{
	const size_t field = row->size - at_field - LC__ROW_SUM;
	unsigned flags;

	if (row->size < at_field + LC__ROW_SUM || row->size > ROW_ROOM ||
	    !lc__row_intact(row->data, row->size, lc__row_seed(ROW_NAME)))
		return false;
	out->codec = (lc_codec)lc__get32(row->data + at_codec);
	out->level = (int)lc__get32(row->data + at_level);
	out->policy = (lc_policy)lc__get16(row->data + at_policy);
	flags = lc__get16(row->data + at_flags);
	out->auto_compact = (flags & NO_AUTO_COMPACT) == 0;
	out->evict = (lc_evict)lc__get32(row->data + at_evict);
	out->max_bytes = lc__get64(row->data + at_max_bytes);
	memset(out->length_field, 0, sizeof(out->length_field));
	memcpy(out->length_field, row->data + at_field, field);
	return (flags & ~NO_AUTO_COMPACT) == 0 && strlen(out->length_field) == field &&
	    lc__settings_check(out) == LC_OK;
}

bool
lc__settings_parse(const void *bytes, size_t size, lc_settings *out)
{
	const struct lc__slice row = { bytes, size };

	lc__settings_default(out);
	return decode(&row, out);
}

lc_status
lc__settings_load(struct lc__env *env, struct lc__txn *txn, lc_settings *out)
{
	struct lc__slice row;
	lc_status status;

	lc__settings_default(out);
	status = lc__txn_get_meta(txn, ROW_NAME, &row);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the settings row is missing; cachex recover repairs it",
		    lc__env_dir(env));
	return_if_error(status);
	if (decode(&row, out))
		return LC_OK;
	lc__settings_default(out);
	return lc__error(LC_CORRUPT, 0,
	    "%s: the settings row is damaged; cachex recover repairs it",
	    lc__env_dir(env));
}

lc_status
lc__settings_store(struct lc__txn *txn, const lc_settings *settings)
{
	const size_t field = strlen(settings->length_field);
	unsigned char row[ROW_ROOM];

	lc__set32(row + at_codec, (uint32_t)settings->codec);
	lc__set32(row + at_level, (uint32_t)settings->level);
	lc__set16(row + at_policy, (uint16_t)settings->policy);
	lc__set16(row + at_flags, settings->auto_compact ? 0 : NO_AUTO_COMPACT);
	lc__set32(row + at_evict, (uint32_t)settings->evict);
	lc__set64(row + at_max_bytes, settings->max_bytes);
	memcpy(row + at_field, settings->length_field, field);
	lc__set64(row + at_field + field,
	    lc__row_sum(row, at_field + field, lc__row_seed(ROW_NAME)));
	return lc__txn_put_meta(txn, ROW_NAME, row, at_field + field + LC__ROW_SUM);
}

lc_status
lc__settings_reset(struct lc__txn *txn)
{
	lc_settings settings;

	lc__settings_default(&settings);
	return lc__settings_store(txn, &settings);
}

void
lc__known_settings_init(struct lc__known_settings *known)
{
	lc_settings settings;

	lc__settings_default(&settings);
	known->txn = 0;
	lc__settings_learn_locked(known, 0, &settings);
}

void
lc__settings_learn_locked(struct lc__known_settings *known, uint64_t txn,
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

/* ---- the calls ----------------------------------------------------------- */

lc_status
lc_settings_get(lc_cache *cache, lc_settings *out)
{
	struct lc__snapshot *snapshot;
	lc_settings settings;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "settings: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = lc__settings_load(cache->env, snapshot->txn, &settings);
	lc__snapshot_give(snapshot, 0);
	if (status == LC_OK)
		*out = settings;
	return status;
}

/* A module with records, dead ones included, keeps its length field: sums of their
 * lengths are based on it. */
static lc_status
check_field(struct lc__env *env, struct lc__txn *txn, const lc_settings *settings)
{
	struct lc__state state = { 0 };
	struct lc__slice row;
	lc_settings old;
	uint64_t records;
	lc_status status;

	return_if_error(lc__settings_load(env, txn, &old));
	if (strcmp(old.length_field, settings->length_field) == 0)
		return LC_OK;
	status = lc__txn_get_meta(txn, "state", &row);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the state row is missing",
		    lc__env_dir(env));
	if (status == LC_OK)
		status = lc__state_decode(row.data, row.size, &state);
	records = state.records;
	lc__state_free(&state);
	if (status != LC_OK)
		return lc__error_prefix("%s: state row", lc__env_dir(env));
	if (records > 0)
		return lc__error(LC_INVALID, 0,
		    "settings: the length "
		    "field of a module with records cannot be changed");
	return LC_OK;
}

static lc_status
store_once(struct lc__env *env, const lc_settings *settings, uint64_t *id)
{
	struct lc__txn *txn;
	lc_status status;

	return_if_error(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	*id = lc__txn_id(txn);
	status = check_field(env, txn, settings);
	if (status == LC_OK)
		status = lc__settings_store(txn, settings);
	if (status == LC_OK)
		return lc__txn_commit(txn);
	lc__txn_abort(txn);
	return status;
}

lc_status
lc_settings_set(lc_cache *cache, const lc_settings *settings)
{
	uint64_t txn = 0;
	lc_status status;

	if (settings->struct_size != sizeof(*settings))
		return lc__error(LC_INVALID, 0, "settings: struct_size is not set");
	return_if_error(lc__settings_check(settings));
	return_if_error(lc__check_writable(cache, "settings"));
	status = store_once(cache->env, settings, &txn);
	while (status == LC_MAP_FULL) {
		return_if_error(lc__env_grow(cache->env));
		status = store_once(cache->env, settings, &txn);
	}
	if (status != LC_OK)
		return status;
	lc__env_lock(cache->env);
	lc__settings_learn_locked(&lc__module_of(cache->env)->settings, txn, settings);
	lc__env_unlock(cache->env);
	return LC_OK;
}

/* ---- words --------------------------------------------------------------- */

static const char *const policies[] = {
	[LC_EVOLVE] = "evolve",
	[LC_STRICT] = "strict",
	NULL,
};
static const char *const evictions[] = {
	[LC_EVICT_OLDEST] = "oldest",
	[LC_EVICT_UNREAD] = "unread",
	NULL,
};

const char *
lc_policy_name(lc_policy policy)
{
	return lc__word(policies, (unsigned)policy);
}

lc_status
lc_policy_parse(const char *name, lc_policy *out)
{
	unsigned i;

	return_if_error(lc__word_parse("policy", policies, name, &i));
	*out = (lc_policy)i;
	return LC_OK;
}

const char *
lc_evict_name(lc_evict evict)
{
	return lc__word(evictions, (unsigned)evict);
}

lc_status
lc_evict_parse(const char *name, lc_evict *out)
{
	unsigned i;

	return_if_error(lc__word_parse("order of eviction", evictions, name, &i));
	*out = (lc_evict)i;
	return LC_OK;
}
