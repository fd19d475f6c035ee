/* SPDX-License-Identifier: BSD-2-Clause */
/* Merging modules that hold parts of one list of inputs into one module that holds all of
 * them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "life/carry.h"
#include "life/progress.h"
#include "store/inputs.h"
#include "store/lookup.h"
#include "store/settings.h"

/* Instead of a source: the target itself, or none. */
#define TARGET UINT32_MAX
#define NOBODY (UINT32_MAX - 1)

/* An input of the list. */
struct input {
	char *name; /* malloc'ed */
	unsigned char fingerprint[LC_INPUT_FINGERPRINT_MAX];
	size_t fingerprint_size;  /* 0: not known yet */
	uint32_t fingerprint_of;  /* the module that knows it */
	uint64_t there;           /* chunks in the target */
	uint64_t there_records;   /* in them */
	uint64_t there_hash;      /* over them */
	uint32_t source;          /* the module that has finished it; the target is
	                           * preferred */
	uint64_t chunks;          /* that it has there */
	uint64_t records, bytes;  /* of them, excluding those that the target has */
	uint64_t hash;            /* over the chunks */
	uint32_t farthest;        /* of the modules that have not finished it */
	uint64_t farthest_chunks; /* in that one */
};

struct merging {
	struct lc_cache *to; /* NULL in a dry run without a target */
	const char *const *from;
	uint32_t nfrom;
	const lc_merge_options *options;
	struct input *inputs;     /* malloc'ed */
	uint32_t ninputs;         /* 0: no module has named them yet */
	uint32_t list_of;         /* the module that did */
	lc_settings settings;     /* of the target, existing or future */
	uint32_t settings_of;     /* the module that the settings are from */
	bool adopts;              /* the target will get them */
	bool carries;             /* the contribution of each module is known */
	struct lc__schema *first; /* with strict settings; owned */
	uint32_t held;            /* the input for which the target's order waits */
	bool held_turn;           /* carry that one now; else only the others */
	bool reads_only;          /* read its records, store nothing */
	uint64_t done, total;     /* bytes of records */
	lc_merge_result result;
};

/* The module being read. */
struct source {
	uint32_t number; /* in merging.from, or TARGET */
	struct lc_cache *cache;
	struct lc__snapshot *snapshot;
	struct lc__input_row *rows;      /* numbers of its inputs; malloc'ed */
	bool *has_chunks;                /* rows of its inputs; malloc'ed */
	struct lc__placed_chunk *chunks; /* pieces, by input; malloc'ed */
	size_t nchunks;
	struct lc__carry carry;
};

/* One module's state of an input. */
struct piece {
	uint32_t input;
	const struct lc__input_row *row;
	const struct lc__placed_chunk *chunks; /* row->chunks of them */
};

static const char *
module_name(const struct merging *m, uint32_t number)
{
	return number == TARGET ? lc__env_dir(m->to->env) : m->from[number];
}

/* ---- the modules ----------------------------------------------------------- */

static lc_status
open_source(const struct merging *m, uint32_t number, struct lc_cache **out)
{
	lc_options options;
	char *path = strdup(m->from[number]);
	const char *root = ".", *id = path;
	lc_status status;
	char *slash;

	if (path == NULL)
		return lc__no_memory("merge");
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	slash = strrchr(path, '/');
	if (slash != NULL) {
		root = slash == path ? "/" : path;
		id = slash + 1;
		*slash = '\0';
	}
	lc_options_init(&options);
	options.flags = LC_RDONLY | (m->options->flags & LC_FORCE_FS);
	options.lru_bytes = 0;
	status = lc_open(root, id, &options, out);
	free(path);
	return status;
}

/* The hash over the first @p n chunks of a piece. */
static uint64_t
hash_chunks(const struct piece *p, uint64_t n)
{
	uint64_t hash = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct lc__order_row row = {
			.input = p->input,
			.ordinal = p->chunks[i].ordinal,
			.records = p->chunks[i].records,
			.length = p->chunks[i].length,
			.digest = p->chunks[i].digest,
		};

		hash = lc__order_chain(hash, &row);
	}
	return hash;
}

/* Is an input needed from this module? All are, until the contribution of each module is
 * known; then only those that are carried now. */
static bool
concerns(const struct merging *m, const struct source *s, uint32_t input)
{
	return !m->carries ||
	    (m->inputs[input].source == s->number && (input == m->held) == m->held_turn);
}

