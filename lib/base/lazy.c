/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "base/lazy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"

/* One lock for all libraries: each file that is read or written takes it once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Not LC_UNSUPPORTED: the system failed, not the input. Only the words of dlerror() tell
 * that memory ran out. */
static lc_status
failed(const struct lc__lazy *lazy)
{
	const char *text = dlerror();

	if (text == NULL)
		text = "cannot be loaded";
	if (strstr(text, "memory") != NULL || strstr(text, "cannot allocate") != NULL ||
	    strstr(text, "cannot create") != NULL)
		return lc__no_memory(lazy->name);
	return lc__error(LC_IO, 0, "%s: %s", lazy->name, text);
}

static lc_status
load_locked(struct lc__lazy *lazy)
{
	void *handle, *address;

	/* The loader opens files, hence lc__fds_hold(). */
	lc__fds_hold();
	handle = dlopen(lazy->file, RTLD_NOW | RTLD_LOCAL);
	lc__fds_release();
	if (handle == NULL)
		return failed(lazy);
	for (size_t i = 0; i < lazy->n; i++) {
		address = dlsym(handle, lazy->calls[i]);
		if (address == NULL) {
			lc_status status = failed(lazy);
			dlclose(handle);
			return status;
		}
		memcpy((char *)lazy->pointers + i * sizeof(address), &address,
		    sizeof(address));
	}
	lazy->loaded = true;
	return LC_OK;
}

lc_status
lc__lazy_load(struct lc__lazy *lazy)
{
	lc_status status;

	pthread_mutex_lock(&mutex);
	status = lazy->loaded ? LC_OK : load_locked(lazy);
	pthread_mutex_unlock(&mutex);
	return status;
}
