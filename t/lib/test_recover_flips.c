/* SPDX-License-Identifier: BSD-2-Clause */
/* Every bit of every key of every table, one after the other, and every two rows of a
 * table under each other's keys: no fault makes recover do harm, and what verify calls
 * good is as it was. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "need.h"
#include "rawdb.h"
#include "sample.h"
#include "victim.h"

/* A fault, for the child that has to live with it. */
struct fault {
	const struct victim *victim;
	const char *root;
	size_t bit; /* of the file */
	struct victim_tally *tally;
};

static void
suffer(void *ctx)
{
	const struct fault *f = ctx;
	unsigned char *bytes = malloc(f->victim->size);

	alarm(120); /* an endless loop is a failure too */
	need(bytes != NULL);
	memcpy(bytes, f->victim->bytes, f->victim->size);
	bytes[f->bit / 8] ^= (unsigned char)(1u << f->bit % 8);
	victim_write(f->root, bytes, f->victim->size);
	victim_round(f->victim, f->root, false, f->tally);
	free(bytes);
}

static void
flip_bits(const struct victim *v, const char *root, const struct victim_row *row,
    size_t from, size_t size, struct victim_tally *tally)
{
	for (size_t bit = from * 8; bit < (from + size) * 8; bit++) {
		struct fault fault = { v, root, bit, tally };
		const int status = child_run(suffer, &fault);

		ck_assert_msg(status == 0, "status %d: table %s, row at byte %zu, "
		    "byte %zu bit %zu", status, row->table, row->key - 8,
		    bit / 8 - from, bit % 8);
	}
}

static struct victim_tally *
shared_tally(void)
{
	struct victim_tally *tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(tally, MAP_FAILED);
	return tally;
}

static void
print_tally(const char *what, const struct victim_tally *tally)
{
	printf("# %s: %llu faults, %llu seen by verify, %llu recovered, %llu of them "
	    "without a loss, %llu refused\n", what, (unsigned long long)tally->rounds,
	    (unsigned long long)tally->seen, (unsigned long long)tally->recovered,
	    (unsigned long long)tally->whole, (unsigned long long)tally->refused);
}

START_TEST(keys)
{
	uint64_t random = run_seed() + (uint64_t)_i;
	struct victim_tally *tally = shared_tally();
	const unsigned one_in = sample_times(8) > 8 ? 1 : 8;
	const char *root = run_scratch();
	struct victim v;

	victim_make(&v, root, run_random(&random));
	for (size_t i = 0; i < v.nrows; i++)
		if (strcmp(v.rows[i].table, "meta") == 0 ||
		    run_random(&random) % one_in == 0)
			flip_bits(&v, root, &v.rows[i], v.rows[i].key, v.rows[i].key_size,
			    tally);
	print_tally("keys", tally);
	victim_free(&v);
}
END_TEST

/* Rows of meta: module, state, settings, counters, usage and fill. */
START_TEST(meta_values)
{
	uint64_t random = run_seed() + 100 + (uint64_t)_i;
	struct victim_tally *tally = shared_tally();
	const char *root = run_scratch();
	struct victim v;

	victim_make(&v, root, run_random(&random));
	for (size_t i = 0; i < v.nrows; i++) {
		const struct victim_row *row = &v.rows[i];

		if (strcmp(row->table, "meta") != 0)
			continue;
		for (unsigned n = sample_times(6); n > 0; n--)
			flip_bits(&v, root, row, row->value + run_random(&random) %
			    row->value_size, 1, tally);
	}
	print_tally("values of meta", tally);
	victim_free(&v);
}
END_TEST

/* ---- rows under each other's keys ------------------------------------------- */

struct exchange {
	const struct victim *victim;
	const char *root;
	const struct victim_row *a, *b;
	struct victim_tally *tally;
};

static void
put_row(MDB_txn *txn, MDB_dbi dbi, const struct exchange *x, const struct victim_row *key,
    const struct victim_row *value)
{
	unsigned char *bytes = x->victim->bytes;
	MDB_val k = { key->key_size, bytes + key->key };
	MDB_val v = { value->value_size, bytes + value->value };

	rawdb_must(mdb_put(txn, dbi, &k, &v, 0));
}

