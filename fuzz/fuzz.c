/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"

void
fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: not true: %s\nlast error: %s\n", file, line, condition,
	    lc_last_error()->text);
	abort();
}

/* ---- inputs ------------------------------------------------------------------ */

size_t
fuzz_left(const struct fuzz_bytes *in)
{
	return (size_t)(in->end - in->at);
}

const uint8_t *
fuzz_take(struct fuzz_bytes *in, size_t size, size_t *got)
{
	const uint8_t *bytes = in->at;

	*got = size < fuzz_left(in) ? size : fuzz_left(in);
	in->at += *got;
	return bytes;
}

static uint64_t
take_number(struct fuzz_bytes *in, size_t size)
{
	size_t got;
	const uint8_t *bytes = fuzz_take(in, size, &got);

	return got == 0 ? 0 : lc__get_few(bytes, got);
}

uint8_t
fuzz_u8(struct fuzz_bytes *in)
{
	return (uint8_t)take_number(in, 1);
}

uint16_t
fuzz_u16(struct fuzz_bytes *in)
{
	return (uint16_t)take_number(in, 2);
}

uint32_t
fuzz_u32(struct fuzz_bytes *in)
{
	return (uint32_t)take_number(in, 4);
}

uint64_t
fuzz_u64(struct fuzz_bytes *in)
{
	return take_number(in, 8);
}

/* ---- memory ------------------------------------------------------------------ */

void *
fuzz_copy(const void *data, size_t size)
{
	void *copy = NULL;

	if (posix_memalign(&copy, 64, size > 0 ? size : 1) != 0)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

void
fuzz_touch(const void *data, size_t size)
{
	static volatile uint64_t sink;
	const unsigned char *bytes = data;
	uint64_t sum = 0, word;
	size_t i = 0;

	/* By words: each step of a loop costs its instrumentation. */
	for (; size - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		sum += word;
	}
	for (; i < size; i++)
		sum += bytes[i];
	sink += sum;
	(void)sink;
}

void
fuzz_touch_tensor(const lc_tensor *tensor)
{
	fuzz_require(tensor->ndim <= LC_MAX_NDIM);
	if (tensor->data != NULL)
		fuzz_touch(tensor->data, tensor->nbytes);
}

void
fuzz_touch_value(const lc_value *value)
{
	const char *text;
	const void *bytes;
	char line[200];
	lc_tensor tensor;
	lc_part parts[4];
	size_t size;

	lc_value_describe(value, line, sizeof(line));
	fuzz_require(lc_value_parts(value, parts, 4) > lc_value_count(value));
	if (lc_value_as_tensor(value, &tensor) == LC_OK)
		fuzz_touch_tensor(&tensor);
	else if (lc_value_as_str(value, &text, &size) == LC_OK)
		fuzz_touch(text, size + 1); /* with its terminator */
	else if (lc_value_as_bytes(value, &bytes, &size) == LC_OK)
		fuzz_touch(bytes, size);
	for (size_t i = 0; i < lc_value_count(value); i++) {
		const char *name = lc_value_name(value, i);

		if (name != NULL)
			fuzz_touch(name, strlen(name));
		fuzz_touch_value(lc_value_at(value, i));
	}
}

/* ---- files ------------------------------------------------------------------- */

static char dir[200];
static pid_t owner;

static void
remove_dir(void)
{
	pid_t pid;

	if (dir[0] == '\0' || getpid() != owner)
		return;
	pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-rf", dir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

const char *
fuzz_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	if (dir[0] != '\0')
		return dir;
	snprintf(dir, sizeof(dir), "/dev/shm/cachex-fuzz.XXXXXX");
	if (mkdtemp(dir) == NULL) {
		snprintf(dir, sizeof(dir), "%s/cachex-fuzz.XXXXXX",
		    tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
		if (mkdtemp(dir) == NULL) {
			perror(dir);
			exit(99);
		}
	}
	owner = getpid();
	atexit(remove_dir);
	return dir;
}

const char *
fuzz_file(const char *name, const void *data, size_t size)
{
	static char path[400];
	const char *bytes = data;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fuzz_dir(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (fd != -1 && size > 0) {
		const ssize_t n = write(fd, bytes, size);

		if (n <= 0)
			break;
		bytes += n;
		size -= (size_t)n;
	}
	if (fd == -1 || size > 0 || close(fd) != 0) {
		perror(path);
		exit(99);
	}
	return path;
}

FILE *
fuzz_null(void)
{
	static FILE *null;

	if (null == NULL)
		null = fopen("/dev/null", "w");
	if (null == NULL) {
		perror("/dev/null");
		exit(99);
	}
	return null;
}
