/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/checked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"

#define PIECE ((size_t)1 << 20) /* that is read at once to compare */

/* A source on its way. */
struct passing {
	const struct lc__source *source;
	struct lc__checksum *sum;
};

static lc_status
compare_end(struct passing *p)
{
	const struct lc__source *source = p->source;
	char hex[LC__CHECKSUM_HEX];

	return_if_error(lc__checksum_hex(p->sum, hex));
	if (strcmp(hex, source->sha256) == 0)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: SHA-256 is %.12s…, and should be %.12s…",
	    source->what, hex, source->sha256);
}

/* As the read() of a body. */
static lc_status
pass(void *ctx, uint64_t offset, void *out, size_t size)
{
	struct passing *p = ctx;
	const struct lc__body *body = &p->source->body;

	if (offset == 0) {
		lc__checksum_free(p->sum);
		p->sum = NULL;
		return_if_error(lc__checksum_new("sha256", &p->sum));
	}
	return_if_error(body->read(body->ctx, offset, out, size));
	return_if_error(lc__checksum_update(p->sum, out, size));
	if (p->source->team != NULL)
		return_if_error(lc__team_step(p->source->team, size));
	return offset + size == body->size ? compare_end(p) : LC_OK;
}

lc_status
lc__put_checked(struct lc__objects *store, const char *name,
    const struct lc__source *source, bool replace)
{
	struct passing p = { source, NULL };
	const struct lc__body body = { source->body.size, pass, &p, source->sha256 };
	const lc_status status = replace ? store->put(store, name, &body)
					 : store->put_new(store, name, &body);

	lc__checksum_free(p.sum);
	return status;
}

lc_status
lc__compare(const struct lc__source *source)
{
	struct passing p = { source, NULL };
	unsigned char *room = malloc(PIECE);
	uint64_t at = 0;
	lc_status status = room != NULL ? LC_OK : lc__no_memory(source->what);

	do {
		const uint64_t left = source->body.size - at;
		const size_t n = left < PIECE ? (size_t)left : PIECE;

		if (status == LC_OK)
			status = pass(&p, at, room, n);
		at += n;
	} while (status == LC_OK && at < source->body.size);
	lc__checksum_free(p.sum);
	free(room);
	return status;
}

/* ---- where bytes come from ------------------------------------------------------------ */

static lc_status
read_file(void *ctx, uint64_t offset, void *out, size_t size)
{
	unsigned char *at = out;

	while (size > 0) {
		const ssize_t n = pread(*(const int *)ctx, at, size, (off_t)offset);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return lc__error_sys(errno, "read");
		if (n == 0)
			return lc__error(LC_CHANGED, 0,
			    "became shorter while it was read");
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return LC_OK;
}

struct lc__body
lc__body_of_file(const int *fd, uint64_t size)
{
	return (struct lc__body){ size, read_file, (void *)(uintptr_t)fd, NULL };
}

static lc_status
read_object(void *ctx, uint64_t offset, void *out, size_t size)
{
	const struct lc__stored_object *stored = ctx;
	size_t got;

	return_if_error(stored->store->get_range(stored->store, stored->name, offset, out,
	    size, &got, NULL));
	if (got == size)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s/%s: ends after %llu bytes",
	    stored->store->url, stored->name, (unsigned long long)(offset + got));
}

struct lc__body
lc__body_of_object(const struct lc__stored_object *stored, uint64_t size)
{
	return (struct lc__body){ size, read_object, (void *)(uintptr_t)stored, NULL };
}
