/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/schemas.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

#define SLOTS 1024

struct lc__schemas {
	pthread_mutex_t lock;
	uint32_t count;
	struct lc__known *slots[SLOTS];
	_Atomic(struct lc__known *) tensors[LC_DTYPE_COUNT][LC_MAX_NDIM + 1];
};

struct lc__schemas *
lc__schemas_new(void)
{
	struct lc__schemas *schemas = calloc(1, sizeof(*schemas));

	if (schemas != NULL)
		pthread_mutex_init(&schemas->lock, NULL);
	return schemas;
}

void
lc__schemas_free(struct lc__schemas *schemas)
{
	struct lc__known *next;

	if (schemas == NULL)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		for (struct lc__known *k = schemas->slots[i]; k != NULL; k = next) {
			next = k->next;
			lc__schema_free(k->schema);
			free(k);
		}
	pthread_mutex_destroy(&schemas->lock);
	free(schemas);
}

void
lc__schemas_after_fork(struct lc__schemas *schemas)
{
	pthread_mutex_init(&schemas->lock, NULL);
}

/* With the lock held: the one that is equal, NULL if there is none. */
static struct lc__known *
find(struct lc__schemas *schemas, const struct lc__schema *schema)
{
	struct lc__known *known = schemas->slots[schema->hash % SLOTS];

	while (known != NULL && !lc__schema_equal(known->schema, schema))
		known = known->next;
	return known;
}

/* With the lock held: keep a structure, which is freed if it is known. A child
 * that was forked meanwhile finds the list whole: it is linked in last. */
static lc_status
keep(struct lc__schemas *schemas, struct lc__schema *schema,
    struct lc__known **out)
{
	struct lc__known *known = find(schemas, schema);

	if (known != NULL) {
		lc__schema_free(schema);
		*out = known;
		return LC_OK;
	}
	if (schemas->count >= LC__SCHEMAS_MAX) {
		lc__schema_free(schema);
		return lc__error(LC_SCHEMA, 0, "more than %d structures of values: "
		    "is a name data?", LC__SCHEMAS_MAX);
	}
	known = calloc(1, sizeof(*known));
	if (known == NULL) {
		lc__schema_free(schema);
		return lc__error(LC_NO_MEMORY, 0, "schema: out of memory");
	}
	known->schema = schema;
	atomic_init(&known->id, LC__SCHEMA_NEW);
	known->next = schemas->slots[schema->hash % SLOTS];
	schemas->slots[schema->hash % SLOTS] = known;
	schemas->count++;
	*out = known;
	return LC_OK;
}

lc_status
lc__schemas_intern(struct lc__schemas *schemas, struct lc__schema *schema,
    struct lc__known **out)
{
	lc_status status;

	pthread_mutex_lock(&schemas->lock);
	status = keep(schemas, schema, out);
	pthread_mutex_unlock(&schemas->lock);
	return status;
}

lc_status
lc__schemas_of_tensor(struct lc__schemas *schemas, lc_dtype dtype,
    uint32_t ndim, struct lc__known **out)
{
	struct lc__schema *schema;

	*out = atomic_load_explicit(&schemas->tensors[dtype][ndim],
	    memory_order_acquire);
	if (*out != NULL)
		return LC_OK;
	return_if_error(lc__schema_of_tensor(dtype, ndim, &schema));
	return_if_error(lc__schemas_intern(schemas, schema, out));
	atomic_store_explicit(&schemas->tensors[dtype][ndim], *out,
	    memory_order_release);
	return LC_OK;
}

lc_status
lc__schemas_row(struct lc__schemas *schemas, uint32_t id, const void *bytes,
    size_t size, struct lc__known **out)
{
	struct lc__schema *schema;

	return_if_error(lc__schema_decode(bytes, size, &schema));
	return_if_error(lc__schemas_intern(schemas, schema, out));
	atomic_store(&(*out)->id, id);
	return LC_OK;
}