static void
remove_salvaged(const char *root)
{
	static const char *const names[] = { "data.mdb", "lock.mdb", "" };
	char path[4200];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/salvaged/%s", root, names[i]);
		need(remove(path) == 0);
	}
}

static void
exchange_rows_of_table(const struct exchange *x)
{
	const bool meta = strcmp(x->a->table, "meta") == 0;
	char dir[4200];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	victim_write(x->root, x->victim->bytes, x->victim->size);
	snprintf(dir, sizeof(dir), "%s/m", x->root);
	env = rawdb_open_env(dir, MDB_NOLOCK);
	txn = rawdb_begin(env, 0);
	dbi = rawdb_table(txn, x->a->table, meta ? 0 : MDB_INTEGERKEY);
	put_row(txn, dbi, x, x->a, x->b);
	put_row(txn, dbi, x, x->b, x->a);
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

/* Two tables get each other's names. LMDB does not write the records of tables. */
static void
exchange_tables(const struct exchange *x)
{
	const struct victim *v = x->victim;
	unsigned char *bytes = malloc(v->size);

	need(bytes != NULL && x->a->value_size == x->b->value_size);
	memcpy(bytes, v->bytes, v->size);
	memcpy(bytes + x->a->value, v->bytes + x->b->value, x->a->value_size);
	memcpy(bytes + x->b->value, v->bytes + x->a->value, x->a->value_size);
	victim_write(x->root, bytes, v->size);
	free(bytes);
}

static bool
is_named(const struct victim *v, const struct victim_row *row, const char *name)
{
	return row->key_size == strlen(name) &&
	    memcmp(v->bytes + row->key, name, row->key_size) == 0;
}

/* Every row is whole and says by its checksum, or by its header, which one it is: all
 * records are found again, and nobody is given one for another. */
static void
suffer_exchange(void *ctx)
{
	const struct exchange *x = ctx;
	const struct victim *v = x->victim;
	const uint64_t whole = x->tally->whole, refused = x->tally->refused;
	bool may_refuse = false;
	lc_salvage_result result;

	alarm(120);
	if (strcmp(x->a->table, "main") == 0) {
		exchange_tables(x);
		/* The keys are of another kind: LMDB cannot look for them. */
		may_refuse = is_named(v, x->a, "meta") || is_named(v, x->b, "meta") ||
		    is_named(v, x->a, "schema") || is_named(v, x->b, "schema");
	} else {
		exchange_rows_of_table(x);
	}
	need_ok(victim_salvage(v, x->root, false, &result));
	need(result.records == v->nlive && result.undecided == 0);
	remove_salvaged(x->root);
	victim_round(v, x->root, false, x->tally);
	need(x->tally->whole == whole + 1 ||
	    (may_refuse && x->tally->refused == refused + 1));
}

static void
exchange_rows(const struct victim *v, const char *root, const struct victim_row *a,
    const struct victim_row *b, struct victim_tally *tally)
{
	struct exchange x = { v, root, a, b, tally };
	const int status = child_run(suffer_exchange, &x);

	ck_assert_msg(status == 0, "status %d: table %s, rows at bytes %zu and %zu", status,
	    a->table, a->key - 8, b->key - 8);
}

START_TEST(exchanged)
{
	uint64_t random = run_seed() + 200 + (uint64_t)_i;
	struct victim_tally *tally = shared_tally();
	const unsigned one_in = sample_times(8) > 8 ? 1 : 8;
	const char *root = run_scratch();
	struct victim v;

	victim_make(&v, root, run_random(&random));
	for (size_t i = 0; i < v.nrows; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(v.rows[i].table, v.rows[k].table) == 0 &&
			    (strcmp(v.rows[i].table, "schema") == 0 ||
			    strcmp(v.rows[i].table, "main") == 0 ||
			    run_random(&random) % one_in == 0))
				exchange_rows(&v, root, &v.rows[i], &v.rows[k], tally);
	print_tally("exchanged rows", tally);
	victim_free(&v);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("recover_flips");
	TCase *tc = tcase_create("recover_flips");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, keys, 0, 2);
	tcase_add_loop_test(tc, meta_values, 0, 2);
	tcase_add_loop_test(tc, exchanged, 0, 4);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
