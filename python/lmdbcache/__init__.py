# SPDX-License-Identifier: BSD-2-Clause
"""A persistent cache of tensors: the library of cachex, in Python.

    import lmdbcache, numpy

    with lmdbcache.open("cache", "resnet50") as cache:
        cache["img-1"] = numpy.ones(512)        # or torch, or nested data
        cache["img-1"]                          # a copy of your own
        block, missing = cache.gather(["img-1", "img-2"])  # one array, a row for each
        print(block.shape, missing)             # (2, 512) [1]

A module is a directory with an LMDB environment; any number of threads and processes may
read and write one.

    open()       a Cache: get, put, gather, missing, keys, view, flush, verify ...
    key()        a cache_id computed from content
    reader()     batches of modules, shards, warehouses and stores for training loops
    Stream       the same for one of many nodes, with a position that can be saved
    Store        a store that your object reads and writes, such as fsspec
    Tensor       the type of tensors without NumPy and torch, and of views
    Error        the base of all errors, one class for each kind of failure

lmdbcache.torch has cached(), MapDataset and Loader. lmdbcache_python(3) is the manual;
lmdbcache_cookbook(7) has short programs for common tasks.
"""

import atexit as _atexit
import os as _os
import sys as _sys
import weakref as _weakref
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from . import _core
from ._core import (
    AbandonedError,
    AccessError,
    Batch,
    BusyError,
    CorruptError,
    Error,
    ExistsError,
    InvalidError,
    MemoryFailure,
    NoFileError,
    NoSpaceError,
    NotFoundError,
    NotModuleError,
    ReadOnlyError,
    Reservation,
    SchemaError,
    StaleError,
    SystemFailure,
    Tensor,
    UnsupportedError,
    VersionError,
    WaitTimeout,
    drop,
    key,
    modules,
    recover,
    rename,
    salvage,
    shrink,
    verify_shards,
)
from ._files import Settings, Source, Store, source
from ._stream import Reader, Stream, reader
from ._values import Tagged

__version__ = _core.library_version

__all__ = [
    "AbandonedError",
    "AccessError",
    "Batch",
    "BusyError",
    "Cache",
    "CorruptError",
    "Error",
    "ExistsError",
    "InvalidError",
    "MemoryFailure",
    "NoFileError",
    "NoSpaceError",
    "NotFoundError",
    "NotModuleError",
    "ReadOnlyError",
    "Reader",
    "Reservation",
    "SchemaError",
    "Settings",
    "Source",
    "StaleError",
    "Store",
    "Stream",
    "SystemFailure",
    "Tagged",
    "Tensor",
    "UnsupportedError",
    "VersionError",
    "WaitTimeout",
    "drop",
    "key",
    "modules",
    "open",
    "reader",
    "recover",
    "rename",
    "salvage",
    "shrink",
    "source",
    "verify_shards",
]

# Open caches: they are flushed and closed at exit, while Python can still report a failure.
_open: "_weakref.WeakSet[Cache]" = _weakref.WeakSet()


class Cache(_core.Cache):
    """An open module: a mapping from cache_ids, text or bytes, to values.

        cache[id] = value, cache[id], del cache[id], id in cache, len(cache), for id in cache

    Created by open(). Any thread may call its methods; all except the quickest release the
    interpreter's lock. After fork() the child may use it. Unpickling opens it again.
    """

    def __init__(self, *args: Any) -> None:
        _open.add(self)

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _reopen, (self._options,)

    def __repr__(self) -> str:
        options = self._options
        state = "closed " if self.closed else ""
        return f"<{state}lmdbcache.Cache {options['root']}/{options['module']}>"

    @property
    def root(self) -> str:
        """The directory that holds modules."""
        return str(self._options["root"])

    @property
    def module(self) -> str:
        """The module's name."""
        return str(self._options["module"])

    @property
    def settings(self) -> Settings:
        """The settings of the module, which apply to all processes that use it."""
        return Settings(self)

    def items(self, prefix: Union[str, bytes] = "") -> Iterator[Tuple[str, Any]]:
        """The cache_ids that begin with a prefix, each with its value."""
        for key in self.keys(prefix):
            try:
                value = self[key]
            except NotFoundError:  # deleted since the iteration began
                continue
            yield key, value

    def values(self, prefix: Union[str, bytes] = "") -> Iterator[Any]:
        """The values of items()."""
        for _, value in self.items(prefix):
            yield value

    def setdefault(self, id: Union[str, bytes], default: Any = None) -> Any:
        """The value of a cache_id. If there is none, `default`, or its result if it is a
        function, is stored first. The function is called once for all threads, see
        compute()."""
        absent = object()
        value = self.get(id, absent)
        if value is absent:
            value = self.compute([id], lambda _: [default() if callable(default) else default])[0]
        return value


