/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/twh1.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/twh1_row.h"
#include "value/dtype.h"

#define ENDIAN_BIG 1
#define IMAGE_ALIGN 4096u /* direct I/O and huge pages need page alignment */
#define REGION_ALIGN 64u  /* of the other regions in version 2 */
#define OLDEST_HEADER 64u /* a version 1 header without its reserved tail */
#define MIN_BLOCK 4096u
#define MAX_BLOCK (1u << 30)
#define BOXES_SHIFT 16 /* mask of the half of the dtype field for boxes and mask */

/* The index is the number in the header. Version 1 has 0 and 1 only. */
static const lc_dtype dtype_of_code[LC_DTYPE_COUNT] = { LC_F32, LC_F16, LC_BF16, LC_F64,
	LC_BOOL, LC_U8, LC_I8, LC_U16, LC_I16, LC_U32, LC_I32, LC_U64, LC_I64, LC_C64,
	LC_C128, LC_F8_E4M3, LC_F8_E5M2, LC_F8_E8M0, LC_F8_E4M3FNUZ, LC_F8_E5M2FNUZ,
	LC_F4_E2M1_X2, LC_C32 };

uint32_t
lc__twh1_dtype_code(lc_dtype dtype)
{
	uint32_t code = 0;

	while (dtype_of_code[code] != dtype)
		code++;
	return code;
}

lc_status
lc__twh1_chw(const lc_tensor *tensor, uint32_t chw[3])
{
	uint64_t dims[3] = { 1, 1, 1 };
	const uint32_t ndim = tensor->ndim;

	for (uint32_t i = 0; i < ndim; i++) {
		const uint32_t from_end = ndim - 1 - i;
		uint64_t *const dim = &dims[from_end < 2 ? 2 - from_end : 0];
		if (!lc__mul64(*dim, tensor->shape[i], dim))
			*dim = UINT64_MAX;
	}
	for (int i = 0; i < 3; i++)
		if (dims[i] > UINT32_MAX)
			return lc__error(LC_UNSUPPORTED, 0,
			    "a dimension of %llu does not fit a shard",
			    (unsigned long long)dims[i]);
	for (int i = 0; i < 3; i++)
		chw[i] = (uint32_t)dims[i];
	return LC_OK;
}

bool
lc__twh1_sizes_of(const lc_shard_info *info, struct lc__twh1_sizes *out)
{
	const uint32_t dims[3] = { info->channels, info->height, info->width };
	const uint64_t element = lc_dtype_size(info->dtype);
	bool empty = false;

	out->mask = info->max_boxes * lc_dtype_size(info->boxes_dtype);
	out->boxes = out->mask * 4;
	out->image = element;
	/* As in any tensor, the other dimensions of an empty one are checked too. */
	for (int i = 0; i < 3; i++) {
		empty = empty || dims[i] == 0;
		if (!lc__mul64(out->image, dims[i] ? dims[i] : 1, &out->image) ||
		    out->image > INT64_MAX)
			return false;
	}
	if (empty)
		out->image = 0;
	return true;
}

/* Place a region of count times each bytes after *end. */
static bool
place(uint64_t count, uint64_t each, uint64_t align, uint64_t *end, uint64_t *offset)
{
	uint64_t size;

	if (*end > UINT64_MAX - align)
		return false;
	*offset = lc__round_up(*end, align);
	return lc__mul64(count, each, &size) && lc__add64(*offset, size, end);
}

static bool
place_extras(lc_shard_info *info, uint64_t row_bytes, uint64_t *end)
{
	uint64_t size, blocks;

	if (info->samples > UINT64_MAX / 16 ||
	    !lc__add64(LC__TWH1_META_HEADER + 8 * (info->samples + 1), row_bytes,
		&size) ||
	    !place(1, size, REGION_ALIGN, end, &info->meta_offset) ||
	    !place(0, 0, REGION_ALIGN, end, &info->checksum_offset))
		return false;
	blocks = lc__twh1_blocks(info->checksum_offset, LC__TWH1_BLOCK);
	return lc__add64(*end, lc__twh1_table_size(blocks), end);
}

