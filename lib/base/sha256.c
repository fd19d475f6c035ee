/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sha256.h"

#include <string.h>

#include "base/checksum.h"
#include "base/error.h"

lc_status
lc__sha256_new(struct lc__sha256 **out)
{
	struct lc__checksum *sum;

	return_if_error(lc__checksum_new("sha256", &sum));
	*out = (struct lc__sha256 *)sum;
	return LC_OK;
}

lc_status
lc__sha256_update(struct lc__sha256 *sha, const void *data, size_t size)
{
	return lc__checksum_update((struct lc__checksum *)sha, data, size);
}

lc_status
lc__sha256_hex(struct lc__sha256 *sha, char out[65])
{
	char hex[LC__CHECKSUM_HEX];

	return_if_error(lc__checksum_hex((struct lc__checksum *)sha, hex));
	memcpy(out, hex, 65);
	return LC_OK;
}

void
lc__sha256_free(struct lc__sha256 *sha)
{
	lc__checksum_free((struct lc__checksum *)sha);
}

lc_status
lc__sha256_of(const void *data, size_t size, char out[65])
{
	struct lc__sha256 *sha;
	lc_status status;

	return_if_error(lc__sha256_new(&sha));
	status = lc__sha256_update(sha, data, size);
	if (status == LC_OK)
		status = lc__sha256_hex(sha, out);
	lc__sha256_free(sha);
	return status;
}
