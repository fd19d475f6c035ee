/* SPDX-License-Identifier: BSD-2-Clause */
/* The flat file: in a map, or by pread() into a batch. */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "order_way.h"

struct flat {
	int fd;
	const unsigned char *map;
	size_t size;
};

static const char *
file(const struct order_set *set)
{
	return set->flat;
}

/* Neighbours are near in time, too, unless all is shuffled. */
static int
advice(const struct order_run *run, int in_order, int near, int anywhere)
{
	return run->kind == IN_ORDER ? in_order :
	    run->kind == FULLY_SHUFFLED ? anywhere : near;
}

static void *
flat_open(const struct order_run *run)
{
	struct flat *flat = calloc(1, sizeof(*flat));

	if (flat == NULL)
		err(1, NULL);
	flat->fd = open(run->set->flat, O_RDONLY);
	flat->size = run->set->load.samples * ORDER_RECORD;
	if (flat->fd < 0 || posix_fadvise(flat->fd, 0, 0, advice(run,
	    POSIX_FADV_SEQUENTIAL, POSIX_FADV_NORMAL, POSIX_FADV_RANDOM)) != 0)
		err(1, "%s", run->set->flat);
	return flat;
}

static void *
mapped_open(const struct order_run *run)
{
	struct flat *flat = flat_open(run);
	void *map = mmap(NULL, flat->size, PROT_READ, MAP_SHARED, flat->fd, 0);

	if (map == MAP_FAILED || madvise(map, flat->size, advice(run,
	    MADV_SEQUENTIAL, MADV_NORMAL, MADV_RANDOM)) != 0)
		err(1, "%s", run->set->flat);
	flat->map = map;
	return flat;
}

static void
flat_close(void *state)
{
	struct flat *flat = state;

	if (flat->map != NULL)
		munmap((void *)flat->map, flat->size);
	close(flat->fd);
	free(flat);
}

static uint64_t
mapped_read(void *state, const struct order_run *run, unsigned reader)
{
	const struct flat *flat = state;
	uint64_t first, end, total = 0;

	order_share(run, reader, &first, &end);
	if (run->kind == IN_ORDER)
		return order_sum_batch(flat->map + first * ORDER_RECORD, first,
		    end - first);
	for (uint64_t x = first; x < end; x++)
		total += order_weighed(x, order_sum(flat->map +
		    order_record(run, x) * ORDER_RECORD));
	return total;
}

static void
read_at(int fd, unsigned char *out, uint64_t record, uint64_t n)
{
	const size_t size = n * ORDER_RECORD;

	if (pread(fd, out, size, (off_t)(record * ORDER_RECORD)) != (ssize_t)size)
		err(1, "pread");
}

static uint64_t
pread_read(void *state, const struct order_run *run, unsigned reader)
{
	const struct flat *flat = state;
	unsigned char *room = order_room();
	uint64_t first, end, n, total = 0;

	order_share(run, reader, &first, &end);
	for (uint64_t x = first; x < end; x += n) {
		n = end - x < ORDER_BATCH ? end - x : ORDER_BATCH;
		if (run->kind == IN_ORDER)
			read_at(flat->fd, room, x, n);
		else
			for (uint64_t i = 0; i < n; i++)
				read_at(flat->fd, room + i * ORDER_RECORD,
				    order_record(run, x + i), 1);
		total += run->sums ? order_sum_batch(room, x, n) : n;
	}
	free(room);
	return total;
}

const struct order_way order_mapped = {
	.name = "file, mapped", .file = file, .open = mapped_open, .read = mapped_read,
	.close = flat_close,
};

const struct order_way order_pread = {
	.name = "file, pread", .unsummed = true, .file = file, .open = flat_open,
	.read = pread_read, .close = flat_close,
};