/* Headers store numbers of dtypes, without room for names. */
static lc_status
need_code(lc_dtype dtype)
{
	if (lc__dtype_is_opaque(dtype))
		return lc__error(LC_UNSUPPORTED, 0, "shards have no opaque dtype: %s",
		    lc_dtype_name(dtype));
	return LC_OK;
}

lc_status
lc__twh1_layout(lc_shard_info *info, bool metadata, uint64_t row_bytes)
{
	/* Version 1 has its regions without gaps, which its readers may assume. */
	const uint64_t align = info->version == 1 ? 1 : REGION_ALIGN;
	struct lc__twh1_sizes sizes;
	uint64_t end = LC__TWH1_HEADER;

	if (info->max_boxes == 0)
		info->boxes_dtype = info->dtype;
	return_if_error(need_code(info->dtype));
	return_if_error(need_code(info->boxes_dtype));
	if (info->version == 1 && lc__twh1_dtype_code(info->dtype) > 1)
		return lc__error(LC_UNSUPPORTED, 0,
		    "shard_version 1 holds f32 and f16, not %s",
		    lc_dtype_name(info->dtype));
	if (info->version == 1 && info->boxes_dtype != info->dtype)
		return lc__error(LC_UNSUPPORTED, 0,
		    "shard_version 1 has one dtype: boxes of %s do not go with images "
		    "of %s",
		    lc_dtype_name(info->boxes_dtype), lc_dtype_name(info->dtype));
	info->meta_offset = info->checksum_offset = 0;
	if (!lc__twh1_sizes_of(info, &sizes) ||
	    !place(info->samples, sizes.image, IMAGE_ALIGN, &end, &info->image_offset) ||
	    !place(info->samples, sizes.boxes, align, &end, &info->boxes_offset) ||
	    !place(info->samples, sizes.mask, align, &end, &info->mask_offset) ||
	    (metadata && !place_extras(info, row_bytes, &end)) || end > INT64_MAX)
		return lc__error(LC_INVALID, 0, "a shard of %llu samples overflows",
		    (unsigned long long)info->samples);
	info->file_size = end;
	return LC_OK;
}

void
lc__twh1_put_header(const lc_shard_info *info, unsigned char out[LC__TWH1_HEADER])
{
	uint32_t dtypes = lc__twh1_dtype_code(info->dtype);

	/* 0 means that boxes have the images' dtype, as in a header with a single
	 * dtype. */
	if (info->boxes_dtype != info->dtype)
		dtypes |= (1 + lc__twh1_dtype_code(info->boxes_dtype)) << BOXES_SHIFT;
	memcpy(out, "TWH1", 4);
	lc__set32(out + 4, info->version);
	lc__set32(out + 8, dtypes);
	lc__set32(out + 12, 0);
	lc__set32(out + 16, info->width);
	lc__set32(out + 20, info->height);
	lc__set32(out + 24, info->channels);
	lc__set32(out + 28, info->max_boxes);
	lc__set64(out + 32, info->samples);
	lc__set64(out + 40, info->image_offset);
	lc__set64(out + 48, info->boxes_offset);
	lc__set64(out + 56, info->mask_offset);
	lc__set64(out + 64, info->meta_offset);
	lc__set64(out + 72, info->checksum_offset);
}

void
lc__twh1_put_meta_header(uint64_t samples, uint64_t row_bytes,
    unsigned char out[LC__TWH1_META_HEADER])
{
	memset(out, 0, LC__TWH1_META_HEADER);
	memcpy(out, "TWMD", 4);
	lc__set64(out + 8, samples);
	lc__set64(out + 16, row_bytes);
}

uint64_t
lc__twh1_blocks(uint64_t checksum_offset, uint64_t block)
{
	return checksum_offset / block + (checksum_offset % block != 0);
}

uint64_t
lc__twh1_table_size(uint64_t blocks)
{
	return LC__TWH1_TABLE_HEADER + 8 * blocks + 8;
}

void
lc__twh1_seal_table(const unsigned char header[LC__TWH1_HEADER], uint64_t blocks,
    unsigned char *out)
{
	const uint64_t sealed = LC__TWH1_TABLE_HEADER + 8 * blocks;

	memset(out, 0, LC__TWH1_TABLE_HEADER);
	memcpy(out, "TWCK", 4);
	lc__set32(out + 4, LC__TWH1_BLOCK);
	lc__set64(out + 8, blocks);
	lc__set64(out + 16, lc__hash64(header, LC__TWH1_HEADER));
	lc__set64(out + sealed, lc__hash64(out, sealed));
}

