# SPDX-License-Identifier: BSD-2-Clause
# nix-build packaging/nix: cachex and liblmdbcache from the sources that this file is in.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "cachex";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;

  nativeBuildInputs = with pkgs; [
    autoreconfHook
    pkg-config
  ];
  buildInputs = with pkgs; [
    cairo
    curl
    expat
    libarchive
    libedit
    libjpeg
    libpng
    libtiff
    libwebp
    libyaml
    lmdb
    lz4
    msgpack-c
    openssl
    sqlite
    xxHash
  ];

  configureFlags = [
    "--disable-lazy-loading"
    "--without-check"
    "--without-python"
  ];
  enableParallelBuilding = true;

  doInstallCheck = true;
  installCheckPhase = ''
    runHook preInstallCheck
    export HOME=$TMPDIR
    echo '[1, 2]' | $out/bin/cachex --root store put module key --format json
    $out/bin/cachex --root store verify module
    runHook postInstallCheck
  '';

  meta = with pkgs.lib; {
    description = "Cache of tensors on LMDB: a library and a tool";
    license = licenses.bsd2;
    platforms = platforms.linux;
    mainProgram = "cachex";
  };
}
