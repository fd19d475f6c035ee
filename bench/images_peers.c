/* SPDX-License-Identifier: BSD-2-Clause */
#include "images_peers.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "scratch.h"

#define MOST_ARGS 32
/* Where the images are: vipsthumbnail takes "../" for its standard output. */
#define OUT "out"

static const char *const opencv[] = { IMAGES_PEER_SCRIPT, "opencv", NULL };
static const char *const pillow[] = { IMAGES_PEER_SCRIPT, "pillow", NULL };
static const char *const magick[] = { "mogrify", "-output-directory", OUT,
	"-format", "null", "-filter", "triangle", "-resize", "640x640", "-background",
	"black", "-gravity", "center", "-extent", "640x640", NULL };
static const char *const vips[] = { "--size", "640x640", "-o", OUT "/x.v", NULL };

struct images_peer images_peers[IMAGES_PEERS] = {
	{ .name = "OpenCV", .package = "python3-opencv", .module = "cv2",
	  .args = opencv, .limit = "IMAGES_THREADS" },
	{ .name = "Pillow", .package = "python3-pil, python3-numpy", .module = "PIL",
	  .args = pillow },
	{ .name = "GraphicsMagick", .package = "graphicsmagick", .command = "gm",
	  .args = magick, .limit = "OMP_NUM_THREADS" },
	{ .name = "vipsthumbnail", .package = "libvips-tools",
	  .command = "vipsthumbnail", .args = vips, .limit = "VIPS_CONCURRENCY",
	  .scales = true },
};

/* ---- commands -------------------------------------------------------------------- */

static void
be_quiet(void)
{
	const int null = open("/dev/null", O_WRONLY);

	if (null != -1) {
		dup2(null, 1);
		dup2(null, 2);
	}
}

/* Run a command in a directory, NULL: to see whether it can be run here. */
static bool
ends_well(const char *const *argv, const char *dir)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (dir == NULL)
			be_quiet();
		if (dir == NULL || chdir(dir) == 0)
			execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", argv[0]);
	return status == 0;
}

/* The interpreter that has a module and NumPy: another one may come before the
 * system's in the path. */
static const char *
python_with(const char *module)
{
	static const char *const names[] = { "python3", "/usr/bin/python3" };
	char text[64];

	snprintf(text, sizeof(text), "import numpy, %s", module);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *const argv[] = { names[i], "-c", text, NULL };
		if (ends_well(argv, NULL))
			return names[i];
	}
	return NULL;
}

static bool
is_there(const char *program)
{
	char text[64];
	const char *const argv[] = { "sh", "-c", text, NULL };

	snprintf(text, sizeof(text), "command -v %s", program);
	return ends_well(argv, NULL);
}

void
images_peer_find(struct images_peer *peer)
{
	peer->program = peer->module != NULL ? python_with(peer->module) :
	    is_there(peer->command) ? peer->command : NULL;
	if (peer->program == NULL)
		printf("%s is not installed (Debian: %s)\n", peer->name,
		    peer->package);
}

/* ---- a run ------------------------------------------------------------------------- */

static const char **
make_argv(const struct images_peer *peer, const struct image_set *set)
{
	const char **argv = calloc(MOST_ARGS + set->n, sizeof(*argv));
	unsigned n = 0;

	if (argv == NULL)
		err(1, NULL);
	argv[n++] = peer->program;
	for (unsigned i = 0; peer->args[i] != NULL; i++)
		argv[n++] = peer->args[i];
	for (unsigned i = 0; i < set->n; i++)
		argv[n++] = strrchr(set->paths[i], '/') + 1;
	return argv;
}

static void
set_limit(const struct images_peer *peer, unsigned threads)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", threads);
	if (peer->limit != NULL && threads > 0)
		setenv(peer->limit, number, 1);
	else if (peer->limit != NULL)
		unsetenv(peer->limit);
}


double
images_peer_rate(const struct images_peer *peer, const struct image_set *set,
    unsigned threads)
{
	const char **argv = make_argv(peer, set);
	char dir[4300], out[4400];
	double start, seconds;

	snprintf(dir, sizeof(dir), "%s/run/images", set->root);
	snprintf(out, sizeof(out), "%s/" OUT, dir);
	if (mkdir(out, 0777) != 0)
		err(1, "%s", out);
	sync();
	set_limit(peer, threads);
	start = bench_seconds();
	if (!ends_well(argv, dir))
		errx(1, "%s failed", peer->name);
	seconds = bench_seconds() - start;
	scratch_remove(out);
	free(argv);
	return set->n / seconds;
}