static lc_status
corrupt(const char *name, const char *what, uint64_t value)
{
	return lc__error(LC_CORRUPT, 0, "%s: %s %llu", name, what,
	    (unsigned long long)value);
}

/* Is this a shard, of a supported version and byte order? */
static lc_status
check_kind(const unsigned char *p, uint64_t size, const char *name)
{
	if (size < 4 || memcmp(p, "TWH1", 4) != 0)
		return lc__error(LC_NOT_MODULE, 0, "%s: not a TWH1 shard", name);
	if (size < OLDEST_HEADER)
		return corrupt(name, "header is cut short: file size", size);
	if (lc__get32(p + 4) > 2)
		return lc__error(LC_VERSION, 0,
		    "%s: shard_version %u is newer than this library", name,
		    lc__get32(p + 4));
	if (lc__get32(p + 4) == 0)
		return corrupt(name, "bad shard_version", 0);
	if (lc__get32(p + 12) > ENDIAN_BIG)
		return corrupt(name, "bad endianness", lc__get32(p + 12));
	if (lc__get32(p + 12) == ENDIAN_BIG)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: big-endian shards are not supported", name);
	return LC_OK;
}

/* The fields of the header. Version 1 does not have the last two. */
static lc_status
read_fields(const unsigned char *p, uint64_t size, const char *name, lc_shard_info *info)
{
	const uint32_t version = lc__get32(p + 4);
	const uint32_t dtypes = lc__get32(p + 8);
	const uint32_t image = dtypes & 0xffff, boxes = dtypes >> BOXES_SHIFT;

	memset(info, 0, sizeof(*info));
	info->version = version;
	if (image >= (version == 1 ? 2 : LC_DTYPE_COUNT) ||
	    boxes > (version == 1 ? 0 : LC_DTYPE_COUNT))
		return corrupt(name, "bad dtype", dtypes);
	info->dtype = dtype_of_code[image];
	info->boxes_dtype = boxes ? dtype_of_code[boxes - 1] : info->dtype;
	info->width = lc__get32(p + 16);
	info->height = lc__get32(p + 20);
	info->channels = lc__get32(p + 24);
	info->max_boxes = lc__get32(p + 28);
	info->samples = lc__get64(p + 32);
	info->image_offset = lc__get64(p + 40);
	info->boxes_offset = lc__get64(p + 48);
	info->mask_offset = lc__get64(p + 56);
	info->file_size = size;
	if (info->image_offset < (version == 1 ? OLDEST_HEADER : LC__TWH1_HEADER))
		return corrupt(name,
		    "image_offset lies in the header:", info->image_offset);
	if (version == 1)
		return LC_OK;
	if (size < LC__TWH1_HEADER)
		return corrupt(name, "header is cut short: file size", size);
	info->meta_offset = lc__get64(p + 64);
	info->checksum_offset = lc__get64(p + 72);
	return LC_OK;
}

/* A region begins at or after *end, the end of the previous one, and lies in the file.
 * Version 1 does not say where an empty one is. */
static lc_status
check_region(const lc_shard_info *info, const char *name, const char *what,
    lc_dtype dtype, uint64_t offset, uint64_t each, uint64_t *end)
{
	const uint64_t align = lc_dtype_size(dtype) /
	    (lc__dtype_is_complex(dtype) ? 2 : 1);
	uint64_t size, after;

	if (info->version == 1 && (info->samples == 0 || each == 0))
		return LC_OK;
	if (offset < *end)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %s_offset %llu overlaps what ends at %llu", name, what,
		    (unsigned long long)offset, (unsigned long long)*end);
	/* Elements are read in place, so they must be aligned. */
	if (offset % align != 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %s_offset %llu is not a multiple of the element size", name,
		    what, (unsigned long long)offset);
	if (!lc__mul64(info->samples, each, &size) || !lc__add64(offset, size, &after) ||
	    after > info->file_size)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %llu samples of %s do not fit the file's %llu bytes", name,
		    (unsigned long long)info->samples, what,
		    (unsigned long long)info->file_size);
	*end = after;
	return LC_OK;
}

