# SPDX-License-Identifier: BSD-2-Clause
# Packages: debian/ is the source package for Debian and Ubuntu.

debian_files = debian/cachex.install debian/cachex.lintian-overrides \
	debian/changelog debian/control debian/copyright \
	debian/liblmdbcache-dev.install debian/liblmdbcache0.install \
	debian/liblmdbcache0.symbols debian/lmdbcache-doc.docs debian/lmdbcache-doc.examples \
	debian/lmdbcache-doc.install debian/not-installed debian/python3-lmdbcache.install \
	debian/rules debian/source/format debian/tests/control debian/tests/readme
EXTRA_DIST += $(debian_files)
EXTRA_DIST += packaging/check-deb packaging/release packaging/spdx

# The packages, built and tested in clean systems.
check-deb: dist
	$(srcdir)/packaging/check-deb $(distdir).tar.xz
.PHONY: check-deb

# What is committed as a release: release/cachex-VERSION.tar.xz, .spdx and .sha256.
release:
	cd $(srcdir) && packaging/release $(abs_builddir)/release
.PHONY: release
