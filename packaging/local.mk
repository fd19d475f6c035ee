# SPDX-License-Identifier: BSD-2-Clause
# Packages: debian/ is the source package for Debian and Ubuntu; packaging/README has the
# others.

EXTRA_DIST += \
	debian/cachex.install debian/cachex.lintian-overrides debian/changelog debian/control \
	debian/copyright debian/liblmdbcache-dev.install debian/liblmdbcache0.install \
	debian/liblmdbcache0.symbols debian/lmdbcache-doc.docs debian/lmdbcache-doc.examples \
	debian/lmdbcache-doc.install debian/not-installed debian/python3-lmdbcache.install \
	debian/rules debian/source/format debian/source/lintian-overrides \
	debian/tests/control debian/tests/readme debian/watch \
	packaging/README packaging/apt_sources packaging/check-deb packaging/conda/build.sh \
	packaging/conda/meta.yaml packaging/container/Containerfile packaging/container/build \
	packaging/dependencies packaging/homebrew/cachex.rb packaging/nix/default.nix \
	packaging/release packaging/spdx packaging/vcpkg/cachex/portfile.cmake \
	packaging/vcpkg/cachex/vcpkg.json

# The packages, built and tested in clean systems.
check-deb: dist
	$(srcdir)/packaging/check-deb $(distdir).tar.xz
.PHONY: check-deb

# What is committed as a release: release/cachex-VERSION.tar.xz, .spdx and .sha256.
release:
	cd $(srcdir) && packaging/release $(abs_builddir)/release
.PHONY: release
