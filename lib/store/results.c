/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/put.h"

/* The first reason stands. */
static void
fail_result(struct lc__result *result, lc_status status, const char *why)
{
	lc__block_drop(result->record.block);
	result->record.block = NULL;
	if (result->state == LC__RESULT_FAILED)
		return;
	result->state = LC__RESULT_FAILED;
	result->status = status;
	result->why = strdup(why);
}

/* The item of result j, which must be unset. */
static lc_status
open_result(lc_results *results, size_t j, struct lc__result **out)
{
	lc_status status;

	if (j >= results->n)
		return lc__error(LC_INVALID, 0,
		    "result %zu: only %zu were asked for", j, results->n);
	*out = &results->items[j];
	if ((*out)->state == LC__RESULT_UNSET)
		return LC_OK;
	status = lc__error(LC_INVALID, 0, "result %zu of key %s is set twice", j,
	    lc__quote_id(results->keys[results->missing[j]].data,
	    results->keys[results->missing[j]].size));
	fail_result(*out, LC_FAILED, "its result is set twice");
	return status;
}

static lc_status
close_result(struct lc__result *result, lc_status status)
{
	if (status == LC_OK)
		result->state = LC__RESULT_SET;
	else
		fail_result(result, status == LC_NO_MEMORY ? status : LC_FAILED,
		    lc_last_error()->text);
	return status;
}

lc_status
lc_result_tensor(lc_results *results, size_t j, const lc_tensor *tensor)
{
	struct lc__result *result;

	return_if_error(open_result(results, j, &result));
	return close_result(result, lc__put_encode_tensor(results->cache,
	    &results->keys[results->missing[j]], tensor, &result->record));
}

lc_status
lc_result_value(lc_results *results, size_t j, const lc_value *value)
{
	struct lc__result *result;

	return_if_error(open_result(results, j, &result));
	return close_result(result, lc__put_encode_value(results->cache,
	    &results->keys[results->missing[j]], value, &result->record));
}

void
lc_result_fail(lc_results *results, size_t j, const char *why)
{
	if (j < results->n)
		fail_result(&results->items[j], LC_FAILED,
		    why != NULL ? why : "it cannot be computed");
}

void
lc__results_end(lc_results *results, lc_status status)
{
	char why[80];

	if (status == LC_OK)
		snprintf(why, sizeof(why), "the function set no result");
	else
		snprintf(why, sizeof(why), "the function returned '%s'",
		    lc_status_name(status));
	for (size_t j = 0; j < results->n; j++)
		if (results->items[j].state == LC__RESULT_UNSET)
			fail_result(&results->items[j], LC_FAILED, why);
}

void
lc__results_free(lc_results *results)
{
	for (size_t j = 0; j < results->n; j++) {
		lc__block_drop(results->items[j].record.block);
		free(results->items[j].why);
	}
	free(results->items);
}
