/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/idlist.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/report.h"

#define STEP ((size_t)64 << 10) /* bytes read at once */
#define PATIENCE 5              /* ms, then there is nothing for now */

int
idlist_open(struct idlist *list, const char *path, bool null)
{
	memset(list, 0, sizeof(*list));
	list->name = input_name(path);
	list->null = null;
	list->fd = strcmp(path, "-") == 0 ? STDIN_FILENO :
	    open(path, O_RDONLY | O_CLOEXEC);
	return list->fd != -1 ? EXIT_DONE : report_errno(list->name);
}

void
idlist_close(struct idlist *list)
{
	if (list->fd > STDIN_FILENO)
		close(list->fd);
	list->fd = -1;
	lc__buf_free(&list->buf);
}

/* Items that are not empty in some bytes; *open: one of them goes on behind them. */
static uint64_t
count_items(const char *text, size_t size, char separator, bool *open)
{
	uint64_t n = 0;

	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, separator, size - at);
		const size_t length = end != NULL ? (size_t)(end - text) - at :
		    size - at;
		n += length > 0 && !*open;
		*open = end == NULL && (length > 0 || *open);
		at += length + 1;
	}
	return n;
}

uint64_t
idlist_count(const struct idlist *list)
{
	char text[STEP];
	bool open = false;
	struct stat st;
	uint64_t n = 0;
	off_t at = 0;
	ssize_t got;

	if (fstat(list->fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    lseek(list->fd, 0, SEEK_CUR) != 0)
		return 0;
	while (interrupt_pending() == 0 &&
	    (got = pread(list->fd, text, sizeof(text), at)) > 0) {
		n += count_items(text, (size_t)got, list->null ? '\0' : '\n', &open);
		at += got;
	}
	return n;
}

/* Is there something to read, or will there be soon? What is wrong read() tells. */
static lc_status
wait_readable(const struct idlist *list)
{
	struct pollfd poller = { .fd = list->fd, .events = POLLIN };
	int ready;

	if (interrupt_pending() != 0)
		return lc__error(LC_CANCELLED, 0, "stopped");
	ready = poll(&poller, 1, PATIENCE);
	return ready == 0 || (ready == -1 && errno == EINTR) ? LC_BUSY : LC_OK;
}

static lc_status
read_more(struct idlist *list)
{
	ssize_t got;
	void *room;

	if (list->at > 0)
		memmove(list->buf.data, list->buf.data + list->at,
		    list->buf.size - list->at);
	list->buf.size -= list->at;
	list->at = 0;
	room = lc__buf_append(&list->buf, NULL, STEP);
	if (room == NULL)
		return lc__no_memory(NULL);
	list->buf.size -= STEP;
	return_if_error(wait_readable(list));
	do
		got = read(list->fd, room, STEP);
	while (got == -1 && errno == EINTR);
	if (got == -1)
		return lc__error_sys(errno, "%s: read", list->name);
	list->buf.size += (size_t)got;
	list->ended = got == 0;
	return LC_OK;
}

/* The next item, empty or not. */
static lc_status
take(struct idlist *list, lc_id *out)
{
	const char separator = list->null ? '\0' : '\n';
	const unsigned char *end = NULL;
	size_t looked = 0;

	for (;;) {
		const size_t left = list->buf.size - list->at;
		if (left > looked)
			end = memchr(list->buf.data + list->at + looked, separator,
			    left - looked);
		looked = left;
		if (end != NULL || list->ended || left > LC_MAX_ID)
			break;
		return_if_error(read_more(list));
	}
	if (end == NULL && looked == 0)
		return LC_END;
	list->line++;
	out->data = list->buf.data + list->at;
	out->size = end != NULL ? (size_t)(end - (const unsigned char *)out->data) :
	    looked;
	list->at += out->size + (end != NULL);
	return out->size <= LC_MAX_ID ? LC_OK : lc__error(LC_INVALID, 0,
	    "%s: item %llu has more than %d bytes", list->name,
	    (unsigned long long)list->line, LC_MAX_ID);
}

lc_status
idlist_next(struct idlist *list, lc_id *out)
{
	do
		return_if_error(take(list, out));
	while (out->size == 0);
	return LC_OK;
}