def open(
    root: Union[str, "_os.PathLike[str]"],
    module: str,
    *,
    like: Optional[str] = None,
    readonly: bool = False,
    create: bool = True,
    verify: Union[bool, str] = "always",
    durability: str = "full",
    codec: Optional[str] = None,
    level: int = 0,
    flush_every: Optional[int] = None,
    flush_interval_ms: Optional[int] = None,
    chunk_bytes: Optional[int] = None,
    lru_bytes: Optional[int] = None,
    map_size: Optional[int] = None,
    rank: Optional[int] = None,
    writer_rank: Optional[int] = None,
    force_fs: bool = False,
    timeout: Optional[float] = None,
) -> Cache:
    """Open a module in a root directory; create both if they are missing.

    like               the type of returned tensors: "numpy", "torch" or "buffer" (a Tensor);
                       None is NumPy if it is installed
    readonly           only read; the module must exist
    create             create what is missing
    verify             when to compare data with its checksum: "always" or True; "once", at
                       the first read in this process, which does not detect later damage on
                       the disk or in memory; or "never" or False
    durability         "full": data survives a loss of power when flush() has returned;
                       "relaxed": the last commit may be lost, the module stays consistent
    codec, level       of the tensors put: "none", "lz4", "shuffle-lz4", "u8pack",
                       "u8pack-lz4" or "auto"; None: the module's setting
    flush_every        records per commit, default 2048
    flush_interval_ms  commit writes that are this old, default 1000; 0: never
    chunk_bytes        bytes per commit, default 4 MiB
    lru_bytes          memory for decoded tensors, default 64 MiB
    map_size           address space in bytes, default 1 TiB
    rank, writer_rank  of a distributed job: ranks other than writer_rank do not write; the
                       default of rank is the environment variable RANK; by default every
                       rank writes
    force_fs           accept network file systems
    timeout            the longest time in seconds that a call waits for commits and for
                       other writers; then WaitTimeout, a TimeoutError, and nothing is lost.
                       None: no limit. Ctrl-C ends each wait
    """
    options: Dict[str, Any] = {
        "root": _os.fspath(root),
        "module": module,
        "like": like,
        "readonly": readonly,
        "create": create,
        "verify": verify,
        "durability": durability,
        "codec": codec,
        "level": level,
        "flush_every": flush_every,
        "flush_interval_ms": flush_interval_ms,
        "chunk_bytes": chunk_bytes,
        "lru_bytes": lru_bytes,
        "map_size": map_size,
        "rank": rank,
        "writer_rank": writer_rank,
        "force_fs": force_fs,
        "timeout": timeout,
    }
    return _reopen(options)


def _reopen(options: Dict[str, Any]) -> Cache:
    return Cache(options["root"], options["module"], options, options["like"])


if _TYPE_CHECKING:
    from . import torch as torch
else:

    def __getattr__(name: str) -> Any:
        """Import torch on the first use of lmdbcache.torch."""
        if name == "torch":
            from importlib import import_module

            return import_module(".torch", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _close_all() -> None:
    """Close all open caches. Report failures on stderr: at exit no code can catch them."""
    for cache in list(_open):
        if cache.closed:
            continue
        try:
            cache.timeout = None
            cache.close()
        except Exception as error:
            print(f"lmdbcache: at exit: {cache!r}: {error}", file=_sys.stderr, flush=True)


def _after_fork() -> None:
    for cache in list(_open):
        cache._forked()


_atexit.register(_core._stores_end)
_atexit.register(_close_all)
_os.register_at_fork(after_in_child=_after_fork)
