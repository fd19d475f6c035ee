/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking before what cannot be undone. */
#ifndef CACHEX_UI_ASK_H
#define CACHEX_UI_ASK_H

/** Ask on the terminal; EXIT_DONE for yes. Where nobody can answer, EXIT_USAGE. */
int ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The usage error where nobody can be asked. */
int ask_nobody(void);

#endif
