/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill_set.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "need.h"
#include "run.h"

void
fill_set_write(const char *path, const void *data, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	need(fd != -1);
	need_ok(lc__write_full(fd, data, size, path));
	close(fd);
}

/* Line i of a shard, so that all are different and of many lengths. */
static size_t
line_text(char out[200], size_t shard, unsigned line)
{
	const int more = (int)((shard * 31 + line * 7) % 90);

	return (size_t)snprintf(out, 200, "shard %zu line %u %.*s", shard, line, more,
	    "..........................................................................."
	    "...............");
}

void
fill_set_make(struct fill_set *set, size_t n, const unsigned *lines)
{
	memset(set, 0, sizeof(*set));
	set->dir = run_scratch();
	set->n = n;
	need(chdir(set->dir) == 0);
	for (size_t s = 0; s < n; s++) {
		struct lc__buf text = { 0 };

		set->lines[s] = lines[s];
		for (unsigned i = 0; i < lines[s]; i++) {
			char line[200];
			lc__buf_append(&text, line, line_text(line, s, i));
			if (i + 1 < lines[s] || s % 2 == 0)
				lc__buf_append(&text, "\n", 1);
		}
		snprintf(set->paths[s], sizeof(set->paths[s]), "s%zu.txt", s);
		fill_set_write(set->paths[s], text.data, text.size);
		set->shards[s] = (struct lc__inputs_shard){
			.path = set->paths[s], .kind = LC__SHARD_TEXT };
		lc__buf_free(&text);
	}
}

void
fill_set_check_line(lc_cache *cache, const struct fill_set *set, size_t shard,
    unsigned line)
{
	char want[400];
	const size_t id_size = (size_t)snprintf(want, sizeof(want), "%s:%u",
	    set->paths[shard], line);
	const size_t size = id_size + line_text(want + id_size, shard, line);
	lc_view view;

	need_ok(lc_get(cache, want, id_size, &view));
	need(view.tensor.dtype == LC_U8 && view.tensor.ndim == 1 &&
	    view.tensor.nbytes == size && memcmp(view.tensor.data, want, size) == 0);
	lc_view_release(&view);
}

void
fill_set_check(lc_cache *cache, const struct fill_set *set)
{
	uint64_t count, want = 0;

	for (size_t s = 0; s < set->n; s++) {
		for (unsigned i = 0; i < set->lines[s]; i++)
			fill_set_check_line(cache, set, s, i);
		want += set->lines[s];
	}
	need_ok(lc_count(cache, &count));
	need(count == want);
}

void
fill_set_check_order(lc_cache *cache, const struct fill_set *set, uint64_t chunk)
{
	uint64_t next[FILL_SET_MAX] = { 0 }, in_chunk = 0, last = 0;
	size_t last_shard = 0;
	lc_iter *iter;
	lc_item item;
	lc_status status;

	need_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		unsigned shard, line;
		char id[120];

		snprintf(id, sizeof(id), "%.*s", (int)item.id.size,
		    (const char *)item.id.data);
		need(sscanf(id, "s%u.txt:%u", &shard, &line) == 2);
		need(line == next[shard]++);
		if (item.chunk == last) {
			need(shard == last_shard);
			in_chunk++;
		} else {
			if (last != 0 && next[last_shard] < set->lines[last_shard])
				need(in_chunk == chunk);
			in_chunk = 1;
		}
		need(in_chunk <= chunk);
		last = item.chunk;
		last_shard = shard;
	}
	need(status == LC_END);
	lc_iter_close(iter);
}
