/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "faulted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "torture.h"

#define WATCHDOG 60 /* seconds; a run takes some milliseconds */

/* ---- commands ------------------------------------------------------------------------ */

/* Functions for the files: u8 MODULE ID TEXT; some MODULE: a few records of all kinds. */
static const char prelude[] =
    "set -eu\n"
    "u8() { printf %s \"$3\" | cachex put -q \"$1\" \"$2\" --dtype u8 --shape ${#3}; }\n"
    "plain() { u8 $1 a abcdefgh; u8 $1 b bcd; u8 $1 c see; u8 $1 d/e dee; }\n"
    "some() { u8 $1 a abcdefgh; u8 $1 b bcd; u8 $1 a abcdef; u8 $1 c see; u8 $1 d/e dee;\n"
    "  printf '%s\\n' '{\"format\":1,\"id\":\"s\",\"value\":{\"map\":{\"n\":{\"int\":\"7\"},"
    "\"t\":{\"str\":\"text\"}}}}' >s.jsonl; cachex load -q $1 s.jsonl 2>/dev/null || :; rm s.jsonl; }\n"
    "picture() { base64 -d >\"$1\" <<END\n"
    "iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAAAXNSR0IArs4c6QAAACBJREFUOI1j\n"
    "ZGBo4GJgoByxMAgwUAWMGjRq0KhBI9UgAPK6ApRUkkqeAAAAAElFTkSuQmCC\n"
    "END\n}\n"
    "labelled() { \"$T/mkdataset\" make set 2; }\n"
    "final() { printf 'a\\nb\\n' >s.txt; cachex fill -q m --from s.txt -j 1 \\\n"
    "  --exec \"exec '$T/bad_producer' good\"; }\n"
    "parts() { for i in 0 1; do seq -f $i-%g 3 >s$i.txt; done; for i in 0 1; do\n"
    "  cachex --root p$i fill -q m --from s0.txt s1.txt --shard $i/2 -j 1 --chunk 2 \\\n"
    "  --exec \"exec '$T/bad_producer' good\"; done; }\n"
    "warehouse() { labelled; cachex build -q --size 16x16 -j 1 set wh; }\n";

