/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A producer that misbehaves: bad_producer MODE [ARGUMENT]. What it answers rightly is for
 * each item a u8 tensor of the bytes of its id and its payload.
 */
#include <dirent.h>
#include <endian.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <msgpack.h>

static const char *mode, *argument;

/* A request, and the answer that is made of it. */
static struct {
	unsigned char *frame;
	uint32_t size;
	uint64_t batch;
	const msgpack_object *item;
	uint32_t items;
	msgpack_unpacked unpacked;
	msgpack_sbuffer answer;
	msgpack_packer pk;
} job;

static bool
is(const char *name)
{
	return strcmp(mode, name) == 0;
}

/* ---- requests --------------------------------------------------------------------- */

static bool
read_all(void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		const ssize_t n = read(0, (char *)data + at, size - at);
		if (n <= 0 && at > 0)
			err(1, "a request is cut short");
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static const msgpack_object *
member(const msgpack_object *map, const char *name)
{
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *kv = &map->via.map.ptr[i];
		if (strncmp(kv->key.via.str.ptr, name, kv->key.via.str.size) == 0 &&
		    strlen(name) == kv->key.via.str.size)
			return &kv->val;
	}
	return NULL;
}

static bool
read_request(void)
{
	const msgpack_object *items;
	size_t offset = 0;

	if (!read_all(&job.size, 4))
		return false;
	job.size = le32toh(job.size);
	free(job.frame);
	job.frame = malloc(job.size);
	if (job.frame == NULL || !read_all(job.frame, job.size))
		err(1, "a request of %u bytes", job.size);
	if (msgpack_unpack_next(&job.unpacked, (char *)job.frame, job.size, &offset) !=
	    MSGPACK_UNPACK_SUCCESS || offset != job.size)
		errx(1, "a request is no MessagePack");
	job.batch = member(&job.unpacked.data, "batch")->via.u64;
	items = member(&job.unpacked.data, "items");
	job.items = items->via.array.size;
	job.item = items->via.array.ptr;
	return true;
}

/* Is the item of that id in the request? */
static bool
has_item(const char *id)
{
	for (uint32_t i = 0; i < job.items; i++) {
		const msgpack_object *own = member(&job.item[i], "id");
		if (own->via.str.size == strlen(id) &&
		    memcmp(own->via.str.ptr, id, strlen(id)) == 0)
			return true;
	}
	return false;
}

/* ---- answers ------------------------------------------------------------------------ */

static void
pack_text(const char *text)
{
	msgpack_pack_str(&job.pk, strlen(text));
	msgpack_pack_str_body(&job.pk, text, strlen(text));
}

/* The only member that is not the id; NULL for none. */
static const msgpack_object *
payload_of(const msgpack_object *item)
{
	for (uint32_t i = 0; i < item->via.map.size; i++)
		if (item->via.map.ptr[i].key.via.str.size != 2)
			return &item->via.map.ptr[i].val;
	return NULL;
}

static void
pack_tensor(const msgpack_object *item)
{
	const msgpack_object *id = member(item, "id"), *payload = payload_of(item);
	const size_t more = payload != NULL ? payload->via.str.size : 0;
	char type[40];

	snprintf(type, sizeof(type), "u8[%zu]", id->via.str.size + more);
	msgpack_pack_map(&job.pk, 2);
	pack_text("$tensor");
	pack_text(type);
	pack_text("data");
	msgpack_pack_bin(&job.pk, id->via.str.size + more);
	msgpack_pack_bin_body(&job.pk, id->via.str.ptr, id->via.str.size);
	if (more > 0)
		msgpack_pack_bin_body(&job.pk, payload->via.str.ptr, more);
}

static void
pack_deep(void)
{
	for (int i = 0; i < 100000; i++)
		msgpack_pack_array(&job.pk, 1);
	msgpack_pack_nil(&job.pk);
}

/* What this process finds itself in. */
static void
pack_surroundings(void)
{
	static const char *const names[] = {
		"CACHEX_PROTOCOL", "CACHEX_MODULE", "CACHEX_WORKER", "CACHEX_FRAME_MAX"
	};
	char text[400] = "";
	struct sigaction action;
	struct dirent *entry;
	sigset_t mask;
	int death = 0, others = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		others += atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(dir);
	if (dir != NULL)
		closedir(dir);
	for (size_t i = 0; i < 4; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
		    getenv(names[i]) != NULL ? getenv(names[i]) : "-");
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGPIPE, NULL, &action);
	prctl(PR_GET_PDEATHSIG, &death);
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
	    "group %d, signals %d%d%d%d, death %d, others %d", getpgrp() == getpid(),
	    sigismember(&mask, SIGPIPE), sigismember(&mask, SIGINT),
	    sigismember(&mask, SIGUSR1), action.sa_handler != SIG_DFL, death, others);
	pack_text(text);
}

