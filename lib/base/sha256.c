/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sha256.h"

#include <stdio.h>

#include <openssl/evp.h>

#include "base/error.h"

struct lc__sha256 *
lc__sha256_new(void)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(ctx);
		ctx = NULL;
	}
	return (struct lc__sha256 *)ctx;
}

lc_status
lc__sha256_update(struct lc__sha256 *sha, const void *data, size_t size)
{
	if (EVP_DigestUpdate((EVP_MD_CTX *)sha, data, size) != 1)
		return lc__error(LC_IO, 0, "sha256: libcrypto failed");
	return LC_OK;
}

lc_status
lc__sha256_hex(struct lc__sha256 *sha, char out[65])
{
	unsigned char digest[EVP_MAX_MD_SIZE];

	if (EVP_DigestFinal_ex((EVP_MD_CTX *)sha, digest, NULL) != 1)
		return lc__error(LC_IO, 0, "sha256: libcrypto failed");
	for (int i = 0; i < 32; i++)
		sprintf(out + 2 * i, "%02x", digest[i]);
	return LC_OK;
}

void
lc__sha256_free(struct lc__sha256 *sha)
{
	EVP_MD_CTX_free((EVP_MD_CTX *)sha);
}

lc_status
lc__sha256_of(const void *data, size_t size, char out[65])
{
	struct lc__sha256 *sha = lc__sha256_new();
	lc_status status;

	if (sha == NULL)
		return lc__error(LC_NO_MEMORY, 0, "sha256: out of memory");
	status = lc__sha256_update(sha, data, size);
	if (status == LC_OK)
		status = lc__sha256_hex(sha, out);
	lc__sha256_free(sha);
	return status;
}