const struct faulted_command faulted_commands[] = {
	{ "put", "some m; printf xyz >x", "put m c x --dtype u8 --shape 3 -q", NULL, 0 },
	{ "put-new", "printf xyz >x", "put n c x --dtype u8 --shape 3 -q", NULL, 0 },
	{ "put-npy", "some m; cachex get m a --format npy >x.npy", "put m n x.npy", NULL, 0 },
	{ "get", "some m", "get m a --format raw", NULL, 0 },
	{ "get-file", "some m", "get m a -o x.npy", NULL, 0 },
	{ "has", "some m", "has m a b", NULL, FAULTED_MANY },
	{ "rm", "some m", "rm -f m a", NULL, 0 },
	{ "ls", "some m; some n", "ls", NULL, FAULTED_MANY },
	{ "ls-module", "some m", "ls m -l", NULL, FAULTED_TIMES | FAULTED_MANY },
	{ "stat", "some m", "stat m", NULL, FAULTED_TIMES },
	{ "stat-watch", "some m", "stat --watch m -n 2 -i 0", NULL, 0 },
	{ "top", "some m; some n", "top -n 2 -i 0", NULL, FAULTED_MANY },
	{ "report", "some m", "report m -o page.html", NULL,
	    FAULTED_FONTS | FAULTED_ORDER },
	{ "shell", "some m; printf 'has m a\\nget m a --format raw\\n' >lines", "shell --bail lines", NULL, 0 },
	{ "schema", "some m", "schema m", NULL, 0 },
	{ "set", "some m", "set m codec=lz4", NULL, 0 },
	{ "verify", "some m; some n", "verify m n", NULL, FAULTED_TIMES | FAULTED_MANY },
	{ "backup", "some m", "backup m b", NULL, FAULTED_TIMES },
	{ "backup-compact", "some m", "backup -c m b", NULL, FAULTED_TIMES },
	{ "copy", "some m; u8 n z zed", "copy m n", NULL, FAULTED_TIMES | FAULTED_MANY },
	{ "merge", "some m; u8 n z zed; u8 o y why", "merge m n o", NULL, FAULTED_TIMES | FAULTED_MANY },
	{ "merge-inputs", "parts", "merge --inputs ./p0/m ./p1/m n", NULL,
	    FAULTED_TIMES | FAULTED_MANY },
	{ "compact", "some m", "compact m --live-ratio 1", NULL, FAULTED_TIMES },
	{ "recode", "some m", "compact m --recode lz4", NULL, FAULTED_TIMES },
	{ "shrink", "some m; cachex rm -q -f m b", "compact m --live-ratio 1 --shrink", NULL,
	    FAULTED_TIMES },
	{ "clear", "some m", "clear -f m", NULL, FAULTED_TIMES },
	{ "recover", "some m", "recover m", NULL, FAULTED_TIMES | FAULTED_KEEPS },
	{ "recover-damaged", "plain m; at=$(LC_ALL=C grep -aob cdefgh r/m/data.mdb | head -n 1 | cut -d : -f 1);"
	    "printf W | dd of=r/m/data.mdb bs=1 seek=$at conv=notrunc", "recover m", NULL,
	    FAULTED_TIMES | FAULTED_KEEPS },
	{ "salvage", "some m", "recover --salvage m n", NULL, FAULTED_TIMES },
	{ "dump", "some m", "dump m", NULL, 0 },
	{ "dump-file", "some m", "dump m -o x.jsonl", NULL, 0 },
	{ "load", "some m; cachex dump m >x.jsonl", "load n x.jsonl", NULL, FAULTED_KEEPS },
	{ "load-pipe", "some m; cachex dump m >x.jsonl", "load n -", "x.jsonl", FAULTED_KEEPS },
	{ "import-npy", "some m; mkdir d d/e; cachex get m a --format npy >d/a.npy;"
	    "cachex get m b --format npy >d/e/b.npy; picture d/p.png",
	    "import n d -j 1", NULL, FAULTED_TIMES },
	{ "import-jpeg", "mkdir d; \"$T/mkdataset\" image d/p.jpg 20 10 1",
	    "import n d -j 2", NULL, FAULTED_TIMES },
#ifdef HAVE_LIBTIFF
	{ "import-tiff", "mkdir d; base64 -d >d/t.tif <<END\n"
	    "SUkqAAgAAAAKAAABBAABAAAAAgAAAAEBBAABAAAAAQAAAAIBAwADAAAAhgAAAAMBAwABAAAAAQAAAAYBAwABAAAAAgAAABEBBAABAAAAjAAAABUBAwABAAAAAwAAABYBBAABAAAAAQAAABcBBAABAAAABgAAABwBAwABAAAAAQAAAAAAAAAIAAgACAABAgMEBQY=\n"
	    "END\n", "import n d -j 1", NULL, FAULTED_TIMES },
#endif
	{ "import-npz", "plain m; cachex export -q m x.npz", "import n x.npz", NULL, FAULTED_TIMES | FAULTED_ARCHIVE },
	{ "import-safetensors", "plain m; cachex export -q m x.safetensors",
	    "import n x.safetensors", NULL, FAULTED_TIMES },
	{ "import-webdataset", "plain m; cachex export -q m x --format webdataset",
	    "import n x --format webdataset", NULL, FAULTED_TIMES | FAULTED_ARCHIVE },
	{ "import-mds", "plain m; cachex export -q m x --format mds", "import n x", NULL,
	    FAULTED_TIMES },
	{ "import-lmdb", "foreign", "import n foreign --raw", NULL, FAULTED_TIMES },
	{ "export-twh1", "u8 m a abcd; u8 m b bcde", "export m x --format twh1 -j 1", NULL,
	    FAULTED_TIMES | FAULTED_KEEPS },
	{ "push", "u8 m a abcd; u8 m b bcde; cachex export -q m x", "push ./x s", NULL,
	    FAULTED_TIMES | FAULTED_KEEPS },
	{ "publish", "u8 m a abcd; cachex export -q m x; cachex push -q ./x s", "publish s", NULL,
	    FAULTED_TIMES },
	{ "pull", "u8 m a abcd; cachex export -q m x; cachex push -q ./x s; cachex publish -q s",
	    "pull s d", NULL, FAULTED_TIMES },
	{ "gc", "u8 m a abcd; cachex export -q m x; cachex push -q ./x s; cachex publish -q s;"
	    "cachex push -q ./x s --producer 2; rm s/run/*/000000.json; : >s/obj/x.tmp.abcdef",
	    "gc s --older 0s", NULL, FAULTED_TIMES },
	{ "verify-store", "u8 m a abcd; cachex export -q m x; cachex push -q ./x s; cachex publish -q s",
	    "verify file:s --deep", NULL, 0 },
	{ "export-npy", "plain m", "export m x --format npy", NULL, FAULTED_TIMES },
	{ "export-npz", "plain m", "export m x.npz", NULL,
	    FAULTED_TIMES | FAULTED_ARCHIVE | FAULTED_ZIP },
	{ "export-safetensors", "plain m", "export m x.safetensors", NULL, FAULTED_TIMES },
	{ "export-webdataset", "plain m", "export m x --format webdataset", NULL, FAULTED_TIMES | FAULTED_ARCHIVE },
	{ "export-mds", "plain m", "export m x --format mds", NULL, FAULTED_TIMES },
	{ "shard-verify", "warehouse", "shard verify wh/current/", NULL, 0 },
	{ "shard-inspect", "warehouse", "shard inspect wh/current/shard-000000.twh1", NULL, 0 },
	{ "shard-extract", "warehouse", "shard extract wh/current/shard-000000.twh1 --output x",
	    NULL, 0 },
	{ "shard-union", "warehouse", "shard union all wh wh/current", NULL,
	    FAULTED_TIMES },
	{ "build", "labelled", "build --size 16x16 -j 1 set wh", NULL,
	    FAULTED_TIMES | FAULTED_KEEPS },
	{ "build-again", "warehouse; rm set/a/labels/f1.json", "build --size 16x16 -j 1 set wh",
	    NULL, FAULTED_TIMES | FAULTED_KEEPS },
	{ "build-told", "labelled", "build --size 16x16 -j 2 set wh --buckets 2 --trace t.jsonl "
	    "--metrics m.prom", NULL, FAULTED_TIMES | FAULTED_KEEPS | FAULTED_ORDER },
	{ "warehouse-inspect", "warehouse", "warehouse inspect wh --shards", NULL, 0 },
	{ "warehouse-verify", "warehouse", "warehouse verify wh --sources content", NULL, 0 },
	{ "warehouse-list", "warehouse", "warehouse list wh", NULL, FAULTED_MANY },
	{ "warehouse-compare", "warehouse; cachex build -q --size 16x16 --max-boxes 3 set other",
	    "warehouse compare wh other", NULL, FAULTED_MANY },
	{ "warehouse-use", "warehouse; first=$(readlink wh/current); "
	    "cachex build -q --size 8x8 -j 1 set wh; ln -s \"$first\" wh/old",
	    "warehouse use wh OLD", NULL, FAULTED_MANY },
	{ "warehouse-prune", "warehouse; cachex build -q --size 8x8 -j 1 set wh",
	    "warehouse prune -f wh --keep 1", NULL, FAULTED_MANY },
	{ "warehouse-report", "warehouse", "warehouse report wh -o x.html", NULL,
	    FAULTED_FONTS | FAULTED_ORDER },
	{ "warehouse-charts", "warehouse", "warehouse report wh -o x.svg", NULL,
	    FAULTED_FONTS | FAULTED_ORDER },
	{ "warehouse-csv", "warehouse", "warehouse report wh --csv x", NULL, 0 },
	{ "warehouse-sqlite", "warehouse", "warehouse report wh --sqlite x.db", NULL,
	    FAULTED_ORDER },
	{ "warehouse-parquet", "warehouse", "warehouse report wh --parquet x", NULL, 0 },
	{ "buckets", "labelled", "buckets set/a/images/f1.png set/a/images/f0.png", NULL, 0 },
	{ "view", "warehouse", "view wh -o x.png", NULL,
	    FAULTED_TIMES | FAULTED_MANY | FAULTED_FONTS | FAULTED_ORDER },
	{ "view-tensor", "some m", "view m a -o x.svg", NULL,
	    FAULTED_TIMES | FAULTED_FONTS | FAULTED_ORDER },
	{ "view-module", "some m", "view m -o x.pdf", NULL,
	    FAULTED_TIMES | FAULTED_MANY | FAULTED_FONTS | FAULTED_ORDER },
	{ "view-embedding", "u8 m a abcd; u8 m b bcdz; u8 m c zzaa",
	    "view --embedding m -o x.svg", NULL,
	    FAULTED_TIMES | FAULTED_MANY | FAULTED_FONTS | FAULTED_ORDER },
	{ "view-duplicates", "u8 m a abcd; u8 m b abcd; u8 m c abce",
	    "view --duplicates m -o x.svg", NULL,
	    FAULTED_TIMES | FAULTED_MANY | FAULTED_FONTS | FAULTED_ORDER },
	{ "view-coverage", "some m; u8 n b abcd", "view --coverage m n -o x.svg", NULL,
	    FAULTED_TIMES | FAULTED_MANY | FAULTED_FONTS | FAULTED_ORDER },
	{ "list-chunks", "some m", "view --chunks m -l", NULL, FAULTED_TIMES },
	{ "list-vectors", "u8 m a abcd; u8 m b bcdz; u8 m c zzaa", "view --embedding m -l",
	    NULL, 0 },
	{ "list-duplicates", "u8 m a abcd; u8 m b abcd; u8 m c abce",
	    "view --duplicates m -l", NULL, 0 },
	{ "list-coverage", "some m; u8 n b abcd", "view --coverage m n -l", NULL, FAULTED_MANY },
	{ "view-chunks", "some m", "view --chunks m -o x.svg", NULL,
	    FAULTED_TIMES | FAULTED_FONTS | FAULTED_ORDER },
	{ "fill", "printf 'a\\nb\\n' >ids", "fill m --exec PRODUCER --ids ids -j 1", NULL,
	    FAULTED_TIMES | FAULTED_KEEPS },
	{ "fill-pipe", "printf 'a\\nb\\n' >ids; u8 m b b", "fill m --exec PRODUCER --ids - -j 1",
	    "ids", FAULTED_TIMES | FAULTED_KEEPS },
	{ "migrate", "plain=1 \"$T/mkrecords\" 3 1 >x.jsonl",
	    "migrate stage2 x.jsonl --out out --shape 4", NULL, FAULTED_TIMES | FAULTED_KEEPS | FAULTED_ORDER },
	{ "migrate-verify", "plain=1 \"$T/mkrecords\" 3 1 >x.jsonl;"
	    "cachex migrate -q stage2 x.jsonl --out out --shape 4",
	    "migrate stage2 x.jsonl --out out --shape 4 --verify", NULL, FAULTED_KEEPS },
	{ "read", "u8 m a abcd; u8 m b bcde; u8 m c cdef", "read m -b 2 -j 0", NULL, 0 },
	{ "read-ahead", "u8 m a abcd; u8 m b bcde; u8 m c cdef", "read m -b 2 -j 2 --npy x", NULL, 0 },
	{ "read-shards", "warehouse", "read wh -b 2 -j 1 --sum", NULL, 0 },
	{ "plan", "u8 m a abcd; u8 m b bcde; u8 m c cdef", "plan m -b 2 --shuffle full", NULL, 0 },
	{ "follow", "some m", "follow m --status", NULL, 0 },
	{ "follow-final", "final", "follow m --sum -q --token-file token", NULL,
	    FAULTED_KEEPS },
	{ "read-follow", "final", "read m --follow -q -b 1 -j 1 --npy x --token-file token", NULL,
	    FAULTED_KEEPS },
	{ "config", ":", "config", NULL, 0 },
	{ NULL, NULL, NULL, NULL, 0 }
};