/* Read the rows of @p n inputs. */
static lc_status
read_rows(const struct merging *m, struct source *s, uint32_t n)
{
	s->rows = calloc(n, sizeof(*s->rows));
	s->has_chunks = calloc(n, sizeof(*s->has_chunks));
	if (s->rows == NULL || s->has_chunks == NULL)
		return lc__no_memory("merge");
	for (uint32_t i = 0; i < n; i++) {
		if (!concerns(m, s, i))
			continue;
		return_if_error(lc__input_get(s->snapshot, i, &s->rows[i]));
		s->has_chunks[i] = s->rows[i].chunks > 0;
	}
	return LC_OK;
}

/* Call @p each for every input of a module that is needed; its list was checked. */
static lc_status
walk(struct merging *m, struct source *s,
    lc_status (*each)(struct merging *m, struct source *s, const struct piece *p))
{
	size_t at = 0;

	return_if_error(
	    lc__order_list(s->snapshot, true, s->has_chunks, &s->chunks, &s->nchunks));
	for (uint32_t i = 0; i < m->ninputs; i++) {
		const struct lc__input_row *row = &s->rows[i];
		const struct piece p = { i, row, s->chunks + at };
		uint64_t n = 0;

		if (!concerns(m, s, i))
			continue;
		while (at + n < s->nchunks && s->chunks[at + n].input == i &&
		    s->chunks[at + n].ordinal == n)
			n++;
		if (n != row->chunks)
			return lc__error(LC_CORRUPT, 0,
			    "merge: %s: chunk %llu of input %s was lost when the module "
			    "was recovered",
			    module_name(m, s->number), (unsigned long long)n,
			    m->inputs[i].name);
		at += n;
		return_if_error(each(m, s, &p));
	}
	return LC_OK;
}

/* Run @p body on the newest commit of a module. */
static lc_status
visit(struct merging *m, uint32_t number,
    lc_status (*body)(struct merging *m, struct source *s))
{
	struct source s = { .number = number, .cache = m->to };
	lc_status status;

	if (number != TARGET)
		return_if_error(open_source(m, number, &s.cache));
	status = lc__snapshot_take(s.cache->env, &s.snapshot);
	if (status == LC_OK) {
		lc__snapshot_keep(s.snapshot);
		status = body(m, &s);
		lc__snapshot_end_keep(s.snapshot);
	}
	free(s.rows);
	free(s.has_chunks);
	free(s.chunks);
	if (number != TARGET) {
		const lc_status closed = lc_close(s.cache);

		if (status == LC_OK)
			status = closed;
	}
	return status;
}

/* ---- the list -------------------------------------------------------------- */

/* The first module with inputs defines the list. */
static lc_status
learn_list(struct merging *m, const struct source *s, uint32_t n)
{
	m->inputs = calloc(n, sizeof(*m->inputs));
	if (m->inputs == NULL)
		return lc__no_memory("merge");
	m->list_of = s->number;
	for (m->ninputs = 0; m->ninputs < n; m->ninputs++) {
		struct input *in = &m->inputs[m->ninputs];
		const lc_id *name = &s->rows[m->ninputs].name;

		in->source = in->farthest = NOBODY;
		in->name = strndup((const char *)name->data, name->size);
		if (in->name == NULL)
			return lc__no_memory("merge");
	}
	return LC_OK;
}

static lc_status
compare_list(const struct merging *m, const struct source *s)
{
	for (uint32_t i = 0; i < m->ninputs; i++) {
		const struct lc__input_row *row = &s->rows[i];

		if (concerns(m, s, i) && !lc__input_has_name(row, m->inputs[i].name))
			return lc__error(LC_INVALID, 0,
			    "merge: input %u is %s in %s, and %s in %s", i,
			    lc__quote_id(row->name.data, row->name.size),
			    module_name(m, s->number), m->inputs[i].name,
			    module_name(m, m->list_of));
	}
	return LC_OK;
}

/* Read the inputs of a module, which must be the same as those of the others. */
static lc_status
check_list(struct merging *m, struct source *s)
{
	const char *here = module_name(m, s->number);
	struct lc__fill_row fill;
	const lc_status status = lc__fill_get(s->snapshot, &fill);
	uint32_t n;

	if (status == LC_NOT_FOUND)
		return lc__error(LC_INVALID, 0, "merge: %s has no inputs", here);
	return_if_error(status);
	n = (uint32_t)fill.inputs;
	if (m->ninputs != 0 && n != m->ninputs)
		return lc__error(LC_INVALID, 0, "merge: %s has %u inputs, and %s has %u",
		    here, n, module_name(m, m->list_of), m->ninputs);
	return_if_error(read_rows(m, s, n));
	return m->ninputs == 0 ? learn_list(m, s, n) : compare_list(m, s);
}

