/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

/* Offsets in the prefix. */
enum {
	at_checksum = 0, /* u64, XXH3-64 of all bytes behind it */
	at_units = 8,    /* u32, record size in units of 64 bytes */
	at_schema = 12,  /* u32 */
	at_id_size = 16, /* u16, size - 1 */
	at_codec = 18,   /* u8, 0: as it is */
	at_flags = 19,   /* u8, 0 */
	at_ndims = 20,   /* u16 */
	at_zero = 22,    /* u16 */
	at_plain = 24,   /* u32, bytes of plain data */
	at_zero2 = 28    /* u32 */
};

/* Bytes before the payload. Cannot overflow: each part has a small bound. */
static uint64_t
head_size(uint64_t ndims, uint64_t id_size, uint64_t plain)
{
	return lc__round_up(LC__RECORD_PREFIX + ndims * 8 + id_size + plain,
	    LC__RECORD_ALIGN);
}

size_t
lc__record_size(size_t id_size, const lc_tensor *tensor)
{
	const uint64_t head = head_size(tensor->ndim, id_size, 0);

	if (tensor->nbytes > LC__RECORD_MAX)
		return 0;
	const uint64_t size = head +
	    lc__round_up(tensor->nbytes, LC__RECORD_ALIGN);
	return size > LC__RECORD_MAX ? 0 : (size_t)size;
}

void
lc__record_encode(unsigned char *out, size_t size, const void *id,
    size_t id_size, const lc_tensor *tensor)
{
	const size_t head = (size_t)head_size(tensor->ndim, id_size, 0);
	unsigned char *p = out + LC__RECORD_PREFIX;

	memset(out, 0, LC__RECORD_PREFIX);
	lc__set32(out + at_units, (uint32_t)(size / LC__RECORD_ALIGN));
	lc__set16(out + at_id_size, (uint16_t)(id_size - 1));
	lc__set16(out + at_ndims, (uint16_t)tensor->ndim);
	for (uint32_t i = 0; i < tensor->ndim; i++, p += 8)
		lc__set64(p, tensor->shape[i]);
	memcpy(p, id, id_size);
	p += id_size;
	memset(p, 0, (size_t)(out + head - p));
	p = out + head;
	if (tensor->nbytes > 0)
		memcpy(p, tensor->data, tensor->nbytes);
	p += tensor->nbytes;
	memset(p, 0, (size_t)(out + size - p));
}

void
lc__record_seal(unsigned char *record, size_t size, uint32_t schema)
{
	lc__set32(record + at_schema, schema);
	lc__set64(record + at_checksum,
	    lc__hash64(record + at_units, size - at_units));
}

bool
lc__record_parse(const unsigned char *bytes, uint64_t room,
    struct lc__record *out)
{
	uint64_t size, head, plain;

	if (room < LC__RECORD_PREFIX)
		return false;
	size = (uint64_t)lc__get32(bytes + at_units) * LC__RECORD_ALIGN;
	out->ndims = lc__get16(bytes + at_ndims);
	out->id.size = (size_t)lc__get16(bytes + at_id_size) + 1;
	plain = lc__get32(bytes + at_plain);
	head = head_size(out->ndims, out->id.size, plain);
	if (size > room || head > size)
		return false;
	out->schema = lc__get32(bytes + at_schema);
	out->dims = bytes + LC__RECORD_PREFIX;
	out->id.data = out->dims + (size_t)out->ndims * 8;
	out->payload = bytes + head;
	out->payload_size = (size_t)(size - head);
	out->size = (size_t)size;
	return bytes[at_codec] == 0 && bytes[at_flags] == 0 && plain == 0;
}

const unsigned char *
lc__record_start(const struct lc__record *record)
{
	return record->dims - LC__RECORD_PREFIX;
}

uint64_t
lc__record_checksum(const struct lc__record *record)
{
	return lc__get64(lc__record_start(record) + at_checksum);
}

bool
lc__record_intact(const struct lc__record *record)
{
	const unsigned char *start = lc__record_start(record);

	return lc__record_checksum(record) ==
	    lc__hash64(start + at_units, record->size - at_units);
}

bool
lc__record_tensor(const struct lc__record *record,
    const struct lc__schema *schema, lc_tensor *out)
{
	uint64_t nbytes = lc_dtype_size(schema->dtype);

	if (record->ndims != schema->ndim)
		return false;
	out->dtype = schema->dtype;
	out->ndim = schema->ndim;
	for (uint32_t i = 0; i < record->ndims; i++) {
		out->shape[i] = lc__get64(record->dims + (size_t)i * 8);
		if (!lc__mul64(nbytes, out->shape[i], &nbytes))
			return false;
	}
	if (lc__round_up(nbytes, LC__RECORD_ALIGN) != record->payload_size ||
	    nbytes > record->payload_size)
		return false;
	out->nbytes = (size_t)nbytes;
	out->data = record->payload;
	return true;
}