/* ---- files ---------------------------------------------------------------------------- */

/* A tree of files: a line of text for each thing in it, sorted. */
struct lines {
	char **items;
	size_t n;
};

static void
lines_add(struct lines *lines, const char *text)
{
	char **items = reallocarray(lines->items, lines->n + 1, sizeof(*items));

	need(items != NULL);
	lines->items = items;
	need((items[lines->n++] = strdup(text)) != NULL);
}

static void
lines_free(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->items[i]);
	free(lines->items);
	*lines = (struct lines) { NULL, 0 };
}

static bool
lines_have(const struct lines *lines, const char *text)
{
	for (size_t i = 0; i < lines->n; i++)
		if (strcmp(lines->items[i], text) == 0)
			return true;
	return false;
}

/* The same as far as the path, up to the blank. */
static bool
lines_name(const struct lines *lines, const char *text)
{
	const size_t n = strcspn(text, " ");

	for (size_t i = 0; i < lines->n; i++)
		if (strncmp(lines->items[i], text, n) == 0 &&
		    (lines->items[i][n] == ' ' || lines->items[i][n] == '\0'))
			return true;
	return false;
}

static bool
same_file(const char *path, const char *other)
{
	struct lc__buf a = { 0 }, b = { 0 };
	bool same;

	need_ok(lc__read_file(path, UINT64_MAX / 2, &a));
	need_ok(lc__read_file(other, UINT64_MAX / 2, &b));
	same = a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
	lc__buf_free(&a);
	lc__buf_free(&b);
	return same;
}

