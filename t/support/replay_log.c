/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "need.h"

static size_t
add_file(struct replay_log *log, uint64_t inode, bool is_dir)
{
	log->files = realloc(log->files, (log->nfiles + 1) * sizeof(*log->files));
	need(log->files != NULL);
	log->files[log->nfiles] = (struct replay_file){ inode, is_dir, false, false };
	return log->nfiles++;
}

/* The newest file with this inode number: all were made below the root. */
static size_t
find_file(const struct replay_log *log, uint64_t inode)
{
	for (size_t i = log->nfiles; i > 0; i--)
		if (log->files[i - 1].inode == inode)
			return i - 1;
	need(!"a file that was not there at the start nor seen being made");
	return 0;
}

static bool
has_file(const struct replay_log *log, uint64_t inode)
{
	for (size_t i = 0; i < log->nfiles; i++)
		if (log->files[i].inode == inode)
			return true;
	return false;
}

static const char *
next_name(const unsigned char *at, uint32_t size)
{
	need(size == 0 || memchr(at, '\0', size) != NULL);
	return size == 0 ? NULL : (const char *)at;
}

/* The names that follow the head of a record. */
static void
read_names(struct replay_event *event, const unsigned char *at, uint32_t size)
{
	uint32_t first;

	event->name = next_name(at, size);
	if (event->name == NULL)
		return;
	first = (uint32_t)strlen(event->name) + 1;
	event->name2 = next_name(at + first, size - first);
}

static void
read_files(struct replay_log *log, struct replay_event *event,
    const struct record *head)
{
	if (event->name != NULL)
		event->dir = find_file(log, head->dir);
	if (event->name2 != NULL)
		event->dir2 = find_file(log, head->dir2);
	switch (event->kind) {
	case RECORD_ROOT:
		if (log->nfiles == 0)
			add_file(log, head->file, true);
		need(find_file(log, head->file) == 0);
		break;
	case RECORD_CREATE:
	case RECORD_MKDIR:
		/* Of a file with several names at the start, each was noted as one. */
		if (!log->started && has_file(log, head->file)) {
			event->kind = RECORD_LINK;
			event->file = find_file(log, head->file);
			break;
		}
		event->file = add_file(log, head->file,
		    event->kind == RECORD_MKDIR);
		break;
	case RECORD_EXCHANGE:
		event->file = find_file(log, head->file);
		event->other = find_file(log, head->offset);
		break;
	case RECORD_SYMLINK:
		event->file = add_file(log, head->file, false);
		log->files[event->file].is_link = true;
		break;
	case RECORD_START:
		log->started = true;
		break;
	case RECORD_SYNC_ALL:
	case RECORD_REMOVE:
	case RECORD_MARK:
	case RECORD_PROMISE:
		break;
	default:
		event->file = find_file(log, head->file);
	}
	if (event->kind == RECORD_MAPPED)
		log->files[event->file].mapped = true;
}

/* Read the record at @p at; where the next one is. */
static size_t
read_event(struct replay_log *log, struct replay_event *event, size_t at)
{
	struct record head;

	need(log->size - at >= sizeof(head));
	memcpy(&head, log->bytes + at, sizeof(head));
	at += sizeof(head);
	need(head.names <= log->size - at);
	need(head.size <= log->size - at - head.names);
	*event = (struct replay_event){ .kind = (enum record_kind)head.kind,
		.offset = head.offset, .size = (size_t)head.size,
		.data = log->bytes + at + head.names };
	read_names(event, log->bytes + at, head.names);
	read_files(log, event, &head);
	return at + head.names + (size_t)head.size;
}

void
replay_log_read(struct replay_log *log, const char *path)
{
	struct lc__buf bytes = { 0 };
	size_t at = 0, room = 0;

	memset(log, 0, sizeof(*log));
	need_ok(lc__read_file(path, (uint64_t)1 << 32, &bytes));
	log->bytes = bytes.data;
	log->size = bytes.size;
	while (at < log->size) {
		if (log->count == room) {
			room = room * 2 + 64;
			log->events = realloc(log->events,
			    room * sizeof(*log->events));
			need(log->events != NULL);
		}
		at = read_event(log, &log->events[log->count++], at);
	}
	need(log->nfiles > 0);
}

void
replay_log_free(struct replay_log *log)
{
	free(log->bytes);
	free(log->events);
	free(log->files);
}
