/* SPDX-License-Identifier: BSD-2-Clause */
/* What a long look at a module found, a line each. */
#ifndef CACHEX_CMD_FINDING_H
#define CACHEX_CMD_FINDING_H

/** Print a line that names a finding; as JSON under the name @p what. */
void finding_show(const char *module, const char *what, const char *line);

#endif
