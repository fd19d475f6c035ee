/* SPDX-License-Identifier: BSD-2-Clause */
#include "migrate/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

#define STATE "state"
#define STAMPED ((uint64_t)1 << 20)

/* clang-format off */
#define NUMBER(field) { #field, offsetof(struct lc__stage2_state, field), 0 }
#define COUNT(field) { #field, offsetof(struct lc__stage2_state, counts.field), 0 }
#define TEXT(field) { #field, offsetof(struct lc__stage2_state, field), \
	sizeof(((struct lc__stage2_state *)NULL)->field) }
/* clang-format on */

static const struct field {
	const char *name;
	size_t offset, room; /* room 0: a number */
} fields[] = {
	TEXT(file),
	NUMBER(generation),
	NUMBER(phase),
	NUMBER(rewriting),
	NUMBER(in),
	NUMBER(out),
	NUMBER(line),
	NUMBER(limit_line),
	NUMBER(passes),
	NUMBER(original_generation),
	COUNT(migrated),
	COUNT(enriched),
	COUNT(extracted),
	COUNT(skipped),
	COUNT(bad),
	COUNT(blank),
	COUNT(newer),
	COUNT(foreign),
	COUNT(left),
	COUNT(shared),
	COUNT(extreme),
	TEXT(recipe),
	TEXT(backup),
	TEXT(original),
	TEXT(stamp),
	TEXT(renewed),
};

lc_status
lc__stage2_module(const char *dir, lc_cache **out)
{
	lc_options options;

	lc_options_init(&options);
	options.flush_every = UINT32_MAX;
	options.chunk_bytes = (uint64_t)64 << 20;
	options.flush_interval_ms = 0;
	return lc_open(dir, "stage2", &options, out);
}

static lc_status
read_field(const lc_value *value, const struct field *field, unsigned char *state)
{
	const lc_value *part = lc_value_find(value, field->name);
	const char *text;
	uint64_t number;
	size_t size;

	if (field->room == 0) {
		return_if_error(lc_value_as_unsigned(part, &number));
		memcpy(state + field->offset, &number, sizeof(number));
		return LC_OK;
	}
	return_if_error(lc_value_as_str(part, &text, &size));
	if (size >= field->room)
		return lc__error(LC_CORRUPT, 0, "stage2: the state's %s is too long",
		    field->name);
	memcpy(state + field->offset, text, size + 1);
	return LC_OK;
}

lc_status
lc__stage2_load(lc_cache *cache, struct lc__stage2_state *out)
{
	const lc_value *value = NULL;
	lc_view view;
	lc_status status = lc_get(cache, STATE, strlen(STATE), &view);

	memset(out, 0, sizeof(*out));
	if (status == LC_OK)
		status = lc_view_value(&view, NULL, &value);
	for (size_t i = 0; status == LC_OK && i < sizeof(fields) / sizeof(fields[0]); i++)
		status = read_field(value, &fields[i], (unsigned char *)out);
	lc_view_release(&view);
	return status;
}

lc_status
lc__stage2_store(lc_cache *cache, const struct lc__stage2_state *state)
{
	const unsigned char *const bytes = (const unsigned char *)state;
	lc_value *value = lc_value_map();
	lc_status status;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const unsigned char *p = bytes + fields[i].offset;
		uint64_t number;
		memcpy(&number, p, fields[i].room == 0 ? sizeof(number) : 0);
		lc_value_set(value, fields[i].name,
		    fields[i].room == 0 ? lc_value_unsigned(number)
					: lc_value_str((const char *)p));
	}
	status = lc_put_value(cache, STATE, strlen(STATE), value);
	lc_value_free(value);
	return status == LC_OK ? lc_flush(cache) : status;
}

/* ---- stamps ------------------------------------------------------------------ */

static lc_status
hash_part(int fd, const char *path, uint64_t from, uint64_t to, struct lc__hash128 *hash)
{
	static const size_t step = 65536;
	unsigned char *bytes = malloc(step);
	lc_status status = LC_OK;

	if (bytes == NULL)
		return lc__no_memory(path);
	while (from < to) {
		const size_t want = to - from < step ? (size_t)(to - from) : step;
		const ssize_t n = pread(fd, bytes, want, (off_t)from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			status = n < 0 ? lc__error_sys(errno, "%s: read", path)
				       : lc__error(LC_CHANGED, 0,
					     "%s: the file became shorter", path);
			break;
		}
		lc__hash128_update(hash, bytes, (size_t)n);
		from += (uint64_t)n;
	}
	free(bytes);
	return status;
}

static lc_status
hash_ends(int fd, const char *path, uint64_t size, char out[LC__HASH128_HEX])
{
	struct lc__hash128 *hash = lc__hash128_new();
	const uint64_t head = size < STAMPED ? size : STAMPED;
	const uint64_t tail = size - head < STAMPED ? head : size - STAMPED;
	lc_status status;

	if (hash == NULL)
		return lc__no_memory(path);
	status = hash_part(fd, path, 0, head, hash);
	if (status == LC_OK)
		status = hash_part(fd, path, tail, size, hash);
	lc__hash128_hex(hash, out);
	lc__hash128_free(hash);
	return status;
}

lc_status
lc__stage2_stamp(int fd, const char *path, char out[LC__STAMP_ROOM])
{
	char hash[LC__HASH128_HEX];
	struct stat st;

	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	return_if_error(hash_ends(fd, path, (uint64_t)st.st_size, hash));
	snprintf(out, LC__STAMP_ROOM, "%" PRId64 ":%" PRId64 ".%09ld:%s",
	    (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, hash);
	return LC_OK;
}
