# SPDX-License-Identifier: BSD-2-Clause
# typed: strict
# frozen_string_literal: true

# cachex and liblmdbcache, from the tarball that `make release` wrote. In a tap url is where
# the release is published, and sha256 what make release printed.
class Cachex < Formula
  desc "Cache of tensors on LMDB: a library and a tool"
  url "file://#{File.expand_path("../../release", __dir__)}/cachex-0.1.0.tar.xz"
  license "BSD-2-Clause"

  depends_on "pkgconf" => :build
  depends_on "cairo"
  depends_on "curl"
  depends_on "expat"
  depends_on "jpeg-turbo"
  depends_on "libarchive"
  depends_on "libedit"
  depends_on "libpng"
  depends_on "libtiff"
  depends_on "libyaml"
  depends_on :linux
  depends_on "lmdb"
  depends_on "lz4"
  depends_on "msgpack"
  depends_on "openssl@3"
  depends_on "sqlite"
  depends_on "webp"
  depends_on "xxhash"

  def install
    system "./configure", "--disable-lazy-loading", "--without-check", "--without-python",
           *std_configure_args
    system "make"
    system "make", "install"
  end

  test do
    (testpath/"value.json").write "[1, 2]"
    system bin/"cachex", "--root", "store", "put", "module", "key", "value.json"
    assert_equal "[1,2]\n", shell_output("#{bin}/cachex --root store get module key")
    system bin/"cachex", "--root", "store", "verify", "module"
  end
end