static void
pack_result(uint32_t i)
{
	const msgpack_object *item = &job.item[i % job.items];

	msgpack_pack_map(&job.pk, 2);
	pack_text("id");
	if (is("unknown") && i == job.items)
		pack_text("nobody");
	else
		msgpack_pack_object(&job.pk, *member(item, "id"));
	if (is("errors") && i % 2 == 1) {
		pack_text("error");
		pack_text("odd\nitem \xff");
		return;
	}
	pack_text("value");
	if (is("deep") && i == 1)
		pack_deep();
	else if (is("surroundings"))
		pack_surroundings();
	else
		pack_tensor(item);
}

static uint32_t
results(void)
{
	if (is("few") || (is("few-once") && access(argument, F_OK) != 0))
		return job.items / 2;
	if (is("none"))
		return 0;
	return job.items + (is("unknown") || is("twice"));
}

static void
make_answer(void)
{
	const uint32_t n = results();

	msgpack_sbuffer_clear(&job.answer);
	msgpack_packer_init(&job.pk, &job.answer, msgpack_sbuffer_write);
	msgpack_pack_map(&job.pk, 2 + is("trains"));
	pack_text("batch");
	msgpack_pack_uint64(&job.pk, job.batch + is("wrong-batch"));
	pack_text("results");
	msgpack_pack_array(&job.pk, is("claims") ? UINT32_MAX : n);
	for (uint32_t i = 0; i < n; i++)
		pack_result(is("reversed") ? job.items - 1 - i : i);
	if (is("trains")) {
		pack_text("metrics");
		msgpack_pack_map(&job.pk, 2);
		pack_text("loss");
		msgpack_pack_double(&job.pk, 1.0 / (double)job.batch);
		pack_text("step");
		msgpack_pack_uint64(&job.pk, job.batch);
	}
	if (is("behind"))
		msgpack_pack_nil(&job.pk);
}

static void
write_all(const void *data, size_t size, size_t piece)
{
	for (size_t at = 0; at < size;) {
		const size_t left = size - at;
		const ssize_t n = write(1, (const char *)data + at, left < piece ? left : piece);
		if (n <= 0)
			_exit(9);
		at += (size_t)n;
	}
}

static void
write_answer(void)
{
	const size_t piece = is("pieces") ? 1 : SIZE_MAX;
	uint32_t size = htole32((uint32_t)job.answer.size);

	if (is("bytes"))
		memset(job.answer.data, 0xc1, job.answer.size);
	if (is("length"))
		size = UINT32_MAX;
	if (is("zero"))
		size = 0;
	write_all(&size, 4, piece);
	write_all(job.answer.data, is("half") ? job.answer.size / 2 : job.answer.size, piece);
	if (is("stray"))
		write_all(&size, 4, piece);
}

/* ---- misbehaving ---------------------------------------------------------------------- */

static void __attribute__((noreturn))
hang(void)
{
	for (;;)
		pause();
}

/* Lock the file, for as long as this process and those it forks live, and say so. */
static int
lock(pid_t pid)
{
	const int fd = open(argument, O_RDWR | O_CREAT, 0600);

	if (fd == -1 || flock(fd, LOCK_EX) != 0)
		err(1, "%s", argument);
	dprintf(fd, "%d\n", (int)pid);
	return fd;
}

/* A process that keeps all of this one's pipes, and the file locked. */
static void
leave_behind(bool in_group)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) != 0 || (pid = fork()) == -1)
		err(1, "fork");
	if (pid == 0) {
		if (!in_group)
			setsid();
		lock(getpid());
		close(ready[0]);
		close(ready[1]);
		hang();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 0)
		errx(1, "nothing was left behind");
	close(ready[0]);
}

