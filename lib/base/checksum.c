/* SPDX-License-Identifier: BSD-2-Clause */
/* The only user of libcrypto, which is optional. */
#include "config.h"

#include "base/checksum.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBCRYPTO
#include <openssl/crypto.h>
#include <openssl/evp.h>
#endif
#include <xxhash.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/lazy.h"

enum kind { CRYPTO, XXH_32, XXH_64, XXH3_64, XXH3_128 };

static const struct {
	const char *name;
	enum kind kind;
	const char *crypto; /* what libcrypto calls it */
} rows[] = {
	{ "sha256", CRYPTO, "SHA256" },
	{ "sha1", CRYPTO, "SHA1" },
	{ "md5", CRYPTO, "MD5" },
	{ "sha224", CRYPTO, "SHA224" },
	{ "sha384", CRYPTO, "SHA384" },
	{ "sha512", CRYPTO, "SHA512" },
	{ "sha3_224", CRYPTO, "SHA3-224" },
	{ "sha3_256", CRYPTO, "SHA3-256" },
	{ "sha3_384", CRYPTO, "SHA3-384" },
	{ "sha3_512", CRYPTO, "SHA3-512" },
	{ "blake2b", CRYPTO, "BLAKE2B-512" },
	{ "blake2s", CRYPTO, "BLAKE2S-256" },
	{ "xxh32", XXH_32, NULL },
	{ "xxh64", XXH_64, NULL },
	{ "xxh3_64", XXH3_64, NULL },
	{ "xxh3_128", XXH3_128, NULL },
	{ "xxh128", XXH3_128, NULL },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct lc__checksum {
	size_t row;
	union {
		void *crypto; /* EVP_MD_CTX */
		XXH32_state_t *xxh32;
		XXH64_state_t *xxh64;
		XXH3_state_t *xxh3;
		void *any; /* NULL before it is made */
	} state;
};

/* ---- libcrypto ---------------------------------------------------------------- */

#ifdef HAVE_LIBCRYPTO

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(EVP_DigestFinal_ex) X(EVP_DigestInit_ex) X(EVP_DigestUpdate) \
	X(EVP_MD_CTX_free) X(EVP_MD_CTX_new) X(EVP_MD_fetch) X(EVP_MD_free) \
	X(OPENSSL_init_crypto) X(OSSL_LIB_CTX_new)
/* clang-format on */
LC__LAZY(lib, "libcrypto", LIBCRYPTO_FILE, CALLS)

/*
 * libcrypto's own default context is not used: if memory runs out while it is created, it
 * stays incomplete, and the next call that needs it crashes. This context is created
 * whole or not at all, and the next call tries again. It also ignores the host's
 * configuration file. It is never freed: threads may use it until the process ends.
 */
static OSSL_LIB_CTX *context;
static pthread_mutex_t context_mutex = PTHREAD_MUTEX_INITIALIZER;

static OSSL_LIB_CTX *
crypto_context(void)
{
	OSSL_LIB_CTX *found;

	pthread_mutex_lock(&context_mutex);
	if (context == NULL &&
	    lib.OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1)
		context = lib.OSSL_LIB_CTX_new();
	found = context;
	pthread_mutex_unlock(&context_mutex);
	return found;
}

static lc_status
crypto_begin(struct lc__checksum *sum)
{
	OSSL_LIB_CTX *from;
	EVP_MD *type = NULL;
	bool good = false;

	return_if_error(lib_load());
	from = crypto_context();
	if (from != NULL)
		type = lib.EVP_MD_fetch(from, rows[sum->row].crypto, NULL);
	if (type != NULL)
		sum->state.crypto = lib.EVP_MD_CTX_new();
	if (sum->state.any != NULL)
		good = lib.EVP_DigestInit_ex(sum->state.crypto, type, NULL) == 1;
	/* The digest holds a reference to its type. */
	lib.EVP_MD_free(type);
	return good ? LC_OK : lc__no_memory(rows[sum->row].name);
}

static lc_status
crypto_update(struct lc__checksum *sum, const void *data, size_t size)
{
	if (lib.EVP_DigestUpdate(sum->state.crypto, data, size) != 1)
		return lc__error(LC_IO, 0, "%s: libcrypto failed", rows[sum->row].name);
	return LC_OK;
}

static lc_status
crypto_bytes(struct lc__checksum *sum, unsigned char *out, unsigned *size)
{
	if (lib.EVP_DigestFinal_ex(sum->state.crypto, out, size) != 1)
		return lc__error(LC_IO, 0, "%s: libcrypto failed", rows[sum->row].name);
	return LC_OK;
}

static lc_status
crypto_hex(struct lc__checksum *sum, char *out)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	return_if_error(crypto_bytes(sum, bytes, &size));
	for (unsigned i = 0; i < size; i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
	return LC_OK;
}

static void
crypto_free(struct lc__checksum *sum)
{
	if (sum->state.any != NULL)
		lib.EVP_MD_CTX_free(sum->state.crypto);
}

#else

static lc_status
crypto_begin(struct lc__checksum *sum)
{
	return lc__error(LC_UNSUPPORTED, 0, "%s: built without libcrypto",
	    rows[sum->row].name);
}

static lc_status
crypto_update(struct lc__checksum *sum, const void *data, size_t size)
{
	(void)data, (void)size;
	return crypto_begin(sum);
}

static lc_status
crypto_bytes(struct lc__checksum *sum, unsigned char *out, unsigned *size)
{
	(void)out, (void)size;
	return crypto_begin(sum);
}

static lc_status
crypto_hex(struct lc__checksum *sum, char *out)
{
	(void)out;
	return crypto_begin(sum);
}

static void
crypto_free(struct lc__checksum *sum)
{
	(void)sum;
}

#endif

/* ---- all checksums ------------------------------------------------------------ */

static lc_status
begin(struct lc__checksum *sum)
{
	bool begun;

	switch (rows[sum->row].kind) {
	case CRYPTO: return crypto_begin(sum);
	case XXH_32:
		sum->state.xxh32 = XXH32_createState();
		begun = sum->state.any != NULL &&
		    XXH32_reset(sum->state.xxh32, 0) == XXH_OK;
		break;
	case XXH_64:
		sum->state.xxh64 = XXH64_createState();
		begun = sum->state.any != NULL &&
		    XXH64_reset(sum->state.xxh64, 0) == XXH_OK;
		break;
	default:
		sum->state.xxh3 = XXH3_createState();
		begun = sum->state.any != NULL &&
		    (rows[sum->row].kind == XXH3_64
			    ? XXH3_64bits_reset(sum->state.xxh3)
			    : XXH3_128bits_reset(sum->state.xxh3)) == XXH_OK;
	}
	return begun ? LC_OK : lc__no_memory(rows[sum->row].name);
}

lc_status
lc__checksum_new(const char *name, struct lc__checksum **out)
{
	struct lc__checksum *sum;
	size_t row = 0;
	lc_status status;

	while (row < ROWS && strcmp(rows[row].name, name) != 0)
		row++;
	if (row == ROWS)
		return lc__error(LC_UNSUPPORTED, 0, "unknown checksum %s", name);
	sum = calloc(1, sizeof(*sum));
	if (sum == NULL)
		return lc__no_memory(name);
	sum->row = row;
	/* libcrypto opens files when it is first used, hence lc__fds_hold(). */
	lc__fds_hold();
	status = begin(sum);
	lc__fds_release();
	if (status != LC_OK) {
		lc__checksum_free(sum);
		return status;
	}
	*out = sum;
	return LC_OK;
}

lc_status
lc__checksum_update(struct lc__checksum *sum, const void *data, size_t size)
{
	switch (rows[sum->row].kind) {
	case CRYPTO: return crypto_update(sum, data, size);
	case XXH_32: (void)XXH32_update(sum->state.xxh32, data, size); break;
	case XXH_64: (void)XXH64_update(sum->state.xxh64, data, size); break;
	case XXH3_64: (void)XXH3_64bits_update(sum->state.xxh3, data, size); break;
	default: (void)XXH3_128bits_update(sum->state.xxh3, data, size);
	}
	return LC_OK;
}

lc_status
lc__checksum_hex(struct lc__checksum *sum, char *out)
{
	XXH128_hash_t wide;

	switch (rows[sum->row].kind) {
	case CRYPTO: return crypto_hex(sum, out);
	case XXH_32: sprintf(out, "%08x", XXH32_digest(sum->state.xxh32)); break;
	case XXH_64:
		sprintf(out, "%016llx",
		    (unsigned long long)XXH64_digest(sum->state.xxh64));
		break;
	case XXH3_64:
		sprintf(out, "%016llx",
		    (unsigned long long)XXH3_64bits_digest(sum->state.xxh3));
		break;
	default:
		wide = XXH3_128bits_digest(sum->state.xxh3);
		sprintf(out, "%016llx%016llx", (unsigned long long)wide.high64,
		    (unsigned long long)wide.low64);
	}
	return LC_OK;
}

void
lc__checksum_free(struct lc__checksum *sum)
{
	if (sum == NULL)
		return;
	switch (rows[sum->row].kind) {
	case CRYPTO: crypto_free(sum); break;
	case XXH_32: (void)XXH32_freeState(sum->state.xxh32); break;
	case XXH_64: (void)XXH64_freeState(sum->state.xxh64); break;
	default: (void)XXH3_freeState(sum->state.xxh3);
	}
	free(sum);
}

lc_status
lc__sha256_of(const void *data, size_t size, char out[LC__SHA256_HEX])
{
	struct lc__checksum *sum;
	lc_status status;

	return_if_error(lc__checksum_new("sha256", &sum));
	status = lc__checksum_update(sum, data, size);
	if (status == LC_OK)
		status = lc__checksum_hex(sum, out);
	lc__checksum_free(sum);
	return status;
}

/* ---- HMAC ----------------------------------------------------------------------- */

#define SHA256_BLOCK 64

/* SHA-256 of two pieces. */
static lc_status
sha256_of_two(const void *a, size_t a_size, const void *b, size_t b_size,
    unsigned char out[LC__SHA256_SIZE])
{
	struct lc__checksum *sum;
	unsigned size = 0;
	lc_status status;

	return_if_error(lc__checksum_new("sha256", &sum));
	status = lc__checksum_update(sum, a, a_size);
	if (status == LC_OK)
		status = lc__checksum_update(sum, b, b_size);
	if (status == LC_OK)
		status = crypto_bytes(sum, out, &size);
	lc__checksum_free(sum);
	return status;
}

lc_status
lc__hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
    unsigned char out[LC__SHA256_SIZE])
{
	unsigned char block[SHA256_BLOCK] = { 0 }, inner[LC__SHA256_SIZE];

	if (key_size > sizeof(block))
		return_if_error(sha256_of_two(key, key_size, "", 0, block));
	else if (key_size > 0)
		memcpy(block, key, key_size);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	return_if_error(sha256_of_two(block, sizeof(block), data, size, inner));
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	return sha256_of_two(block, sizeof(block), inner, sizeof(inner), out);
}
