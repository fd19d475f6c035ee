/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/twh1.h"
#include "warehouse/read.h"
#include "warehouse/verify.h"

#define ALIGN 64u     /* alignment of samples handed out, and of a buffer's bytes */
#define MOST_KEPT 32u /* free buffers kept; others are returned to the system */

/* A buffer; its bytes begin ALIGN after its start. */
struct lc__stream_buf {
	struct lc__stream_buf *next; /* in the list of free ones */
	uint64_t room;               /* bytes */
};

/* A region of a sample: image, boxes, mask and row. */
enum { IMAGE, BOXES, MASK, ROW, PARTS };

struct part {
	struct lc__sample_range range; /* in the file */
	/* The same range, or a larger one of whole blocks if checksums are verified. */
	struct lc__sample_range read;
	unsigned char *at; /* of the byte at range.from */
};

/* A sample being read. */
struct reading {
	struct lc__shardset *set;
	struct lc__wshard *shard;
	uint64_t i;     /* in the shard */
	uint64_t known; /* the word remembered for it */
	struct part parts[PARTS];
};

/* ---- buffers ---------------------------------------------------------------- */

static struct lc__stream_buf *
take_buffer(struct lc__stream *stream, uint64_t room)
{
	struct lc__stream_buf *buf = NULL;

	if (lc__trylock(&stream->lock)) {
		buf = stream->free;
		if (buf != NULL) {
			stream->free = buf->next;
			stream->kept--;
		}
		lc__tryunlock(&stream->lock);
	}
	if (buf != NULL && buf->room >= room)
		return buf;
	free(buf);
	if (room > SIZE_MAX / 2)
		return NULL;
	room = lc__round_up(room, ALIGN);
	buf = aligned_alloc(ALIGN, (size_t)(ALIGN + room));
	if (buf != NULL)
		buf->room = room;
	return buf;
}

static void
give_buffer(struct lc__stream *stream, struct lc__stream_buf *buf)
{
	if (lc__trylock(&stream->lock)) {
		if (stream->kept < MOST_KEPT) {
			buf->next = stream->free;
			stream->free = buf;
			stream->kept++;
			buf = NULL;
		}
		lc__tryunlock(&stream->lock);
	}
	free(buf);
}

void
lc__stream_close(struct lc__stream *stream)
{
	while (stream->free != NULL) {
		struct lc__stream_buf *buf = stream->free;

		stream->free = buf->next;
		free(buf);
	}
}

/* ---- what to read ----------------------------------------------------------- */

static bool
is_empty(struct lc__sample_range range)
{
	return range.from == range.to;
}

static void
want(struct reading *r, int part, struct lc__sample_range range)
{
	r->parts[part].range = range;
	r->parts[part].read = r->shard->good == NULL || lc__range_good(r->shard, range)
	    ? range
	    : lc__range_blocks(r->shard, range);
}

static void
want_images(struct reading *r)
{
	const struct lc__twh1 *t = &r->shard->twh1;

	want(r, IMAGE, lc__image_range(t, r->i));
	want(r, BOXES, lc__boxes_range(t, r->i));
	want(r, MASK, lc__mask_range(t, r->i));
}

/* The offsets with the row's position are in memory, with their blocks. */
static lc_status
want_row(struct reading *r)
{
	const struct lc__twh1 *t = &r->shard->twh1;
	const struct lc__sample_range offsets = lc__offsets_range(t, r->i);
	lc_id row;

	if (r->shard->good != NULL && !lc__range_good(r->shard, offsets))
		return_if_error(lc__range_verify(r->shard, offsets,
		    t->file + offsets.from, r->i, &r->set->cost));
	if (!lc__twh1_row_at(t, r->i, &row))
		return lc__wshard_bad_row(r->shard, r->i);
	want(r, ROW, lc__row_range(t, row));
	return LC_OK;
}

/* Place the regions one after another, each aligned and with ALIGN bytes before it. With
 * @p base NULL only count. */
static uint64_t
lay_out(struct reading *r, unsigned char *base)
{
	uint64_t end = 0;

	for (int i = 0; i < PARTS; i++) {
		struct part *p = &r->parts[i];
		const uint64_t before = p->range.from - p->read.from;
		const uint64_t at = lc__round_up(end + ALIGN + before, ALIGN);

		if (base != NULL)
			p->at = base + at;
		end = at + (p->read.to - p->range.from);
	}
	return end;
}

/* ---- reading ---------------------------------------------------------------- */

static lc_status
read_part(const struct reading *r, const struct part *p, int fd)
{
	const uint64_t before = p->range.from - p->read.from;

	if (is_empty(p->read))
		return LC_OK;
	return_if_error(lc__load_range(fd, r->shard->path, p->read.from,
	    p->read.to - p->read.from, p->at - before));
	lc__cost_add(&r->set->cost, LC__COST_BYTES_READ, p->read.to - p->read.from);
	if (r->shard->good == NULL || lc__range_good(r->shard, p->range))
		return LC_OK;
	return lc__range_verify(r->shard, p->range, p->at, r->i, &r->set->cost);
}

