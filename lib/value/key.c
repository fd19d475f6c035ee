/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys derived from content: equal values have equal keys, in every process and version.
 * lmdbcache_value(3) defines the bytes that are hashed.
 */
#include <endian.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "value/node.h"

#define DIGEST_SIZE 16

static lc_status digest(const lc_value *value, unsigned char out[DIGEST_SIZE]);

/* XXH3-128 in its canonical form, which is big-endian. */
static void
hash(const void *data, size_t size, unsigned char out[DIGEST_SIZE])
{
	uint64_t halves[2];

	lc__hash128(data, size, halves);
	halves[0] = htobe64(halves[0]);
	halves[1] = htobe64(halves[1]);
	memcpy(out, halves, DIGEST_SIZE);
}

static void
digest_text(lc_kind kind, const char *bytes, size_t size, unsigned char out[DIGEST_SIZE])
{
	unsigned char message[1 + DIGEST_SIZE] = { (unsigned char)kind };

	hash(bytes, size, message + 1);
	hash(message, sizeof(message), out);
}

static void
digest_number(const lc_value *value, unsigned char out[DIGEST_SIZE])
{
	unsigned char message[2 + sizeof(uint64_t)] = { value->kind };
	size_t size = 1;

	if (value->kind == LC_INTEGER)
		message[size++] = (value->flags & LC__NEGATIVE) != 0;
	lc__set64(message + size, value->of.bits);
	hash(message, size + sizeof(uint64_t), out);
}

static lc_status
digest_tensor(const lc_tensor *tensor, unsigned char out[DIGEST_SIZE])
{
	const char *name = lc_dtype_name(tensor->dtype);
	struct lc__buf message = { 0 };
	unsigned char data[DIGEST_SIZE];
	lc_status status;

	hash(tensor->data, tensor->nbytes, data);
	lc__buf_append(&message, &(unsigned char){ LC_TENSOR }, 1);
	lc__buf_append(&message, name, strlen(name) + 1);
	for (uint32_t i = 0; i < tensor->ndim; i++)
		lc__buf_append64(&message, tensor->shape[i]);
	lc__buf_append(&message, data, sizeof(data));
	status = message.failed ? lc__no_memory("key") : LC_OK;
	if (status == LC_OK)
		hash(message.data, message.size, out);
	lc__buf_free(&message);
	return status;
}

/* For an entry of a map or of pairs: the digest of the tuple of its name or key and its
 * value. */
static lc_status
digest_entry(const lc_value *key, const lc_value *value, unsigned char out[DIGEST_SIZE])
{
	unsigned char message[1 + 2 * DIGEST_SIZE] = { LC_TUPLE };

	if (key != NULL)
		return_if_error(digest(key, message + 1));
	else
		digest_text(LC_STRING, value->name, strlen(value->name), message + 1);
	return_if_error(digest(value, message + 1 + DIGEST_SIZE));
	hash(message, sizeof(message), out);
	return LC_OK;
}

static int
compare_digests(const void *a, const void *b)
{
	return memcmp(a, b, DIGEST_SIZE);
}

/* The nesting of a tree is limited, and so is this recursion. */
static lc_status
digest_group(const lc_value *value, unsigned char out[DIGEST_SIZE])
{
	const struct lc__group *group = lc__const_group_of(value);
	const bool pairs = value->kind == LC_PAIRS;
	const bool entries = pairs || lc__has_names(value->kind);
	unsigned char *message = malloc(1 + (size_t)group->count * DIGEST_SIZE);
	unsigned char *at = message + 1;
	lc_status status = LC_OK;

	if (message == NULL)
		return lc__no_memory("key");
	message[0] = value->kind;
	for (uint32_t i = 0; i < group->count && status == LC_OK;
	     i++, at += DIGEST_SIZE) {
		const lc_value *key = pairs ? group->child[i++] : NULL;

		status = entries ? digest_entry(key, group->child[i], at)
				 : digest(group->child[i], at);
	}
	if (status == LC_OK) {
		const size_t size = (size_t)(at - message);

		if (entries)
			qsort(message + 1, size / DIGEST_SIZE, DIGEST_SIZE,
			    compare_digests);
		hash(message, size, out);
	}
	free(message);
	return status;
}

static lc_status
digest(const lc_value *value, unsigned char out[DIGEST_SIZE])
{
	switch ((lc_kind)value->kind) {
	case LC_TENSOR: return digest_tensor(lc__tensor_of(value), out);
	case LC_MAP:
	case LC_LIST:
	case LC_TUPLE:
	case LC_TAGGED:
	case LC_PAIRS: return digest_group(value, out);
	case LC_NIL: hash(&value->kind, 1, out); break;
	case LC_BOOLEAN:
	case LC_INTEGER:
	case LC_FLOAT: digest_number(value, out); break;
	case LC_STRING:
	case LC_BYTES:
		digest_text((lc_kind)value->kind, value->of.text.bytes,
		    value->of.text.size, out);
		break;
	}
	return LC_OK;
}

lc_status
lc_value_key(const lc_value *value, char out[LC_KEY_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char of_all[DIGEST_SIZE];

	return_if_error(lc_value_check(value));
	return_if_error(digest(value, of_all));
	memcpy(out, "k1-", 3);
	out += 3;
	for (size_t i = 0; i < DIGEST_SIZE; i++) {
		*out++ = digits[of_all[i] >> 4];
		*out++ = digits[of_all[i] & 15];
	}
	*out = '\0';
	return LC_OK;
}
