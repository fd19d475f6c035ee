/* SPDX-License-Identifier: BSD-2-Clause */
/* A sample as it is stored: its record and its boxes. */
#include "build/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "labels/label.h"
#include "lmdbcache.h"

/* ---- boxes ------------------------------------------------------------------------- */

/* For 0 to 1, where the smallest normal number is 2^-14: the processor rounds to the
 * nearest, ties to even. */
uint16_t
lc__half_of(double number)
{
	const unsigned sign = signbit(number) ? 0x8000 : 0;
	int exponent;

	(void)frexp(number, &exponent);
	if (number == 0 || exponent < -13)
		exponent = -13;
	/* Units of the last place: 10 bits after the leading one. */
	const unsigned units = (unsigned)nearbyint(ldexp(fabs(number), 11 - exponent));
	/* The leading bit, if there is one, increments the exponent by itself. */
	return (uint16_t)(sign + ((unsigned)(exponent + 13) << 10) + units);
}

static void
put(unsigned char *at, lc_dtype dtype, double number)
{
	const float single = (float)number;
	uint32_t bits;

	if (dtype == LC_F16) {
		lc__set16(at, lc__half_of(number));
		return;
	}
	memcpy(&bits, &single, sizeof(bits));
	lc__set32(at, bits);
}

lc_status
lc__boxes_pad(const double *pixels, uint64_t n, const lc_shard_info *form,
    struct lc__buf *room, const void **boxes, const void **mask)
{
	const size_t step = lc_dtype_size(form->boxes_dtype);
	const size_t most = form->max_boxes;
	unsigned char *at;

	room->size = 0;
	at = lc__buf_append(room, NULL, most * 5 * step + 1);
	if (at == NULL)
		return lc__no_memory("build");
	memset(at, 0, most * 5 * step);
	for (size_t i = 0; i < most && i < n; i++) {
		for (size_t k = 0; k < 4; k++) {
			const uint32_t side = k % 2 ? form->height : form->width;
			const double share = pixels[4 * i + k] / side;

			put(at + (4 * i + k) * step, form->boxes_dtype,
			    share < 0       ? 0
				: share > 1 ? 1
					    : share);
		}
		put(at + (4 * most + i) * step, form->boxes_dtype, 1);
	}
	*boxes = at;
	*mask = at + 4 * most * step;
	return LC_OK;
}

/* ---- the record -------------------------------------------------------------------- */

/* Version of the map; other versions are not read. */
#define FORMAT 1

bool
lc__sample_is_passing(const struct lc__sample *sample)
{
	return sample->reason == LC__REJECT_NO_FILE ||
	    sample->reason == LC__REJECT_UNREADABLE ||
	    (sample->reason == LC__REJECT_UNDECODABLE && sample->image.path == NULL);
}

size_t
lc__sample_planes(const struct lc__sample *sample)
{
	return (size_t)3 * sample->target_width * sample->target_height *
	    lc_dtype_size(sample->pixels);
}

/* ---- its content ----------------------------------------------------------- */

/* Hash the parts, and then these hashes, so that bytes cannot move between parts. */
struct parts {
	uint64_t hash[8][2];
	size_t n;
};

static void
add_part(struct parts *parts, const void *data, size_t size)
{
	lc__hash128(size > 0 ? data : "", size, parts->hash[parts->n++]);
}

void
lc__sample_seal(struct lc__sample *s, const char *key)
{
	const uint64_t numbers[] = { s->has_frame_id, s->frame_id, s->width, s->height,
		s->orientation, s->target_width, s->target_height, s->boxes_total, s->n };
	const double map[] = { s->scale[0], s->scale[1], s->offset[0], s->offset[1] };
	struct parts parts = { .n = 0 };

	add_part(&parts, key, strlen(key));
	add_part(&parts, numbers, sizeof(numbers));
	add_part(&parts, map, sizeof(map));
	add_part(&parts, s->extra.data, s->extra.size);
	add_part(&parts, s->boxes, s->n * 4 * sizeof(*s->boxes));
	add_part(&parts, s->class_ids, s->n * sizeof(*s->class_ids));
	add_part(&parts, s->planes, lc__sample_planes(s));
	lc__hash128(parts.hash, parts.n * sizeof(parts.hash[0]), s->content);
}

/* ---- to a value ------------------------------------------------------------ */

