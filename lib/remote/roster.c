/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "objects/objects.h"

#define NAME "roster"
#define MAGIC "cachex copies 1"
#define HEAD 4096u
#define SIZE (HEAD + (size_t)LC__ROSTER_ROWS * sizeof(struct lc__roster_row))
#define BLOCK 4096u
#define PATIENCE_MS 60000u

/* Bytes that are locked. */
enum { ALL, RANK, ROW = RANK + LC__ROSTER_RANKS };

/* ---- locks ------------------------------------------------------------------------- */

static bool
set_lock(int fd, short type, uint64_t byte)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)byte,
		.l_len = 1,
	};
	int rc;

	do
		rc = fcntl(fd, F_OFD_SETLK, &lock);
	while (rc == -1 && errno == EINTR);
	return rc == 0;
}

/* Whether another handle holds a lock on the byte. */
static bool
is_locked(int fd, uint64_t byte)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)byte,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_GETLK, &lock) == -1 || lock.l_type != F_UNLCK;
}

/* Poll, because no system call waits for such a lock with a time limit. */
static lc_status
lock_all(const struct lc__roster *roster)
{
	const uint64_t deadline = lc__clock_deadline(PATIENCE_MS);
	struct timespec pause = { .tv_nsec = 20000 };

	while (!set_lock(roster->fd, F_WRLCK, ALL)) {
		if (errno != EAGAIN && errno != EACCES)
			return lc__error_sys(errno, "%s: lock", roster->path);
		if (lc__clock_ns() >= deadline)
			return lc__error(LC_TIMEOUT, 0,
			    "%s: another process holds its roster for a minute",
			    roster->path);
		(void)nanosleep(&pause, NULL);
		if (pause.tv_nsec < 2000000)
			pause.tv_nsec *= 2;
	}
	return LC_OK;
}

/* ---- the table --------------------------------------------------------------------- */

static void
read_boot(char out[48])
{
	const int fd = lc__open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	ssize_t n = 0;

	memset(out, 0, 48);
	if (fd == -1)
		return;
	n = read(fd, out, 36);
	out[n > 0 ? n : 0] = '\0';
	close(fd);
}

bool
lc__roster_name_ok(const char *name)
{
	const char *last;

	if (strnlen(name, LC__ROSTER_NAME) == LC__ROSTER_NAME ||
	    !lc__object_name_ok(name))
		return false;
	last = strrchr(name, '/');
	return last != NULL && strspn(last + 1, "0123456789abcdef") == 64 &&
	    last[65] == '.';
}

static void
note_file(struct lc__roster *roster, int dir, const char *above, const char *entry)
{
	char name[LC__ROSTER_NAME];
	struct stat st;
	int row;

	if ((size_t)snprintf(name, sizeof(name), "%s/%s", above, entry) >= sizeof(name) ||
	    !lc__roster_name_ok(name) ||
	    fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) == -1 || !S_ISREG(st.st_mode))
		return;
	row = lc__roster_add(roster, name, (uint64_t)st.st_size);
	if (row != -1)
		roster->rows[row].state = LC__ROW_THERE;
}

/* What is in a directory of copies, and in those below it. Other files are left alone, and
 * links are not followed. */
