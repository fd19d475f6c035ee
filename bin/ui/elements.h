/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CACHEX_UI_ELEMENTS_H
#define CACHEX_UI_ELEMENTS_H

#include "ui/json.h"

/**
 * The elements as nested JSON arrays: integers in full, floats with the fewest
 * digits that read back the same, complex numbers as [real, imaginary]; "NaN",
 * "Infinity" and "-Infinity" as strings, since JSON has no numbers for them. An
 * empty tensor is [] whatever its shape.
 */
void elements_write(struct json *json, const char *key, const lc_tensor *tensor);

#endif