static lc_status
check_fingerprint(const struct merging *m, const struct source *s, const struct piece *p)
{
	struct input *in = &m->inputs[p->input];
	const lc_id *theirs = &p->row->fingerprint;

	if (theirs->size == 0)
		return LC_OK;
	if (in->fingerprint_size == 0) {
		memcpy(in->fingerprint, theirs->data, theirs->size);
		in->fingerprint_size = theirs->size;
		in->fingerprint_of = s->number;
		return LC_OK;
	}
	if (theirs->size == in->fingerprint_size &&
	    memcmp(theirs->data, in->fingerprint, theirs->size) == 0)
		return LC_OK;
	return lc__error(LC_STALE, 0,
	    "merge: input %s has another fingerprint in %s than in %s", in->name,
	    module_name(m, s->number), module_name(m, in->fingerprint_of));
}

/* ---- settings and structures ----------------------------------------------- */

static bool
same_settings(const lc_settings *a, const lc_settings *b)
{
	return a->codec == b->codec && a->level == b->level && a->policy == b->policy &&
	    a->evict == b->evict && a->max_bytes == b->max_bytes &&
	    a->auto_compact == b->auto_compact &&
	    strcmp(a->length_field, b->length_field) == 0;
}

/* Lengths of records add up in the order, so they must be lengths of the same field. */
static lc_status
check_settings(struct merging *m, struct source *s)
{
	lc_settings theirs;

	return_if_error(lc__settings_load(s->cache->env, s->snapshot->txn, &theirs));
	if (m->settings_of == NOBODY) {
		m->settings = theirs;
		m->settings_of = s->number;
	}
	if (strcmp(theirs.length_field, m->settings.length_field) == 0)
		return LC_OK;
	return lc__error(LC_INVALID, 0,
	    "merge: the length field is '%s' in %s and '%s' in %s", theirs.length_field,
	    module_name(m, s->number), m->settings.length_field,
	    module_name(m, m->settings_of));
}

/* In a strict module all records have the structure of the first one. */
static lc_status
check_schemas(struct merging *m, struct source *s)
{
	char ours[400], others[400];
	struct lc__known *known;

	if (m->settings.policy != LC_STRICT)
		return LC_OK;
	for (uint32_t id = 0; id < s->snapshot->state.next_schema; id++) {
		const struct lc__schema *theirs;

		return_if_error(lc__snapshot_schema(s->snapshot, id, &known));
		theirs = known->schema;
		if (m->first == NULL)
			return_if_error(
			    lc__schema_decode(theirs->bytes, theirs->size, &m->first));
		if (lc__schema_alike(m->first, theirs))
			continue;
		lc__schema_describe(m->first, ours, sizeof(ours));
		lc__schema_describe(theirs, others, sizeof(others));
		return lc__error(LC_SCHEMA, 0,
		    "merge: %s holds %s, not %s like the others, and the target is strict",
		    module_name(m, s->number), others, ours);
	}
	return LC_OK;
}

/* ---- which module has which input ------------------------------------------------ */

static lc_status
conflict(const struct merging *m, const struct input *in, uint32_t a, uint32_t b)
{
	return lc__error(LC_INVALID, 0,
	    "merge: input %s has one content in %s and another one in %s", in->name,
	    module_name(m, a), module_name(m, b));
}

/* The size of the records that the target does not have. */
static lc_status
count_bytes(struct source *s, const struct piece *p, struct input *in)
{
	for (uint64_t i = in->there; i < p->row->chunks; i++) {
		struct lc__ledger_row row;
		uint64_t id;
		bool intact;
		const lc_status status = lc__ledger_seek(s->snapshot, p->chunks[i].chunk,
		    &id, &row, &intact);

		if (status != LC_OK && status != LC_END)
			return status;
		/* If it is damaged, the copy reports it. */
		if (status == LC_OK && id == p->chunks[i].chunk)
			in->bytes += row.bytes;
	}
	return LC_OK;
}

/* Record a module's state of an input. */
static lc_status
weigh(struct merging *m, struct source *s, const struct piece *p)
{
	struct input *in = &m->inputs[p->input];
	const struct lc__input_row *row = p->row;
	uint64_t hash;

	return_if_error(check_fingerprint(m, s, p));
	if (s->number == TARGET) {
		in->there = row->chunks;
		in->there_records = row->records;
		in->there_hash = hash_chunks(p, row->chunks);
	}
	if (!row->finished) {
		if (in->farthest == NOBODY || row->chunks > in->farthest_chunks) {
			in->farthest = s->number;
			in->farthest_chunks = row->chunks;
		}
		return LC_OK;
	}
	if (row->chunks < in->there || hash_chunks(p, in->there) != in->there_hash)
		return conflict(m, in, TARGET, s->number);
	hash = hash_chunks(p, row->chunks);
	if (in->source != NOBODY)
		return in->chunks == row->chunks && in->hash == hash
		    ? LC_OK
		    : conflict(m, in, in->source, s->number);
	in->source = s->number;
	in->chunks = row->chunks;
	in->records = row->records - in->there_records;
	in->hash = hash;
	return count_bytes(s, p, in);
}

