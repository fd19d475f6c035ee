/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/stash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "env/share.h"

/* ---- entries ------------------------------------------------------------------- */

#define MAGIC "cxstash1"
#define SUMMED 16    /* start of the bytes covered by the checksum */
#define ITEM_HEAD 20 /* bytes of an item before its id */
#define FRAME_ROW 16

uint64_t
lc__stashed_source(lc_id fingerprint, const char *key)
{
	return lc__hash64_seed(fingerprint.data, fingerprint.size,
	    lc__hash64(key, strlen(key)));
}

static void
append32(struct lc__buf *out, uint32_t number)
{
	unsigned char bytes[4];

	lc__set32(bytes, number);
	lc__buf_append(out, bytes, sizeof(bytes));
}

static uint64_t
line_of(const struct lc__item *item, const struct lc__line_place *behind)
{
	return behind[item->tag].line - 1;
}

static uint64_t
payload_hash(const struct lc__item *item)
{
	return lc__hash64(item->payload.data, item->payload.size);
}

lc_status
lc__stashed_write(uint64_t source, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame, struct lc__buf *out)
{
	static const unsigned char later[16];
	const size_t start = out->size;
	uint64_t bytes = 0;

	lc__buf_append(out, MAGIC, 8);
	lc__buf_append(out, later, sizeof(later));
	lc__buf_append64(out, source);
	append32(out, (uint32_t)batch->count);
	append32(out, (uint32_t)(batch->n_frames - first_frame));
	for (size_t i = 0; i < batch->count; i++) {
		const struct lc__item *item = &batch->items[i];

		lc__buf_append64(out, line_of(item, behind));
		lc__buf_append64(out, payload_hash(item));
		append32(out, (uint32_t)item->id.size);
		lc__buf_append(out, item->id.data, item->id.size);
	}
	for (size_t i = first_frame; i < batch->n_frames; i++) {
		const struct lc__buf *frame = &batch->frames[i];

		lc__buf_append64(out, frame->size);
		lc__buf_append64(out, lc__hash64(frame->data, frame->size));
		bytes += frame->size;
	}
	if (out->failed)
		return lc__no_memory(NULL);
	lc__set64(out->data + start + 16, out->size - start + bytes);
	lc__set64(out->data + start + 8,
	    lc__hash64(out->data + start + SUMMED, out->size - start - SUMMED));
	return LC_OK;
}

uint64_t
lc__stashed_size(const unsigned char *head, uint64_t most)
{
	const uint64_t size = lc__get64(head + 16);

	return memcmp(head, MAGIC, 8) == 0 && size >= LC__STASHED_HEAD && size <= most
	    ? size
	    : 0;
}

/* Skip the items, whose lines must ascend; returns their end, NULL if they are
 * invalid. */
static const unsigned char *
read_items(const unsigned char *at, const unsigned char *end, struct lc__stashed *out)
{
	for (uint32_t i = 0; i < out->items; i++) {
		uint64_t line;
		uint32_t id_size;

		if ((size_t)(end - at) < ITEM_HEAD)
			return NULL;
		line = lc__get64(at);
		id_size = lc__get32(at + 16);
		at += ITEM_HEAD;
		if (id_size == 0 || id_size > LC_MAX_ID || (size_t)(end - at) < id_size ||
		    (i > 0 && line <= out->last))
			return NULL;
		if (i == 0)
			out->first = line;
		out->last = line;
		at += id_size;
	}
	return at;
}

/* The frames' bytes must be the rest. */
static bool
check_frames(const struct lc__stashed *entry, const unsigned char *end)
{
	const unsigned char *at = entry->data;

	for (uint32_t i = 0; i < entry->frames; i++) {
		const unsigned char *row = entry->table + (size_t)i * FRAME_ROW;
		const uint64_t size = lc__get64(row);

		if (size > (uint64_t)(end - at) ||
		    lc__hash64(at, (size_t)size) != lc__get64(row + 8))
			return false;
		at += size;
	}
	return at == end;
}

bool
lc__stashed_read(const unsigned char *bytes, size_t size, struct lc__stashed *out)
{
	const unsigned char *end = bytes + size;

	if (size < LC__STASHED_HEAD || lc__stashed_size(bytes, size) != size)
		return false;
	out->source = lc__get64(bytes + 24);
	out->items = lc__get32(bytes + 32);
	out->frames = lc__get32(bytes + 36);
	out->item_at = bytes + LC__STASHED_HEAD;
	if (out->items == 0 || out->frames == 0)
		return false;
	out->table = read_items(out->item_at, end, out);
	if (out->table == NULL || out->frames > (size_t)(end - out->table) / FRAME_ROW)
		return false;
	out->data = out->table + (size_t)out->frames * FRAME_ROW;
	return lc__hash64(bytes + SUMMED, (size_t)(out->data - bytes) - SUMMED) ==
	    lc__get64(bytes + 8) &&
	    check_frames(out, end);
}