static void
set_pair(lc_value *map, const char *name, const uint64_t pair[2])
{
	lc_value *list = lc_value_set(map, name, lc_value_list());

	lc_value_append(list, lc_value_unsigned(pair[0]));
	lc_value_append(list, lc_value_unsigned(pair[1]));
}

static void
set_floats(lc_value *map, const char *name, const double pair[2])
{
	lc_value *list = lc_value_set(map, name, lc_value_list());

	lc_value_append(list, lc_value_float(pair[0]));
	lc_value_append(list, lc_value_float(pair[1]));
}

static void
set_number(lc_value *map, const char *name, uint64_t number)
{
	lc_value_set(map, name, lc_value_unsigned(number));
}

static void
set_bytes(lc_value *map, const char *name, lc_id bytes)
{
	if (bytes.size > 0)
		lc_value_set(map, name, lc_value_bytes(bytes.data, bytes.size));
}

static void
set_note(lc_value *map, const char *name, const struct lc__source_note *note)
{
	lc_value *file;

	if (note->path == NULL)
		return;
	file = lc_value_set(map, name, lc_value_map());
	lc_value_set(file, "path", lc_value_str(note->path));
	set_number(file, "size", note->size);
	lc_value_set(file, "mtime_ns", lc_value_integer(note->mtime_ns));
	lc_value_set(file, "settled", lc_value_boolean(note->settled));
	set_pair(file, "hash", note->hash);
}

static void
set_tensors(lc_value *value, const struct lc__sample *s)
{
	const uint64_t pixels[3] = { 3, s->target_height, s->target_width };
	const uint64_t boxes[2] = { s->n, 4 };
	lc_tensor tensor;

	/* Dimensions and dtypes are valid: only memory can be lacking. */
	if (lc_tensor_init(&tensor, s->pixels, 3, pixels, s->planes) == LC_OK)
		lc_value_set(value, LC__SAMPLE_PIXELS, lc_value_tensor(&tensor));
	if (lc_tensor_init(&tensor, LC_F64, 2, boxes, s->boxes) == LC_OK)
		lc_value_set(value, LC__SAMPLE_BOXES, lc_value_tensor(&tensor));
	if (lc_tensor_init(&tensor, LC_I64, 1, boxes, s->class_ids) == LC_OK)
		lc_value_set(value, LC__SAMPLE_CLASSES, lc_value_tensor(&tensor));
}

lc_value *
lc__sample_value(const struct lc__sample *s)
{
	lc_value *value = lc_value_map();
	lc_value *about;

	if (s->reason == LC__REJECT_NONE)
		set_tensors(value, s);
	about = lc_value_set(value, LC__SAMPLE_ABOUT, lc_value_map());
	set_number(about, "format", FORMAT);
	if (s->reason != LC__REJECT_NONE) {
		lc_value_set(about, "reason", lc_value_str(lc__reject_name(s->reason)));
		lc_value_set(about, "detail", lc_value_str(s->detail));
	}
	set_note(about, "label", &s->label);
	set_note(about, "image", &s->image);
	if (s->image.path == NULL && s->wanted != NULL)
		lc_value_set(about, "wanted", lc_value_str(s->wanted));
	if (s->label_hash != 0)
		set_number(about, "label_hash", s->label_hash);
	if (s->reason != LC__REJECT_NONE)
		return value;

	if (s->has_frame_id)
		set_number(about, "frame_id", s->frame_id);
	set_pair(about, "size", (uint64_t[2]){ s->width, s->height });
	set_number(about, "orientation", s->orientation);
	if (s->deep)
		set_number(about, "bits", 16);
	set_pair(about, "target", (uint64_t[2]){ s->target_width, s->target_height });
	set_floats(about, "scale", s->scale);
	set_floats(about, "offset", s->offset);
	set_number(about, "boxes", s->n);
	set_number(about, "boxes_total", s->boxes_total);
	set_number(about, "dropped", s->dropped);
	if (s->filtered > 0)
		set_number(about, "filtered", s->filtered);
	set_bytes(about, "clipped", s->clipped);
	set_bytes(about, "labels", s->extra);
	set_pair(about, "content", s->content);
	return value;
}

/* ---- from a value ---------------------------------------------------------- */

