/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay_io.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"
#include "replay_image.h"
#include "run.h"

/* A call that no sync covers yet. */
struct pending {
	const struct replay_event *event;
	bool must;    /* it is durable all the same: a write through O_DSYNC */
	bool synced[2]; /* of a rename: the two directories */
};

/* What becomes of a pending call. */
enum fate {
	DROPPED, KEPT, TORN, SIZE_ONLY
};

struct replay {
	const struct replay_log *log;
	const struct replay_plan *plan;
	replay_check check;
	void *ctx;

	struct image disk;       /* what is durable for certain */
	struct pending *pending; /* in the order of the log */
	size_t npending;
	enum fate *fates;        /* of pending, for the next state */
	size_t *order;           /* in which they are applied */
	size_t cut;
	size_t states;
	uint64_t random;
	bool promise; /* a promise was just made */
	bool started; /* what came before was there at the start */
	bool stop;
	char what[2000];
};

/* ---- one state ------------------------------------------------------------------ */

static int
remove_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static const char *
file_name(const struct replay_log *log, size_t file)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->events[i].kind == RECORD_CREATE &&
		    log->events[i].file == file)
			return log->events[i].name;
	return "?";
}

static void
describe(struct replay *r)
{
	static const char *const fates[] = { "dropped", "kept", "torn", "size only" };
	size_t used = (size_t)snprintf(r->what, sizeof(r->what),
	    "cut %zu of %zu, T_SEED decides;", r->cut, r->log->count);

	for (size_t i = 0; i < r->npending && used < sizeof(r->what); i++) {
		const struct replay_event *e = r->pending[i].event;
		const char *fate = r->pending[i].must ? "synced" :
		    fates[r->fates[i]];

		if (e->name != NULL)
			used += (size_t)snprintf(r->what + used,
			    sizeof(r->what) - used, " name %s %s,", e->name, fate);
		else
			used += (size_t)snprintf(r->what + used,
			    sizeof(r->what) - used, " %s %llu+%zu %s,",
			    file_name(r->log, e->file),
			    (unsigned long long)e->offset, e->size, fate);
	}
}

static void
apply(struct replay *r, struct image *image, size_t i)
{
	static const enum image_part parts[] = {
		[KEPT] = IMAGE_ALL, [TORN] = IMAGE_TORN, [SIZE_ONLY] = IMAGE_SIZE
	};
	const struct pending *p = &r->pending[i];

	if (p->must)
		image_apply(image, p->event, IMAGE_ALL, 0);
	else if (r->fates[i] != DROPPED)
		image_apply(image, p->event, parts[r->fates[i]],
		    run_random(&r->random));
}

