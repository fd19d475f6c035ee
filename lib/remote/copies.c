/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"

#define PIECE ((size_t)1 << 20) /* of a partial file, read at once */
#define PATIENCE_MS 120000u     /* with a fetcher that makes no progress */
#define ROOM_MS 10000u          /* for what is being fetched to make room */
#define LOOK_NS 5000000u        /* how often the state of others is checked */

/* What a process has of the directory. */
struct inner {
	pid_t pid;
	pthread_mutex_t lock; /* guards the roster */
	pthread_cond_t moved; /* a fetch has ended, or a copy was given back */
	struct lc__roster roster;
	struct inner *parents; /* in a forked child: that of its parent, without locks */
};

struct lc__copies {
	char *path;
	uint64_t limit;
	bool shared;
	struct lc__objects *objects;
	struct lc__copies_rank rank; /* now is NULL without one */
	struct lc__copies_stats stats;
	_Atomic(struct inner *) inner;
};

static void
count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- the handle of this process ---------------------------------------------------- */

/* The locks of a parent stay as they are, and its descriptors are closed. */
static void
free_parents(struct inner *in)
{
	if (in == NULL)
		return;
	free_parents(in->parents);
	/* Otherwise a thread of the parent was changing it. */
	if (pthread_mutex_trylock(&in->lock) == 0)
		lc__idset_free(&in->roster.places);
	free(in->roster.pins);
	free(in->roster.mine);
	free(in);
}

static void
free_inner(struct inner *in)
{
	if (in == NULL)
		return;
	free_parents(in->parents);
	lc__roster_close(&in->roster);
	pthread_cond_destroy(&in->moved);
	pthread_mutex_destroy(&in->lock);
	free(in);
}

static lc_status
new_inner(const struct lc__copies *c, struct inner **out)
{
	struct inner *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in == NULL)
		return lc__no_memory(c->path);
	in->pid = getpid();
	pthread_mutex_init(&in->lock, NULL);
	lc__cond_init(&in->moved);
	status = lc__roster_open(c->path, c->shared, &in->roster);
	if (status == LC_OK)
		*out = in;
	else
		free_inner(in);
	return status;
}

/* Lock the roster. A forked child makes a handle of its own: the lock of its parent's may be
 * held by a thread that it does not have. It closes the descriptors, so that pins end with
 * the parent. */
static lc_status
begin(struct lc__copies *c, struct inner **out)
{
	struct inner *in = atomic_load(&c->inner), *mine = NULL;
	lc_status status;

	if (in->pid != getpid()) {
		return_if_error(new_inner(c, &mine));
		mine->parents = in;
		if (atomic_compare_exchange_strong(&c->inner, &in, mine)) {
			close(in->roster.fd);
			close(in->roster.dir);
			in = mine;
		} else {
			mine->parents = NULL;
			free_inner(mine);
		}
	}
	pthread_mutex_lock(&in->lock);
	in->roster.wants_rank = c->rank.now != NULL;
	status = lc__roster_lock(&in->roster);
	if (status == LC_OK)
		*out = in;
	else
		pthread_mutex_unlock(&in->lock);
	return status;
}

static void
end(struct inner *in)
{
	lc__roster_unlock(&in->roster);
	pthread_mutex_unlock(&in->lock);
}

/* Unlock the roster for a moment, so that others can work. It is locked before and
 * after. */
static lc_status
pause_for_others(struct inner *in)
{
	lc_status status;

	lc__roster_unlock(&in->roster);
	(void)lc__cond_wait(&in->moved, &in->lock, lc__clock_ns() + LOOK_NS);
	status = lc__roster_lock(&in->roster);
	if (status != LC_OK)
		pthread_mutex_unlock(&in->lock);
	return status;
}

/* ---- files ------------------------------------------------------------------------- */

/* Open the directory below @p top that contains the file, without following links. -1
 * with errno. With @p mode it is created if it is missing. */