static uint64_t
hash_file(const char *path)
{
	struct lc__buf a = { 0 };
	uint64_t hash = 1469598103934665603u;

	need_ok(lc__read_file(path, UINT64_MAX / 2, &a));
	for (size_t i = 0; i < a.size; i++)
		hash = (hash ^ a.data[i]) * 1099511628211u;
	lc__buf_free(&a);
	return hash;
}

static struct lines *walking;
static size_t walking_root;

static int
take_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;
	char text[8192], target[4096];
	ssize_t n;

	(void)type;
	if (strlen(path) <= walking_root)
		return 0;
	if (S_ISDIR(st->st_mode)) {
		snprintf(text, sizeof(text), "%s/", path + walking_root);
	} else if (S_ISLNK(st->st_mode)) {
		n = readlink(path, target, sizeof(target) - 1);
		need(n > 0);
		target[n] = '\0';
		snprintf(text, sizeof(text), "%s -> %s", path + walking_root, target);
	} else if (strcmp(name, "lock.mdb") == 0 || strcmp(name, ".lock") == 0) {
		return 0;
	} else if (strcmp(name, "data.mdb") == 0) {
		snprintf(text, sizeof(text), "%s", path + walking_root);
	} else {
		snprintf(text, sizeof(text), "%s %zu %016llx", path + walking_root,
		    (size_t)st->st_size, (unsigned long long)hash_file(path));
	}
	lines_add(walking, text);
	return 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
list_tree(const char *dir, struct lines *out)
{
	walking = out;
	walking_root = strlen(dir) + 1;
	need(nftw(dir, take_path, 16, FTW_PHYS) == 0);
	if (out->n > 0)
		qsort(out->items, out->n, sizeof(*out->items), by_text);
}

static const char *copy_from, *copy_to;

static int
copy_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char to[8192], target[4096];
	struct lc__buf bytes = { 0 };
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	ssize_t n;
	int fd;

	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", copy_to, path + strlen(copy_from));
	if (type == FTW_D) {
		need(mkdir(to, 0700) == 0);
	} else if (S_ISLNK(st->st_mode)) {
		n = readlink(path, target, sizeof(target) - 1);
		need(n > 0);
		target[n] = '\0';
		need(symlink(target, to) == 0);
	} else {
		need_ok(lc__read_file(path, UINT64_MAX / 2, &bytes));
		fd = open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
		need(fd != -1);
		need_ok(lc__write_full(fd, bytes.data, bytes.size, to));
		need(futimens(fd, times) == 0);
		need(close(fd) == 0);
		lc__buf_free(&bytes);
	}
	return 0;
}

