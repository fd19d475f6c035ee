# SPDX-License-Identifier: BSD-2-Clause
"""Settings of modules, and records by their ordinals in modules, shards, warehouses and
lists of these."""

import os as _os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _core


_Path = Union[str, "_os.PathLike[str]"]


def size_of(size: Union[int, str]) -> int:
    """Bytes of a size: a number, or text such as "64G"."""
    if isinstance(size, int):
        return size
    digits, unit = size[:-1], size[-1:].upper()
    if unit not in "KMGT" or not digits.isdigit():
        digits, unit = size, ""
    if not digits.isdigit():
        raise ValueError(f"{size!r} is not a size such as 512M, 64G or 1T")
    return int(digits) << (10 * ("KMGT".index(unit) + 1) if unit else 0)


class Store(_core.Store):
    """A store that an object of yours reads and writes: obstore, fsspec, or a class of your own.

        Store(object, url="store:")

    The object has five methods, which any thread may call, several at once. Names are like
    "obj/4f/4f1c….twh1".

    get_range(name, offset, size)  (data, size of the object), data as bytes or another buffer:
                                   `size` bytes, fewer only where the object ends. With size 0
                                   only the size of the object is wanted
    put_new(name, data)            puts an object, whole or not at all, and returns True; False,
                                   or FileExistsError, if the name is there. Of several callers
                                   at once, on any machines, one gets True
    put(name, data)                puts an object in the place of any
    list(prefix)                   an iterable of (name, size), of names that begin so
    delete(name)                   removes an object, also one that is not there

    A third item of the tuples is when the object was put, in seconds since 1970. What a method
    raises is the error of the call, with its text: FileNotFoundError is NoFileError,
    PermissionError AccessError, an OSError of ENOSPC NoSpaceError, NotImplementedError
    UnsupportedError, any other SystemFailure.

    source(), reader() and Stream take a Store as they take a URL, and call get_range() and
    list() alone; check() calls all five. The Store keeps the object; `url` is its name in
    messages. After fork() a child opens its own.
    """

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.object, self.url)

    def __repr__(self) -> str:
        return f"<lmdbcache.Store {self.url}>"


def is_store(what: Any) -> bool:
    """True for a store, or the URL of one."""
    if isinstance(what, Store):
        return True
    return isinstance(what, str) and (what.startswith("file:") or "://" in what)


def store_options(options: Dict[str, Any], stores: bool) -> Dict[str, Any]:
    """The options of a store, in the form for the extension."""
    if stores and (options["cache"] is None or options["cache_size"] is None):
        raise ValueError("a store needs cache=, a directory for copies, and cache_size=")
    if not stores and options["cache"] is not None:
        raise ValueError("cache= is for stores: s3://, file: and Store")
    for name in ("cache", "ca_file"):
        if options[name] is not None:
            options[name] = _os.fspath(options[name])
    if options["cache_size"] is not None:
        options["cache_size"] = size_of(options["cache_size"])
    return options


class Settings(Mapping[str, Any]):
    """The settings of a module, as a mapping. Setting one changes it at once; other
    processes use it from their next commit on:

    codec         for puts that do not name one: "none", "lz4", "shuffle-lz4", "u8pack",
                  "u8pack-lz4" or "auto"
    level         of the codec; 0: its default
    policy        "evolve", or "strict": a value with another structure than the first one
                  raises SchemaError
    evict         which chunks to evict first above max_bytes: "oldest" or "unread"
    max_bytes     limit of all records in bytes; 0: no limit
    auto_compact  each commit frees space of dead records, so that the file stays bounded
    length_field  the tensor with the length of a record as its first axis ("tokens", "."),
                  "" for none; can be changed only in a module without records
    """

    def __init__(self, cache: _core.Cache) -> None:
        self._cache = cache

    def __getitem__(self, name: str) -> Any:
        return self._cache._settings()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._cache._change_settings({name: value})

    def __iter__(self) -> Iterator[str]:
        return iter(self._cache._settings())

    def __len__(self) -> int:
        return len(self._cache._settings())

    def __repr__(self) -> str:
        return f"Settings({self._cache._settings()})"

    def update(self, **changes: Any) -> None:
        """Change several settings in one commit."""
        self._cache._change_settings(changes)