static lc_status
note_files(struct lc__roster *roster, int parent, const char *entry, const char *name,
    int depth)
{
	const int fd = lc__openat(parent, entry,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
	const struct dirent *found;
	char below[LC__ROSTER_NAME];
	struct lc__dir dir;
	lc_status status;

	if (fd == -1)
		return LC_OK;
	return_if_error(lc__dir_of(fd, roster->path, &dir));
	while ((status = lc__dir_next(&dir, &found)) == LC_OK && found != NULL) {
		const mode_t type = lc__dir_type(&dir, found, false);

		if (S_ISREG(type))
			note_file(roster, dir.fd, name, found->d_name);
		else if (S_ISDIR(type) && depth == 0 &&
		    (size_t)snprintf(below, sizeof(below), "%s/%s", name, found->d_name) <
			sizeof(below))
			(void)note_files(roster, dir.fd, found->d_name, below, 1);
	}
	lc__dir_close(&dir);
	return status;
}

/* A partial file belongs to whoever holds its lock; those of a roster that is lost are not
 * worth more than their bytes. */
static lc_status
remove_partial(struct lc__roster *roster)
{
	const int fd = lc__openat(roster->dir, LC__ROSTER_TMP,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
	const struct dirent *found;
	struct lc__dir dir;
	lc_status status;

	if (fd == -1)
		return errno == ENOENT
		    ? LC_OK
		    : lc__error_sys(errno, "%s/%s: open", roster->path, LC__ROSTER_TMP);
	return_if_error(lc__dir_of(fd, roster->path, &dir));
	while ((status = lc__dir_next(&dir, &found)) == LC_OK && found != NULL)
		if (S_ISREG(lc__dir_type(&dir, found, false)))
			(void)unlinkat(dir.fd, found->d_name, 0);
	lc__dir_close(&dir);
	return status;
}

static lc_status
fill(struct lc__roster *roster)
{
	if (ftruncate(roster->fd, (off_t)SIZE) == -1)
		return lc__error_sys(errno, "%s/%s: make", roster->path, NAME);
	/* Allocate the head's disk space now: on a full disk this is an error, while a
	 * write to the map would be a signal. */
	if (fallocate(roster->fd, 0, 0, HEAD) == -1 && errno != EOPNOTSUPP)
		return lc__error_sys(errno, "%s/%s: make", roster->path, NAME);
	return LC_OK;
}

static lc_status
rebuild(struct lc__roster *roster)
{
	lc_status status;

	memset(roster->head, 0, HEAD);
	memcpy(roster->head->boot, roster->boot, sizeof(roster->boot));
	return_if_error(remove_partial(roster));
	status = note_files(roster, roster->dir, "obj", "obj", 0);
	if (status == LC_OK)
		status = note_files(roster, roster->dir, "part", "part", 0);
	return_if_error(status);
	strcpy(roster->head->magic, MAGIC);
	return LC_OK;
}

static bool
is_sound(const struct lc__roster *roster)
{
	return memcmp(roster->head->magic, MAGIC, sizeof(MAGIC)) == 0 &&
	    memcmp(roster->head->boot, roster->boot, sizeof(roster->boot)) == 0 &&
	    roster->head->n <= LC__ROSTER_ROWS;
}

/* Could a process have written it? Checked once, because no other program may write to it. */
static bool
are_rows_sound(const struct lc__roster *roster)
{
	for (uint32_t i = 0; i < roster->head->n; i++) {
		const struct lc__roster_row *row = &roster->rows[i];

		if (row->state != LC__ROW_FREE &&
		    (row->state > LC__ROW_GONE || row->size > INT64_MAX ||
			!lc__roster_name_ok(row->name)))
			return false;
	}
	return true;
}

/* ---- opening ----------------------------------------------------------------------- */

static void
detach(struct lc__roster *roster)
{
	if (roster->head != NULL)
		munmap(roster->head, SIZE);
	if (roster->fd != -1)
		close(roster->fd);
	if (roster->dir != -1)
		close(roster->dir);
	roster->head = NULL;
	roster->rows = NULL;
	roster->fd = roster->dir = roster->rank = -1;
	lc__idset_free(&roster->places);
	roster->placed = false;
}

static lc_status
check_directory(const struct lc__roster *roster)
{
	static const unsigned long remote[] = { 0x6969, 0xff534d42, 0xfe534d42, 0x517b };
	struct statfs fs;
	struct stat st;

	if (fstat(roster->dir, &st) == -1 || fstatfs(roster->dir, &fs) == -1)
		return lc__error_sys(errno, "%s: stat", roster->path);
	for (size_t i = 0; i < sizeof(remote) / sizeof(*remote); i++)
		if ((unsigned long)fs.f_type == remote[i])
			return lc__error(LC_FILESYSTEM, 0,
			    "%s: is on a network file system; a cache must be on a disk of "
			    "its host",
			    roster->path);
	if (!roster->shared && (st.st_uid != geteuid() || (st.st_mode & 022) != 0))
		return lc__error(LC_PERMISSION, 0,
		    "%s: other users can write to it; a cache must have mode 0700, unless "
		    "it is shared on purpose",
		    roster->path);
	return LC_OK;
}

static lc_status
open_directory(struct lc__roster *roster)
{
	struct stat st;

	if (stat(roster->path, &st) == -1 && errno == ENOENT) {
		char *path = strdup(roster->path);
		char *slash = path == NULL ? NULL : strrchr(path, '/');
		lc_status status = path == NULL ? lc__no_memory(roster->path) : LC_OK;

		if (slash != NULL && slash != path) {
			*slash = '\0';
			status = lc__make_dirs(path);
		}
		free(path);
		return_if_error(status);
		if (mkdir(roster->path, roster->shared ? 0777 : 0700) == -1 &&
		    errno != EEXIST)
			return lc__error_sys(errno, "%s: make", roster->path);
	}
	roster->dir = lc__open(roster->path, O_RDONLY | O_DIRECTORY);
	if (roster->dir == -1)
		return lc__error_sys(errno, "%s: open", roster->path);
	return check_directory(roster);
}

/* Whether the path still leads to this roster. */
static bool
is_current(const struct lc__roster *roster)
{
	struct stat named, here, dir;

	return stat(roster->path, &dir) == 0 && fstat(roster->dir, &here) == 0 &&
	    dir.st_dev == here.st_dev && dir.st_ino == here.st_ino &&
	    fstatat(roster->dir, NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(roster->fd, &here) == 0 && named.st_dev == here.st_dev &&
	    named.st_ino == here.st_ino;
}

/* Open the file that is there, or a new one, and lock it. *again is set if it disappeared,
 * or was not a roster and has been removed. */
static lc_status
attach(struct lc__roster *roster, bool *again)
{
	struct stat st;

	*again = false;
	return_if_error(open_directory(roster));
	roster->fd = lc__openat(roster->dir, NAME,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, roster->shared ? 0666 : 0600);
	if (roster->fd == -1)
		return lc__error_sys(errno, "%s/%s: open", roster->path, NAME);
	return_if_error(lock_all(roster));
	if (!is_current(roster)) {
		*again = true;
		return LC_OK;
	}
	if (fstat(roster->fd, &st) == -1)
		return lc__error_sys(errno, "%s/%s: stat", roster->path, NAME);
	if (!S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s/%s: is not a regular file",
		    roster->path, NAME);
	if (st.st_size == 0)
		return_if_error(fill(roster));
	else if ((size_t)st.st_size != SIZE)
		*again = true;
	if (!*again) {
		void *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    roster->fd, 0);

		if (map == MAP_FAILED)
			return lc__error_sys(errno, "%s/%s: map", roster->path, NAME);
		roster->head = map;
		roster->rows = (void *)((unsigned char *)map + HEAD);
		if (st.st_size == 0)
			return rebuild(roster);
		*again = !is_sound(roster) || !are_rows_sound(roster);
	}
	if (*again && unlinkat(roster->dir, NAME, 0) == -1 && errno != ENOENT)
		return lc__error_sys(errno, "%s/%s: remove", roster->path, NAME);
	return LC_OK;
}

/* The lock is held then. */
static lc_status
open_locked(struct lc__roster *roster)
{
	lc_status status = LC_OK;
	bool again = true;

	detach(roster);
	if (roster->incarnation++ > 0) {
		memset(roster->pins, 0, LC__ROSTER_ROWS * sizeof(*roster->pins));
		memset(roster->mine, 0, LC__ROSTER_ROWS * sizeof(*roster->mine));
	}
	for (int i = 0; i < 10 && again && status == LC_OK; i++) {
		detach(roster);
		status = attach(roster, &again);
	}
	if (status == LC_OK && again)
		status = lc__error(LC_BUSY, 0, "%s: is removed again and again",
		    roster->path);
	if (status != LC_OK)
		detach(roster);
	return status;
}

lc_status
lc__roster_open(const char *path, bool shared, struct lc__roster *out)
{
	lc_status status;

	*out = (struct lc__roster){
		.path = path,
		.shared = shared,
		.dir = -1,
		.fd = -1,
		.rank = -1,
	};
	read_boot(out->boot);
	out->pins = calloc(LC__ROSTER_ROWS, sizeof(*out->pins));
	out->mine = calloc(LC__ROSTER_ROWS, sizeof(*out->mine));
	status = out->pins != NULL && out->mine != NULL ? open_locked(out)
							: lc__no_memory(path);
	if (status == LC_OK)
		lc__roster_unlock(out);
	else
		lc__roster_close(out);
	return status;
}

void
lc__roster_close(struct lc__roster *roster)
{
	detach(roster);
	free(roster->pins);
	free(roster->mine);
	roster->pins = NULL;
	roster->mine = NULL;
}

/* A column that no living handle has. Without one its uses are not known to others. */
static void
take_rank(struct lc__roster *roster)
{
	for (uint32_t r = 0; r < LC__ROSTER_RANKS && roster->rank == -1; r++) {
		if (!set_lock(roster->fd, F_WRLCK, RANK + r))
			continue;
		roster->rank = (int)r;
		roster->head->now[r] = 0;
		for (uint32_t i = 0; i < roster->head->n; i++)
			roster->rows[i].when[r] = LC__NEVER;
	}
}

lc_status
lc__roster_lock(struct lc__roster *roster)
{
	if (roster->fd == -1) {
		return_if_error(open_locked(roster));
	} else {
		return_if_error(lock_all(roster));
		if (!is_current(roster) || !is_sound(roster))
			return_if_error(open_locked(roster));
	}
	if (roster->wants_rank && roster->rank == -1) {
		take_rank(roster);
	} else if (!roster->wants_rank && roster->rank != -1) {
		(void)set_lock(roster->fd, F_UNLCK, RANK + (uint64_t)roster->rank);
		roster->rank = -1;
	}
	return LC_OK;
}

void
lc__roster_unlock(struct lc__roster *roster)
{
	(void)set_lock(roster->fd, F_UNLCK, ALL);
}

/* ---- rows -------------------------------------------------------------------------- */

static lc_id
id_of(const char *name)
{
	return (lc_id){ name, strnlen(name, LC__ROSTER_NAME) };
}

static bool
is_named(const struct lc__roster_row *row, const char *name)
{
	return (row->state == LC__ROW_COMING || row->state == LC__ROW_THERE) &&
	    strncmp(row->name, name, sizeof(row->name)) == 0;
}

/* The newest row with a name counts: an older one is gone, or was reused. */
static lc_status
place_row(struct lc__roster *roster, uint32_t i)
{
	const lc_id id = id_of(roster->rows[i].name);
	bool added;

	lc__idset_remove(&roster->places, id);
	return lc__idset_add(&roster->places, id, i, &added, NULL);
}

/* The rows that others have added since. A row gets a new time of use when it is added. */
static lc_status
place_rows(struct lc__roster *roster)
{
	const struct lc__roster_head *head = roster->head;
	const bool all = !roster->placed ||
	    roster->places.count > 2 * (size_t)LC__ROSTER_ROWS;

	if (!all && roster->added == head->added)
		return LC_OK;
	if (all)
		lc__idset_free(&roster->places);
	roster->placed = false;
	for (uint32_t i = 0; i < head->n; i++) {
		const struct lc__roster_row *row = &roster->rows[i];

		if ((all || row->used > roster->placed_at) && is_named(row, row->name))
			return_if_error(place_row(roster, i));
	}
	roster->placed = true;
	roster->added = head->added;
	roster->placed_at = head->clock;
	return LC_OK;
}

int
lc__roster_find(struct lc__roster *roster, const char *name)
{
	const lc_error before = *lc_last_error();
	uint32_t i;

	if (place_rows(roster) == LC_OK)
		return lc__idset_find(&roster->places, id_of(name), &i) &&
			i < roster->head->n && is_named(&roster->rows[i], name)
		    ? (int)i
		    : -1;
	/* Without memory the rows themselves are searched. */
	(void)lc__error_raise(&before);
	for (i = 0; i < roster->head->n; i++)
		if (is_named(&roster->rows[i], name))
			return (int)i;
	return -1;
}

int
lc__roster_add(struct lc__roster *roster, const char *name, uint64_t size)
{
	uint32_t i = 0;
	struct lc__roster_row *row;

	while (i < roster->head->n && roster->rows[i].state != LC__ROW_FREE)
		i++;
	if (i == LC__ROSTER_ROWS)
		return -1;
	/* As for the head: no signal where the disk is full. */
	if (i == roster->head->n &&
	    fallocate(roster->fd, 0, (off_t)(HEAD + i * sizeof(*row)), sizeof(*row)) ==
		-1 &&
	    errno != EOPNOTSUPP)
		return -1;
	row = &roster->rows[i];
	/* Before the row: whoever comes after a process that is killed here looks at it. */
	roster->head->added++;
	if (roster->placed && roster->added + 1 == roster->head->added)
		roster->added = roster->head->added;
	memset(row, 0, sizeof(*row));
	strcpy(row->name, name);
	row->size = size;
	row->used = ++roster->head->clock;
	for (uint32_t r = 0; r < LC__ROSTER_RANKS; r++)
		row->when[r] = LC__NEVER;
	row->state = LC__ROW_COMING;
	if (i == roster->head->n)
		roster->head->n++;
	if (roster->placed && place_row(roster, i) != LC_OK)
		roster->placed = false;
	return (int)i;
}

uint64_t
lc__roster_blocks(uint64_t size)
{
	return size > UINT64_MAX - BLOCK ? UINT64_MAX
					 : (size + BLOCK - 1) / BLOCK * BLOCK;
}

uint64_t
lc__roster_bytes(const struct lc__roster *roster)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < roster->head->n; i++) {
		const uint64_t bytes = lc__roster_blocks(roster->rows[i].size);

		if (roster->rows[i].state != LC__ROW_FREE)
			sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
	}
	return sum;
}

