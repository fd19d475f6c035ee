/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/own.h"

#include "base/error.h"
#include "index/run_build.h"
#include "store/lru.h"
#include "store/view.h"

static struct lc__lru_key
key_of(const struct lc_cache *cache, const void *id, size_t id_size)
{
	return (struct lc__lru_key){
		.location = lc__run_hash(lc__env_seed(cache->env), id, id_size),
		.part = LC__LRU_RECORD, .id = { id, id_size }
	};
}

void
lc__own_keep_block(struct lc_cache *cache, const lc_id *id,
    struct lc__block *block, struct lc__known *known)
{
	const struct lc__lru_key key = key_of(cache, id->data, id->size);

	lc__lru_put(cache->lru, &key, block, known);
}

lc_status
lc__own_encode(const struct lc__draft *draft, struct lc__known *known,
    struct lc__peeked *out)
{
	const size_t size = lc__record_size(draft);
	struct lc__block *block;

	if (size == 0)
		return lc__error(LC_INVALID, 0,
		    "its record is above the limit of 2 GiB");
	block = lc__block_new(size);
	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "put: %s: out of memory",
		    lc__quote_id(draft->id.data, draft->id.size));
	lc__record_encode(block->data, size, draft);
	*out = (struct lc__peeked){ block, known };
	return LC_OK;
}

lc_status
lc__own_keep(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known)
{
	struct lc__peeked encoded;

	if (cache->lru == NULL)
		return LC_OK;
	return_if_error(lc__own_encode(draft, known, &encoded));
	lc__own_keep_block(cache, &draft->id, encoded.block, known);
	lc__block_drop(encoded.block);
	return LC_OK;
}

void
lc__own_forget(struct lc_cache *cache, const lc_id *id)
{
	const struct lc__lru_key key = key_of(cache, id->data, id->size);

	lc__lru_remove(cache->lru, &key);
}

/* The same as lc__flush_peek(), where puts stay in the LRU. */
static void
peek_kept(struct lc_cache *cache, const void *id, size_t id_size,
    struct lc__peeked *out, enum lc__pending_answer *answer)
{
	const struct lc__lru_key key = key_of(cache, id, id_size);
	const void *known = NULL;
	struct lc__block *block = lc__lru_get_noted(cache->lru, &key, &known);

	*answer = block == NULL ? LC__PENDING_UNKNOWN : LC__PENDING_PUT;
	if (out == NULL)
		lc__block_drop(block);
	else
		*out = (struct lc__peeked){ block, (struct lc__known *)known };
}

static lc_status
peek(struct lc_cache *cache, const void *id, size_t id_size,
    struct lc__peeked *out, enum lc__pending_answer *answer)
{
	if (cache->writes)
		return lc__flush_peek(cache, id, id_size, out, answer);
	peek_kept(cache, id, id_size, out, answer);
	return LC_OK;
}

lc_status
lc__own_has(struct lc_cache *cache, const void *id, size_t id_size,
    enum lc__pending_answer *answer)
{
	return peek(cache, id, id_size, NULL, answer);
}

lc_status
lc__own_view(struct lc_cache *cache, const void *id, size_t id_size,
    lc_view *out, enum lc__pending_answer *answer)
{
	struct lc__peeked found = { NULL, NULL };
	lc_status status;

	return_if_error(peek(cache, id, id_size, &found, answer));
	if (found.block == NULL)
		return LC_OK;
	status = lc__view_block(cache, found.block, found.known, out);
	lc__block_drop(found.block);
	lc__env_lock(cache->env);
	lc__module_of(cache->env)->counts.hits++;
	lc__env_unlock(cache->env);
	return status;
}