static lc_status
look_at(struct merging *m, struct source *s)
{
	if (m->to != NULL && s->number != TARGET && s->cache->env == m->to->env)
		return lc__error(LC_INVALID, 0, "merge: %s is both source and target",
		    module_name(m, s->number));
	if (s->number != TARGET || !m->adopts) {
		return_if_error(check_settings(m, s));
		return_if_error(check_schemas(m, s));
	}
	/* The target may have no inputs yet. */
	if (s->number == TARGET && !s->snapshot->filled)
		return s->snapshot->state.live == 0
		    ? LC_OK
		    : lc__error(LC_INVALID, 0, "merge: %s holds records of plain puts",
			  module_name(m, TARGET));
	return_if_error(check_list(m, s));
	return walk(m, s, weigh);
}

/* Every input must be finished somewhere. */
static lc_status
check_finished(const struct merging *m)
{
	const struct input *first = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->ninputs; i++) {
		const struct input *in = &m->inputs[i];

		if (in->source != NOBODY)
			continue;
		if (n++ == 0)
			first = in;
		lc__progress_damage(&m->options->progress,
		    "input %s is not finished: it has %llu chunks in %s", in->name,
		    (unsigned long long)in->farthest_chunks,
		    module_name(m, in->farthest));
	}
	return n == 0
	    ? LC_OK
	    : lc__error(LC_NOT_FOUND, 0,
		  "merge: none of the modules has finished %u of %u inputs, "
		  "such as %s, which has %llu chunks in %s",
		  n, m->ninputs, first->name, (unsigned long long)first->farthest_chunks,
		  module_name(m, first->farthest));
}

static void
count_all(struct merging *m)
{
	for (uint32_t i = 0; i < m->ninputs; i++) {
		const struct input *in = &m->inputs[i];

		m->result.there += in->source == TARGET;
		m->result.inputs += in->source != TARGET;
		m->result.chunks += in->chunks - in->there;
		m->result.records += in->records;
		m->result.bytes += in->bytes;
	}
}

/* Check everything except the records. */
static lc_status
plan(struct merging *m)
{
	lc_settings defaults;

	lc__settings_default(&defaults);
	m->settings_of = NOBODY;
	if (m->to != NULL) {
		lc_settings ours;
		struct lc__snapshot *s;
		lc_status status;

		return_if_error(lc__snapshot_take(m->to->env, &s));
		status = lc__settings_load(m->to->env, s->txn, &ours);
		m->adopts = !s->filled && same_settings(&ours, &defaults);
		lc__snapshot_give(s, 0);
		return_if_error(status);
		return_if_error(visit(m, TARGET, look_at));
	}
	for (uint32_t i = 0; i < m->nfrom; i++)
		return_if_error(visit(m, i, look_at));
	return_if_error(check_finished(m));
	count_all(m);
	return LC_OK;
}

/* ---- merging --------------------------------------------------------------------- */

/* Give the target its settings and its list of inputs, unless it has them. */
static lc_status
declare(struct merging *m)
{
	lc_input *inputs = calloc(m->ninputs, sizeof(*inputs));
	struct lc__fill_row fill;
	struct lc__snapshot *s;
	lc_status status = LC_OK;

	if (inputs == NULL)
		return lc__no_memory("merge");
	for (uint32_t i = 0; i < m->ninputs; i++)
		inputs[i] = (lc_input){
			.name = m->inputs[i].name,
			.fingerprint = { m->inputs[i].fingerprint,
			    m->inputs[i].fingerprint_size },
		};
	if (m->adopts) {
		m->settings.struct_size = sizeof(m->settings);
		status = lc_settings_set(m->to, &m->settings);
	}
	if (status == LC_OK)
		status = lc_inputs_declare(m->to, m->ninputs, inputs);
	free(inputs);
	return_if_error(status);
	return_if_error(lc__snapshot_take(m->to->env, &s));
	status = lc__fill_get(s, &fill);
	lc__snapshot_give(s, 0);
	m->held = fill.rounds.input;
	return status;
}

