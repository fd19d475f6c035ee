/* SPDX-License-Identifier: BSD-2-Clause */
#include "odd_store.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "need.h"
#include "objects/directory.h"
#include "remote/roster.h"
#include "run.h"

static lc_status
get_range(struct lc__objects *objects, const char *name, uint64_t offset, void *out,
    size_t size, size_t *got, struct lc__object *about)
{
	struct odd_store *store = (struct odd_store *)objects;
	struct odd_shared *s = store->shared;
	const int64_t call = (int64_t)atomic_fetch_add(&s->calls, 1) + 1;
	const struct timespec pause = { 0, (long)atomic_load(&s->slow_ns) };
	lc_status status;

	if (pause.tv_nsec > 0)
		nanosleep(&pause, NULL);
	if (call == atomic_load(&s->die_at))
		kill(getpid(), SIGKILL);
	if (call == atomic_load(&s->fail_at))
		return lc__error(LC_IO, 0, "%s/%s: the server is gone", objects->url,
		    name);
	status = store->real->get_range(store->real, name, offset, out, size, got, about);
	if (status == LC_OK) {
		atomic_fetch_add(&s->bytes, *got);
		if (*got > 0 &&
		    (atomic_load(&s->flip_all) || call == atomic_load(&s->flip_at)))
			*(unsigned char *)out ^= 1;
	}
	return status;
}

static void
close_nothing(struct lc__objects *objects)
{
	(void)objects;
}

static void
make_object(struct odd_store *store, struct odd_object *o, uint64_t size, uint64_t *state)
{
	o->size = size;
	o->bytes = malloc(size + 8);
	need(o->bytes != NULL);
	for (uint64_t i = 0; i < size; i += 8) {
		const uint64_t word = run_random(state);

		memcpy(o->bytes + i, &word, 8);
	}
	need_ok(lc__sha256_of(o->bytes, size, o->sha256));
	snprintf(o->name, sizeof(o->name), "obj/%.2s/%s.twh1", o->sha256, o->sha256);
	need_ok(lc__object_add(store->real, o->name, o->bytes, size));
}

void
odd_store_make(struct odd_store *store, const char *dir, size_t n, uint64_t size,
    uint64_t most, uint64_t seed)
{
	memset(store, 0, sizeof(*store));
	need_ok(lc__directory_open(dir, "file:store", &store->real));
	store->objects = *store->real;
	store->objects.url = "file:store";
	store->objects.get_range = get_range;
	store->objects.close = close_nothing;
	store->shared = mmap(NULL, sizeof(*store->shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(store->shared != MAP_FAILED);
	store->all = calloc(n, sizeof(*store->all));
	store->n = n;
	for (size_t i = 0; i < n; i++)
		make_object(store, &store->all[i],
		    size + (most > size ? run_random(&seed) % (most - size) : 0), &seed);
}

void
odd_store_free(struct odd_store *store)
{
	for (size_t i = 0; i < store->n; i++)
		free(store->all[i].bytes);
	free(store->all);
	munmap(store->shared, sizeof(*store->shared));
	lc__objects_close(store->real);
}

struct lc__wanted
odd_wanted(const struct odd_store *store, size_t i)
{
	const struct odd_object *o = &store->all[i];
	struct lc__wanted wanted = { .size = o->size, .part = "inputs/7" };

	strcpy(wanted.name, o->name);
	return wanted;
}

bool
odd_same(const struct odd_store *store, size_t i, const char *path)
{
	const struct odd_object *o = &store->all[i];
	struct lc__buf text = { 0 };
	bool same;

	need_ok(lc__read_file(path, UINT64_MAX, &text));
	same = text.size == o->size && memcmp(text.data, o->bytes, o->size) == 0;
	lc__buf_free(&text);
	return same;
}

/* ---- the disk ----------------------------------------------------------------------- */

struct disk {
	uint64_t bytes;
	ino_t seen[4096]; /* a file may get its name while the directories are read */
	size_t n;
};

static void
add(struct disk *disk, const char *path)
{
	struct lc__dir dir;
	const struct dirent *entry;
	struct stat st;

	if (lc__dir_open(path, &dir) != LC_OK)
		return;
	while (lc__dir_next(&dir, &entry) == LC_OK && entry != NULL) {
		char below[5000];
		bool seen = false;

		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (lstat(below, &st) == -1)
			continue;
		if (S_ISDIR(st.st_mode)) {
			add(disk, below);
			continue;
		}
		for (size_t i = 0; i < disk->n; i++)
			seen = seen || disk->seen[i] == st.st_ino;
		if (seen)
			continue;
		need(disk->n < 4096);
		disk->seen[disk->n++] = st.st_ino;
		disk->bytes += (uint64_t)st.st_blocks * 512;
	}
	lc__dir_close(&dir);
}

uint64_t
odd_disk(const char *dir)
{
	struct disk *disk = calloc(1, sizeof(*disk));
	struct lc__roster roster;
	char path[4096];
	uint64_t bytes;

	need(disk != NULL);
	need_ok(lc__roster_open(dir, true, &roster));
	need_ok(lc__roster_lock(&roster));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "obj", "part", LC__ROSTER_TMP };

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		add(disk, path);
	}
	lc__roster_unlock(&roster);
	lc__roster_close(&roster);
	bytes = disk->bytes;
	free(disk);
	return bytes;
}
