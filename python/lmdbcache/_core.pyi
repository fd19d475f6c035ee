# SPDX-License-Identifier: BSD-2-Clause
"""The engine in C; use the package lmdbcache."""

from os import PathLike
from typing import (
    Any, Callable, Dict, Final, Iterable, Iterator, List, Literal, Optional, Sequence,
    SupportsIndex, Tuple, Union, final, overload,
)

from typing_extensions import CapsuleType, Self, disjoint_base

_Id = Union[str, bytes]
_Path = Union[str, bytes, PathLike[str], PathLike[bytes]]
# What is done now ("copy" ...; may be ""), and how much of how many bytes.
_Progress = Callable[[str, int, int], object]
# A line that names a damage.
_Damage = Callable[[str], object]

library_version: Final[str]
"""Version of the library, "0.1.0"."""

def key(value: Any, /) -> str:
    """A cache_id computed from content: "k1-" and 32 hex digits, the same text for equal
    values, in every process and version. The value is text, bytes, a tensor, or any
    value that can be put. A tensor counts with its dtype, shape and elements, on any
    device; the order of a dict does not count; 1, 1.0 and True differ, as do a list and
    a tuple. Different values have different keys unless an attacker searches for a
    collision. lmdbcache_value(3) defines the bytes that are hashed."""

class Error(Exception):
    """The error of a call of the library.

    status   its name, as in lmdbcache(3): "corrupt", "busy" ...
    key      the cache_id that it is about, or None
    item     its position in a batch, or None
    sys      errno of the system call that failed, or 0"""

    status: str
    key: Optional[_Id]
    item: Optional[int]
    sys: int

class NotFoundError(Error, KeyError):
    """There is no such cache_id, part or input."""

class InvalidError(Error, ValueError):
    """The caller's mistake: an argument, option, dtype or name."""

class CorruptError(Error):
    """Stored bytes are damaged."""

class NotModuleError(Error):
    """The path exists but holds no module."""

class VersionError(Error):
    """Written by a newer format than this library reads."""

class ReadOnlyError(Error):
    """A write on a handle that only reads."""

class NoSpaceError(Error, OSError):
    """The file system is full or a limit is reached."""

class BusyError(Error):
    """Another holder has the resource."""

class AccessError(Error, PermissionError):
    """The system refused access."""

class SystemFailure(Error, OSError):
    """Any other failure of the system."""

class UnsupportedError(Error):
    """Valid, but not possible in the requested format."""

class SchemaError(Error, TypeError):
    """The structure of a value differs from the one asked for or allowed."""

class ExistsError(Error):
    """The cache_id or file exists and may not be replaced."""

class WaitTimeout(Error, TimeoutError):
    """The wait was longer than the time limit."""

class AbandonedError(Error):
    """The wait would not end: no writer has the unfinished input open."""

class StaleError(Error):
    """The sources have changed, or a token belongs to another source or order."""

class NoFileError(Error, FileNotFoundError):
    """There is no such module, file or directory."""

class MemoryFailure(Error, MemoryError):
    """An allocation failed."""

