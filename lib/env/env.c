/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB's errors, properties of an environment, and the data that its users attach to
 * it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "env/env_private.h"

/* LMDB turns a short write into EIO. Find the errno for a lack of space: the next write
 * may be as large as the largest commit. */
static int
explain_eio(const struct lc__env *env)
{
	const uint64_t commit = (uint64_t)128 << 20;
	struct statvfs fs;
	struct rlimit limit;
	MDB_envinfo info = { 0 }; /* the error that remains if it failed to open */

	if (statvfs(env->path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < commit)
		return ENOSPC;
	mdb_env_info(env->mdb, &info);
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < (uint64_t)info.me_last_pgno * env->page_size + commit)
		return EFBIG;
	return EIO;
}

static lc_status
status_of_mdb(int rc)
{
	switch (rc) {
	case MDB_NOTFOUND: return LC_NOT_FOUND;
	case MDB_MAP_FULL:
	case MDB_MAP_RESIZED: return LC_MAP_FULL;
	case MDB_READERS_FULL: return LC_BUSY;
	case MDB_INVALID: return LC_NOT_MODULE;
	case MDB_VERSION_MISMATCH: return LC_VERSION;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_PAGE_FULL:
	case MDB_CURSOR_FULL:
	case MDB_INCOMPATIBLE:
	case MDB_BAD_TXN: /* after a damaged page was read */ return LC_CORRUPT;
	default: return LC_IO;
	}
}

lc_status
lc__mdb_error(const char *path, int rc, const char *what)
{
	if (rc > 0)
		return lc__error_sys(rc, "%s: %s", path, what);
	return lc__error(status_of_mdb(rc), rc, "%s: %s: %s", path, what,
	    mdb_strerror(rc));
}

lc_status
lc__env_error(const struct lc__env *env, int rc, const char *what)
{
	/* A process that reads locks the byte of lock.mdb that its id numbers. */
	if (rc == EAGAIN)
		return lc__error(LC_BUSY, 0,
		    "%s: %s: a process with the same id, in another container, has the module "
		    "open; let the containers share process ids",
		    env->dir, what);
	return lc__mdb_error(env->dir, rc == EIO ? explain_eio(env) : rc, what);
}

/* ---- properties ------------------------------------------------------------------ */

const char *
lc__env_dir(const struct lc__env *env)
{
	return env->dir;
}

const char *
lc__env_path(const struct lc__env *env)
{
	return env->path;
}

const struct lc__module_row *
lc__env_module(const struct lc__env *env)
{
	return &env->module;
}

uint32_t
lc__env_page_size(const struct lc__env *env)
{
	return env->page_size;
}

void
lc__env_willneed(const struct lc__env *env, const void *start, size_t size)
{
	const uintptr_t inside = (uintptr_t)start & (env->page_size - 1);

	/* A hint: the read that follows is right whatever this returns. */
	(void)madvise((void *)((uintptr_t)start - inside), size + inside, MADV_WILLNEED);
}

uint32_t
lc__env_map_version(const struct lc__env *env)
{
	return env->map_version;
}

/* ---- the guest ------------------------------------------------------------ */

lc_status
lc__env_invite(struct lc__env *env, const struct lc__env_guest *kind)
{
	lc_status status = LC_OK;

	lc__env_lock(env);
	if (env->guest == NULL) {
		env->guest_kind = kind;
		env->guest = kind->make(env);
		if (env->guest == NULL)
			status = lc__no_memory(env->dir);
	}
	lc__env_unlock(env);
	return status;
}

void *
lc__env_guest_of(const struct lc__env *env)
{
	return env->guest;
}

/* ---- space and readers ---------------------------------------------------- */

/* LMDB lists its readers as lines that start with a process id. */
static int
count_reader(const char *line, void *count)
{
	const char first = line[strspn(line, " ")];

	*(uint32_t *)count += first >= '0' && first <= '9';
	return 0;
}

uint64_t
lc__env_file_bytes(struct lc__env *env)
{
	MDB_envinfo info;

	mdb_env_info(env->mdb, &info);
	return ((uint64_t)info.me_last_pgno + 1) * env->page_size;
}

uint64_t
lc__env_pages_checked(const struct lc__env *env)
{
	return atomic_load(&env->pages_checked);
}

uint64_t
lc__txn_pages_read(const struct lc__txn *txn)
{
	return txn->place.pages_read;
}

lc_status
lc__env_stat(struct lc__env *env, struct lc__env_stats *out)
{
	MDB_envinfo info;
	uint64_t free_pages = 0;

	mdb_env_info(env->mdb, &info);
	return_if_error(lc__env_free_pages(env, &free_pages));
	out->file_bytes = lc__env_file_bytes(env);
	out->free_bytes = free_pages * env->page_size;
	out->map_bytes = info.me_mapsize;
	/* me_numreaders is the most readers there ever were. */
	out->readers = 0;
	mdb_reader_list(env->mdb, count_reader, &out->readers);
	out->max_readers = info.me_maxreaders;
	return LC_OK;
}
