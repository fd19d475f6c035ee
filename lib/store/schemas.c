/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/schemas.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "value/dtype.h"

#define SLOTS 1024

struct lc__schemas {
	pthread_mutex_t lock; /* guards the lists and every structure's fresh */
	atomic_uint_least32_t
	    fresh; /* number of fresh structures; changed under the lock */
	atomic_uint_least32_t rows; /* of the module's table, as last seen */
	struct lc__known *slots[SLOTS];
	_Atomic(struct lc__known *) tensors[LC_DTYPE_COUNT][LC_MAX_NDIM + 1];
	_Atomic(struct lc__known *) last; /* of a value that was put; NULL: none */
};

/* ---- rows ----------------------------------------------------------------- */

lc_status
lc__schema_row_decode(const void *bytes, size_t size, uint32_t id,
    struct lc__schema **out)
{
	if (!lc__row_intact(bytes, size, id))
		return lc__error(LC_CORRUPT, 0, "checksum mismatch");
	return lc__schema_decode(bytes, size - LC__ROW_SUM, out);
}

lc_status
lc__schema_row_put(struct lc__txn *txn, uint32_t id, const struct lc__schema *schema)
{
	struct lc__buf row = { 0 };
	lc_status status;

	lc__buf_append(&row, schema->bytes, schema->size);
	lc__buf_append64(&row, lc__row_sum(schema->bytes, schema->size, id));
	status = row.failed ? lc__no_memory("schema")
			    : lc__txn_put(txn, LC__SCHEMA, id, row.data, row.size);
	lc__buf_free(&row);
	return status;
}

/* ---- the list ------------------------------------------------------------- */

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

/* The parent stores what was put before the fork. */
void
lc__schemas_after_fork(struct lc__schemas *schemas)
{
	pthread_mutex_init(&schemas->lock, NULL);
	for (size_t i = 0; i < SLOTS; i++)
		for (struct lc__known *k = schemas->slots[i]; k != NULL; k = k->next)
			k->fresh = false;
	atomic_store(&schemas->fresh, 0);
	atomic_store(&schemas->last, NULL);
}

/* The equal structure that is kept; NULL if there is none. */
static struct lc__known *
find_locked(struct lc__schemas *schemas, const struct lc__schema *schema)
{
	struct lc__known *known = schemas->slots[schema->hash % SLOTS];

	while (known != NULL && !lc__schema_equal(known->schema, schema))
		known = known->next;
	return known;
}

/* Keep a structure; free it if an equal one is kept already. It is linked last, so that a
 * child that is forked meanwhile finds consistent lists. */
static lc_status
keep_locked(struct lc__schemas *schemas, struct lc__schema *schema,
    struct lc__known **out)
{
	struct lc__known *known = find_locked(schemas, schema);

	if (known != NULL) {
		lc__schema_free(schema);
		*out = known;
		return LC_OK;
	}
	known = calloc(1, sizeof(*known));
	if (known == NULL) {
		lc__schema_free(schema);
		return lc__no_memory("schema");
	}
	known->schema = schema;
	atomic_init(&known->id, LC__SCHEMA_NEW);
	known->next = schemas->slots[schema->hash % SLOTS];
	schemas->slots[schema->hash % SLOTS] = known;
	*out = known;
	return LC_OK;
}

/* ---- putting -------------------------------------------------------------- */

static bool
is_full(const struct lc__schemas *schemas)
{
	return atomic_load(&schemas->rows) + atomic_load(&schemas->fresh) >=
	    LC__SCHEMAS_PUT;
}

static bool
refuses_locked(struct lc__schemas *schemas, const struct lc__schema *schema)
{
	const struct lc__known *known = find_locked(schemas, schema);

	return is_full(schemas) &&
	    (known == NULL ||
		(!known->fresh && atomic_load(&known->id) == LC__SCHEMA_NEW));
}