@final
class Tensor:
    """A tensor: a dtype, a shape, and its own memory or that of a view.

    It is a buffer (memoryview(), numpy.asarray()) and supports DLPack.

    Created from the bytes of a buffer, to which it keeps a reference, and the name of a
    dtype, also your own: "opaque3:rgb" names elements of 3 bytes without an
    interpretation."""

    def __new__(
        cls, data: Any, dtype: Any, shape: Optional[Sequence[int]] = None
    ) -> Tensor: ...
    @property
    def dtype(self) -> str:
        """Name of the element type: "f32", "bf16" ..."""
    @property
    def shape(self) -> Tuple[int, ...]:
        """Tuple of sizes."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
    @property
    def readonly(self) -> bool:
        """True for a view of a record, or of another read-only buffer."""
    def numpy(self) -> Any:
        """A NumPy array over the same memory."""
    def torch(self) -> Any:
        """A torch tensor over the same memory. torch has no read-only tensors: writing into
        one of a view ends the process."""
    def bits(self) -> Tensor:
        """The elements as unsigned integers of their size, read-only, over the same
        memory. Those of 3, 5 ... bytes have one more axis, of bytes."""
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> CapsuleType:
        """See the array API standard."""
    def __dlpack_device__(self) -> Tuple[int, int]:
        """The CPU."""

@final
class Reservation:
    """A record that is being written in place, from Cache.reserve()."""

    @property
    def tensor(self) -> Any:
        """The uninitialised memory of the record, to write to: a NumPy array, a torch
        tensor or a Tensor, according to the Cache. Do not keep it: `place.tensor[:] =
        image`, `file.readinto(place.tensor)`. ValueError if the reservation has ended."""
    def commit(self) -> None:
        """Put the record, like Cache.put(). If a tensor over its memory still exists, the
        record is copied, which takes as long as put(); otherwise not. ValueError if the
        reservation has ended; after another error it remains."""
    def cancel(self) -> None:
        """Store nothing. Does nothing if the reservation has ended."""
    def __enter__(self) -> Self:
        """Itself."""
    def __exit__(self, type: Any, exception: Any, trace: Any, /) -> None:
        """commit(), unless the reservation has ended; cancel() after an exception, or if
        commit() fails."""

@disjoint_base
class Cache:
    """The handle of a module; the base of lmdbcache.Cache."""

    def __new__(
        cls, root: Any, module: str, options: Dict[str, Any], like: Optional[str], /
    ) -> Self: ...
    @property
    def closed(self) -> bool:
        """Is it closed?"""
    @property
    def like(self) -> str:
        """The type of returned tensors: "numpy", "torch" or "buffer"."""
    @property
    def timeout(self) -> Optional[float]:
        """The longest time in seconds that a call waits, or None for no limit."""
    @timeout.setter
    def timeout(self, value: Optional[float], /) -> None: ...
    @property
    def _options(self) -> Dict[str, Any]: ...
    def _forked(self) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: _Id, /) -> bool: ...
    def __getitem__(self, key: _Id, /) -> Any: ...
    def __setitem__(self, key: _Id, value: Any, /) -> None: ...
    def __delitem__(self, key: _Id, /) -> None: ...
    def get(self, id: _Id, default: Any = None, /) -> Any:
        """A copy of the value stored under a cache_id; default if it is missing. Puts of
        all handles of this process are visible at once."""
    def view(self, id: _Id, /) -> Any:
        """The value with its tensors in place, read-only: each is a Tensor, which is a
        buffer and supports DLPack. It stays valid after close(). The space of old
        commits cannot be reused while a view is held, so do not hold views for hours."""
    def put(self, id: _Id, value: Any, codec: Optional[str] = None, level: int = 0) -> None:
        """Store a value: a torch tensor or NumPy array, anything with a typed buffer, None,
        bool, int, float, complex, str, bytes, bytearray, Tagged, or dicts, lists, tuples
        and sets of them. The caller may change it when the call returns; it is durable
        after the next flush() or close(), or within flush_interval_ms. codec and level
        are as for open(), for this value. TypeError, with its position, for an object of
        another type; SchemaError if a strict module has another structure."""
    def put_many(self, ids: Iterable[_Id], values: Any, /) -> None:
        """Store many values: a list with a value for each cache_id, or a tensor, dict or
        tuple of tensors with one row of the first axis for each. After an error the
        values before the item in the error are stored."""
    def reserve(self, id: _Id, shape: Iterable[int], dtype: Any) -> Reservation:
        """Begin a put of a tensor before its elements exist. Returns a Reservation; decode,
        read or copy the elements from a device into its memory, and they are not copied
        again.

            with cache.reserve("frame-1", (480, 640, 3), "u8") as place:
                file.readinto(place.tensor)

        The end of the block puts the record; an exception cancels the put. Nothing is
        stored before, and flush() does not wait for it. There may be many reservations
        at once, in any thread."""
    def compute(
        self, ids: Iterable[_Id], function: Callable[[List[_Id]], Iterable[Any]], /
    ) -> List[Any]:
        """A list of copies of the values of many cache_ids. For cache_ids that are not
        stored, or damaged, function(missing) is called with a list of them and returns
        their values in that order, which are stored. If another thread is computing a
        value through this Cache, the call waits for it and does not compute it again. An
        exception of the function is raised, and nothing of that call is stored. The
        function may use the cache, but must not close it, or compute the same cache_ids
        with it."""
    def delete(self, id: _Id, /) -> bool:
        """Delete a record. Returns whether it existed."""
    @overload
    def gather(
        self, ids: Iterable[_Id], out: Any = None, field: Optional[str] = None, threads: int = 1,
        *, fields: None = None,
    ) -> Tuple[Any, List[int]]: ...
    @overload
    def gather(
        self, ids: Iterable[_Id], out: Optional[Dict[str, Any]] = None, field: None = None,
        threads: int = 1, *, fields: Iterable[str],
    ) -> Tuple[Dict[str, Any], List[int]]:
        """Return many tensors of one dtype and shape as one of shape [len(ids), ...], and
        the list of missing positions; their rows are 0. out is written instead of a new
        tensor; field is the part of structured values to read ("boxes.0"). If nothing is
        found the first result is out, or None. With fields, a list of names, it is a
        dict with one tensor for each, all read in one pass, and out is such a dict."""
    def missing(self, ids: Iterable[_Id], /) -> List[int]:
        """The positions in ids of cache_ids that are not stored, ascending. Reads no data."""
    @overload
    def keys(
        self, prefix: _Id = "", order: Literal["key", "commit"] = "key", *,
        raw: Literal[False] = False,
    ) -> Iterator[str]: ...
    @overload
    def keys(
        self, prefix: _Id = "", order: Literal["key", "commit"] = "key", *, raw: Literal[True]
    ) -> Iterator[bytes]:
        """An iterator over the cache_ids of the newest commit that begin with prefix: in
        the order of their bytes, or with order='commit' in the order of puts. As text,
        with surrogates for bytes that are not UTF-8, like os.fsdecode(); with raw=True
        as bytes."""
    def flush(self) -> None:
        """Commit all puts. They are on disk when this returns."""
    def close(self) -> None:
        """flush() and close. Waits for calls of other threads; later calls raise
        ValueError. Views, iterators and readers remain usable. If it is interrupted or
        times out, the module stays open and nothing is lost."""
    def discard(self) -> None:
        """Close without committing pending writes. They are lost if this was the last
        handle of this process that writes to the module."""
    def stats(self) -> Dict[str, Any]:
        """A dict of numbers of the newest commit: "records", "dead_records" (replaced or
        deleted), "chunks" and "schemas" are counts, names that end in "_bytes" are
        bytes; "generation" is the number of commits, "created_ms" milliseconds since
        1970, "uuid" the module's identity."""
    def counters(self) -> Dict[str, Any]:
        """Counts since the module was created: hits, misses, puts ..."""
    def schemas(self) -> List[Dict[str, Any]]:
        """The structures of values in the module: a dict for each, with structure
        ("{features: f32[*], label: plain}"), id, records, raw_bytes, stored_bytes, and
        codecs, the number of tensors stored with each. Includes dead records."""
    def _settings(self) -> Dict[str, Any]: ...
    def _change_settings(self, changes: Dict[str, Any], /) -> None: ...
    def verify(
        self, progress: Optional[_Progress] = None, damage: Optional[_Damage] = None
    ) -> Dict[str, int]:
        """Read and compare everything. Returns a dict with the numbers of "chunks",
        "records", "live" records and "bytes", and "damaged": 0. Damage raises
        CorruptError; damage() gets a line for each damaged place."""
    def compact(
        self, live_ratio: float = 0.5, *, chunk_bytes: int = 0, codec: Optional[str] = None,
        level: int = 0, dry_run: bool = False, progress: Optional[_Progress] = None,
        damage: Optional[_Damage] = None,
    ) -> Dict[str, int]:
        """Rewrite the chunks with a smaller fraction of live bytes than live_ratio, so that
        later commits reuse the space of dead records, and join neighbours up to
        chunk_bytes; with a codec, encode all tensors again. Other threads and processes
        can read and write. Returns a dict: chunks "rewritten", records "dropped",
        "bytes_before", "bytes_after" and others."""
    def backup(self, root: _Path, compact: bool = False) -> None:
        """Write a copy of the newest commit to a module with this name in another root,
        which is created; InvalidError if the module exists there. compact=True omits
        free pages. Other threads and processes can read and write."""
    def clear(self) -> None:
        """Delete all records in one commit, including pending ones."""
    def copy(
        self, to: Cache, conflict: Literal["keep", "replace", "same", "fail"] = "fail", *,
        prefix: _Id = "", dry_run: bool = False, progress: Optional[_Progress] = None,
        damage: Optional[_Damage] = None,
    ) -> Dict[str, int]:
        """Copy the records with cache_ids that begin with prefix into another Cache, in
        their stored form, in commit order. A record that exists there is a conflict:
        'keep' keeps it, 'replace' replaces it, 'same' fails unless both are equal,
        'fail' fails; then nothing is copied. CorruptError if damaged records were
        skipped."""
    def merge_inputs(
        self, modules: Iterable[_Path], *, dry_run: bool = False, force_fs: bool = False,
        progress: Optional[_Progress] = None, damage: Optional[_Damage] = None,
    ) -> Dict[str, int]:
        """Join modules that hold parts of one list of inputs, from `cachex fill --shard`,
        given by their directories ROOT/MODULE. The result is the module that a single
        machine would have filled, with the same chunks in the same order and the same
        tokens. Each input comes from the module that finished it.

        The dict has the numbers of inputs taken, of inputs already there, and of chunks,
        records and bytes stored, or with dry_run to be stored. NotFoundError if an input
        is finished in none of the modules; damage() gets a line for each. Another Error
        if the modules contradict each other. After a failure the records stored so far
        stay, and the same call continues."""
    def export(
        self, dir: _Path, *, shard_bytes: int = 0, shard_version: int = 0,
        metadata: bool = True, threads: int = 0,
        order: Literal["published", "commit", "key"] = "published", by_input: bool = False,
        dataset_root: Optional[str] = None, dry_run: bool = False, sha256: bool = True,
        progress: Optional[_Progress] = None,
    ) -> Dict[str, int]:
        """Write the records, tensors of one dtype and shape, as TWH1 shards with a
        manifest; source() opens them. An interrupted export continues where it stopped.
        The published order is that of a module's inputs, however it was filled; by_input
        writes separate shards for each input."""

