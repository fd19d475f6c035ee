/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills a module with the files below a directory, as a corpus of byte-level tokens:
 * a file is a document, a byte is a token. K inputs are written by several threads;
 * kill it, start it again, and it goes on behind the last document that is stored.
 *
 *     text_cache [-k INPUTS] [-j WRITERS] ROOT MODULE DIRECTORY
 */
#include <err.h>
#include <fts.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdbcache.h>

/* A chunk is committed when it has so many bytes of documents. Where chunks end must
 * not depend on when the program was stopped: the same chunks make the same order. */
#define CHUNK_BYTES 65536

static struct {
	lc_cache *cache;
	char **files; /* sorted; file i belongs to input i % inputs */
	size_t nfiles;
	unsigned inputs;
	atomic_uint next;        /* input that no thread has taken */
	atomic_ullong documents; /* stored by this run */
} job;

static void
fail(const char *what)
{
	errx(1, "%s: %s", what, lc_last_error()->text);
}

/* ---- the corpus ----------------------------------------------------------- */

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void
add_file(const char *path)
{
	job.files = realloc(job.files, (job.nfiles + 1) * sizeof(*job.files));
	if (job.files == NULL || (job.files[job.nfiles] = strdup(path)) == NULL)
		err(1, "memory");
	job.nfiles++;
}

/* Paths are relative to the directory: the corpus may move. */
static void
list_files(char *directory)
{
	char *roots[] = { directory, NULL };
	const size_t skip = strlen(directory) + 1;
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;

	if (tree == NULL)
		err(1, "%s", directory);
	while ((entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_F && entry->fts_statp->st_size > 0)
			add_file(entry->fts_path + skip);
	fts_close(tree);
	if (job.nfiles == 0)
		errx(1, "%s: no files", directory);
}

/* The whole of a file, which the caller frees. */
static unsigned char *
read_file(const char *path, uint64_t *size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes = NULL;
	size_t room = 0, got;

	if (file == NULL)
		err(1, "%s", path);
	*size = 0;
	do {
		room += 65536;
		bytes = realloc(bytes, room);
		if (bytes == NULL)
			err(1, "%s", path);
		got = fread(bytes + *size, 1, room - *size, file);
		*size += got;
	} while (*size == room);
	if (ferror(file))
		err(1, "%s", path);
	fclose(file);
	return bytes;
}

/* ---- the inputs ----------------------------------------------------------- */

/* FNV-1a over the names of an input's files: another list is another input. */
static uint64_t
fingerprint(unsigned input)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = input; i < job.nfiles; i += job.inputs)
		for (const char *p = job.files[i];; p++) {
			hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
			if (*p == '\0')
				break;
		}
	return hash;
}

static void
input_name(char out[32], unsigned input)
{
	snprintf(out, 32, "part-%05u", input);
}

/* Every worker of every process may declare: the same again changes nothing. */
static void
declare(void)
{
	lc_input *inputs = calloc(job.inputs, sizeof(*inputs));
	char(*names)[32] = calloc(job.inputs, sizeof(*names));
	uint64_t *prints = calloc(job.inputs, sizeof(*prints));

	if (inputs == NULL || names == NULL || prints == NULL)
		err(1, "memory");
	for (unsigned i = 0; i < job.inputs; i++) {
		input_name(names[i], i);
		prints[i] = fingerprint(i);
		inputs[i] = (lc_input){ names[i], { &prints[i], sizeof(prints[i]) } };
	}
	if (lc_inputs_declare(job.cache, job.inputs, inputs) != LC_OK)
		fail("declare");
	free(inputs);
	free(names);
	free(prints);
}

/* ---- one input ------------------------------------------------------------ */

/* The cursor is the number of the input's documents that are stored, in decimal. */
static size_t
documents_done(const lc_writer *writer)
{
	const lc_input_info *info = lc_writer_info(writer);
	char text[32] = "";

	if (info->cursor.size < sizeof(text) && info->cursor.size > 0)
		memcpy(text, info->cursor.data, info->cursor.size);
	return strtoul(text, NULL, 10);
}