bool
lc__schemas_refuses(struct lc__schemas *schemas, const struct lc__schema *schema)
{
	bool refused;

	if (!is_full(schemas))
		return false;
	pthread_mutex_lock(&schemas->lock);
	refused = refuses_locked(schemas, schema);
	pthread_mutex_unlock(&schemas->lock);
	return refused;
}

static lc_status
intern_locked(struct lc__schemas *schemas, struct lc__schema *schema,
    struct lc__known **out)
{
	if (refuses_locked(schemas, schema)) {
		lc__schema_free(schema);
		return lc__error(LC_SCHEMA, 0,
		    "more than %d structures of values: is a name data?",
		    LC__SCHEMAS_PUT);
	}
	return_if_error(keep_locked(schemas, schema, out));
	if (!(*out)->fresh && atomic_load(&(*out)->id) == LC__SCHEMA_NEW) {
		(*out)->fresh = true;
		atomic_fetch_add(&schemas->fresh, 1);
	}
	schema = (*out)->schema;
	if (lc__schema_is_tensor(schema) && schema->node[0].dtype < LC_DTYPE_COUNT)
		atomic_store_explicit(&schemas->tensors[schema->node[0].dtype]
						       [schema->node[0].ndim],
		    *out, memory_order_release);
	else
		atomic_store_explicit(&schemas->last, *out, memory_order_release);
	return LC_OK;
}

lc_status
lc__schemas_intern(struct lc__schemas *schemas, struct lc__schema *schema,
    struct lc__known **out)
{
	lc_status status;

	pthread_mutex_lock(&schemas->lock);
	status = intern_locked(schemas, schema, out);
	pthread_mutex_unlock(&schemas->lock);
	return status;
}

struct lc__known *
lc__schemas_of_tensor(struct lc__schemas *schemas, lc_dtype dtype, uint32_t ndim)
{
	if (lc__dtype_is_opaque(dtype))
		return NULL;
	return atomic_load_explicit(&schemas->tensors[dtype][ndim], memory_order_acquire);
}

struct lc__known *
lc__schemas_of_value(struct lc__schemas *schemas, const lc_value *value)
{
	struct lc__known *last = atomic_load_explicit(&schemas->last,
	    memory_order_acquire);

	return last != NULL && lc__schema_fits(last->schema, value) ? last : NULL;
}

/* ---- what the module has -------------------------------------------------- */

static void
set_id_locked(struct lc__schemas *schemas, struct lc__known *known, uint32_t id)
{
	atomic_store(&known->id, id);
	if (known->fresh)
		atomic_fetch_sub(&schemas->fresh, 1);
	known->fresh = false;
	if (atomic_load(&schemas->rows) <= id)
		atomic_store(&schemas->rows, id + 1);
}

lc_status
lc__schemas_row(struct lc__schemas *schemas, uint32_t id, const void *bytes, size_t size,
    struct lc__known **out)
{
	struct lc__schema *schema;
	lc_status status;

	return_if_error(lc__schema_row_decode(bytes, size, id, &schema));
	pthread_mutex_lock(&schemas->lock);
	status = keep_locked(schemas, schema, out);
	if (status == LC_OK)
		set_id_locked(schemas, *out, id);
	pthread_mutex_unlock(&schemas->lock);
	return status;
}

void
lc__schemas_stored(struct lc__schemas *schemas, struct lc__known *known, uint32_t id)
{
	pthread_mutex_lock(&schemas->lock);
	set_id_locked(schemas, known, id);
	pthread_mutex_unlock(&schemas->lock);
}

void
lc__schemas_count(struct lc__schemas *schemas, uint32_t rows)
{
	/* Rows are only ever added, and usually there are as many as before. */
	if (atomic_load(&schemas->rows) >= rows)
		return;
	pthread_mutex_lock(&schemas->lock);
	if (atomic_load(&schemas->rows) < rows)
		atomic_store(&schemas->rows, rows);
	pthread_mutex_unlock(&schemas->lock);
}
