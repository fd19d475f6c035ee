/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"

#define BUFFER ((size_t)256 << 10)

lc_status
lc__digest_begin(struct lc__digest *digest, bool no_sha256)
{
	if (!no_sha256)
		return lc__checksum_new("sha256", &digest->sha256);
	digest->xxh3 = lc__hash128_new();
	return digest->xxh3 != NULL ? LC_OK : lc__no_memory(NULL);
}

lc_status
lc__digest_update(struct lc__digest *digest, const void *data, size_t size)
{
	if (digest->sha256 != NULL)
		return lc__checksum_update(digest->sha256, data, size);
	lc__hash128_update(digest->xxh3, data, size);
	return LC_OK;
}

/* ---- on a thread of its own ----------------------------------------------------------- */

struct lc__digest_thread {
	struct lc__checksum *sha256;
	pthread_t id;
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed; /* signalled by either side; only one waits at a time */
	const void *data;       /* to be hashed; NULL: the thread is idle */
	size_t size;
	bool ends;
	lc_error error; /* the first failure, or LC_OK */
};

static void *
hash_behind(void *arg)
{
	struct lc__digest_thread *t = arg;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		lc_status status;

		while (t->data == NULL && !t->ends)
			pthread_cond_wait(&t->changed, &t->lock);
		if (t->data == NULL)
			break;
		pthread_mutex_unlock(&t->lock);
		status = lc__checksum_update(t->sha256, t->data, t->size);
		pthread_mutex_lock(&t->lock);
		if (status != LC_OK && t->error.status == LC_OK)
			t->error = *lc_last_error();
		t->data = NULL;
		pthread_cond_signal(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void
lc__digest_behind(struct lc__digest *digest)
{
	struct lc__digest_thread *t;

	if (digest->sha256 == NULL || (t = calloc(1, sizeof(*t))) == NULL)
		return;
	t->sha256 = digest->sha256;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	if (pthread_create(&t->id, NULL, hash_behind, t) == 0) {
		digest->thread = t;
		return;
	}
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

lc_status
lc__digest_hand(struct lc__digest *digest, const void *data, size_t size)
{
	struct lc__digest_thread *t = digest->thread;
	lc_error error;

	if (t == NULL)
		return lc__digest_update(digest, data, size);
	pthread_mutex_lock(&t->lock);
	while (t->data != NULL)
		pthread_cond_wait(&t->changed, &t->lock);
	t->data = data;
	t->size = size;
	error = t->error;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return error.status == LC_OK ? LC_OK : lc__error_raise(&error);
}

/* Wait until the thread has hashed its input and ended. */
static lc_status
end_thread(struct lc__digest *digest)
{
	struct lc__digest_thread *t = digest->thread;
	lc_error error;

	if (t == NULL)
		return LC_OK;
	pthread_mutex_lock(&t->lock);
	t->ends = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->id, NULL);
	error = t->error;
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
	digest->thread = NULL;
	return error.status == LC_OK ? LC_OK : lc__error_raise(&error);
}

/* ---- the end -------------------------------------------------------------------------- */

lc_status
lc__digest_end(struct lc__digest *digest, struct lc__digest_text *out)
{
	memset(out, 0, sizeof(*out));
	return_if_error(end_thread(digest));
	if (digest->sha256 != NULL)
		return lc__checksum_hex(digest->sha256, out->sha256);
	lc__hash128_hex(digest->xxh3, out->xxh3);
	return LC_OK;
}

void
lc__digest_free(struct lc__digest *digest)
{
	/* Another failure was recorded first. */
	const lc_error kept = *lc_last_error();

	if (end_thread(digest) != LC_OK)
		(void)lc__error_raise(&kept);
	lc__checksum_free(digest->sha256);
	lc__hash128_free(digest->xxh3);
	memset(digest, 0, sizeof(*digest));
}

static lc_status
read_all(int fd, const char *path, struct lc__team *team, struct lc__digest *digest,
    unsigned char *buf)
{
	size_t got;

	do {
		return_if_error(lc__read_full(fd, buf, BUFFER, &got, path));
		return_if_error(lc__digest_update(digest, buf, got));
		return_if_error(lc__team_step(team, got));
	} while (got == BUFFER);
	return LC_OK;
}

lc_status
lc__file_digest(const char *path, bool no_sha256, struct lc__team *team,
    struct lc__digest_text *out)
{
	struct lc__digest digest = { NULL, NULL, NULL };
	unsigned char *buf = malloc(BUFFER);
	int fd = -1;
	lc_status status = lc__digest_begin(&digest, no_sha256);

	if (buf == NULL && status == LC_OK)
		status = lc__no_memory(path);
	if (status == LC_OK && (fd = lc__open(path, O_RDONLY | O_NONBLOCK)) == -1)
		status = lc__error_sys(errno, "%s: open", path);
	if (status == LC_OK)
		status = read_all(fd, path, team, &digest, buf);
	if (status == LC_OK)
		status = lc__digest_end(&digest, out);
	if (fd != -1)
		close(fd);
	free(buf);
	lc__digest_free(&digest);
	return status;
}