static int
open_above(int top, const char *name, mode_t mode)
{
	int dir = fcntl(top, F_DUPFD_CLOEXEC, 3);

	for (const char *slash; dir != -1 && (slash = strchr(name, '/')) != NULL;
	     name = slash + 1) {
		char part[LC__ROSTER_NAME];
		int next, sys;

		snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
		if (mode != 0 && mkdirat(dir, part, mode) == -1 && errno != EEXIST) {
			sys = errno;
			close(dir);
			errno = sys;
			return -1;
		}
		next = lc__openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		sys = errno;
		close(dir);
		errno = sys;
		dir = next;
	}
	return dir;
}

static const char *
last_of(const char *name)
{
	return strrchr(name, '/') + 1;
}

/* Whether the copy's file exists and has its full size. */
static bool
is_file(const struct lc__roster *roster, const char *name, uint64_t size)
{
	const int dir = open_above(roster->dir, name, 0);
	struct stat st;
	bool is;

	if (dir == -1)
		return false;
	is = fstatat(dir, last_of(name), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
	close(dir);
	return is;
}

/* Remove the file of a row, whichever state it is in. */
static lc_status
remove_file(const struct lc__roster *roster, const struct lc__roster_row *row)
{
	char partial[LC__ROSTER_NAME + sizeof(LC__ROSTER_TMP)];
	int dir, rc;

	/* The table may say anything. */
	if (!lc__roster_name_ok(row->name))
		return LC_OK;
	snprintf(partial, sizeof(partial), LC__ROSTER_TMP "/%s", last_of(row->name));
	if (unlinkat(roster->dir, partial, 0) == -1 && errno != ENOENT &&
	    errno != ENOTDIR)
		return lc__error_sys(errno, "%s/%s: remove", roster->path, partial);
	dir = open_above(roster->dir, row->name, 0);
	if (dir == -1)
		return LC_OK;
	rc = unlinkat(dir, last_of(row->name), 0) == -1 ? errno : 0;
	close(dir);
	if (rc != 0 && rc != ENOENT)
		return lc__error_sys(rc, "%s/%s: remove", roster->path, row->name);
	return LC_OK;
}

/* ---- room -------------------------------------------------------------------------- */

/* Publish the positions and next uses of this handle. */
static void
tell(const struct lc__copies *c, struct lc__roster *roster)
{
	const int r = roster->rank;
	uint64_t now;

	if (c->rank.now == NULL || r == -1)
		return;
	now = roster->head->now[r] = c->rank.now(c->rank.ctx);
	for (uint32_t i = 0; i < roster->head->n; i++) {
		struct lc__roster_row *row = &roster->rows[i];

		if ((row->state == LC__ROW_THERE || row->state == LC__ROW_COMING) &&
		    (row->when[r] == LC__NEVER || row->when[r] < now) &&
		    lc__roster_name_ok(row->name))
			row->when[r] = c->rank.when(c->rank.ctx, row->name, now);
	}
}

struct victim {
	uint64_t distance, used;
	int row;
};

/* The one that goes first is first. */
static int
compare_victims(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance > y->distance ? -1 : 1;
	return x->used != y->used ? (x->used < y->used ? -1 : 1) : x->row - y->row;
}

/* List the copies that may be evicted: needed later than @p far, and neither pinned nor
 * fetched by this handle. */
static size_t
list_victims(const struct inner *in, uint64_t far, struct victim *out, bool *coming)
{
	const struct lc__roster *roster = &in->roster;
	const uint32_t live = lc__roster_live(roster);
	size_t n = 0;

	for (uint32_t i = 0; i < roster->head->n; i++) {
		const struct lc__roster_row *row = &roster->rows[i];
		struct victim v = { LC__NEVER, 0, (int)i };

		if (row->state == LC__ROW_COMING && lc__roster_in_use(roster, (int)i))
			*coming = true;
		if (row->state == LC__ROW_FREE || roster->pins[i] > 0 || roster->mine[i])
			continue;
		if (row->state == LC__ROW_THERE) {
			v.distance = lc__roster_distance(roster, (int)i, live);
			v.used = row->used;
		}
		if (v.distance > far)
			out[n++] = v;
	}
	qsort(out, n, sizeof(*out), compare_victims);
	return n;
}

/* Remove copies of so many bytes, or none: LC_NO_SPACE; LC_BUSY if some that are being
 * fetched now might go later. */
static lc_status
evict(struct lc__copies *c, struct inner *in, uint64_t bytes, uint64_t far)
{
	struct lc__roster *roster = &in->roster;
	struct victim *victims = malloc((roster->head->n + 1) * sizeof(*victims));
	lc_status status = LC_OK;
	uint64_t found = 0;
	bool coming = false;
	size_t n, taken = 0;

	if (victims == NULL)
		return lc__no_memory(c->path);
	n = list_victims(in, far, victims, &coming);
	for (size_t i = 0; i < n && found < bytes; i++)
		if (lc__roster_claim(roster, victims[i].row)) {
			const uint64_t more = lc__roster_blocks(
			    roster->rows[victims[i].row].size);

			found = more > UINT64_MAX - found ? UINT64_MAX : found + more;
			victims[taken++] = victims[i];
		}
	for (size_t i = 0; i < taken; i++) {
		struct lc__roster_row *row = &roster->rows[victims[i].row];

		/* Another copy may have the name of one that is gone. */
		if (found >= bytes && status == LC_OK && row->state != LC__ROW_GONE)
			status = remove_file(roster, row);
		if (found >= bytes && status == LC_OK) {
			count(&c->stats.evicted, row->state == LC__ROW_THERE);
			row->state = LC__ROW_FREE;
		}
		lc__roster_release(roster, victims[i].row);
	}
	free(victims);
	if (status != LC_OK || found >= bytes)
		return status;
	return lc__error(coming ? LC_BUSY : LC_NO_SPACE, 0,
	    "%s: holds what is in use or needed before, and has no room for more",
	    c->path);
}

/* Positions from now to the use of an object. */
static uint64_t
far_of(const struct lc__roster *roster, const struct lc__wanted *wanted)
{
	const uint64_t now = roster->rank == -1 ? wanted->now
						: roster->head->now[roster->rank];

	return wanted->when > now ? wanted->when - now : 0;
}

/* Room for an object, that counts from now on. */
static lc_status
reserve(struct lc__copies *c, struct inner *in, const struct lc__wanted *wanted, int *row)
{
	const uint64_t size = lc__roster_blocks(wanted->size);
	const uint64_t has = lc__roster_bytes(&in->roster);
	uint64_t far;

	tell(c, &in->roster);
	far = far_of(&in->roster, wanted);

	if (size > c->limit)
		return lc__error(LC_NO_SPACE, 0,
		    "%s: its limit is %llu bytes, and %s has %llu", c->path,
		    (unsigned long long)c->limit, wanted->name,
		    (unsigned long long)wanted->size);
	if (has > c->limit - size)
		return_if_error(evict(c, in, has - (c->limit - size), far));
	*row = lc__roster_add(&in->roster, wanted->name, wanted->size);
	if (*row == -1) {
		return_if_error(evict(c, in, 1, far));
		*row = lc__roster_add(&in->roster, wanted->name, wanted->size);
	}
	if (*row == -1)
		return lc__error(LC_NO_SPACE, 0, "%s: no room for its roster", c->path);
	if (in->roster.rank != -1)
		in->roster.rows[*row].when[in->roster.rank] = wanted->when;
	return LC_OK;
}

/* ---- fetching ---------------------------------------------------------------------- */

struct fetching {
	struct lc__copies *c;
	struct inner *in;
	const struct lc__wanted *wanted;
	int row;
	uint64_t incarnation;
	int top, dir, fd;    /* the directory of copies, tmp in it, the partial file */
	mode_t mode;         /* of directories that are made */
	char *path;          /* for messages */
	unsigned char *room; /* PIECE bytes */
	struct lc__checksum *sha;
	uint64_t at;             /* bytes that are hashed */
	struct lc__object about; /* as the store has it */
};

static lc_status
about_object(const struct fetching *f)
{
	return f->wanted->part == NULL
	    ? lc__error_prefix("%s/%s", f->c->objects->url, f->wanted->name)
	    : lc__error_prefix("%s/%s, part %s", f->c->objects->url, f->wanted->name,
		  f->wanted->part);
}

/* A fetcher owns the file while it holds the file's lock, even if the roster has been
 * lost. */
static lc_status
open_partial(struct fetching *f)
{
	const char *name = last_of(f->wanted->name);
	struct stat st, named;

	f->dir = open_above(f->top, LC__ROSTER_TMP "/x", f->mode);
	if (f->dir == -1)
		return lc__error_sys(errno, "%s/%s: open", f->c->path, LC__ROSTER_TMP);
	f->fd = lc__openat(f->dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
	    f->mode & 0666);
	if (f->fd == -1)
		return lc__error_sys(errno, "%s: open", f->path);
	if (flock(f->fd, LOCK_EX | LOCK_NB) == -1 || fstat(f->fd, &st) == -1 ||
	    fstatat(f->dir, name, &named, AT_SYMLINK_NOFOLLOW) == -1 ||
	    st.st_ino != named.st_ino || st.st_dev != named.st_dev)
		return lc__error(LC_BUSY, 0, "%s: another process has it", f->path);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return lc__error(LC_INVALID, 0, "%s: is not a regular file of one name",
		    f->path);
	return LC_OK;
}

/* For waiting threads. */
static void
tell_progress(struct fetching *f)
{
	pthread_mutex_lock(&f->in->lock);
	if (f->in->roster.incarnation == f->incarnation)
		f->in->roster.rows[f->row].done = f->at;
	pthread_mutex_unlock(&f->in->lock);
}

static lc_status
start_hash(struct fetching *f)
{
	lc__checksum_free(f->sha);
	f->sha = NULL;
	f->at = 0;
	return lc__checksum_new("sha256", &f->sha);
}

/* Hash what the file contains so far. */
static lc_status
take_up(struct fetching *f)
{
	struct stat st;
	size_t got = 1;

	return_if_error(start_hash(f));
	if (fstat(f->fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", f->path);
	if (st.st_size == 0)
		return LC_OK;
	if ((uint64_t)st.st_size > f->wanted->size)
		return ftruncate(f->fd, 0) == 0
		    ? LC_OK
		    : lc__error_sys(errno, "%s: truncate", f->path);
	if (lseek(f->fd, 0, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", f->path);
	while (f->at < (uint64_t)st.st_size && got > 0) {
		const uint64_t left = (uint64_t)st.st_size - f->at;

		/* No more than there was: the file may grow, and the room does not. */
		return_if_error(lc__read_full(f->fd, f->room,
		    left < PIECE ? (size_t)left : PIECE, &got, f->path));
		return_if_error(lc__checksum_update(f->sha, f->room, got));
		f->at += got;
		tell_progress(f);
	}
	count(&f->c->stats.resumed, 1);
	return LC_OK;
}

static lc_status
wrong_size(const struct fetching *f)
{
	return lc__error(LC_CORRUPT, 0, "has %llu bytes, not %llu",
	    (unsigned long long)f->about.size, (unsigned long long)f->wanted->size);
}

static lc_status
check_stop(void *ctx)
{
	const struct fetching *f = ctx;

	if (lc__thread_stopped())
		return lc__error(LC_CANCELLED, 0, "%s: fetch: stopped", f->path);
	return LC_OK;
}

/* The next bytes of the object. */
static lc_status
take(void *ctx, const void *data, size_t size)
{
	struct fetching *f = ctx;

	return_if_error(check_stop(f));
	count(&f->c->stats.bytes, size);
	if (f->about.size != f->wanted->size || size > f->wanted->size - f->at)
		return wrong_size(f);
	return_if_error(lc__checksum_update(f->sha, data, size));
	return_if_error(lc__write_full(f->fd, data, size, f->path));
	f->at += size;
	tell_progress(f);
	return LC_OK;
}

/* All that is missing. LC_CORRUPT, without a name, if the object is another one. */
static lc_status
fetch_rest(struct fetching *f)
{
	struct lc__objects *objects = f->c->objects;
	const struct lc__object_sink sink = { take, f, check_stop };
	const struct lc__wanted *w = f->wanted;
	char hex[LC__SHA256_HEX];
	lc_status status;

	return_if_error(check_stop(f));
	status = objects->get(objects, w->name, f->at, &sink, &f->about);
	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0, "is missing");
	if (status == LC_CHANGED)
		return lc__error(LC_CORRUPT, 0, "became another one while it was read");
	return_if_error(status);
	if (f->about.size != w->size || f->at != w->size)
		return wrong_size(f);
	return_if_error(lc__checksum_hex(f->sha, hex));
	if (strncmp(hex, last_of(w->name), 64) != 0)
		return lc__error(LC_CORRUPT, 0, "its SHA-256 is %s", hex);
	return LC_OK;
}

/* A file that is verified gets its name. */
static lc_status
give_name(struct fetching *f)
{
	const int to = open_above(f->top, f->wanted->name, f->mode);
	const char *name = last_of(f->wanted->name);
	int sys = errno;

	if (to == -1)
		return lc__error_sys(sys, "%s: make its directory", f->path);
	sys = renameat(f->dir, name, to, name) == -1 ? errno : 0;
	close(to);
	return sys == 0 ? LC_OK : lc__error_sys(sys, "%s: rename", f->path);
}

static lc_status
fetch_into(struct fetching *f)
{
	lc_status status;

	return_if_error(open_partial(f));
	if (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0,
		f->wanted->size > 0 ? (off_t)f->wanted->size : 1) == -1 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return lc__error_sys(errno, "%s: write", f->path);
	return_if_error(take_up(f));
	for (int tries = 0;; tries++) {
		status = fetch_rest(f);
		if (status != LC_CORRUPT)
			break;
		if (tries == 1)
			return about_object(f);
		count(&f->c->stats.again, 1);
		return_if_error(start_hash(f));
		if (ftruncate(f->fd, 0) == -1 || lseek(f->fd, 0, SEEK_SET) == -1)
			return lc__error_sys(errno, "%s: truncate", f->path);
	}
	return status == LC_OK ? give_name(f) : status;
}

/* Fetch an object into a row that this handle has claimed; the roster is not locked.
 * @param top  the directory: that of the roster may be closed meanwhile */
static lc_status
fetch(struct lc__copies *c, struct inner *in, const struct lc__wanted *wanted, int row,
    uint64_t incarnation, int top)
{
	struct fetching f = {
		.c = c,
		.in = in,
		.wanted = wanted,
		.row = row,
		.incarnation = incarnation,
		.top = top,
		.dir = -1,
		.fd = -1,
		.mode = c->shared ? 0777 : 0700,
		.room = malloc(wanted->size < PIECE ? (size_t)wanted->size + 1 : PIECE),
	};
	lc_status status = LC_OK;

	if (asprintf(&f.path, "%s/%s/%s", c->path, LC__ROSTER_TMP,
		last_of(wanted->name)) < 0)
		f.path = NULL;
	if (f.path == NULL || f.room == NULL)
		status = lc__no_memory(wanted->name);
	if (status == LC_OK && top == -1)
		status = lc__error(LC_IO, EMFILE, "%s: open", c->path);
	if (status == LC_OK)
		status = fetch_into(&f);
	if (f.fd != -1)
		close(f.fd);
	if (f.dir != -1)
		close(f.dir);
	lc__checksum_free(f.sha);
	free(f.room);
	free(f.path);
	return status;
}

/* ---- taking ------------------------------------------------------------------------ */

/* The roster is locked before, and after unless this fails. */
static lc_status
fetch_row(struct lc__copies *c, struct inner *in, const struct lc__wanted *wanted,
    int row)
{
	struct lc__roster *roster = &in->roster;
	const uint64_t incarnation = roster->incarnation;
	lc_status status, locked;
	lc_error kept;

	for (;;) {
		const int top = fcntl(roster->dir, F_DUPFD_CLOEXEC, 3);

		end(in);
		status = fetch(c, in, wanted, row, incarnation, top);
		kept = *lc_last_error();
		if (top != -1)
			close(top);
		pthread_mutex_lock(&in->lock);
		locked = lc__roster_lock(roster);
		if (locked != LC_OK) {
			pthread_mutex_unlock(&in->lock);
			return locked;
		}
		/* Another roster knows nothing of this; what was fetched is found there. */
		if (roster->incarnation != incarnation)
			return LC_OK;
		if (status != LC_NO_SPACE)
			break;
		count(&c->stats.full, 1);
		tell(c, roster);
		if (evict(c, in, 1, far_of(roster, wanted)) != LC_OK)
			break;
	}
	if (status == LC_OK) {
		roster->rows[row].state = LC__ROW_THERE;
		count(&c->stats.fetched, 1);
	} else {
		count(&c->stats.failed, status != LC_BUSY && status != LC_NO_FILE);
		/* A beginning may be of use; wrong bytes and a full disk have none. */
		if (status == LC_CORRUPT || status == LC_NO_SPACE) {
			(void)remove_file(roster, &roster->rows[row]);
			roster->rows[row].state = LC__ROW_FREE;
		}
	}
	lc__roster_release(roster, row);
	pthread_cond_broadcast(&in->moved);
	if (status == LC_OK)
		return LC_OK;
	end(in);
	return lc__error_raise(&kept);
}

static lc_status
pin(struct lc__copies *c, struct inner *in, int row, struct lc__copy *out)
{
	struct lc__roster *roster = &in->roster;
	char *path = lc__path_join(c->path, roster->rows[row].name);

	if (path == NULL)
		return lc__no_memory(c->path);
	lc__roster_pin(roster, row);
	roster->rows[row].used = ++roster->head->clock;
	*out = (struct lc__copy){ path, row, roster->incarnation };
	return LC_OK;
}

/* How long a taker waits for others. */
struct waiting {
	uint64_t deadline, done;
};

static lc_status
wait_for_others(struct lc__copies *c, struct inner *in, const struct lc__wanted *wanted,
    uint64_t done, struct waiting *w)
{
	if (done != w->done || w->deadline == 0) {
		w->deadline = lc__clock_deadline(PATIENCE_MS);
		w->done = done;
	}
	if (lc__thread_stopped()) {
		end(in);
		return lc__error(LC_CANCELLED, 0, "%s: is being closed", c->path);
	}
	if (lc__clock_ns() >= w->deadline) {
		end(in);
		return lc__error(LC_TIMEOUT, 0,
		    "%s/%s: another process that fetches it does not get on",
		    in->roster.path, wanted->name);
	}
	return pause_for_others(in);
}

lc_status
lc__copies_take(struct lc__copies *c, const struct lc__wanted *wanted,
    struct lc__copy *out)
{
	struct waiting waiting = { 0, 0 };
	uint64_t room = 0; /* until when room is waited for */
	bool hit = true;
	struct inner *in;
	lc_status status;

	if (!lc__roster_name_ok(wanted->name) || wanted->size > INT64_MAX)
		return lc__error(LC_CORRUPT, 0, "%s/%s: not a name of a copy",
		    c->objects->url, wanted->name);
	return_if_error(begin(c, &in));
	for (;;) {
		struct lc__roster *roster = &in->roster;
		int row = lc__roster_find(roster, wanted->name);
		struct lc__roster_row *r = row == -1 ? NULL : &roster->rows[row];
		const bool file = r != NULL &&
		    is_file(roster, wanted->name, wanted->size);

		if (r != NULL && r->state == LC__ROW_THERE && file) {
			status = pin(c, in, row, out);
			end(in);
			count(&c->stats.hits, status == LC_OK && hit);
			return status;
		}
		if (r != NULL && !lc__roster_claim(roster, row)) {
			/* Whoever has pinned a copy whose file is gone may keep its map. */
			if (r->state == LC__ROW_THERE)
				r->state = LC__ROW_GONE;
			else
				return_if_error(
				    wait_for_others(c, in, wanted, r->done, &waiting));
			hit = false;
			continue;
		}
		hit = false;
		/* Its fetcher was killed after it gave the file its name. */
		if (r != NULL && file) {
			r->state = LC__ROW_THERE;
			lc__roster_release(roster, row);
			continue;
		}
		if (r != NULL && (r->state == LC__ROW_THERE || r->size != wanted->size)) {
			(void)remove_file(roster, r);
			r->state = LC__ROW_FREE;
			lc__roster_release(roster, row);
			continue;
		}
		if (r == NULL) {
			status = lc__thread_stopped()
			    ? lc__error(LC_CANCELLED, 0, "%s: is being closed", c->path)
			    : reserve(c, in, wanted, &row);
			if (room == 0)
				room = lc__clock_deadline(ROOM_MS);
			if (status == LC_BUSY && far_of(roster, wanted) == 0 &&
			    lc__clock_ns() < room) {
				return_if_error(
				    wait_for_others(c, in, wanted, 0, &waiting));
				continue;
			}
			if (status != LC_OK) {
				end(in);
				return status == LC_BUSY ? lc__error_as(LC_NO_SPACE)
							 : status;
			}
			(void)lc__roster_claim(roster, row);
		}
		status = fetch_row(c, in, wanted, row);
		if (status == LC_BUSY || status == LC_NO_FILE) {
			/* The partial file is another one's, of a roster that is lost; or the
			 * directory is being removed. */
			return_if_error(begin(c, &in));
			return_if_error(wait_for_others(c, in, wanted, 0, &waiting));
			continue;
		}
		return_if_error(status);
	}
}

void
lc__copies_give(struct lc__copies *c, struct lc__copy *copy)
{
	const lc_error before = *lc_last_error();
	struct inner *in;

	if (begin(c, &in) == LC_OK) {
		struct lc__roster *roster = &in->roster;
		const int row = copy->row;

		if (copy->incarnation == roster->incarnation && roster->pins[row] > 0) {
			lc__roster_unpin(roster, row);
			if (roster->rows[row].state == LC__ROW_GONE &&
			    lc__roster_claim(roster, row)) {
				roster->rows[row].state = LC__ROW_FREE;
				lc__roster_release(roster, row);
			}
			pthread_cond_broadcast(&in->moved);
		}
		end(in);
	}
	free(copy->path);
	copy->path = NULL;
	(void)lc__error_raise(&before);
}

/* ---- the rest ---------------------------------------------------------------------- */

lc_status
lc__copies_look(struct lc__copies *c, const char *name, enum lc__row_state *out)
{
	struct inner *in;
	int row;

	return_if_error(begin(c, &in));
	row = lc__roster_find(&in->roster, name);
	*out = row == -1 ? LC__ROW_FREE : (enum lc__row_state)in->roster.rows[row].state;
	if (*out == LC__ROW_COMING && !lc__roster_in_use(&in->roster, row))
		*out = LC__ROW_FREE;
	end(in);
	return LC_OK;
}

lc_status
lc__copies_room(struct lc__copies *c, uint64_t *out)
{
	struct inner *in;
	uint64_t bytes;

	return_if_error(begin(c, &in));
	bytes = lc__roster_bytes(&in->roster);
	end(in);
	*out = bytes < c->limit ? c->limit - bytes : 0;
	return LC_OK;
}

lc_status
lc__copies_drop(struct lc__copies *c, const char *name, const struct lc__copy *taken)
{
	struct inner *in;
	lc_status status = LC_OK;
	int row;

	return_if_error(begin(c, &in));
	row = lc__roster_find(&in->roster, name);
	if (taken != NULL &&
	    (taken->row != row || taken->incarnation != in->roster.incarnation))
		row = -1;
	if (row != -1 && in->roster.rows[row].state == LC__ROW_THERE) {
		struct lc__roster_row *r = &in->roster.rows[row];
		const bool free_now = lc__roster_claim(&in->roster, row);

		status = remove_file(&in->roster, r);
		r->state = free_now ? LC__ROW_FREE : LC__ROW_GONE;
		if (free_now)
			lc__roster_release(&in->roster, row);
	}
	end(in);
	return status;
}

lc_status
lc__copies_mend(struct lc__copies *c, const struct lc__copy *copy, uint64_t from,
    const void *bytes, size_t size)
{
	const int fd = lc__open(copy->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
	const unsigned char *at = bytes;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", copy->path);
	while (size > 0) {
		const ssize_t n = pwrite(fd, at, size, (off_t)from);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			const int sys = errno;

			close(fd);
			return lc__error_sys(sys, "%s: write", copy->path);
		}
		at += n;
		from += (uint64_t)n;
		size -= (size_t)n;
	}
	close(fd);
	count(&c->stats.mended, 1);
	return LC_OK;
}

lc_status
lc__copies_read(struct lc__copies *c, const struct lc__wanted *wanted, uint64_t from,
    size_t size, void *out)
{
	struct lc__object about;
	size_t got;
	lc_status status = c->objects->get_range(c->objects, wanted->name, from, out,
	    size, &got, &about);

	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0, "%s/%s: is missing", c->objects->url,
		    wanted->name);
	return_if_error(status);
	count(&c->stats.ranges, 1);
	count(&c->stats.bytes, got);
	if (about.size != wanted->size || got != size)
		return lc__error(LC_CORRUPT, 0, "%s/%s: has %llu bytes, not %llu",
		    c->objects->url, wanted->name, (unsigned long long)about.size,
		    (unsigned long long)wanted->size);
	return LC_OK;
}

/* Without the roster: publish it later, or never if there is nothing. */
static void
set_rank(struct lc__copies *c, const struct lc__copies_rank *rank, const void *instead)
{
	const lc_error before = *lc_last_error();
	struct inner *in;
	const bool locked = begin(c, &in) == LC_OK;

	if (!locked) {
		in = atomic_load(&c->inner);
		pthread_mutex_lock(&in->lock);
	}
	if (instead == NULL || c->rank.ctx == instead)
		c->rank = *rank;
	if (locked)
		end(in);
	else
		pthread_mutex_unlock(&in->lock);
	(void)lc__error_raise(&before);
}

void
lc__copies_rank(struct lc__copies *c, const struct lc__copies_rank *rank)
{
	set_rank(c, rank, NULL);
}

void
lc__copies_unrank(struct lc__copies *c, const void *ctx)
{
	set_rank(c, &(struct lc__copies_rank){ .now = NULL }, ctx);
}

lc_status
lc__copies_tell(struct lc__copies *c)
{
	struct inner *in;

	return_if_error(begin(c, &in));
	tell(c, &in->roster);
	end(in);
	return LC_OK;
}

struct lc__copies_stats *
lc__copies_stats(struct lc__copies *c)
{
	return &c->stats;
}

uint64_t
lc__copies_limit(const struct lc__copies *c)
{
	return c->limit;
}

/* ---- opening and closing ------------------------------------------------------------- */

lc_status
lc__copies_open(const char *dir, uint64_t limit, bool shared, struct lc__objects *objects,
    struct lc__copies **out)
{
	struct lc__copies *c = calloc(1, sizeof(*c));
	struct inner *in = NULL;
	lc_status status;

	if (c == NULL || (c->path = strdup(dir)) == NULL) {
		free(c);
		return lc__no_memory(dir);
	}
	c->limit = limit;
	c->shared = shared;
	c->objects = objects;
	status = new_inner(c, &in);
	atomic_init(&c->inner, in);
	if (status == LC_OK)
		status = begin(c, &in);
	if (status == LC_OK) {
		const uint64_t has = lc__roster_bytes(&in->roster);

		/* Remove unused copies from the time of a larger limit. */
		if (has > limit && evict(c, in, has - limit, 0) == LC_NO_MEMORY)
			status = LC_NO_MEMORY;
		end(in);
	}
	if (status == LC_OK)
		*out = c;
	else
		lc__copies_close(c);
	return status;
}

void
lc__copies_close(struct lc__copies *c)
{
	struct inner *in;

	if (c == NULL)
		return;
	in = atomic_load(&c->inner);
	/* What a child has of its parent's stays: a lock of it may be held. */
	if (in != NULL && in->pid == getpid())
		free_inner(in);
	free(c->path);
	free(c);
}