@disjoint_base
class Store:
    """A store by the methods of an object; lmdbcache.Store has the rest of it."""

    def __new__(cls, object: Any, url: str = ...) -> Self: ...
    @property
    def object(self) -> Any:
        """What has the methods."""
    @property
    def url(self) -> str:
        """What messages call the store."""
    def check(self) -> None:
        """Does the object keep its promises? Puts an object of a new name twice, once with
        put() and reads them, lists and deletes them. UnsupportedError if put_new() puts
        what is there already."""

def _stores_end() -> None:
    """Python ends: methods of Stores are not called after this."""

@disjoint_base
class Source:
    """Records by their ordinals; the base of lmdbcache.Source."""

    def __new__(cls, what: Any, options: Dict[str, Any], like: Optional[str], /) -> Self: ...
    @property
    def closed(self) -> bool:
        """Is it closed?"""
    @property
    def like(self) -> str:
        """The type of returned tensors: "numpy", "torch" or "buffer"."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> List[Any]: ...
    def _first(self) -> Any: ...
    def id(self, ordinal: int, /) -> Optional[str]:
        """The cache_id of a record, or None in shards without cache_ids."""
    def find(self, ids: Iterable[_Id], /) -> List[Optional[int]]:
        """The ordinals of cache_ids, None for a missing one. UnsupportedError for sources
        without an index: shards, parts of a split, modules with inputs."""
    def gather(
        self, ordinals: Iterable[SupportsIndex], out: Any = None, field: Optional[str] = None,
        threads: int = 1, *, fields: Optional[Iterable[str]] = None,
    ) -> Any:
        """Records as one tensor of shape [len(ordinals), ...], read in storage order. out
        is written instead of a new tensor; field is the part of structured records to
        read, in shards the image by default. With fields, a list of names, the result is
        a dict with one tensor for each, and out is such a dict."""
    def info(self) -> Dict[str, Any]:
        """uuid, generation, chunks, records, length ... of the current generation."""
    def fetch_stats(self) -> Dict[str, Any]:
        """For a store: a dict of the costs of fetching since it was opened, see
        lmdbcache_store(3); "stalled" and "retry_wait" are in seconds. UnsupportedError for other sources."""
    def refresh(self) -> int:
        """Advance to the newest commit. Returns the number of records; known ones keep
        their ordinals."""
    def close(self) -> None:
        """Close the source. Records that the caller holds stay valid."""

def modules(root: _Path, /) -> List[str]:
    """The names of the modules in a root directory, in byte order."""

def drop(root: _Path, module: str, /) -> None:
    """Remove a module with its files, also a damaged one. BusyError if a process has it
    open, or a view of it is held."""

def rename(root: _Path, module: str, new: str, /) -> None:
    """Rename a module within its root."""

def shrink(root: _Path, module: str, /) -> Tuple[int, int]:
    """Return the free pages of a module's file to the file system. BusyError if a process
    has it open. Returns the sizes before and after, in bytes."""

def recover(
    root: _Path, module: str, *, dry_run: bool = False, progress: Optional[_Progress] = None,
    damage: Optional[_Damage] = None,
) -> Dict[str, int]:
    """Rebuild the index of a damaged module from its chunks, in a copy that replaces it if
    the copy verifies; the old file is kept next to it. damage() gets a line for each
    rescued and each lost record. BusyError if a process has the module open."""

def salvage(
    source: _Path, root: _Path, module: str, *, stale: bool = False, dry_run: bool = False,
    progress: Optional[_Progress] = None, damage: Optional[_Damage] = None,
) -> Dict[str, Any]:
    """Rescue the records of a data.mdb that cannot be opened into a new module; the file is
    never written to. stale takes old versions of keys with a lost newest one."""

def verify_shards(
    path: _Path, progress: Optional[_Progress] = None, damage: Optional[_Damage] = None
) -> None:
    """Compare a shard, or all shards of a directory or a warehouse, with their checksums."""

@final
class Batch:
    """A reader's share of a batch."""

    @property
    def number(self) -> int:
        """Number of the batch."""
    @property
    def rows(self) -> int:
        """Rows of this reader, including padding."""
    @property
    def filled(self) -> int:
        """Rows that are examples."""
    @property
    def ids(self) -> List[Optional[str]]:
        """cache_id of each row, None for padding."""
    @property
    def mask(self) -> Tensor:
        """For each row: 1 for an example, 0 for padding."""
    @property
    def examples(self) -> Tensor:
        """For each row: the number of its example in the stream; 2**64 - 1 for padding."""
    @property
    def epochs(self) -> Tensor:
        """For each row: its epoch."""
    @property
    def sources(self) -> Tensor:
        """For each row: its source in the mixture, from 0."""
    @property
    def lengths(self) -> Tensor:
        """For each row: the number of units, 1 without windows; the rest is padding."""
    @property
    def documents(self) -> Optional[Tensor]:
        """[rows, window]: number of the record within the window, from 0; None without
        documents=True."""
    @property
    def positions(self) -> Optional[Tensor]:
        """[rows, window]: position within the record, counted from its start even if that
        is before the window; None without documents=True."""
    def fields(self, like: Optional[str], /) -> Dict[str, Any]:
        """A dict of the tensors [rows, ...], which keep the batch alive; with views a list
        with one tensor per row; for a ragged field the tensor and the offsets of its
        rows."""