/* Build the state of the fates, show it. */
static void
emit(struct replay *r)
{
	struct replay_state state = { .cut = r->cut, .whole = true,
		.what = r->what };
	struct image image;
	char dir[4096];

	if (r->stop || (!r->promise && r->plan->one_in > 1 &&
	    run_random(&r->random) % r->plan->one_in != 0))
		return;
	for (size_t i = 0; i < r->npending; i++)
		state.whole = state.whole &&
		    (r->pending[i].must || r->fates[i] == KEPT);
	image_copy(&image, &r->disk);
	for (size_t i = 0; i < r->npending; i++)
		apply(r, &image, r->order[i]);
	snprintf(dir, sizeof(dir), "%s/state", r->plan->dir);
	image_write(&image, dir, run_random(&r->random));
	image_free(&image);
	describe(r);
	state.dir = dir;
	r->states++;
	r->stop = !r->check(r->ctx, &state);
	need(nftw(dir, remove_path, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

/* ---- many states ------------------------------------------------------------------ */

static void
in_order(struct replay *r)
{
	for (size_t i = 0; i < r->npending; i++)
		r->order[i] = i;
}

static bool
may_reorder(const struct replay *r)
{
	for (size_t i = 0; i < r->npending; i++)
		if (r->pending[i].event->kind == RECORD_RESIZE)
			return false;
	return true;
}

/* Names first, writes in any order, those that are durable last. */
static void
shuffle(struct replay *r)
{
	size_t n = 0, first;

	in_order(r);
	if (!may_reorder(r))
		return;
	for (size_t i = 0; i < r->npending; i++)
		if (r->pending[i].event->kind != RECORD_WRITE)
			r->order[n++] = i;
	first = n;
	for (size_t i = 0; i < r->npending; i++)
		if (r->pending[i].event->kind == RECORD_WRITE && !r->pending[i].must) {
			const size_t at = first +
			    run_random(&r->random) % (n - first + 1);

			r->order[n++] = r->order[at];
			r->order[at] = i;
		}
	for (size_t i = 0; i < r->npending; i++)
		if (r->pending[i].event->kind == RECORD_WRITE && r->pending[i].must)
			r->order[n++] = i;
}

static void
set_all(struct replay *r, size_t n, enum fate fate)
{
	for (size_t i = 0; i < n; i++)
		r->fates[i] = fate;
}

static void
set_random(struct replay *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t dice = run_random(&r->random) % 16;

		r->fates[i] = dice < 7 ? DROPPED : KEPT;
		if (dice >= 14 && r->pending[i].event->kind == RECORD_WRITE)
			r->fates[i] = dice == 14 ? TORN : SIZE_ONLY;
	}
}

/* Every subset of the first n pending calls; durable ones count as one. */
static void
all_subsets(struct replay *r, size_t n, unsigned free_calls)
{
	for (uint64_t mask = (uint64_t)1 << free_calls; mask-- > 0;) {
		unsigned bit = 0;

		for (size_t i = 0; i < n; i++) {
			r->fates[i] = KEPT;
			if (!r->pending[i].must)
				r->fates[i] = mask >> bit++ & 1 ? KEPT : DROPPED;
		}
		emit(r);
	}
}

/* All, none, all but one, one alone, random ones. */
static void
some_subsets(struct replay *r, size_t n)
{
	const size_t singles = n < r->plan->random ? n : r->plan->random;

	set_all(r, n, KEPT);
	emit(r);
	set_all(r, n, DROPPED);
	emit(r);
	for (size_t i = 0; i < singles; i++) {
		const size_t one = singles == n ? i : run_random(&r->random) % n;

		set_all(r, n, KEPT);
		r->fates[one] = DROPPED;
		emit(r);
		set_all(r, n, DROPPED);
		r->fates[one] = KEPT;
		emit(r);
	}
	for (unsigned i = 0; i < r->plan->random; i++) {
		set_random(r, n);
		shuffle(r);
		emit(r);
		in_order(r);
	}
}

/* The newest call is a write: parts of it, with all and with some of the others. */
static void
tear_newest(struct replay *r, size_t n)
{
	if (r->pending[n].event->kind != RECORD_WRITE)
		return;
	for (unsigned i = 0; i < r->plan->torn; i++) {
		set_all(r, n, KEPT);
		if (i % 2 == 1)
			set_random(r, n);
		r->fates[n] = i % 4 == 2 ? SIZE_ONLY : TORN;
		emit(r);
	}
}

/* All states of a cut; those without the newest call, if there is one, were seen
 * before it. */
static void
enumerate(struct replay *r, bool newest)
{
	const size_t n = r->npending - newest;
	unsigned free_calls = 0;

	for (size_t i = 0; i < n; i++)
		free_calls += !r->pending[i].must;
	in_order(r);
	if (newest)
		r->fates[n] = KEPT;
	if (free_calls <= r->plan->all_of)
		all_subsets(r, n, free_calls);
	else
		some_subsets(r, n);
	if (newest)
		tear_newest(r, n);
}

/* ---- the events --------------------------------------------------------------------- */

/* Does the sync of a file or directory cover a pending call? */
static bool
covers(const struct replay_log *log, size_t file, struct pending *p)
{
	const struct replay_event *e = p->event;

	if (!log->files[file].is_dir)
		return e->name == NULL && e->file == file;
	if (e->kind != RECORD_RENAME && e->kind != RECORD_EXCHANGE)
		return e->name != NULL && e->dir == file;
	p->synced[0] |= e->dir == file;
	p->synced[1] |= e->dir2 == file;
	return p->synced[0] && p->synced[1];
}

static void
settle(struct replay *r, size_t file)
{
	size_t left = 0;

	for (size_t i = 0; i < r->npending; i++) {
		if (covers(r->log, file, &r->pending[i]))
			image_apply(&r->disk, r->pending[i].event, IMAGE_ALL, 0);
		else
			r->pending[left++] = r->pending[i];
	}
	r->npending = left;
}

static void
settle_newest_write(struct replay *r, size_t file)
{
	size_t i = r->npending;

	while (i > 0 && (r->pending[i - 1].event->kind != RECORD_WRITE ||
	    r->pending[i - 1].event->file != file))
		i--;
	if (i > 0)
		r->pending[i - 1].must = true;
}

static void
add_call(struct replay *r, const struct replay_event *event)
{
	/* It was there already, or its bytes may be any at every time. */
	if (!r->started || (event->name == NULL && r->log->files[event->file].mapped)) {
		image_apply(&r->disk, event, IMAGE_ALL, 0);
		return;
	}
	r->pending[r->npending++] = (struct pending){ .event = event };
	enumerate(r, true);
}

static void
step(struct replay *r, const struct replay_event *event)
{
	const unsigned forgets = r->plan->forgets_one == r->cut ? UINT_MAX :
	    r->plan->forgets;

	switch (event->kind) {
	case RECORD_ROOT:
	case RECORD_MAPPED:
	case RECORD_MARK:
		break;
	case RECORD_START:
		r->started = true;
		break;
	case RECORD_PROMISE:
		r->promise = true;
		enumerate(r, false);
		r->promise = false;
		break;
	case RECORD_WRITTEN:
		if (!(forgets & REPLAY_FORGET_WRITTEN))
			settle_newest_write(r, event->file);
		break;
	case RECORD_SYNC:
		if (!(forgets & (r->log->files[event->file].is_dir ?
		    REPLAY_FORGET_DIRS : REPLAY_FORGET_FILES)))
			settle(r, event->file);
		break;
	case RECORD_SYNC_ALL:
		for (size_t i = 0; i < r->npending; i++)
			image_apply(&r->disk, r->pending[i].event, IMAGE_ALL, 0);
		r->npending = 0;
		break;
	default:
		add_call(r, event);
	}
}

size_t
replay_states(const struct replay_log *log, const struct replay_plan *plan,
    replay_check check, void *ctx)
{
	struct replay r = { .log = log, .plan = plan, .check = check, .ctx = ctx,
		.random = plan->seed };

	r.pending = calloc(log->count + 1, sizeof(*r.pending));
	r.fates = calloc(log->count + 1, sizeof(*r.fates));
	r.order = calloc(log->count + 1, sizeof(*r.order));
	need(r.pending != NULL && r.fates != NULL && r.order != NULL);
	image_init(&r.disk, log);
	r.started = true;
	for (size_t i = 0; i < log->count; i++)
		if (log->events[i].kind == RECORD_START)
			r.started = false;
	for (size_t i = 0; i < log->count && !r.stop; i++) {
		r.cut = i + 1;
		step(&r, &log->events[i]);
	}
	image_free(&r.disk);
	free(r.pending);
	free(r.fates);
	free(r.order);
	return r.states;
}

char *
replay_compare(const struct replay_log *log, const char *dir)
{
	struct image image;
	char *bad;

	image_init(&image, log);
	for (size_t i = 0; i < log->count; i++)
		image_apply(&image, &log->events[i], IMAGE_ALL, 0);
	bad = image_compare(&image, dir);
	image_free(&image);
	return bad;
}
