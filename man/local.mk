# SPDX-License-Identifier: BSD-2-Clause
# The pages.

dist_man_MANS = \
	man/cachex-backup.1 man/cachex-buckets.1 man/cachex-build.1 man/cachex-clear.1 \
	man/cachex-compact.1 man/cachex-config.1 man/cachex-copy.1 man/cachex-drop.1 \
	man/cachex-dump.1 man/cachex-export.1 man/cachex-fill.1 man/cachex-follow.1 \
	man/cachex-gc.1 man/cachex-publish.1 man/cachex-pull.1 man/cachex-push.1 \
	man/cachex-store.5 \
	man/cachex-get.1 man/cachex-has.1 man/cachex-help.1 man/cachex-import.1 \
	man/cachex-load.1 man/cachex-ls.1 man/cachex-merge.1 man/cachex-migrate.1 \
	man/cachex-plan.1 man/cachex-producer.5 man/cachex-put.1 man/cachex-read.1 \
	man/cachex-recover.1 man/cachex-rename.1 man/cachex-report.1 man/cachex-rm.1 man/cachex-schema.1 \
	man/cachex-set.1 man/cachex-shard.1 man/cachex-shell.1 man/cachex-stat.1 man/cachex-top.1 man/cachex-verify.1 \
	man/cachex-view.1 man/cachex-warehouse.1 man/cachex.1 man/lmdbcache.3 \
	man/lmdbcache.5 man/lmdbcache_bucket.3 man/lmdbcache_compute.3 \
	man/lmdbcache_input.3 man/lmdbcache_module.3 man/lmdbcache_python.3 \
	man/lmdbcache_store.3 man/lmdbcache_stream.3 \
	man/lmdbcache_value.3 man/lmdbcache_warehouse.3 man/lmdbcache_warehouse.5 \
	man/lmdbcache.7 man/lmdbcache_cookbook.7 man/lmdbcache_machines.7 \
	man/lmdbcache_migrating.7 man/lmdbcache_tutorial.7 man/twh1.5

# A page of section 3 has a name for each of its functions: `man lc_put`. Programs find
# the library at once, where it is installed for this system and not for a package.
function_pages = for page in $(srcdir)/man/lmdbcache*.3; do \
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.F[no] \(lc_[a-z_]*\).*/\1/p' $$page | \
	while read -r name; do echo "`basename $$page` $$name.3"; done; done

install-data-hook:
	@$(function_pages) | while read -r page name; do \
		ln -sf "$$page" "$(DESTDIR)$(man3dir)/$$name" || exit 1; done

install-exec-hook:
	@if test -z "$(DESTDIR)" && test "`id -u`" = 0; then \
		PATH="$$PATH:/sbin:/usr/sbin" ldconfig || :; fi

uninstall-hook:
	@$(function_pages) | while read -r page name; do \
		rm -f "$(DESTDIR)$(man3dir)/$$name"; done

# `make html`: the pages as one site of static files in html/, see man/html/site.py.
EXTRA_DIST += man/html/site.py man/html/style.css man/html/search.js
site = html
install_site = $(DESTDIR)$(htmldir)/html

html-local:
	@command -v mandoc >/dev/null || { \
		echo "make html: mandoc is not installed; it is in the package mandoc" >&2; exit 1; }
	@rm -rf $(site)
	$(AM_V_GEN)python3 $(srcdir)/man/html/site.py $(PACKAGE_VERSION) $(site) \
		$(dist_man_MANS:%=$(srcdir)/%)

install-html-local: html
	$(MKDIR_P) "$(install_site)"
	$(INSTALL_DATA) $(site)/* "$(install_site)"

uninstall-local:
	rm -rf "$(install_site)"