/* Carry an input into the target. */
static lc_status
carry_input(struct merging *m, struct source *s, const struct piece *p)
{
	const struct input *in = &m->inputs[p->input];
	struct lc__carry *carry = &s->carry;
	const uint64_t before = m->done;

	if (!p->row->finished || p->row->chunks != in->chunks ||
	    hash_chunks(p, in->chunks) != in->hash)
		return lc__error(LC_BUSY, 0,
		    "merge: input %s of %s was changed meanwhile", in->name,
		    module_name(m, s->number));
	carry->input = in->name;
	carry->bytes = 0;
	for (uint64_t i = in->there; i < in->chunks; i++) {
		return_if_error(lc__carry_chunk(carry, &p->chunks[i]));
		m->done = before + carry->bytes;
		return_if_error(
		    lc__progress_step(&m->options->progress, m->done, m->total, "merge"));
	}
	return lc__carry_finish(carry, p->input, in->chunks, &p->row->cursor);
}

static lc_status
carry_source(struct merging *m, struct source *s)
{
	lc_status status;

	s->carry = (struct lc__carry){
		.from = s->snapshot,
		.to = m->to,
		.measure.field = m->settings.length_field,
		.reads_only = m->reads_only,
	};
	return_if_error(check_list(m, s));
	status = walk(m, s, carry_input);
	if (status == LC_OK)
		status = lc__carry_commit(&s->carry);
	lc__carry_free(&s->carry);
	return status;
}

/* As long as the held input has no further chunk, the order does not advance: so this
 * input comes last, after all of its records have been verified. */
static lc_status
carry_all(struct merging *m)
{
	const struct input *held = &m->inputs[m->held];
	bool *wanted = calloc(m->nfrom, sizeof(*wanted));
	lc_status status = LC_OK;

	if (wanted == NULL)
		return lc__no_memory("merge");
	m->carries = true;
	m->total = m->result.bytes + held->bytes;
	for (uint32_t i = 0; i < m->ninputs; i++)
		if (i != m->held && m->inputs[i].source != TARGET)
			wanted[m->inputs[i].source] = true;
	for (uint32_t i = 0; i < m->nfrom && status == LC_OK; i++)
		if (wanted[i])
			status = visit(m, i, carry_source);
	free(wanted);
	if (status != LC_OK || held->source == TARGET)
		return status;
	m->held_turn = m->reads_only = true;
	return_if_error(visit(m, held->source, carry_source));
	m->reads_only = false;
	return visit(m, held->source, carry_source);
}

/* ---- the call ----------------------------------------------------------------- */

void
lc_merge_options_init(lc_merge_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
}

static lc_status
check_call(const struct merging *m, size_t n)
{
	if (m->options->struct_size != sizeof(*m->options))
		return lc__error(LC_INVALID, 0,
		    "merge: option struct_size: not "
		    "set by lc_merge_options_init() of this version");
	if (m->options->flags & ~LC_FORCE_FS)
		return lc__error(LC_INVALID, 0, "merge: option flags: unknown");
	if (n == 0 || n >= NOBODY || m->from == NULL)
		return lc__error(LC_INVALID, 0, "merge: no modules to merge");
	for (size_t i = 0; i < n; i++)
		if (m->from[i] == NULL || *m->from[i] == '\0')
			return lc__error(LC_INVALID, 0, "merge: module %zu has no name",
			    i);
	if (m->to == NULL && !m->options->dry_run)
		return lc__error(LC_INVALID, 0, "merge: no module to merge into");
	return m->options->dry_run ? LC_OK : lc__check_writable(m->to, "merge");
}

static lc_status
merge(struct merging *m)
{
	lc_status status;

	if (m->options->dry_run)
		return plan(m);
	return_if_error(lc__input_lock_all(m->to->env, "merge"));
	status = plan(m);
	if (status == LC_OK)
		status = declare(m);
	if (status == LC_OK)
		status = carry_all(m);
	lc__input_unlock_all(m->to->env);
	return status;
}

lc_status
lc_inputs_merge(lc_cache *to, size_t n, const char *const *from,
    const lc_merge_options *options, lc_merge_result *out)
{
	struct merging m = { .to = to, .from = from, .options = options };
	lc_merge_options defaults;
	lc_status status;

	if (options == NULL) {
		lc_merge_options_init(&defaults);
		m.options = &defaults;
	}
	return_if_error(check_call(&m, n));
	m.nfrom = (uint32_t)n;
	status = merge(&m);
	for (uint32_t i = 0; i < m.ninputs; i++)
		free(m.inputs[i].name);
	free(m.inputs);
	lc__schema_free(m.first);
	if (status == LC_OK && out != NULL)
		*out = m.result;
	return status;
}