static void
put_document(lc_writer *writer, const char *directory, const char *name)
{
	char path[4096];
	uint64_t size;
	unsigned char *bytes;
	lc_tensor tensor;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	bytes = read_file(path, &size);
	if (lc_tensor_init(&tensor, LC_U8, 1, &size, bytes) != LC_OK ||
	    lc_writer_put(writer, name, strlen(name), &tensor) != LC_OK)
		fail(name);
	free(bytes);
}

static void
write_input(lc_writer *writer, unsigned input, const char *directory)
{
	size_t done = documents_done(writer);
	char cursor[32];

	for (size_t i = input + done * job.inputs; i < job.nfiles; i += job.inputs) {
		uint64_t records, bytes;

		put_document(writer, directory, job.files[i]);
		done++;
		lc_writer_pending(writer, &records, &bytes);
		if (bytes < CHUNK_BYTES)
			continue;
		snprintf(cursor, sizeof(cursor), "%zu", done);
		if (lc_writer_commit(writer, cursor, strlen(cursor)) != LC_OK)
			fail("commit");
		atomic_fetch_add(&job.documents, records);
	}
	snprintf(cursor, sizeof(cursor), "%zu", done);
	if (lc_writer_finish(writer, cursor, strlen(cursor)) != LC_OK)
		fail("finish");
}

/* Take one input after another. One that another process holds is left to it. */
static void *
work(void *directory)
{
	unsigned input;

	while ((input = atomic_fetch_add(&job.next, 1)) < job.inputs) {
		lc_writer *writer = NULL;
		char name[32];
		lc_status status;

		input_name(name, input);
		status = lc_writer_open(job.cache, name, &writer);
		if (status == LC_BUSY)
			continue;
		if (status != LC_OK)
			fail(name);
		if (!lc_writer_info(writer)->finished)
			write_input(writer, input, directory);
		lc_writer_close(writer);
	}
	return NULL;
}

/* ---- everything ----------------------------------------------------------- */

/* A document's length is that of the tensor itself. */
static void
open_module(const char *root, const char *module)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	if (lc_open(root, module, NULL, &job.cache) != LC_OK ||
	    lc_settings_get(job.cache, &settings) != LC_OK)
		fail(module);
	if (strcmp(settings.length_field, ".") == 0)
		return;
	strcpy(settings.length_field, ".");
	if (lc_settings_set(job.cache, &settings) != LC_OK)
		fail(module);
}

static void
run_writers(unsigned writers, char *directory)
{
	pthread_t threads[64];

	for (unsigned i = 0; i < writers; i++)
		if (pthread_create(&threads[i], NULL, work, directory) != 0)
			errx(1, "cannot start a thread");
	for (unsigned i = 0; i < writers; i++)
		pthread_join(threads[i], NULL);
}

static void
report(void)
{
	lc_fill fill = { .struct_size = sizeof(fill) };

	if (lc_fill_get(job.cache, &fill) != LC_OK)
		fail("fill");
	printf("%" PRIu64 " documents, %" PRIu64 " tokens in %" PRIu64
	       " published chunks of %" PRIu32 " inputs%s\n",
	    fill.records, fill.length, fill.published, fill.inputs,
	    fill.final ? ", final" : "");
}

int
main(int argc, char **argv)
{
	unsigned writers = 2;
	int option;

	job.inputs = 4;
	while ((option = getopt(argc, argv, "j:k:")) != -1) {
		const long number = optarg == NULL ? 0 : strtol(optarg, NULL, 10);

		if (number < 1 || number > (option == 'j' ? 64 : 65536))
			errx(2,
			    "usage: text_cache [-k INPUTS] [-j WRITERS] ROOT "
			    "MODULE DIRECTORY");
		*(option == 'j' ? &writers : &job.inputs) = (unsigned)number;
	}
	if (argc - optind != 3)
		errx(2,
		    "usage: text_cache [-k INPUTS] [-j WRITERS] ROOT MODULE DIRECTORY");
	list_files(argv[optind + 2]);
	open_module(argv[optind], argv[optind + 1]);
	declare();
	run_writers(writers, argv[optind + 2]);
	report();
	if (lc_close(job.cache) != LC_OK)
		fail("close");
	for (size_t i = 0; i < job.nfiles; i++)
		free(job.files[i]);
	free(job.files);
	return 0;
}
