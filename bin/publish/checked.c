/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/checked.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"

/* A source being put. */
struct passing {
	const struct lc__source *source;
	struct lc__checksum *sum;
	uint64_t counted; /* bytes reported to the team */
};

static lc_status
compare_end(struct lc__checksum *sum, const char *what, const char *sha256)
{
	char hex[LC__CHECKSUM_HEX];

	return_if_error(lc__checksum_hex(sum, hex));
	if (strcmp(hex, sha256) == 0)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: SHA-256 is %.12s…, and should be %.12s…",
	    what, hex, sha256);
}

/* For use as the read() of a body. */
static lc_status
pass(void *ctx, uint64_t offset, void *out, size_t size)
{
	struct passing *p = ctx;
	const struct lc__body *body = &p->source->body;

	if (offset == 0) {
		lc__checksum_free(p->sum);
		p->sum = NULL;
		if (p->source->team != NULL)
			lc__team_again(p->source->team, p->counted);
		p->counted = 0;
		return_if_error(lc__checksum_new("sha256", &p->sum));
	}
	return_if_error(body->read(body->ctx, offset, out, size));
	return_if_error(lc__checksum_update(p->sum, out, size));
	p->counted += size;
	if (p->source->team != NULL)
		return_if_error(lc__team_step(p->source->team, size));
	if (offset + size < body->size)
		return LC_OK;
	return compare_end(p->sum, p->source->what, p->source->sha256);
}

lc_status
lc__put_checked(struct lc__objects *store, const char *name,
    const struct lc__source *source, bool replace)
{
	struct passing p = { source, NULL, 0 };
	const struct lc__body body = { source->body.size, pass, &p, source->sha256 };
	const lc_status status = replace ? store->put(store, name, &body)
					 : store->put_new(store, name, &body);

	lc__checksum_free(p.sum);
	return status;
}

/* ---- objects -------------------------------------------------------------------------- */

/* An object being read. */
struct taking {
	const struct lc__stored_object *wanted;
	const struct lc__object_sink *sink;
	struct lc__checksum *sum;
	struct lc__object about;
};

static lc_status
wrong_size(const struct taking *t)
{
	return lc__error(LC_CORRUPT, 0, "%s: has %llu bytes, not %llu", t->wanted->name,
	    (unsigned long long)t->about.size, (unsigned long long)t->wanted->size);
}

static lc_status
take(void *ctx, const void *data, size_t size)
{
	struct taking *t = ctx;

	if (t->about.size != t->wanted->size)
		return wrong_size(t);
	return_if_error(lc__checksum_update(t->sum, data, size));
	if (t->sink != NULL)
		return_if_error(t->sink->write(t->sink->ctx, data, size));
	return t->wanted->team != NULL ? lc__team_step(t->wanted->team, size) : LC_OK;
}

lc_status
lc__get_checked(const struct lc__stored_object *wanted,
    const struct lc__object_sink *sink)
{
	struct taking t = { .wanted = wanted, .sink = sink };
	const struct lc__object_sink takes = { take, &t, NULL };
	lc_status status = lc__checksum_new("sha256", &t.sum);

	if (status == LC_OK)
		status = wanted->store->get(wanted->store, wanted->name, 0, &takes,
		    &t.about);
	if (status == LC_OK && t.about.size != wanted->size)
		status = wrong_size(&t);
	if (status == LC_OK)
		status = compare_end(t.sum, wanted->name, wanted->sha256);
	lc__checksum_free(t.sum);
	return status;
}

/* ---- sources of bytes ------------------------------------------------------------ */

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