static lc_status
check_payload(const char *name, struct lc__twh1 *shard, uint64_t *end)
{
	const lc_shard_info *info = &shard->info;

	if (!lc__twh1_sizes_of(info, &shard->sizes))
		return lc__error(LC_CORRUPT, 0, "%s: image of %u x %u x %u overflows",
		    name, info->channels, info->height, info->width);
	*end = info->version == 1 ? OLDEST_HEADER : LC__TWH1_HEADER;
	return_if_error(check_region(info, name, "image", info->dtype, info->image_offset,
	    shard->sizes.image, end));
	return_if_error(check_region(info, name, "boxes", info->boxes_dtype,
	    info->boxes_offset, shard->sizes.boxes, end));
	return check_region(info, name, "mask", info->boxes_dtype, info->mask_offset,
	    shard->sizes.mask, end);
}

static lc_status
check_meta(const char *name, struct lc__twh1 *shard, uint64_t *end)
{
	const lc_shard_info *info = &shard->info;
	const unsigned char *p;
	uint64_t room;

	if (info->meta_offset < *end || info->meta_offset > info->file_size)
		return corrupt(name, "bad meta_offset", info->meta_offset);
	p = shard->file + info->meta_offset;
	room = info->file_size - info->meta_offset;
	if (room < LC__TWH1_META_HEADER + 8 || memcmp(p, "TWMD", 4) != 0)
		return corrupt(name, "no metadata section at", info->meta_offset);
	room -= LC__TWH1_META_HEADER + 8;
	if (lc__get64(p + 8) != info->samples)
		return corrupt(name, "wrong number of metadata rows:", lc__get64(p + 8));
	if (info->samples > room / 8 || lc__get64(p + 16) > room - 8 * info->samples)
		return corrupt(name,
		    "metadata does not fit the file's bytes:", info->file_size);
	shard->offsets = p + LC__TWH1_META_HEADER;
	shard->rows = shard->offsets + 8 * (info->samples + 1);
	shard->row_bytes = lc__get64(p + 16);
	*end = (uint64_t)(shard->rows - shard->file) + shard->row_bytes;
	return LC_OK;
}

/* The table is small: its checksum is compared here, once. */
static lc_status
check_table(const char *name, struct lc__twh1 *shard, uint64_t *end)
{
	const lc_shard_info *info = &shard->info;
	const unsigned char *p;
	uint64_t room, sealed;

	if (info->checksum_offset < *end || info->checksum_offset > info->file_size)
		return corrupt(name, "bad checksum_offset", info->checksum_offset);
	p = shard->file + info->checksum_offset;
	room = info->file_size - info->checksum_offset;
	if (room < lc__twh1_table_size(0) || memcmp(p, "TWCK", 4) != 0)
		return corrupt(name, "no checksum section at", info->checksum_offset);
	shard->block = lc__get32(p + 4);
	if (shard->block < MIN_BLOCK || shard->block > MAX_BLOCK ||
	    (shard->block & (shard->block - 1)) != 0)
		return corrupt(name, "bad checksum block size", shard->block);
	shard->blocks = lc__twh1_blocks(info->checksum_offset, shard->block);
	if (lc__get64(p + 8) != shard->blocks ||
	    room != lc__twh1_table_size(shard->blocks))
		return corrupt(name, "wrong number of checksums:", lc__get64(p + 8));
	sealed = LC__TWH1_TABLE_HEADER + 8 * shard->blocks;
	if (lc__get64(p + sealed) != lc__hash64(p, sealed))
		return lc__error(LC_CORRUPT, 0,
		    "%s: the checksum section does not match its checksum", name);
	if (lc__get64(p + 16) != lc__hash64(shard->file, LC__TWH1_HEADER))
		return lc__error(LC_CORRUPT, 0,
		    "%s: the header does not match its checksum", name);
	shard->table = p + LC__TWH1_TABLE_HEADER;
	*end = info->file_size;
	return LC_OK;
}

