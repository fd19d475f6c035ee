/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache_ids that a fill makes: of a list, or of the lines of its inputs. */
#include "cmd/fill_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json_scan.h"
#include "fill/inputs.h"
#include "lmdbcache.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/pattern.h"
#include "ui/report.h"

/* ---- lists ------------------------------------------------------------------------- */

#define STEP ((size_t)64 << 10) /* bytes read at once */
#define PATIENCE 5              /* ms, then there is nothing for now */

int
idlist_open(struct idlist *list, const char *path, bool null)
{
	memset(list, 0, sizeof(*list));
	list->name = input_name(path);
	list->null = null;
	list->fd = strcmp(path, "-") == 0 ? STDIN_FILENO
					  : open(path, O_RDONLY | O_CLOEXEC);
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

/* Counts the items that are not empty; *open: the last one goes on after these bytes. */
static uint64_t
count_items(const char *text, size_t size, char separator, bool *open)
{
	uint64_t n = 0;

	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, separator, size - at);
		const size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
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

/* Can something be read now or soon? Errors are left to read(). */
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
	out->size = end != NULL ? (size_t)(end - (const unsigned char *)out->data)
				: looked;
	list->at += out->size + (end != NULL);
	return out->size <= LC_MAX_ID
	    ? LC_OK
	    : lc__error(LC_INVALID, 0, "%s: item %llu has more than %d bytes", list->name,
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

/* ---- lines ------------------------------------------------------------------------- */

int
linename_check(const struct linename *how, const struct lc__inputs_shard *shards,
    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (how->field != NULL && shards[i].kind != LC__SHARD_JSONL)
			return report_usage("--id-field is of JSONL, and %s is not",
			    shards[i].path);
		if (how->pattern != NULL && shards[i].kind != LC__SHARD_FILES)
			return report_usage("--id is of lists of files, and %s is not "
					    "(--kind files)",
			    shards[i].path);
	}
	return EXIT_DONE;
}

static lc_status
bad(const struct lc__inputs_shard *shard, const struct lc__line *line, const char *field,
    const char *what)
{
	return lc__error(LC_INVALID, 0, "%s: line %llu: %s '%s'", shard->path,
	    (unsigned long long)line->number + 1, what, field);
}

/* Digits, and perhaps a sign. */
static bool
is_integer(const struct lc__json_member *member)
{
	const struct lc__json_slice *text = &member->value;

	for (size_t i = 0; i < text->size; i++)
		if ((text->text[i] < '0' || text->text[i] > '9') &&
		    (i > 0 || text->text[i] != '-'))
			return false;
	return member->kind == LC__JSON_NUMBER;
}

/* Of two members with one name the last one counts, as with other readers. The line is
 * known to be an object. */
static lc_status
find_field(const char *field, const struct lc__line *line, struct lc__json_member *out)
{
	struct lc__json_members members;
	struct lc__json_member member;
	bool found = false;
	lc_status status = lc__json_object(line->data, line->size, &members);

	while (status == LC_OK) {
		status = lc__json_next(&members, &member);
		if (status == LC_OK && lc__json_name_is(member.name, field)) {
			*out = member;
			found = true;
		}
	}
	return status != LC_END ? status : found ? LC_OK : LC_NOT_FOUND;
}

static lc_status
append_field(const char *field, const struct lc__inputs_shard *shard,
    const struct lc__line *line, struct lc__buf *out)
{
	struct lc__json_member member = { .kind = LC__JSON_NULL };

	if (find_field(field, line, &member) != LC_OK)
		return bad(shard, line, field, "has no member");
	if (member.kind == LC__JSON_STRING)
		return lc__json_unescape(member.value, out) == LC_OK
		    ? LC_OK
		    : bad(shard, line, field, "no text is");
	if (!is_integer(&member))
		return bad(shard, line, field, "neither a string nor an integer is");
	lc__buf_append(out, member.value.text, member.value.size);
	return LC_OK;
}

static lc_status
append_pattern(const char *pattern, const struct lc__line *line, struct lc__buf *out)
{
	char *path = strndup((const char *)line->data, line->size);
	char *id = path != NULL ? pattern_fill(pattern, path) : NULL;

	if (id != NULL)
		lc__buf_append(out, id, strlen(id));
	free(path);
	free(id);
	return id != NULL ? LC_OK : lc__no_memory(NULL);
}

lc_status
linename_append(const struct linename *how, const struct lc__inputs_shard *shard,
    const struct lc__line *line, struct lc__buf *out)
{
	return how->field != NULL ? append_field(how->field, shard, line, out)
				  : append_pattern(how->pattern, line, out);
}
