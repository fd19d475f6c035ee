/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/schema.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mpack.h"

void
lc__schema_encode(const struct lc__schema *schema, struct lc__buf *out)
{
	const size_t start = out->size;
	unsigned char sum[8];

	lc__mpack_map(out, 1);
	lc__mpack_str(out, "tensor");
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "dtype");
	lc__mpack_str(out, lc_dtype_name(schema->dtype));
	lc__mpack_str(out, "ndim");
	lc__mpack_uint(out, schema->ndim);
	if (out->failed)
		return;
	lc__set64(sum, lc__hash64(out->data + start, out->size - start));
	lc__buf_append(out, sum, sizeof(sum));
}

static bool
decode_tensor(const struct lc__mpack *map, struct lc__schema *out)
{
	struct lc__mpack dtype, ndim;
	char name[16];

	if (!lc__mpack_find(map, "dtype", &dtype) ||
	    !lc__mpack_find(map, "ndim", &ndim) ||
	    !lc__mpack_text(&dtype, name, sizeof(name)) ||
	    lc_dtype_parse(name, &out->dtype) != LC_OK ||
	    ndim.kind != LC__MPACK_UINT || ndim.number > LC_MAX_NDIM)
		return false;
	out->ndim = (uint32_t)ndim.number;
	return true;
}

lc_status
lc__schema_decode(const void *bytes, size_t size, struct lc__schema *out)
{
	struct lc__mpack_doc *doc = NULL;
	struct lc__mpack root, tensor;
	bool ok;

	if (size < 8 ||
	    lc__get64((const char *)bytes + size - 8) != lc__hash64(bytes, size - 8))
		return lc__error(LC_CORRUPT, 0, "checksum mismatch");
	return_if_error(lc__mpack_open(bytes, size - 8, &doc, &root));
	ok = lc__mpack_find(&root, "tensor", &tensor) &&
	    decode_tensor(&tensor, out);
	lc__mpack_close(doc);
	return ok ? LC_OK : lc__error(LC_CORRUPT, 0, "no known structure");
}