/* ---- pins and fetchers ------------------------------------------------------------- */

void
lc__roster_pin(struct lc__roster *roster, int row)
{
	/* Whoever tries out whether a row is pinned holds the lock of the table: this cannot
	 * fail but for the lack of memory for locks, which the kernel does not have. */
	if (roster->pins[row]++ == 0)
		(void)set_lock(roster->fd, F_RDLCK, ROW + (uint64_t)row);
}

void
lc__roster_unpin(struct lc__roster *roster, int row)
{
	if (roster->pins[row] > 0 && --roster->pins[row] == 0)
		(void)set_lock(roster->fd, F_UNLCK, ROW + (uint64_t)row);
}

bool
lc__roster_claim(struct lc__roster *roster, int row)
{
	if (roster->pins[row] > 0 || roster->mine[row] ||
	    !set_lock(roster->fd, F_WRLCK, ROW + (uint64_t)row))
		return false;
	roster->mine[row] = true;
	return true;
}

void
lc__roster_release(struct lc__roster *roster, int row)
{
	roster->mine[row] = false;
	(void)set_lock(roster->fd, F_UNLCK, ROW + (uint64_t)row);
}

bool
lc__roster_in_use(const struct lc__roster *roster, int row)
{
	return roster->pins[row] > 0 || roster->mine[row] ||
	    is_locked(roster->fd, ROW + (uint64_t)row);
}

/* ---- what the ranks will need ------------------------------------------------------ */

uint32_t
lc__roster_live(const struct lc__roster *roster)
{
	uint32_t live = 0;

	for (uint32_t r = 0; r < LC__ROSTER_RANKS; r++)
		if ((int)r == roster->rank || is_locked(roster->fd, RANK + r))
			live |= (uint32_t)1 << r;
	return live;
}

uint64_t
lc__roster_distance(const struct lc__roster *roster, int row, uint32_t live)
{
	uint64_t least = LC__NEVER;

	for (uint32_t r = 0; r < LC__ROSTER_RANKS; r++) {
		const uint64_t when = roster->rows[row].when[r];
		const uint64_t now = roster->head->now[r];

		/* A use before now is over, and its rank has not published the next one yet. */
		if ((live >> r & 1) != 0 && when != LC__NEVER && when >= now &&
		    when - now < least)
			least = when - now;
	}
	return least;
}