/* Files that come into a directory change its times. */
static int
copy_times(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char to[8192];
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", copy_to, path + strlen(copy_from));
	if (type == FTW_DP)
		need(utimensat(AT_FDCWD, to, times, 0) == 0);
	return 0;
}

static void
copy_tree(const char *from, const char *to)
{
	copy_from = from;
	copy_to = to;
	need(nftw(from, copy_path, 16, FTW_PHYS) == 0);
	need(nftw(from, copy_times, 16, FTW_PHYS | FTW_DEPTH) == 0);
}

/* ---- processes ------------------------------------------------------------------------ */

static uint64_t
now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

int
faulted_wait(pid_t pid)
{
	const uint64_t end = now() + WATCHDOG * 1000;
	const struct timespec pause = { 0, 300000 };
	int status;

	for (;;) {
		const pid_t got = waitpid(pid, &status, WNOHANG);
		need(got != -1);
		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) :
			    128 + WTERMSIG(status);
		if (now() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
}

void
faulted_streams(const char *const streams[3])
{
	for (int i = 0; i < 3; i++) {
		const int fd = open(streams[i], i == 0 ? O_RDONLY :
		    O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd == -1 || dup2(fd, i) == -1)
			_exit(126);
		if (fd > 2)
			close(fd);
	}
}

/* ---- a round --------------------------------------------------------------------------- */

struct round {
	const struct faulted_engine *engine;
	const struct faulted_command *command;
	const char *dir;
	char *argv[64];
	char text[4096];           /* of argv */
	struct lines before, after;         /* trees */
	struct lines had, has;              /* records */
	int good;                   /* exit status without a fault: 0, 1 for "no", 3 for losses */
	unsigned wrong;
};

/* Paths in the round's directory; in a few buffers that are used in turn. */
static const char *
path_of(const struct round *r, const char *name)
{
	static char paths[8][4200];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", r->dir, name);
	return path;
}

static void
shell(const struct round *r, const char *text)
{
	struct lc__buf buf = { 0 };
	const char *streams[3] = { "/dev/null", path_of(r, "make.out"), path_of(r, "make.err") };
	pid_t pid;
	int status;

	lc__buf_printf(&buf, "cachex() { \"$CACHEX\" \"$@\"; }\n%s%s\n", prelude, text);
	lc__buf_append(&buf, "", 1);
	need(!buf.failed);
	pid = fork();
	need(pid != -1);
	if (pid == 0) {
		faulted_streams(streams);
		execl("/bin/sh", "sh", "-c", (char *)buf.data, (char *)NULL);
		_exit(126);
	}
	status = faulted_wait(pid);
	if (status != 0)
		printf("# %s: the files cannot be made: status %d, see %s\n",
		    r->command->name, status, streams[2]);
	need(status == 0);
	lc__buf_free(&buf);
}

static void
make_argv(struct round *r)
{
	static char old[256];
	static char producer[4200];
	const char *t = getenv("T");
	size_t n = 0;
	ssize_t got;

	r->argv[n++] = getenv("CACHEX");
	snprintf(r->text, sizeof(r->text), "%s", r->command->line);
	for (char *word = strtok(r->text, " "); word != NULL; word = strtok(NULL, " ")) {
		if (strcmp(word, "OLD") == 0) {
			got = readlink("wh/old", old, sizeof(old) - 1);
			need(got > 0);
			old[got] = '\0';
			word = old;
		} else if (strcmp(word, "PRODUCER") == 0) {
			snprintf(producer, sizeof(producer), "exec '%s/bad_producer' good", t);
			word = producer;
		}
		r->argv[n++] = word;
		need(n < 63);
	}
	r->argv[n] = NULL;
}

/* All records of all modules of a tree, and what verify says where it is not good. */
static void
list_records(const struct round *r, const struct lines *tree, struct lines *out)
{
	struct lc__buf script = { 0 }, text = { 0 };
	const char *streams[3] = { "/dev/null", path_of(r, "records"), path_of(r, "records.err") };
	pid_t pid;
	char *save = NULL;
	int status;

	lc__buf_printf(&script, "x() { case $1 in */*) root=${1%%/*};; *) root=.;; esac; m=${1##*/};"
	    "\"$CACHEX\" --root \"$root\" dump \"$m\" >\"%s\" 2>&1; s=$?;"
	    "sed \"s,^,$1 ,\" \"%s\"; test $s = 0 || echo \"$1 DUMP: $s\";"
	    "\"$CACHEX\" --root \"$root\" verify -q \"$m\" 2>&1 >/dev/null || echo \"$1 VERIFY: $?\"; }\n",
	    path_of(r, "dumped"), path_of(r, "dumped"));
	for (size_t i = 0; i < tree->n; i++) {
		const char *path = tree->items[i];
		const size_t n = strlen(path);
		if (n > 9 && strcmp(path + n - 9, "/data.mdb") == 0 &&
		    strncmp(path, "foreign", 7) != 0)
			lc__buf_printf(&script, "x '%.*s'\n", (int)n - 9, path);
	}
	lc__buf_printf(&script, ":\n");
	lc__buf_append(&script, "", 1);
	need(!script.failed);
	pid = fork();
	need(pid != -1);
	if (pid == 0) {
		faulted_streams(streams);
		execl("/bin/sh", "sh", "-c", (char *)script.data, (char *)NULL);
		_exit(126);
	}
	status = faulted_wait(pid);
	need(status == 0);
	need_ok(lc__read_file(path_of(r, "records"), UINT64_MAX / 2, &text));
	lc__buf_append(&text, "", 1);
	for (char *line = strtok_r((char *)text.data, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		lines_add(out, line);
	lc__buf_free(&script);
	lc__buf_free(&text);
}

static void
show_file(const char *path)
{
	struct lc__buf text = { 0 };
	char *save = NULL;
	int n = 0;

	need_ok(lc__read_file(path, UINT64_MAX / 2, &text));
	lc__buf_append(&text, "", 1);
	for (char *line = strtok_r((char *)text.data, "\n", &save); line != NULL && n++ < 5;
	    line = strtok_r(NULL, "\n", &save))
		printf("#     %.300s\n", line);
	lc__buf_free(&text);
}

static void
complain(struct round *r, const struct faulted_fault *fault, const struct faulted_run *run,
    const char *what, const char *which)
{
	r->wrong++;
	printf("# %s: at %llu.%u%s, %s: status %d: %s%s\n", r->command->name,
	    (unsigned long long)fault->at, fault->variant, fault->and_on ? "+" : "",
	    run->fault, run->status, what, which);
	show_file(path_of(r, "err"));
	fflush(stdout);
}

/* The documented form of a message: one line, of the tool. */
static const char *
wrong_message(const struct round *r, const struct faulted_run *run)
{
	static struct lc__buf text;
	const char *line, *end;

	text.size = 0;
	need_ok(lc__read_file(path_of(r, "err"), UINT64_MAX / 2, &text));
	lc__buf_append(&text, "", 1);
	line = (char *)text.data;
	/* "lines:1: ", of the file that cachex shell runs. */
	if (strncmp(line, "lines:", 6) == 0 && strstr(line, ": ") != NULL)
		line = strstr(line, ": ") + 2;
	if (strncmp(line, "cachex: ", 8) != 0)
		return "no message";
	end = strchr(line, '\n');
	if (end == NULL)
		return "no whole line";
	if (r->engine->memory && run->status == 4 &&
	    strstr((char *)text.data, "ut of memory") == NULL &&
	    strstr((char *)text.data, "Cannot allocate memory") == NULL &&
	    strstr((char *)text.data, "Resource temporarily unavailable") == NULL)
		return "the message does not say that memory was out";
	/* Standard output may be refused as well. */
	if (end[1] != '\0' && strstr(end, ": standard output: ") == NULL &&
	    !(r->command->flags & (FAULTED_KEEPS | FAULTED_MANY)))
		return "more than a line of messages";
	return NULL;
}

/* A module that was to be made and is not one yet. */
static bool
is_unborn(const struct round *r, const char *line)
{
	static bool unborn;

	(void)r;
	if (strstr(line, " DUMP: ") != NULL || strstr(line, " VERIFY: ") != NULL)
		return unborn;
	unborn = strstr(line, "an empty file, not a module") != NULL ||
	    strstr(line, "an empty LMDB environment, not a module") != NULL;
	return unborn;
}

static bool
about_config(const struct round *r)
{
	struct lc__buf text = { 0 };
	bool is;

	need_ok(lc__read_file(path_of(r, "err"), UINT64_MAX / 2, &text));
	lc__buf_append(&text, "", 1);
	is = strstr((char *)text.data, "/config: ") != NULL;
	lc__buf_free(&text);
	return is;
}

/* The C library's loader ends a process whose memory is out while it loads a library, with
 * this text and status: as good as a kill. */
static bool
ended_by_loader(const struct round *r, const struct faulted_run *run)
{
	struct lc__buf text = { 0 };
	bool is;

	if (!r->engine->memory || run->status != 127)
		return false;
	need_ok(lc__read_file(path_of(r, "err"), UINT64_MAX / 2, &text));
	lc__buf_append(&text, "", 1);
	is = strcmp((char *)text.data, "out of memory\n") == 0;
	lc__buf_free(&text);
	return is;
}

static void
check_failed(struct round *r, const struct faulted_fault *fault, const struct faulted_run *run,
    const struct lines *tree, const struct lines *records)
{
	const char *why;

	if (ended_by_loader(r, run))
		return;
	why = wrong_message(r, run);
	if (why != NULL)
		complain(r, fault, run, why, "");
	/* A configuration that cannot be read is 2, as one that is wrong. */
	if (run->status != 4 && !(run->status == 2 && about_config(r)))
		complain(r, fault, run, "not the status of a failing system", "");
	for (size_t i = 0; i < tree->n; i++) {
		const char *line = tree->items[i];
		if (lines_have(&r->before, line) || lines_have(&r->after, line))
			continue;
		if (!lines_name(&r->before, line) && !lines_name(&r->after, line)) {
			/* What cannot be removed stays. */
			if (!(r->command->flags & FAULTED_KEEPS) &&
			    strncmp(run->fault, "unlink", 6) != 0)
				complain(r, fault, run, "is left: ", line);
		} else if (!(r->command->flags & (FAULTED_KEEPS | FAULTED_ORDER))) {
			complain(r, fault, run, "is half-made: ", line);
		}
	}
	for (size_t i = 0; i < r->before.n; i++)
		if (!lines_name(tree, r->before.items[i]) &&
		    lines_name(&r->after, r->before.items[i]))
			complain(r, fault, run, "is lost: ", r->before.items[i]);
	/* What is kept for the next run is the command's own affair. */
	for (size_t i = 0; i < records->n && !(r->command->flags & FAULTED_KEEPS); i++)
		if (!is_unborn(r, records->items[i]) && !lines_have(&r->had, records->items[i]) &&
		    !lines_have(&r->has, records->items[i]))
			complain(r, fault, run, "stored wrongly: ", records->items[i]);
	for (size_t i = 0; i < r->had.n; i++)
		if (lines_have(&r->has, r->had.items[i]) && !lines_have(records, r->had.items[i]))
			complain(r, fault, run, "record lost: ", r->had.items[i]);
}

static void
check_done(struct round *r, const struct faulted_fault *fault, const struct faulted_run *run,
    const struct lines *tree, const struct lines *records)
{
	const bool exact = !(r->command->flags & FAULTED_ORDER);

	for (size_t i = 0; i < tree->n; i++)
		/* What cannot be removed stays, also where the work is done. */
		if ((exact ? !lines_have(&r->after, tree->items[i]) :
		    !lines_name(&r->after, tree->items[i])) &&
		    !((r->command->flags & FAULTED_KEEPS) &&
		    (strncmp(run->fault, "rmdir", 5) == 0 ||
		    strncmp(run->fault, "unlink", 6) == 0)))
			complain(r, fault, run, "done, but differs: ", tree->items[i]);
	for (size_t i = 0; i < r->after.n; i++)
		if (!lines_name(tree, r->after.items[i]))
			complain(r, fault, run, "done, but lacks: ", r->after.items[i]);
	for (size_t i = 0; i < records->n && exact; i++)
		if (!lines_have(&r->has, records->items[i]))
			complain(r, fault, run, "done, but stored: ", records->items[i]);
	for (size_t i = 0; i < r->has.n && exact; i++)
		if (!lines_have(records, r->has.items[i]))
			complain(r, fault, run, "done, but did not store: ", r->has.items[i]);
	if (!(r->command->flags & FAULTED_TIMES) && !same_file(path_of(r, "out"),
	    path_of(r, "out.good"))) {
		complain(r, fault, run, "done, but printed something else", "");
		show_file(path_of(r, "out"));
	}
}

/* fontconfig has messages of its own, takes another font where it cannot read its files,
 * and tries for ever where memory is out: pictures are attacked by system calls alone
 * (t/bin/test_picture_memory has the allocations), and their bytes are not compared. */
static void
drop_fontconfig(const char *path)
{
	struct lc__buf text = { 0 };
	FILE *out;

	need_ok(lc__read_file(path, UINT64_MAX / 2, &text));
	out = fopen(path, "we");
	need(out != NULL);
	for (size_t at = 0; at < text.size;) {
		const unsigned char *end = memchr(text.data + at, '\n', text.size - at);
		const size_t size = end != NULL ? (size_t)(end - text.data) + 1 - at :
		    text.size - at;
		if (size < 11 || memcmp(text.data + at, "Fontconfig ", 11) != 0)
			need(fwrite(text.data + at, 1, size, out) == size);
		at += size;
	}
	need(fclose(out) == 0);
	lc__buf_free(&text);
}

static void
run_once(struct round *r, const struct faulted_fault *fault, struct faulted_run *out)
{
	char input[4200];
	const char *streams[3] = { "/dev/null", path_of(r, "out"), path_of(r, "err") };

	if (r->command->input != NULL) {
		snprintf(input, sizeof(input), "%s/work/%s", r->dir, r->command->input);
		streams[0] = input;
	}
	need(chdir(r->dir) == 0);
	torture_remove(path_of(r, "work"));
	copy_tree(path_of(r, "made"), path_of(r, "work"));
	need(chdir(path_of(r, "work")) == 0);
	*out = (struct faulted_run) { .status = -1 };
	r->engine->run(r->argv, streams, fault, out);
	if (r->command->flags & FAULTED_FONTS)
		drop_fontconfig(path_of(r, "err"));
}

/* libarchive ends the process where it has no memory for a name, by exit(). Where it has
 * none for the directory of a zip archive, the process ends by SIGSEGV: 3.6.2's
 * archive_write_zip_header() uses the result of cd_alloc() without a look at it. No order
 * of our calls avoids either, and what is left then is what a kill leaves. Only where an
 * allocation that fails is libarchive's own: the one that does, or one of all after it. */
static bool
ended_by_libarchive(const struct round *r, const struct faulted_run *run)
{
	struct lc__buf text = { 0 };
	bool is;

	need_ok(lc__read_file(path_of(r, "err"), UINT64_MAX / 2, &text));
	lc__buf_append(&text, "", 1);
	is = strstr((char *)text.data, "Fatal Internal Error in libarchive: ") != NULL;
	lc__buf_free(&text);
	return (run->status == 128 + SIGSEGV && (r->command->flags & FAULTED_ZIP)) ||
	    (run->status == 1 && is);
}

static void
try_fault(struct round *r, const struct faulted_fault *fault)
{
	struct faulted_run run;
	struct lines tree = { NULL, 0 }, records = { NULL, 0 };

	run_once(r, fault, &run);
	torture_count(0, 1);
	if (run.fault[0] == '\0')
		return;
	torture_count(1, 1);
	if ((run.by_archive || fault->and_on) && r->engine->memory &&
	    (r->command->flags & FAULTED_ARCHIVE) &&
	    ended_by_libarchive(r, &run))
		return;
	if (run.status == -1 || run.status >= 128) {
		complain(r, fault, &run, run.status == -1 ? "hangs" : "ended by a signal", "");
		return;
	}
	list_tree(path_of(r, "work"), &tree);
	list_records(r, &tree, &records);
	if (run.status == r->good)
		check_done(r, fault, &run, &tree, &records);
	else
		check_failed(r, fault, &run, &tree, &records);
	lines_free(&tree);
	lines_free(&records);
}

/* An environment of other people's. */
static void
make_foreign(const char *dir)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	char text[] = "value", name[2][6] = { "key", "other" };

	need(mkdir(dir, 0700) == 0);
	need(mdb_env_create(&env) == 0 && mdb_env_open(env, dir, 0, 0600) == 0);
	need(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, &dbi) == 0);
	for (int i = 0; i < 2; i++)
		need(mdb_put(txn, dbi, &(MDB_val) { strlen(name[i]), name[i] },
		    &(MDB_val) { sizeof(text), text }, 0) == 0);
	need(mdb_txn_commit(txn) == 0);
	mdb_env_close(env);
}

static void
begin(struct round *r)
{
	need(mkdir(path_of(r, "made"), 0700) == 0);
	need(chdir(path_of(r, "made")) == 0);
	if (strcmp(r->command->make, "foreign") == 0)
		make_foreign("foreign");
	else
		shell(r, r->command->make);
	shell(r, "\"$T/mkdataset\" settle .");
	make_argv(r);
	list_tree(path_of(r, "made"), &r->before);
	list_records(r, &r->before, &r->had);
}

void
faulted_round(const struct faulted_engine *engine, const struct faulted_command *command,
    uint64_t seed, const char *dir, unsigned points)
{
	struct round r = { .engine = engine, .command = command, .dir = dir };
	struct faulted_run good;
	const struct faulted_fault none = { 0, 0, false };
	const char *all = getenv("FAULTS"), *at;
	uint64_t random = seed, total;

	if (engine->memory && (command->flags & FAULTED_FONTS))
		return;
	need(setenv("LC_ALL", "C.UTF-8", 1) == 0 && setenv("HOME", dir, 1) == 0 &&
	    setenv("CACHEX_ROOT", "r", 1) == 0 && setenv("XDG_CACHE_HOME", ".cache", 1) == 0 &&
	    setenv("XDG_CONFIG_HOME", dir, 1) == 0 &&
	    setenv("SOURCE_DATE_EPOCH", "1700000000", 1) == 0);
	begin(&r);
	run_once(&r, &none, &good);
	r.good = good.status;
	if (r.good != 0 && r.good != 1 && r.good != 3) {
		printf("# %s: status %d without a fault\n", command->name, r.good);
		show_file(path_of(&r, "err"));
		_exit(1);
	}
	need(rename(path_of(&r, "out"), path_of(&r, "out.good")) == 0);
	list_tree(path_of(&r, "work"), &r.after);
	list_records(&r, &r.after, &r.has);
	total = good.points * engine->variants * 2;
	if ((at = getenv("FAULT")) != NULL) {
		struct faulted_fault one = { strtoull(at, NULL, 10), 0, strchr(at, '+') != NULL };
		if (strchr(at, '.') != NULL)
			one.variant = (unsigned)strtoul(strchr(at, '.') + 1, NULL, 10);
		try_fault(&r, &one);
		need(false);
	}
	if (all != NULL && strcmp(all, "all") != 0)
		points = (unsigned)strtoul(all, NULL, 10);
	if ((all != NULL && strcmp(all, "all") == 0) || total <= points) {
		for (uint64_t i = 0; i < total; i++)
			try_fault(&r, &(struct faulted_fault) { i / 2 / engine->variants + 1,
			    (unsigned)(i / 2 % engine->variants), i % 2 == 1 });
	} else {
		for (unsigned i = 0; i < points; i++) {
			const uint64_t n = run_random(&random) % total;
			try_fault(&r, &(struct faulted_fault) { n / 2 / engine->variants + 1,
			    (unsigned)(n / 2 % engine->variants), n % 2 == 1 });
		}
	}
	fflush(stdout);
	if (r.wrong > 0)
		_exit(1);
	need(chdir("/") == 0);
}
