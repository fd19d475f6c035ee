/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_tar.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "need.h"

enum { BLOCK = 512 };

void
made_tar_add_type(struct made_tar *tar, const char *name, char type, const void *data,
    size_t size)
{
	static const unsigned char zeros[BLOCK];
	unsigned char header[BLOCK] = { 0 };
	unsigned sum = 0;

	need(strlen(name) < 100);
	memcpy(header, name, strlen(name));
	memcpy(header + 100, "000444 ", 8);
	memcpy(header + 108, "000000 ", 8);
	memcpy(header + 116, "000000 ", 8);
	need(snprintf((char *)header + 124, 13, "%011zo ", size) == 12);
	memcpy(header + 136, "00000000000 ", 12);
	memset(header + 148, ' ', 8);
	header[156] = (unsigned char)type;
	memcpy(header + 257, "ustar\0" "00", 8);
	memcpy(header + 329, "000000 ", 8);
	memcpy(header + 337, "000000 ", 8);
	for (int i = 0; i < BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + 148, 8, "%06o", sum);
	lc__buf_append(&tar->bytes, header, sizeof(header));
	lc__buf_append(&tar->bytes, data, size);
	if (size % BLOCK != 0)
		lc__buf_append(&tar->bytes, zeros, BLOCK - size % BLOCK);
	need(!tar->bytes.failed);
}

void
made_tar_add(struct made_tar *tar, const char *name, const void *data, size_t size)
{
	made_tar_add_type(tar, name, '0', data, size);
}

void
made_tar_end(struct made_tar *tar)
{
	static const unsigned char zeros[2 * BLOCK];

	need(lc__buf_append(&tar->bytes, zeros, sizeof(zeros)) != NULL);
}

void
made_tar_copy(const struct made_tar *tar, const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	need(fd != -1);
	need_ok(lc__write_full(fd, tar->bytes.data, tar->bytes.size, path));
	need(close(fd) == 0);
}

void
made_tar_write(struct made_tar *tar, const char *path)
{
	made_tar_copy(tar, path);
	lc__buf_free(&tar->bytes);
	memset(tar, 0, sizeof(*tar));
}