/* A frame that is not a valid answer gives no values. */
static lc_status
answer_frame(struct lc__answer *answer, struct lc__subbatch *subbatch,
    const unsigned char *bytes, size_t size,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx)
{
	struct lc__answered got;
	lc_status status = lc__answer_number(bytes, size, &subbatch->number);

	if (status == LC_OK)
		status = lc__answer_read(answer, subbatch, bytes, size);
	if (status == LC_OK)
		status = lc__answer_take(answer, subbatch, check, ctx, &got);
	if (status == LC_OK)
		lc__subbatch_prune(subbatch);
	return status == LC_INVALID ? LC_OK : status;
}

static lc_status
answer_all(const struct lc__stashed *entry, struct lc__answer *answer,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch)
{
	struct lc__subbatch *subbatch = lc__subbatch_of(batch);
	const unsigned char *at = entry->data;
	lc_status status = LC_OK;

	if (subbatch == NULL)
		return lc__no_memory(NULL);
	for (uint32_t i = 0; i < entry->frames && subbatch->count > 0 && status == LC_OK;
	     i++) {
		const size_t size = (size_t)lc__get64(
		    entry->table + (size_t)i * FRAME_ROW);

		status = answer_frame(answer, subbatch, at, size, check, ctx);
		at += size;
	}
	lc__subbatch_free(subbatch);
	return status;
}

/* Both have their items in the order of the lines. */
static size_t
move_values(struct lc__items *batch, const struct lc__line_place *behind,
    struct lc__items *kept)
{
	size_t found = 0;

	for (size_t i = 0, k = 0; i < batch->count && k < kept->count;) {
		struct lc__item *item = &batch->items[i], *from = &kept->items[k];
		const unsigned char *bytes = (const unsigned char *)(uintptr_t)from->tag;
		const uint64_t line = line_of(item, behind);
		const uint64_t other = lc__get64(bytes);

		i += line <= other;
		k += other <= line;
		if (line != other || item->outcome != LC__ITEM_OPEN ||
		    from->outcome != LC__ITEM_DONE || item->id.size != from->id.size ||
		    memcmp(item->id.data, from->id.data, item->id.size) != 0 ||
		    payload_hash(item) != lc__get64(bytes + 8))
			continue;
		item->value = from->value;
		item->outcome = LC__ITEM_DONE;
		from->value = NULL;
		found++;
	}
	return found;
}

lc_status
lc__stashed_give(const struct lc__stashed *entry, struct lc__answer *answer,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found)
{
	struct lc__items *kept = lc__items_new(entry->items);
	const unsigned char *at = entry->item_at;
	lc_status status;

	if (kept == NULL)
		return lc__no_memory(NULL);
	/* Its items as a batch, to be matched with the answers. */
	for (uint32_t i = 0; i < entry->items; i++) {
		const uint32_t id_size = lc__get32(at + 16);

		kept->items[i].id = (lc_id){ at + ITEM_HEAD, id_size };
		kept->items[i].tag = (uintptr_t)at;
		at += ITEM_HEAD + id_size;
	}
	status = answer_all(entry, answer, check, ctx, kept);
	*found = status == LC_OK ? move_values(batch, behind, kept) : 0;
	lc__items_free(kept);
	return status;
}

/* ---- the file ------------------------------------------------------------------ */

/* How many useless bytes a file may have beyond as many as are useful. */
#define SLACK ((uint64_t)8 << 20)
/* Pieces of a write. */
#define PIECES 256

/* The position of an entry. */
struct row {
	uint64_t offset, size;
	uint64_t first, last; /* lines */
};

struct lc__stash {
	char *path;
	int fd; /* -1: there is no file */
	uint64_t source;
	uint64_t size;    /* of the file */
	struct row *rows; /* entries in use; first those found at the start, by their
	                   * first lines */
	size_t count, room;
	size_t before;            /* how many were found at the start */
	size_t next;              /* the first record that is not for earlier lines */
	struct lc__buf bytes;     /* memory for writing */
	struct lc__answer answer; /* memory for reading */
};

char *
lc__stash_path(const char *dir, uint32_t input)
{
	char *path;

	return asprintf(&path, "%s/fill.%u.part", dir, (unsigned)input) < 0 ? NULL : path;
}

static lc_status
add_row(struct lc__stash *s, const struct row *row)
{
	return_if_error(lc__array_reserve(&s->rows, &s->room, s->count + 1, NULL));
	s->rows[s->count++] = *row;
	return LC_OK;
}

/* ---- opening ------------------------------------------------------------------ */