static lc_status
read_parts(const struct reading *r)
{
	struct lc__wtaken file;
	lc_status status;

	return_if_error(
	    lc__wfiles_take(&r->set->files, &r->shard->file, r->shard->path, &file));
	status = LC_OK;
	for (int i = 0; i < PARTS && status == LC_OK; i++)
		status = read_part(r, &r->parts[i], file.fd);
	lc__wfiles_give(&r->set->files, &file);
	return status;
}

static const void *
place_of(const struct part *p)
{
	return is_empty(p->range) ? NULL : p->at;
}

static lc_status
take_row(const struct reading *r, lc_sample *sample)
{
	const struct part *p = &r->parts[ROW];
	const lc_id row = { p->at, (size_t)(p->range.to - p->range.from) };

	if (r->known == 0 || lc__known_decodes(r->known)) {
		if (!lc__twh1_read_row(&r->shard->twh1.info, row, sample))
			return lc__wshard_bad_row(r->shard, r->i);
		return LC_OK;
	}
	sample->meta = row;
	return lc__known_id(r->known, row, &sample->id)
	    ? LC_OK
	    : lc__wshard_bad_row(r->shard, r->i);
}

/* The first region that is not empty; its buffer is before it. */
static const unsigned char *
anchor(const lc_sample *sample)
{
	const void *parts[] = { sample->image.data, sample->boxes.data, sample->mask.data,
		sample->meta.data };

	for (int i = 0; i < PARTS; i++)
		if (parts[i] != NULL)
			return parts[i];
	return NULL;
}

static lc_status
read_sample(struct lc__stream *stream, struct reading *r, lc_sample *out)
{
	struct lc__stream_buf *buf = take_buffer(stream, lay_out(r, NULL));
	lc_sample sample;
	lc_status status;

	if (buf == NULL)
		return lc__no_memory(r->shard->path);
	lay_out(r, (unsigned char *)buf + ALIGN);
	status = read_parts(r);
	sample = r->shard->form;
	sample.image.data = place_of(&r->parts[IMAGE]);
	sample.boxes.data = place_of(&r->parts[BOXES]);
	sample.mask.data = place_of(&r->parts[MASK]);
	if (status == LC_OK && r->shard->twh1.rows != NULL)
		status = take_row(r, &sample);
	if (status == LC_OK && r->known == 0)
		lc__known_store(r->shard, r->i, &sample);
	if (status != LC_OK || anchor(&sample) == NULL)
		give_buffer(stream, buf);
	else
		memcpy((unsigned char *)anchor(&sample) - sizeof(buf), &buf, sizeof(buf));
	if (status == LC_OK)
		*out = sample;
	return status;
}

lc_status
lc__stream_sample(struct lc__stream *stream, struct lc__shardset *set,
    struct lc__wshard *shard, uint64_t i, lc_sample *out)
{
	struct reading r = {
		.set = set,
		.shard = shard,
		.i = i,
		.known = lc__known_load(shard, i),
	};

	want_images(&r);
	if (shard->twh1.rows != NULL)
		return_if_error(want_row(&r));
	return read_sample(stream, &r, out);
}

void
lc__stream_release(struct lc__stream *stream, const lc_sample *sample)
{
	const unsigned char *at = anchor(sample);
	struct lc__stream_buf *buf;

	if (at == NULL)
		return;
	memcpy(&buf, at - sizeof(buf), sizeof(buf));
	give_buffer(stream, buf);
}

/* ---- copying ---------------------------------------------------------------- */

lc_status
lc__stream_copy(struct lc__stream *stream, struct lc__shardset *set,
    struct lc__wshard *shard, uint64_t i, void *const out[3])
{
	struct reading r = {
		.set = set,
		.shard = shard,
		.i = i,
		.known = lc__known_load(shard, i),
	};
	lc_sample sample;
	bool straight;

	want_images(&r);
	/*
	 * Can the regions be read without the bytes around them, because nothing needs to
	 * be verified? This checks the blocks themselves, not what is known of the
	 * sample: another thread may see one before the other, and bytes around a region
	 * would be written outside of the caller's memory.
	 */
	straight = r.known != 0;
	for (int part = IMAGE; part <= MASK; part++)
		straight = straight &&
		    r.parts[part].read.from == r.parts[part].range.from &&
		    r.parts[part].read.to == r.parts[part].range.to;
	if (straight) {
		for (int part = IMAGE; part <= MASK; part++) {
			r.parts[part].at = out[part];
			if (out[part] == NULL)
				r.parts[part].read = (struct lc__sample_range){ 0, 0 };
		}
		return read_parts(&r);
	}
	return_if_error(lc__stream_sample(stream, set, shard, i, &sample));
	lc__sample_copy(&sample, out);
	lc__stream_release(stream, &sample);
	return LC_OK;
}