@disjoint_base
class Reader:
    """Reads a stream over modules or shards, batch by batch."""

    def __new__(cls, sources: List[Any], options: Dict[str, Any], /) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
    def read(self, number: int, /) -> Batch:
        """The batch with this number. Any thread may call it; the position of next() does
        not change."""
    def seek(self, number: int, /) -> None:
        """Make the next next() return the batch with this number."""
    def token(self, number: Optional[int] = None, /) -> bytes:
        """The position after the last returned batch, or before batch `number`: 96 bytes,
        the same on every rank."""
    def info(self) -> Dict[str, int]:
        """A dict of numbers of the stream: "examples", "batches" and "epoch_examples",
        where 2**64 - 1 means without end; "known", the examples that can be read now;
        "first_batch", the position of the token; "batch", examples per batch;
        "order_hash", a hash of the options that define the order."""
    def chunks(self) -> List[int]:
        """With shares: the chunks that this rank reads, the same in all epochs, by their
        positions in the source, ascending; for shards, the positions in the manifest of
        those that have samples. ValueError without shares."""
    def fetch_stats(self) -> Dict[str, Any]:
        """For a store: a dict of the costs of fetching since it was opened, see
        lmdbcache_store(3); "stalled" and "retry_wait" are in seconds. UnsupportedError for other sources."""
    def close(self) -> None:
        """Stop reading: calls of other threads end, and the sources are released after the
        last batch of views. Other batches stay valid."""