/* Read an entry; LC_CORRUPT if it is invalid. */
static lc_status
read_entry(const struct lc__stash *s, uint64_t offset, uint64_t size,
    struct lc__buf *bytes, struct lc__stashed *out)
{
	bytes->size = 0;
	if (lc__buf_append(bytes, NULL, (size_t)size) == NULL)
		return lc__no_memory(NULL);
	for (size_t at = 0; at < size;) {
		const ssize_t n = pread(s->fd, bytes->data + at, size - at,
		    (off_t)(offset + at));
		if (n <= 0 && (n == 0 || errno != EINTR))
			return lc__error(LC_CORRUPT, 0, "%s: read", s->path);
		at += n > 0 ? (size_t)n : 0;
	}
	return lc__stashed_read(bytes->data, (size_t)size, out)
	    ? LC_OK
	    : lc__error(LC_CORRUPT, 0, "%s: damaged", s->path);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Find the useful entries. Entries after an incomplete one are lost with it. */
static lc_status
scan(struct lc__stash *s, uint64_t line)
{
	unsigned char head[LC__STASHED_HEAD];
	struct lc__stashed entry;
	uint64_t offset = 0, size;
	lc_status status = LC_OK;

	while (status == LC_OK && s->size - offset >= sizeof(head) &&
	    pread(s->fd, head, sizeof(head), (off_t)offset) == (ssize_t)sizeof(head)) {
		size = lc__stashed_size(head, s->size - offset);
		if (size == 0)
			break;
		status = read_entry(s, offset, size, &s->bytes, &entry);
		if (status == LC_OK && entry.source == s->source && entry.last >= line)
			status = add_row(s,
			    &(struct row){ offset, size, entry.first, entry.last });
		if (status == LC_OK)
			offset += size;
	}
	if (status == LC_NO_MEMORY)
		return status;
	if (ftruncate(s->fd, (off_t)offset) == -1)
		return lc__error_sys(errno, "%s: truncate", s->path);
	s->size = offset;
	s->before = s->count;
	if (s->count > 0)
		qsort(s->rows, s->count, sizeof(*s->rows), compare_rows);
	return LC_OK;
}

static int
open_file(const char *path, int flags)
{
	const int fd = lc__open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | flags,
	    0666);

	if (fd != -1 && (flags & O_CREAT))
		lc__share_new_path(path, fd);
	return fd;
}