lc_status
lc__twh1_parse(const void *file, uint64_t size, const char *name, struct lc__twh1 *out)
{
	struct lc__twh1 shard = { .file = file };
	uint64_t end;

	return_if_error(check_kind(file, size, name));
	return_if_error(read_fields(file, size, name, &shard.info));
	return_if_error(check_payload(name, &shard, &end));
	if (shard.info.meta_offset != 0)
		return_if_error(check_meta(name, &shard, &end));
	if (shard.info.checksum_offset != 0)
		return_if_error(check_table(name, &shard, &end));
	/* Version 1 lets its writer put anything at the end of the file. */
	if (shard.info.version > 1 && end != size)
		return corrupt(name, "unexpected bytes after", end);
	*out = shard;
	return LC_OK;
}

bool
lc__twh1_row_at(const struct lc__twh1 *shard, uint64_t i, lc_id *out)
{
	const uint64_t from = lc__get64(shard->offsets + 8 * i);
	const uint64_t to = lc__get64(shard->offsets + 8 * (i + 1));

	if (from > to || to > shard->row_bytes)
		return false;
	out->data = shard->rows + from;
	out->size = (size_t)(to - from);
	return true;
}

bool
lc__twh1_block_good(const struct lc__twh1 *shard, uint64_t b)
{
	const uint64_t from = b * shard->block;
	const uint64_t left = shard->info.checksum_offset - from;

	return lc__hash64(shard->file + from,
		   left < shard->block ? left : shard->block) ==
	    lc__get64(shard->table + 8 * b);
}

void
lc__twh1_section_xxh3(const struct lc__twh1 *shard, char out[17])
{
	*out = '\0';
	if (shard->table != NULL)
		snprintf(out, 17, "%016llx",
		    (unsigned long long)lc__get64(shard->table + 8 * shard->blocks));
}

/* ---- samples --------------------------------------------------------------- */

lc_status
lc__twh1_form(const struct lc__twh1 *shard, lc_sample *out)
{
	const lc_shard_info *info = &shard->info;
	const uint64_t image[3] = { info->channels, info->height, info->width };
	const uint64_t boxes[2] = { info->max_boxes, 4 };

	memset(out, 0, sizeof(*out));
	return_if_error(lc_tensor_init(&out->image, info->dtype, 3, image, NULL));
	return_if_error(lc_tensor_init(&out->boxes, info->boxes_dtype, 2, boxes, NULL));
	return lc_tensor_init(&out->mask, info->boxes_dtype, 1, boxes, NULL);
}

/* Sample i of a region; one without bytes has no address. */
static const void *
address(const struct lc__twh1 *shard, uint64_t offset, uint64_t each, uint64_t i)
{
	return each > 0 ? shard->file + offset + i * each : NULL;
}

void
lc__twh1_place(const struct lc__twh1 *shard, uint64_t i, lc_sample *sample)
{
	const lc_shard_info *info = &shard->info;

	sample->image.data = address(shard, info->image_offset, shard->sizes.image, i);
	sample->boxes.data = address(shard, info->boxes_offset, shard->sizes.boxes, i);
	sample->mask.data = address(shard, info->mask_offset, shard->sizes.mask, i);
}

bool
lc__twh1_read_row(const lc_shard_info *info, lc_id row, lc_sample *sample)
{
	const void *data = sample->image.data;
	struct lc__twh1_row said;
	uint32_t chw[3];

	if (!lc__twh1_row_decode(row, &said))
		return false;
	/* The shape before it became CHW, if converting it gives this shard's CHW. */
	if (said.has_shape &&
	    (lc_tensor_init(&sample->image, info->dtype, said.ndim, said.shape, data) !=
		    LC_OK ||
		lc__twh1_chw(&sample->image, chw) != LC_OK || chw[0] != info->channels ||
		chw[1] != info->height || chw[2] != info->width))
		return false;
	sample->meta = row;
	sample->id = said.cache_id;
	return true;
}

lc_status
lc__twh1_sample(const struct lc__twh1 *shard, const char *name, uint64_t i,
    lc_sample *out)
{
	lc_sample sample;
	lc_id row;

	return_if_error(lc__twh1_form(shard, &sample));
	lc__twh1_place(shard, i, &sample);
	if (shard->rows != NULL &&
	    (!lc__twh1_row_at(shard, i, &row) ||
		!lc__twh1_read_row(&shard->info, row, &sample)))
		return lc__error(LC_CORRUPT, 0, "%s: metadata of sample %llu is damaged",
		    name, (unsigned long long)i);
	*out = sample;
	return LC_OK;
}