class Source(_core.Source):
    """A sequence of records by their ordinals. Created by source().

    source[i] and source[a:b] return records with their tensors in place, read-only, without
    a copy; they stay valid after close(). With like="torch" they are copies, because torch
    has no read-only tensors. A sample of shards with boxes is a dict of image, boxes and
    mask; one without boxes is its image alone.

    Any thread may use it, and a child after fork(). Unpickling opens it again, with the same
    records.
    """

    _args: Tuple[Any, Dict[str, Any], Optional[str]]

    def __init__(self, *args: Any) -> None:
        self._args = args

    @property
    def _members(self) -> Tuple["Source", ...]:
        """The members of a list, at the same generation as the list."""
        return self._args[0] if isinstance(self._args[0], tuple) else ()

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        what, options, like = self._args  # of a list, its members, which are pickled too
        if isinstance(what, _core.Cache):
            # The pickled module may have grown when it is opened again.
            what.flush()
            options = {**options, "generation": self.info()["generation"]}
        return Source, (what, options, like)

    def __repr__(self) -> str:
        what = self._args[0]
        if isinstance(what, (tuple, _core.Cache)):
            name = repr(what)
        else:
            name = _os.fsdecode(what)
        return f"<lmdbcache.Source {name}{', closed' if self.closed else f': {len(self)}'}>"

    def refresh(self) -> int:
        """Advance to the newest commit, in a list to that of the last member. Returns the
        number of records; known ones keep their ordinals."""
        records = super().refresh()
        while self._members:
            self._members[-1].refresh()
            chunks = sum(member.info()["chunks"] for member in self._members)
            if chunks == self.info()["chunks"]:
                break
            records = super().refresh()
        return records

    def close(self) -> None:
        """Close the source. Records that the caller holds stay valid."""
        super().close()
        for member in self._members:
            member.close()

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def ids(self) -> Iterator[Optional[str]]:
        """The cache_id of each record, in order."""
        return (self.id(i) for i in range(len(self)))

    def fields(self) -> Dict[str, Tuple[str, Tuple[int, ...]]]:
        """Dtype and shape of each tensor of the first record, by its path for gather();
        "." is a record that is a tensor."""
        found: Dict[str, Tuple[str, Tuple[int, ...]]] = {}

        def walk(path: str, part: Any) -> None:
            if isinstance(part, _core.Tensor):
                found[path or "."] = (part.dtype, part.shape)
            elif isinstance(part, dict):
                for name, item in part.items():
                    text = str(name).replace("\\", "\\\\").replace(".", "\\.")
                    walk(f"{path}.{text}" if path else text, item)
            elif isinstance(part, (list, tuple)):
                for i, item in enumerate(part):
                    walk(f"{path}.{i}" if path else str(i), item)

        if len(self) > 0:
            walk("", self._first())
        return found

    def verify(self, progress: Any = None, damage: Any = None) -> None:
        """Compare all data of the module, or of the shards, with its checksums. Raises
        CorruptError if something is damaged."""
        what = self._args[0]
        if isinstance(what, tuple):
            for member in what:
                member.verify(progress, damage)
        elif isinstance(what, _core.Cache):
            what.verify(progress, damage)
        else:
            _core.verify_shards(what, progress, damage)


_One = Union[_core.Cache, Store, str, "_os.PathLike[str]"]


def source(
    what: Union[_One, List[_One], Tuple[_One, ...]],
    *,
    like: Optional[str] = None,
    verify: Union[bool, str] = "once",
    part: Optional[str] = None,
    split: Optional[str] = None,
    split_seed: int = 0,
    split_by_run: bool = False,
    generation: Union[int, List[Optional[int]], Tuple[Optional[int], ...], None] = None,
    dataset: Optional[str] = None,
    ignore_thresholds: bool = False,
    open_shards: int = 0,
    cache: "Optional[_Path]" = None,
    cache_size: Union[int, str, None] = None,
    fetch_ahead: Optional[int] = None,
    endpoint: Optional[str] = None,
    region: Optional[str] = None,
    profile: Optional[str] = None,
    ca_file: "Optional[_Path]" = None,
) -> Source:
    """Open a module, or shards, to read records by their ordinals.

    what               a Cache; a shard file, a directory of shards with a manifest, as
                       written by Cache.export(), or a warehouse. A list of these gives the
                       records of the first, then those of the second, and so on; only the
                       last one may grow
    like               the type of returned tensors, as for open(); None: as the Cache
    verify             as for reader(): "once", "always" or "never"; source[i] of a Cache
                       uses the mode of the Cache
    part, split        only one part of a split, such as "val" of "train=0.9,val=0.1"; a
                       warehouse may have its own split
    split_seed         seed: another one gives another split with the same shares
    split_by_run       keep the frames of a run in one part
    generation         read only up to this value of info()["generation"]; for a list, one
                       for each member
    dataset            where the sources of a warehouse are now
    ignore_thresholds  open a warehouse that exceeds its validation limits
    open_shards        number of shards open at the same time, 0 for 1,024; in a larger set
                       each shard is opened when it is read, and a missing or damaged one is
                       an error of its own records only

    `what` may also be the URL of a store, "s3://BUCKET/PREFIX" or "file:///DIR", or a
    Store: its newest generation, or `generation`, read through a directory of verified
    copies.

    cache, cache_size  that directory, which processes of a host may share, and the maximum
                       size of its files, as 64 << 30 or "64G"
    fetch_ahead        number of shards to fetch before a reader needs them; None: 4
    endpoint, region, profile, ca_file
                       access to S3, in place of the environment
    """
    options: Dict[str, Any] = {
        "verify": verify,
        "part": part,
        "split": split,
        "split_seed": split_seed,
        "split_by_run": split_by_run,
        "generation": generation,
        "dataset": dataset,
        "ignore_thresholds": ignore_thresholds,
        "open_shards": open_shards,
        "cache": cache,
        "cache_size": cache_size,
        "fetch_ahead": fetch_ahead,
        "endpoint": endpoint,
        "region": region,
        "profile": profile,
        "ca_file": ca_file,
    }
    if isinstance(what, (list, tuple)):
        at = generation if isinstance(generation, (list, tuple)) else [generation]
        if generation is None:
            at = [None] * len(what)
        if len(at) != len(what):
            raise ValueError(f"generation: {len(at)} values for {len(what)} sources")
        members = tuple(
            source(one, like=like, **{**options, "generation": then})
            for one, then in zip(what, at)
        )
        like = like or next((m.like for m in members if isinstance(m._args[0], _core.Cache)), None)
        return Source(members, {}, like)
    options = store_options(options, is_store(what))
    if isinstance(what, _core.Cache):
        return Source(what, options, like or what.like)
    if not isinstance(what, Store):
        what = _os.fspath(what)
    return Source(what, options, like)
