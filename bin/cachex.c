/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex: prepares the process and runs its command line. */
#include <fcntl.h>
#include <unistd.h>

#include "cmd/command_line.h"
#include "ui/interrupt.h"
#include "ui/report.h"

/*
 * Take the standard descriptors that are closed, so that no file gets their numbers and
 * no message lands in one. Opened the wrong way round: reading standard input and
 * writing the others fail, as they do on closed ones.
 */
static void
take_closed_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_SYSTEM);
}

int
main(int argc, char **argv)
{
	take_closed_descriptors();
	interrupt_install();
	return command_line_run(argc, argv);
}