static lc_status
start(struct lc__stash *s, uint64_t line)
{
	struct stat st;

	s->fd = open_file(s->path, 0);
	if (s->fd == -1)
		return errno == ENOENT ? LC_OK
				       : lc__error_sys(errno, "%s: open", s->path);
	if (fstat(s->fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", s->path);
	if (!S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: not a regular file", s->path);
	s->size = (uint64_t)st.st_size;
	return scan(s, line);
}

static void
free_stash(struct lc__stash *s)
{
	if (s->fd != -1)
		close(s->fd);
	lc__answer_free(&s->answer);
	lc__buf_free(&s->bytes);
	free(s->rows);
	free(s->path);
	free(s);
}

/* Remove the remains of a killed rewrite too. */
static void
remove_files(const char *path)
{
	char *new_path;

	(void)unlink(path);
	if (asprintf(&new_path, "%s.new", path) < 0)
		return;
	(void)unlink(new_path);
	free(new_path);
}

lc_status
lc__stash_open(const char *path, uint64_t source, uint64_t line, struct lc__stash **out)
{
	struct lc__stash *s = calloc(1, sizeof(*s));
	lc_status status;

	if (s == NULL || (s->path = strdup(path)) == NULL) {
		free(s);
		return lc__no_memory(NULL);
	}
	s->fd = -1;
	s->source = source;
	status = start(s, line);
	if (status == LC_OK)
		*out = s;
	else
		free_stash(s);
	return status;
}

void
lc__stash_close(struct lc__stash *s)
{
	if (s == NULL)
		return;
	if (s->fd != -1 && s->count == 0)
		remove_files(s->path);
	free_stash(s);
}

void
lc__stash_remove(const char *dir, uint32_t input)
{
	char *path = lc__stash_path(dir, input);

	if (path != NULL)
		remove_files(path);
	free(path);
}

/* ---- adding ------------------------------------------------------------------- */

/* Append, in a single write unless it is very large. */
static lc_status
write_pieces(const struct lc__stash *s, struct iovec *pieces, int n)
{
	while (n > 0) {
		ssize_t wrote = writev(s->fd, pieces, n);

		if (wrote == -1 && errno == EINTR)
			continue;
		if (wrote == -1)
			return lc__error_sys(errno, "%s: write", s->path);
		for (; n > 0 && (size_t)wrote >= pieces->iov_len; pieces++, n--)
			wrote -= (ssize_t)pieces->iov_len;
		if (n > 0) {
			pieces->iov_base = (char *)pieces->iov_base + wrote;
			pieces->iov_len -= (size_t)wrote;
		}
	}
	return LC_OK;
}

static lc_status
write_entry(struct lc__stash *s, const struct lc__items *batch, size_t frame,
    uint64_t *size)
{
	struct iovec pieces[PIECES] = { { s->bytes.data, s->bytes.size } };
	int n = 1;
	lc_status status = LC_OK;

	*size = s->bytes.size;
	for (; frame < batch->n_frames && status == LC_OK; frame++) {
		const struct lc__buf *bytes = &batch->frames[frame];

		if (n == PIECES) {
			status = write_pieces(s, pieces, n);
			n = 0;
		}
		pieces[n++] = (struct iovec){ bytes->data, bytes->size };
		*size += bytes->size;
	}
	return status == LC_OK ? write_pieces(s, pieces, n) : status;
}

lc_status
lc__stash_add(struct lc__stash *s, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame)
{
	const struct lc__item *items = batch->items;
	struct row row = {
		.offset = s->size,
		.first = behind[items[0].tag].line - 1,
		.last = behind[items[batch->count - 1].tag].line - 1,
	};
	lc_status status;

	s->bytes.size = 0;
	return_if_error(
	    lc__stashed_write(s->source, batch, behind, first_frame, &s->bytes));
	if (s->fd == -1)
		s->fd = open_file(s->path, O_CREAT);
	if (s->fd == -1)
		return lc__error_sys(errno, "%s: create", s->path);
	status = write_entry(s, batch, first_frame, &row.size);
	if (status == LC_OK)
		status = add_row(s, &row);
	if (status == LC_OK)
		s->size += row.size;
	else if (ftruncate(s->fd, (off_t)s->size) == -1)
		return status; /* its checksum shows that an entry is incomplete */
	return status;
}

/* ---- recalling ---------------------------------------------------------------- */

static lc_status
recall_row(struct lc__stash *s, const struct row *row,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found)
{
	struct lc__buf bytes = { 0 };
	struct lc__stashed entry;
	lc_status status = read_entry(s, row->offset, row->size, &bytes, &entry);

	if (status == LC_OK)
		status = lc__stashed_give(&entry, &s->answer, check, ctx, batch, behind,
		    found);
	/* Values point into the bytes: if these cannot be kept, neither can the batch. */
	if (status == LC_OK && *found > 0)
		status = lc__items_keep(batch, &bytes);
	lc__buf_free(&bytes);
	return status == LC_CORRUPT ? LC_OK : status;
}

lc_status
lc__stash_recall(struct lc__stash *s,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found)
{
	const uint64_t first = behind[0].line - 1,
		       last = behind[batch->count - 1].line - 1;

	*found = 0;
	while (s->next < s->before && s->rows[s->next].last < first)
		s->next++;
	for (size_t i = s->next; i < s->before && s->rows[i].first <= last; i++) {
		size_t n = 0;

		if (s->rows[i].last >= first)
			return_if_error(
			    recall_row(s, &s->rows[i], check, ctx, batch, behind, &n));
		*found += n;
	}
	return LC_OK;
}

/* ---- removing entries ------------------------------------------------------------ */

/* Replace this file by one with only the useful rows. If that is not possible it
 * stays. */
static void
rewrite_file(struct lc__stash *s)
{
	struct lc__stashed entry;
	uint64_t offset = 0;
	char *path;
	bool copied;
	int fd;

	if (asprintf(&path, "%s.new", s->path) < 0)
		return;
	(void)unlink(path);
	fd = open_file(path, O_CREAT | O_EXCL);
	copied = fd != -1;
	for (size_t i = 0; copied && i < s->count; i++)
		copied = read_entry(s, s->rows[i].offset, s->rows[i].size, &s->bytes,
			     &entry) == LC_OK &&
		    lc__write_full(fd, s->bytes.data, s->bytes.size, path) == LC_OK;
	if (copied && rename(path, s->path) == 0) {
		close(s->fd);
		s->fd = fd;
		for (size_t i = 0; i < s->count; i++) {
			s->rows[i].offset = offset;
			offset += s->rows[i].size;
		}
		s->size = offset;
	} else if (fd != -1) {
		(void)unlink(path);
		close(fd);
	}
	free(path);
}

void
lc__stash_forget(struct lc__stash *s, uint64_t line)
{
	size_t kept = 0, before = 0;
	uint64_t used = 0;

	/* Keep only the rows that end after these lines. */
	for (size_t i = 0; i < s->count; i++) {
		if (s->rows[i].last < line)
			continue;
		before += i < s->before;
		used += s->rows[i].size;
		s->rows[kept++] = s->rows[i];
	}
	s->count = kept;
	s->before = before;
	s->next = 0;
	if (s->fd == -1 || s->size == 0)
		return;
	if (used == 0 && ftruncate(s->fd, 0) == 0)
		s->size = 0;
	else if (used > 0 && s->size - used > used + SLACK)
		rewrite_file(s);
}
