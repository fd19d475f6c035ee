/* SPDX-License-Identifier: BSD-2-Clause */
/* A put whose tensor the caller writes into the pending record itself. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/put.h"
#include "value/tensor.h"

struct lc_reservation {
	struct lc_cache *cache;   /* held open */
	struct lc__large *memory; /* for the record; NULL once it has been put */
	size_t size;              /* of the record if nothing is coded */
	lc_tensor tensor;         /* its data is in memory */
	size_t id_size;
	unsigned char id[]; /* cache_id */
};

static lc_id
id_of(const struct lc_reservation *r)
{
	return (lc_id){ r->id, r->id_size };
}

/* Return the memory, if there is any, and end a reservation. */
static void
end(struct lc_reservation *r)
{
	if (r->memory != NULL)
		lc__flush_memory_give(r->cache, r->memory);
	lc__cache_let_close(r->cache);
	free(r);
}

/* An lc__put_fn: get memory for the record. */
static lc_status
emit_memory(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	struct lc_reservation *r = ctx;

	(void)known;
	r->size = lc__record_size(draft);
	if (r->size == 0)
		return lc__error(LC_INVALID, 0, "its record is above the limit of 2 GiB");
	return_if_error(lc__flush_memory(r->cache, r->size, &r->memory));
	r->tensor.data = r->memory->bytes + lc__record_head(draft);
	return LC_OK;
}

lc_status
lc_reserve(lc_cache *cache, const void *id, size_t id_size, const lc_tensor *tensor,
    void **data, lc_reservation **out)
{
	const lc_id key = { id, id_size };
	struct lc_reservation *r;
	lc_tensor shape;
	lc_status status;

	return_if_error(lc__put_check(cache, &key));
	if (tensor == NULL)
		return lc__error(LC_INVALID, 0, "put: %s: no tensor",
		    lc__quote_id(id, id_size));
	/* Its elements do not exist yet: the address is not used. */
	return_if_error(
	    lc_tensor_init(&shape, tensor->dtype, tensor->ndim, tensor->shape, cache));
	r = calloc(1, sizeof(*r) + id_size);
	if (r == NULL)
		return lc__no_memory("put");
	r->cache = cache;
	r->tensor = shape;
	r->id_size = id_size;
	memcpy(r->id, id, id_size);
	lc__cache_keep_open(cache);
	status = lc__put_plan_tensor(cache, &key, &shape, emit_memory, r);
	if (status != LC_OK) {
		end(r);
		return status;
	}
	*data = (void *)(uintptr_t)r->tensor.data;
	*out = r;
	return LC_OK;
}

/* An lc__put_fn: finish the record in its memory and put it. A record that is coded,
 * short, or for the LRU is copied from there. */
static lc_status
emit_reserved(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	struct lc_reservation *r = ctx;
	const bool coded = draft->parts != NULL && draft->parts[0].codec != LC_CODEC_NONE;

	if (!r->cache->writes || coded || r->size < LC__LARGE_MIN)
		return lc__flush_add(r->cache, draft, known);
	lc__record_encode(r->memory->bytes, r->size, draft);
	return_if_error(lc__flush_add_large(r->cache, &draft->id, r->memory, known));
	r->memory = NULL;
	return LC_OK;
}

lc_status
lc_reserve_commit(lc_reservation *reservation)
{
	struct lc_reservation *r = reservation;
	lc_id id;

	if (r == NULL)
		return lc__error(LC_INVALID, 0, "put: no reservation");
	id = id_of(r);
	if (lc__cache_is_closed(r->cache))
		return lc__error(LC_INVALID, 0, "put: %s: its handle is closed",
		    lc__quote_id(id.data, id.size));
	return_if_error(lc__put_check(r->cache, &id));
	return_if_error(lc__put_tensor_to(r->cache, &id, &r->tensor, emit_reserved, r));
	end(r);
	return LC_OK;
}

void
lc_reserve_cancel(lc_reservation *reservation)
{
	if (reservation != NULL)
		end(reservation);
}
