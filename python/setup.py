# SPDX-License-Identifier: BSD-2-Clause
"""Builds the extension: against an installed liblmdbcache, or, with LMDBCACHE_STATIC=1 in
the environment, with the library of these sources inside."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
STATIC = os.environ.get("LMDBCACHE_STATIC", "0") not in ("", "0")
# What only the tool and the tests are linked with need not be here: configure does not ask
# pkg-config about a library whose flags are given.
NO_TOOL = [
    f"{library}_{flags}= "
    for library in "ARCHIVE EXPAT JPEG MSGPACK PNG SQLITE YAML".split()
    for flags in ("CFLAGS", "LIBS")
]


def output(*command: str) -> List[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def pkg_config(*options: str) -> List[str]:
    return output(os.environ.get("PKG_CONFIG", "pkg-config"), *options)


def links(*options: str) -> bool:
    """Can a shared object be made of these?"""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [*compiler, "-shared", "-o", f"{place}/tried.so", *options], capture_output=True
        )
    return done.returncode == 0


def static_library(module: str) -> List[str]:
    """The archive of a module of pkg-config, or, where it was not made for shared objects,
    the shared library."""
    options = pkg_config("--libs", module)
    name = next(o for o in options if o.startswith("-l"))[2:]
    places = [o for o in options if o.startswith("-L")]
    if links(*places, "-Wl,--whole-archive", f"-l:lib{name}.a", "-Wl,--no-whole-archive"):
        return [*places, f"-l:lib{name}.a"]
    print(
        f"setup.py: warning: no lib{name}.a of position-independent code here, so the "
        f"extension will need lib{name}.so", file=sys.stderr,
    )
    return options


class Build(build_ext):
    """Finds the library, or builds it first."""

    def build_extension(self, extension: Extension) -> None:
        if STATIC:
            self.build_library(extension)
        else:
            try:
                flags = pkg_config("--cflags", "--libs", "liblmdbcache")
            except (OSError, subprocess.CalledProcessError):
                raise SystemExit(
                    "setup.py: pkg-config finds no liblmdbcache: install it and set "
                    "PKG_CONFIG_PATH, or set LMDBCACHE_STATIC=1 to build it in"
                ) from None
            extension.extra_compile_args += [f for f in flags if f[:2] not in ("-l", "-L")]
            libraries = [f for f in flags if f[:2] in ("-l", "-L")]
            # Where the library is, in case that the system does not look there. Under a
            # sysroot it is only until it is packaged.
            places = [f"-Wl,-rpath,{f[2:]}" for f in libraries if f.startswith("-L")]
            if os.environ.get("PKG_CONFIG_SYSROOT_DIR"):
                places = []
            extension.extra_link_args += libraries + places
        super().build_extension(extension)

    def build_library(self, extension: Extension) -> None:
        if not (TOP / "configure.ac").exists():
            raise SystemExit("setup.py: LMDBCACHE_STATIC=1 needs the library's sources")
        place = Path(self.build_temp).resolve() / "library"
        place.mkdir(parents=True, exist_ok=True)
        sources = TOP
        make = os.environ.get("MAKE", "make")
        lz4, xxhash = static_library("liblz4"), static_library("libxxhash")
        if not (TOP / "configure").exists():
            subprocess.run(["autoreconf", "-fi"], cwd=TOP, check=True)
        if (TOP / "config.status").exists():
            # What is configured itself cannot be configured elsewhere: from a copy.
            sources = place.parent / "sources"
            relative = os.path.relpath(sources, TOP)
            subprocess.run([make, "-s", "distdir", f"distdir={relative}"], cwd=TOP, check=True)
        if not (place / "config.status").exists():
            subprocess.run(
                [
                    os.path.relpath(sources / "configure", place), "--disable-shared",
                    "--enable-static", "--with-pic", "--without-check", "--without-curl",
                    "--without-cairo", "--without-openssl", "--without-python", "--without-tiff",
                    "--without-webp", "--disable-lazy-loading",
                    *NO_TOOL,
                    "--disable-dependency-tracking", "--quiet",
                    # The archive may have less in it than the shared library.
                    f"XXHASH_LIBS={' '.join(xxhash)}",
                ],
                cwd=place, check=True,
            )
        jobs = str(len(os.sched_getaffinity(0)))
        subprocess.run([make, "-s", "-j", jobs, "libcore.la"], cwd=place, check=True)
        extension.include_dirs.append(str(sources / "include"))
        extension.extra_objects.append(str(place / ".libs" / "libcore.a"))
        extension.extra_link_args += [
            *self.lmdb(extension),
            *lz4,
            *xxhash,
            "-lm",
            "-pthread",
            "-Wl,--exclude-libs,ALL",
            "-Wl,--gc-sections",
        ]


    def lmdb(self, extension: Extension) -> List[str]:
        """LMDB: compiled from its sources where LMDBCACHE_LMDB says that they are."""
        sources = os.environ.get("LMDBCACHE_LMDB")
        if not sources:
            return static_library("lmdb")
        compiled: List[str] = self.compiler.compile(
            [os.path.join(os.path.abspath(sources), name) for name in ("mdb.c", "midl.c")],
            output_dir=self.build_temp,
            extra_postargs=["-fPIC", "-O2", "-fvisibility=hidden", "-w"],
        )
        return compiled


class Wheel(bdist_wheel):
    """One wheel for all versions from 3.11 on."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(
    ext_modules=[
        Extension(
            "lmdbcache._core",
            sources=sorted(f"src/{path.name}" for path in (HERE / "src").glob("*.c")),
            depends=["src/core.h", "src/dlpack.h", "src/handle.h"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")],
            extra_compile_args=["-std=gnu11", "-fvisibility=hidden"],
            extra_link_args=["-Wl,-z,now"],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel},
)
