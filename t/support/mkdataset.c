/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of datasets for scripts: mkdataset WORD ARGUMENT... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset.h"

static unsigned
number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

int
main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "make") == 0 && argc == 4) {
		dataset_make(argv[2], number(argv[3]));
	} else if (strcmp(word, "image") == 0 && argc == 6) {
		dataset_image(argv[2], number(argv[3]), number(argv[4]),
		    number(argv[5]));
	} else if (strcmp(word, "turned") == 0 && argc == 7) {
		dataset_turned(argv[2], number(argv[3]), number(argv[4]),
		    number(argv[5]), number(argv[6]));
	} else if (strcmp(word, "frame") == 0 && argc == 9) {
		dataset_frame(argv[2], argv[3], number(argv[4]), number(argv[5]),
		    number(argv[6]), number(argv[7]), number(argv[8]));
	} else if (strcmp(word, "settle") == 0 && argc == 3) {
		dataset_settle(argv[2]);
	} else {
		fprintf(stderr, "usage: mkdataset make ROOT FRAMES\n"
		    "       mkdataset image PATH WIDTH HEIGHT SEED\n"
		    "       mkdataset turned PATH WIDTH HEIGHT SEED ORIENTATION\n"
		    "       mkdataset frame ROOT RUN NUMBER WIDTH HEIGHT BOXES SEED\n"
		    "       mkdataset settle ROOT\n");
		return 2;
	}
	return 0;
}