/* Before anything is read. */
static void
begin(void)
{
	if (is("crash-early")) {
		fprintf(stderr, "no model\nat all\n\n");
		exit(3);
	}
	if (is("exits"))
		exit(0);
	if (is("hang-early"))
		hang();
	if (is("closes-stdout")) {
		close(1);
		hang();
	}
	if (is("closes-stdin")) {
		close(0);
		hang();
	}
	if (is("talks"))
		write_all("Loading checkpoint shards\n", 26, SIZE_MAX);
	if (is("promises")) {
		write_all("\0\0\0\1" "0123456789", 14, SIZE_MAX);
		hang();
	}
	if (is("hang-locked"))
		lock(getpid());
	if (is("leaves-daemon") || is("dies-behind-daemon"))
		leave_behind(false);
	if (is("leaves-worker"))
		leave_behind(true);
}

/* Megabytes of messages, the last of them without an end. */
static void
make_noise(void)
{
	static char buffer[65536];

	setvbuf(stderr, buffer, _IOFBF, sizeof(buffer));
	for (int i = 0; i < 40000; i++)
		fprintf(stderr, "line %d %0100d\r\n", i, 0);
	fprintf(stderr, "the end");
	fflush(stderr);
}

/* The ids of a request, a line each, behind what is in the file. */
static void
log_ids(void)
{
	const int fd = open(argument, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	msgpack_sbuffer lines;

	msgpack_sbuffer_init(&lines);
	for (uint32_t i = 0; i < job.items; i++) {
		const msgpack_object *id = member(&job.item[i], "id");

		msgpack_sbuffer_write(&lines, id->via.str.ptr, id->via.str.size);
		msgpack_sbuffer_write(&lines, "\n", 1);
	}
	if (fd == -1 || write(fd, lines.data, lines.size) != (ssize_t)lines.size)
		err(1, "%s", argument);
	close(fd);
	msgpack_sbuffer_destroy(&lines);
}

/* With a request that was read. */
static void
receive(void)
{
	if (is("logs"))
		log_ids();
	if (is("crash") || is("dies-behind-daemon"))
		exit(4);
	if (is("crash-on") && has_item(argument)) {
		fprintf(stderr, "cannot take %s\n", argument);
		raise(SIGTERM);
	}
	/* The first process that is asked leaves a file. */
	if (is("crash-once") && open(argument, O_CREAT | O_EXCL | O_CLOEXEC, 0600) != -1)
		exit(6);
	if (is("hang") || is("hang-locked") || (is("hang-on") && has_item(argument)))
		hang();
	if (is("slow"))
		usleep(20000);
	if (is("noisy"))
		make_noise();
}

/* An answer of a megabyte and more, before most of the request was read: its only item
 * is "x", its batch the first. */
static void
answer_early(void)
{
	static unsigned char data[3 << 20];
	unsigned char start[4096];
	uint32_t size;

	if (!read_all(start, sizeof(start)))
		return;
	memcpy(&size, start, 4);
	size = le32toh(size);
	msgpack_sbuffer_clear(&job.answer);
	msgpack_packer_init(&job.pk, &job.answer, msgpack_sbuffer_write);
	msgpack_pack_map(&job.pk, 2);
	pack_text("results");
	msgpack_pack_array(&job.pk, 1);
	msgpack_pack_map(&job.pk, 2);
	pack_text("value");
	msgpack_pack_bin(&job.pk, sizeof(data));
	msgpack_pack_bin_body(&job.pk, data, sizeof(data));
	pack_text("id");
	pack_text("x");
	pack_text("batch");
	msgpack_pack_uint64(&job.pk, 1);
	write_answer();
	for (size_t left = size + 4 - sizeof(start); left > 0;) {
		const size_t n = left < sizeof(data) ? left : sizeof(data);
		if (!read_all(data, n))
			return;
		left -= n;
	}
}

static void
serve(void)
{
	while (read_request()) {
		receive();
		make_answer();
		write_answer();
		if (is("few-once") && access(argument, F_OK) != 0)
			close(open(argument, O_CREAT | O_WRONLY, 0600));
		if (is("last"))
			exit(5);
		if (is("half"))
			exit(0);
	}
}

int
main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "good";
	argument = argc > 2 ? argv[2] : "";
	msgpack_sbuffer_init(&job.answer);
	msgpack_unpacked_init(&job.unpacked);
	begin();
	if (is("early"))
		answer_early();
	else
		serve();
	if (is("stays"))
		hang();
	free(job.frame);
	msgpack_unpacked_destroy(&job.unpacked);
	msgpack_sbuffer_destroy(&job.answer);
	return is("status") ? 7 : 0;
}
