/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/fingerprint.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"

#define END ((uint64_t)1 << 20) /* bytes at either end that count */

/* A file that is being hashed. */
struct print {
	const char *path;
	int fd;
	uint64_t size;
	unsigned char *room; /* END bytes */
	struct lc__hash128 *hash;
};

static lc_status
add(struct print *p, uint64_t offset)
{
	const size_t wanted = p->size < END ? (size_t)p->size : (size_t)END;
	size_t got;

	if (lseek(p->fd, (off_t)offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", p->path);
	return_if_error(lc__read_full(p->fd, p->room, wanted, &got, p->path));
	if (got != wanted)
		return lc__error(LC_CHANGED, 0, "%s: became shorter while it was "
		    "read", p->path);
	lc__hash128_update(p->hash, p->room, got);
	return LC_OK;
}

static lc_status
hash_all(struct print *p, unsigned char out[LC__FINGERPRINT])
{
	unsigned char size[8];
	uint64_t hash[2];

	p->room = malloc(END);
	p->hash = lc__hash128_new();
	if (p->room == NULL || p->hash == NULL)
		return lc__no_memory(p->path);
	lc__set64(size, p->size);
	lc__hash128_update(p->hash, size, sizeof(size));
	return_if_error(add(p, 0));
	return_if_error(add(p, p->size < END ? 0 : p->size - END));
	lc__hash128_end(p->hash, hash);
	hash[0] = htobe64(hash[0]);
	hash[1] = htobe64(hash[1]);
	memcpy(out, hash, LC__FINGERPRINT);
	return LC_OK;
}

lc_status
lc__fingerprint(const char *path, unsigned char out[LC__FINGERPRINT],
    uint64_t *size)
{
	/* A pipe would wait for its writer, and could be read once only. */
	struct print p = {
		.path = path, .fd = lc__open(path, O_RDONLY | O_NONBLOCK)
	};
	struct stat st;
	lc_status status;

	if (p.fd == -1 || fstat(p.fd, &st) == -1) {
		const int sys = errno;
		if (p.fd != -1)
			close(p.fd);
		return lc__error_sys(sys, "%s", path);
	}
	if (S_ISREG(st.st_mode)) {
		p.size = (uint64_t)st.st_size;
		status = hash_all(&p, out);
	} else {
		status = lc__error(LC_INVALID, 0, "%s: not a regular file", path);
	}
	*size = p.size;
	free(p.room);
	lc__hash128_free(p.hash);
	close(p.fd);
	return status;
}