/* A map being read. A member that is missing or of the wrong kind makes it bad. */
struct reading {
	const lc_value *map;
	bool bad;
};

static uint64_t
number_at(struct reading *in, const char *name)
{
	uint64_t number = 0;

	if (lc_value_as_unsigned(lc_value_find(in->map, name), &number) != LC_OK)
		in->bad = true;
	return number;
}

static uint32_t
small_at(struct reading *in, const char *name)
{
	const uint64_t number = number_at(in, name);

	if (number == 0 || number > UINT32_MAX)
		in->bad = true;
	return (uint32_t)number;
}

static double
real_at(struct reading *in, const char *name)
{
	double number = 0;

	if (lc_value_as_float(lc_value_find(in->map, name), &number) != LC_OK)
		in->bad = true;
	return number;
}

/* Empty if it is missing. */
static lc_id
bytes_at(struct reading *in, const char *name)
{
	const lc_value *part = lc_value_find(in->map, name);
	lc_id bytes = { NULL, 0 };

	if (part != NULL && lc_value_as_bytes(part, &bytes.data, &bytes.size) != LC_OK)
		in->bad = true;
	return bytes;
}

static const char *
text_at(struct reading *in, const char *name)
{
	const char *text = NULL;

	if (lc_value_as_str(lc_value_find(in->map, name), &text, NULL) != LC_OK) {
		in->bad = true;
		return "";
	}
	return text;
}

static void
read_note(struct reading *about, const char *name, struct lc__source_note *out)
{
	struct reading in = { .map = lc_value_find(about->map, name) };
	int settled = 0;

	if (in.map == NULL)
		return;
	out->path = text_at(&in, "path");
	out->size = number_at(&in, "size");
	if (lc_value_as_integer(lc_value_find(in.map, "mtime_ns"), &out->mtime_ns) !=
		LC_OK ||
	    lc_value_as_boolean(lc_value_find(in.map, "settled"), &settled) != LC_OK)
		in.bad = true;
	out->settled = settled;
	out->hash[0] = number_at(&in, "hash.0");
	out->hash[1] = number_at(&in, "hash.1");
	about->bad |= in.bad;
}

static void
read_sample(struct reading *in, struct lc__sample *s)
{
	s->has_frame_id = lc_value_find(in->map, "frame_id") != NULL;
	if (s->has_frame_id)
		s->frame_id = number_at(in, "frame_id");
	s->width = small_at(in, "size.0");
	s->height = small_at(in, "size.1");
	s->orientation = small_at(in, "orientation");
	s->deep = lc_value_find(in->map, "bits") != NULL;
	s->target_width = small_at(in, "target.0");
	s->target_height = small_at(in, "target.1");
	for (size_t axis = 0; axis < 2; axis++) {
		s->scale[axis] = real_at(in, axis ? "scale.1" : "scale.0");
		s->offset[axis] = real_at(in, axis ? "offset.1" : "offset.0");
	}
	s->n = number_at(in, "boxes");
	s->boxes_total = number_at(in, "boxes_total");
	s->dropped = number_at(in, "dropped");
	if (lc_value_find(in->map, "filtered") != NULL)
		s->filtered = number_at(in, "filtered");
	s->clipped = bytes_at(in, "clipped");
	s->extra = bytes_at(in, "labels");
	if (s->clipped.size != 0 && s->clipped.size != s->n)
		in->bad = true;
	s->content[0] = number_at(in, "content.0");
	s->content[1] = number_at(in, "content.1");
}

bool
lc__sample_read(const lc_value *about, struct lc__sample *out)
{
	struct reading in = { .map = about };

	*out = (struct lc__sample){ .detail = "" };
	if (number_at(&in, "format") != FORMAT)
		return false;
	read_note(&in, "label", &out->label);
	read_note(&in, "image", &out->image);
	if (lc_value_find(about, "wanted") != NULL)
		out->wanted = text_at(&in, "wanted");
	if (lc_value_find(about, "label_hash") != NULL)
		out->label_hash = number_at(&in, "label_hash");
	if (lc_value_find(about, "reason") == NULL) {
		read_sample(&in, out);
		return !in.bad;
	}
	out->reason = lc__reject_parse(text_at(&in, "reason"));
	out->detail = text_at(&in, "detail");
	return !in.bad && out->reason != LC__REJECT_NONE && out->reason != LC__REJECTS;
}
