/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/error.h"

lc_status
lc__pending_reserve(struct lc__pending *pending, size_t room)
{
	void *bytes;

	if (room <= pending->room)
		return LC_OK;
	/* Untouched pages of a mapping cost nothing, and mremap() never copies it. */
	if (pending->bytes != NULL)
		bytes = mremap(pending->bytes, pending->room, room, MREMAP_MAYMOVE);
	else
		bytes = mmap(NULL, room, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return lc__error_sys(errno, "pending writes: %zu bytes", room);
	pending->bytes = bytes;
	pending->room = room;
	return LC_OK;
}

/* Add an entry's index to the table, after others of the same slot. */
static void
link_entry(struct lc__pending *pending, uint32_t position)
{
	const uint32_t mask = pending->table_size - 1;
	uint32_t i = (uint32_t)(pending->entries[position].hash >> 32) & mask;

	while (pending->table[i] != 0)
		i = (i + 1) & mask;
	pending->table[i] = position + 1;
}

/* The slot of the table for a cache_id; NULL if there is none. */
static uint32_t *
find_slot(const struct lc__pending *pending, uint64_t hash, const void *id,
    size_t id_size)
{
	const uint32_t mask = pending->table_size - 1;
	struct lc__record record;

	if (pending->count == 0)
		return NULL;
	for (uint32_t i = (uint32_t)(hash >> 32) & mask; pending->table[i] != 0;
	     i = (i + 1) & mask) {
		const struct lc__pending_entry *entry =
		    &pending->entries[pending->table[i] - 1];
		if (entry->hash != hash)
			continue;
		lc__pending_record(pending, entry, &record);
		if (record.id.size == id_size && memcmp(record.id.data, id, id_size) == 0)
			return &pending->table[i];
	}
	return NULL;
}

/* Find a schema among those in use, or add it. Most records have the schema of the record
 * before. */
static lc_status
use_schema(struct lc__pending *pending, struct lc__known *known, uint16_t *out)
{
	const uint32_t id = atomic_load(&known->id);

	for (uint32_t i = pending->nschemas; i-- > 0;)
		if (pending->schemas[i].known == known && pending->schemas[i].id == id) {
			*out = (uint16_t)i;
			return LC_OK;
		}
	return_if_error(lc__array_reserve(&pending->schemas, &pending->schemas_room,
	    (size_t)pending->nschemas + 1, "pending writes"));
	pending->schemas[pending->nschemas].known = known;
	pending->schemas[pending->nschemas].id = id;
	*out = (uint16_t)pending->nschemas++;
	return LC_OK;
}

/* Get memory for one more entry, so that nothing after it can fail. */
static lc_status
prepare_entry(struct lc__pending *pending, uint64_t hash, struct lc__known *known,
    struct lc__pending_entry *entry)
{
	if (pending->count > UINT32_MAX / 4)
		return lc__no_memory("pending writes");
	return_if_error(lc__array_reserve(&pending->entries, &pending->entries_room,
	    (size_t)pending->count + 1, "pending writes"));
	if (pending->count + 1 > pending->table_size / 4 * 3) {
		const uint32_t size = pending->table_size ? pending->table_size * 2 : 512;
		uint32_t *table = calloc(size, sizeof(*table));

		if (table == NULL)
			return lc__no_memory("pending writes");
		free(pending->table);
		pending->table = table;
		pending->table_size = size;
		for (uint32_t i = 0; i < pending->count; i++)
			if (!pending->entries[i].dead)
				link_entry(pending, i);
	}
	entry->hash = hash;
	entry->unit = (uint32_t)(pending->used / LC__RECORD_ALIGN);
	entry->deletes = known == NULL;
	return known == NULL ? LC_OK : use_schema(pending, known, &entry->schema);
}

/* A record was written: seal it and make it the newest of its cache_id. */
static void
add_entry(struct lc__pending *pending, const struct lc__pending_entry *entry,
    const lc_id *id, unsigned char *record)
{
	uint32_t *slot;

	if (!entry->deletes && pending->schemas[entry->schema].id != LC__SCHEMA_NEW)
		lc__record_seal(record, pending->schemas[entry->schema].id);
	slot = find_slot(pending, entry->hash, id->data, id->size);
	pending->entries[pending->count++] = *entry;
	if (slot == NULL) {
		link_entry(pending, pending->count - 1);
	} else {
		pending->entries[*slot - 1].dead = true;
		*slot = pending->count;
	}
}

lc_status
lc__pending_add(struct lc__pending *pending, uint64_t hash, const struct lc__draft *draft,
    size_t size, struct lc__known *known)
{
	struct lc__pending_entry entry = { 0 };
	unsigned char *bytes = pending->bytes + pending->used;

	return_if_error(prepare_entry(pending, hash, known, &entry));
	lc__record_encode(bytes, size, draft);
	pending->used += size;
	add_entry(pending, &entry, &draft->id, bytes);
	return LC_OK;
}

lc_status
lc__pending_add_record(struct lc__pending *pending, uint64_t hash,
    const struct lc__record *record, struct lc__known *known)
{
	struct lc__pending_entry entry = { 0 };
	unsigned char *bytes = pending->bytes + pending->used;

	return_if_error(prepare_entry(pending, hash, known, &entry));
	memcpy(bytes, lc__record_start(record), record->size);
	pending->used += record->size;
	add_entry(pending, &entry, &record->id, bytes);
	return LC_OK;
}

lc_status
lc__pending_add_large(struct lc__pending *pending, uint64_t hash, struct lc__large *large,
    struct lc__known *known)
{
	struct lc__pending_entry entry = { .large = true };
	struct lc__record record;

	return_if_error(lc__array_reserve(&pending->large, &pending->large_room,
	    pending->nlarge + 1, "pending writes"));
	return_if_error(prepare_entry(pending, hash, known, &entry));
	entry.unit = (uint32_t)pending->nlarge;
	pending->large[pending->nlarge++] = large;
	/* Encoded by this process: it always parses. */
	(void)lc__record_parse(large->bytes, large->room, &record);
	pending->large_bytes += record.size;
	add_entry(pending, &entry, &record.id, large->bytes);
	return LC_OK;
}

const struct lc__pending_entry *
lc__pending_find(const struct lc__pending *pending, uint64_t hash, const void *id,
    size_t id_size)
{
	const uint32_t *slot = find_slot(pending, hash, id, id_size);

	return slot == NULL ? NULL : &pending->entries[*slot - 1];
}

void
lc__pending_record(const struct lc__pending *pending,
    const struct lc__pending_entry *entry, struct lc__record *out)
{
	const size_t offset = (size_t)entry->unit * LC__RECORD_ALIGN;
	const struct lc__large *large;

	/* Encoded by this process: it always parses. */
	if (!entry->large) {
		(void)lc__record_parse(pending->bytes + offset, pending->used - offset,
		    out);
		return;
	}
	large = pending->large[entry->unit];
	(void)lc__record_parse(large->bytes, large->room, out);
}

void
lc__pending_complete(struct lc__pending *pending, const struct lc__draft *draft)
{
	for (uint32_t i = pending->count; i-- > 0;) {
		const struct lc__pending_entry *entry = &pending->entries[i];
		struct lc__record record;
		struct lc__large *large;
		uint32_t schema;

		if (lc__pending_rest(pending, entry) != draft)
			continue;
		large = pending->large[entry->unit];
		schema = pending->schemas[entry->schema].id;
		lc__pending_record(pending, entry, &record);
		lc__record_encode(large->bytes, record.size, draft);
		if (schema != LC__SCHEMA_NEW)
			lc__record_seal(large->bytes, schema);
		large->rest = NULL;
		return;
	}
}

void
lc__pending_clear(struct lc__pending *pending, size_t keep, struct lc__large_pool *pool)
{
	for (size_t i = 0; i < pending->nlarge; i++)
		lc__large_give(pool, pending->large[i], keep);
	pending->nlarge = 0;
	pending->large_bytes = 0;
	pending->used = 0;
	pending->count = 0;
	pending->nschemas = 0;
	if (pending->table_size > 0)
		memset(pending->table, 0, pending->table_size * sizeof(*pending->table));
	if (pending->room > keep) {
		munmap(pending->bytes, pending->room);
		pending->bytes = NULL;
		pending->room = 0;
	}
}

void
lc__pending_free_parts(struct lc__pending *pending)
{
	if (pending->bytes != NULL)
		munmap(pending->bytes, pending->room);
	for (size_t i = 0; i < pending->nlarge; i++)
		lc__large_free(pending->large[i]);
	free(pending->large);
	free(pending->entries);
	free(pending->table);
	free(pending->schemas);
}

void
lc__pending_free(struct lc__pending *pending)
{
	if (pending == NULL)
		return;
	lc__pending_free_parts(pending);
	free(pending);
}
