/* SPDX-License-Identifier: BSD-2-Clause */
/* How producers end: by themselves, when they should have, or too late. */
#include "fill/producing.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"

#define MS UINT64_C(1000000)
/* How soon the end of a producer is seen that has closed its pipes, or that we have. */
#define END_WAIT_MS 2
/* How long it may take for that. */
#define END_MS 5000

/* A shell that finds no command, before anything has ever worked: nothing will. */
static bool
is_no_command(const struct lc__producing *run, const struct lc__child *child)
{
	return !run->answered && child->status != -1 && WIFEXITED(child->status) &&
	    (WEXITSTATUS(child->status) == 126 || WEXITSTATUS(child->status) == 127);
}

/* It has ended or closed its pipes while it had work. */
static lc_status
lose_ended(struct lc__producing *run, struct lc__child *child)
{
	char text[200];

	lc__child_describe_end(child, text, sizeof(text));
	if (child->head_size > 0)
		strcat(text, " in the middle of an answer");
	run->count->died++;
	if (!is_no_command(run, child))
		return lc__producing_lose(run, child, text);
	return lc__child_error(child, text);
}

/* It has done its part and ended before it came to the rest: nothing is to blame for
 * that. One that has answered nothing is not believed so, or it would be started for
 * ever. */
static lc_status
replace(struct lc__producing *run, struct lc__child *child)
{
	run->count->died++;
	lc__retry_untouched(&run->retry, &child->work);
	return LC_OK;
}

/* It has ended by itself: what it wrote before counts. */
static lc_status
bury(struct lc__producing *run, struct lc__child *child)
{
	char text[200];
	bool untouched;

	return_if_error(lc__producing_read(run, child, true));
	if (!lc__child_runs(child))
		return LC_OK;
	untouched = child->answered && lc__child_untouched(child);
	lc__child_stop(child);
	if (untouched)
		return replace(run, child);
	if (child->work.count > 0)
		return lose_ended(run, child);
	if (child->status != 0) {
		lc__child_describe_end(child, text, sizeof(text));
		lc__child_tell(child, text);
	}
	return LC_OK;
}

/* It should have ended by itself and has not. */
static lc_status
put_down(struct lc__producing *run, struct lc__child *child)
{
	const char *what = child->retiring && child->work.count == 0 ?
	    "did not end when it had nothing more to do, and was killed" :
	    child->process.out == -1 ? "closed its standard output" :
	    "closed its standard input";

	lc__child_stop(child);
	run->count->died += child->work.count > 0;
	return lc__producing_lose(run, child, what);
}

static lc_status
time_out(struct lc__producing *run, struct lc__child *child, uint64_t limit_ms)
{
	char text[100];

	snprintf(text, sizeof(text), "gave no answer for %llu ms",
	    (unsigned long long)limit_ms);
	lc__child_stop(child);
	run->count->timed_out++;
	return lc__producing_lose(run, child, text);
}

static uint64_t
limit_of(const struct lc__producing *run, const struct lc__child *child)
{
	return child->answered ? run->how->timeout_ms : run->how->start_timeout_ms;
}

static uint64_t
end_limit(const struct lc__producing *run)
{
	return run->how->end_timeout_ms > 0 ? run->how->end_timeout_ms : END_MS;
}

/* Its end is near: there is nothing more to come from it. */
static bool
is_leaving(const struct lc__child *child)
{
	return child->process.out == -1 ||
	    child->broken ||
	    (child->retiring && child->work.count == 0);
}

/* ms that are left of a limit. */
static uint64_t
left_of(const struct lc__producing *run, uint64_t since_ns, uint64_t limit_ms)
{
	const uint64_t passed = (run->clock_ns - since_ns) / MS;

	return passed < limit_ms ? limit_ms - passed : 0;
}

lc_status
lc__producing_look_after(struct lc__producing *run, struct lc__child *child, bool tick)
{
	const uint64_t limit = limit_of(run, child);

	if (tick && lc__child_closed_input(child))
		child->broken = true;
	if (is_leaving(child) && !child->leaving) {
		child->leaving = true;
		child->left_ns = run->clock_ns;
	}
	if ((tick || child->leaving) && lc__child_ended(child))
		return bury(run, child);
	if (child->leaving)
		return left_of(run, child->left_ns, end_limit(run)) > 0 ? LC_OK :
		    put_down(run, child);
	if (child->work.count > 0 && limit > 0 &&
	    left_of(run, child->since_ns, limit) == 0)
		return time_out(run, child, limit);
	return LC_OK;
}

uint64_t
lc__producing_wait_for(const struct lc__producing *run, const struct lc__child *child,
    uint64_t most)
{
	const uint64_t limit = limit_of(run, child);
	uint64_t left = most;

	if (lc__child_runs(child) && is_leaving(child))
		left = END_WAIT_MS;
	else if (child->work.count > 0 && limit > 0)
		left = left_of(run, child->since_ns, limit);
	return left < most ? left : most;
}
