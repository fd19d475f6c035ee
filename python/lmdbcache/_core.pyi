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
    """A cache_id made of content: the same text for equal values, in every process and
    version: "k1-" and 32 hex digits. The value is text, bytes, a tensor, or what else
    can be put. A tensor counts with its dtype, shape and elements, wherever they are;
    the order of a dict does not count; 1, 1.0 and True differ, as do a list and a
    tuple. Different values have different keys, unless somebody sets out to find two
    that have not. lmdbcache_value(3) defines the bytes that are hashed."""

class Error(Exception):
    """What a call of the engine failed with.

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
    """A resource is held elsewhere."""

class AccessError(Error, PermissionError):
    """The system refused access."""

class SystemFailure(Error, OSError):
    """Any other failure of the system."""

class UnsupportedError(Error):
    """Valid, but not possible in the format asked for."""

class SchemaError(Error, TypeError):
    """A value of another structure than asked for or allowed."""

class ExistsError(Error):
    """The cache_id or file is there and may not be replaced."""

class WaitTimeout(Error, TimeoutError):
    """What was waited for did not come in time."""

class AbandonedError(Error):
    """What was waited for does not come: nobody writes it."""

class StaleError(Error):
    """Made from sources that changed, or a token of something else."""

class NoFileError(Error, FileNotFoundError):
    """There is no such module, file or directory."""

class MemoryFailure(Error, MemoryError):
    """An allocation failed."""

@final
class Tensor:
    """A tensor of the engine: a dtype, a shape, and memory of its own or of a view.

    It is a buffer (memoryview(), numpy.asarray()) and speaks DLPack.

    Made of the bytes of a buffer, which it keeps, and the name of any dtype, one of one's
    own too: "opaque3:rgb" is a name for elements of 3 bytes, as they are."""

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
        """Is it a view of a record, or of another buffer that is not written?"""
    def numpy(self) -> Any:
        """An array of NumPy over the same memory."""
    def torch(self) -> Any:
        """A tensor of torch over the same memory. torch knows no read-only tensors: to
        write into one of a view ends the process."""
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
    """A record that is being written in place; Cache.reserve() makes it."""

    @property
    def tensor(self) -> Any:
        """The memory of the record, to be written: as an array of NumPy, a tensor of torch
        or a Tensor, as the Cache gives them. Its bytes are not set to anything. Do not keep
        it: `place.tensor[:] = image`, `file.readinto(place.tensor)`. ValueError if the
        reservation has ended."""
    def commit(self) -> None:
        """Put the record, as Cache.put() does. A tensor over its memory that is still held
        is then copied, which takes as long as put(); without one nothing is. ValueError if
        the reservation has ended; after another error it has not."""
    def cancel(self) -> None:
        """Store nothing. Harmless if it has ended."""
    def __enter__(self) -> Self:
        """Itself."""
    def __exit__(self, type: Any, exception: Any, trace: Any, /) -> None:
        """commit(), unless it has ended; cancel() after an exception, or if that fails."""

@disjoint_base
class Cache:
    """The handle of a module; lmdbcache.Cache has the rest of it."""

    def __new__(
        cls, root: Any, module: str, options: Dict[str, Any], like: Optional[str], /
    ) -> Self: ...
    @property
    def closed(self) -> bool:
        """Is it closed?"""
    @property
    def like(self) -> str:
        """What tensors are given as: "numpy", "torch" or "buffer"."""
    @property
    def timeout(self) -> Optional[float]:
        """Seconds that a call waits at most, or None: for ever."""
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
        """The value stored under a cache_id, a copy of the caller's own; default if there
        is none. What any handle of this process has put is seen at once."""
    def view(self, id: _Id, /) -> Any:
        """The value with its tensors in place, read-only: each a Tensor, which is a buffer
        and speaks DLPack. It stays after close(). The space of old commits cannot be reused
        while one is held, so do not hold views for hours."""
    def put(self, id: _Id, value: Any, codec: Optional[str] = None, level: int = 0) -> None:
        """Store a value: a tensor of torch or NumPy, anything with a typed buffer, None,
        bool, int, float, complex, str, bytes, bytearray, Tagged, or dicts, lists, tuples
        and sets of them. It may be changed as soon as this returns, and is durable after the
        next flush() or close(), or within flush_interval_ms. codec and level are those of
        open(), for this value. TypeError for an object of another kind, which says where it
        is; SchemaError where the module takes other structures."""
    def put_many(self, ids: Iterable[_Id], values: Any, /) -> None:
        """Store many: a list with a value for each cache_id, or a tensor, dict or tuple of
        tensors whose first axis has a row for each. After an error those before the item
        that it names are stored."""
    def reserve(self, id: _Id, shape: Iterable[int], dtype: Any) -> Reservation:
        """Begin a put of a tensor whose elements do not exist yet: a Reservation, in whose
        memory they are decoded, read or copied from a device, and not copied again.

            with cache.reserve("frame-1", (480, 640, 3), "u8") as place:
                file.readinto(place.tensor)

        The end of the block puts the record, an exception cancels it. Nothing is stored
        before, and flush() does not wait for it. There may be many at once, in any
        thread."""
    def compute(
        self, ids: Iterable[_Id], function: Callable[[List[_Id]], Iterable[Any]], /
    ) -> List[Any]:
        """The values of many cache_ids, a list of copies. For those that are not stored,
        or damaged, function(missing) is called with a list of them and returns their values
        in that order, which are stored. What another thread is computing through this Cache
        is awaited, not computed again. An exception of the function is raised, and nothing
        of that call is stored. The function may use the cache, but not close it nor ask it
        to compute the same cache_ids."""
    def delete(self, id: _Id, /) -> bool:
        """Forget a cache_id. Returns whether it was there."""
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
        """Many tensors of one dtype and shape as one of shape [len(ids), ...], and the list
        of positions that are missing, whose rows are 0. out is written instead of a new
        one; field is the part of structured values to read ("boxes.0"). With nothing found
        the first result is out, or None. With fields, many names, it is a dict of one
        tensor for each, all read in one pass, and out is such a dict."""
    def missing(self, ids: Iterable[_Id], /) -> List[int]:
        """The positions in ids of those that are not stored, ascending. Their data is not
        read."""
    @overload
    def keys(
        self, prefix: _Id = "", order: Literal["key", "commit"] = "key", *,
        raw: Literal[False] = False,
    ) -> Iterator[str]: ...
    @overload
    def keys(
        self, prefix: _Id = "", order: Literal["key", "commit"] = "key", *, raw: Literal[True]
    ) -> Iterator[bytes]:
        """An iterator over cache_ids that begin with prefix, of the commit that is the
        newest now: in the order of their bytes, or with order='commit' as they were stored.
        As text, in which bytes that are not UTF-8 are surrogates, as os.fsdecode() has
        them; with raw=True as bytes."""
    def flush(self) -> None:
        """Commit what was put so far. It is on disk when this returns."""
    def close(self) -> None:
        """flush() and close. It awaits the calls of other threads; those that begin later
        are ValueError. Views, iterators and readers stay. When it is interrupted or times
        out, the module stays open and has lost nothing."""
    def discard(self) -> None:
        """Close without committing what is pending, which is lost with the last handle of this
        process that writes the module."""
    def stats(self) -> Dict[str, Any]:
        """A dict of numbers of the newest commit: "records", "dead_records" (replaced or
        deleted), "chunks" and "schemas" are counts, those that end in "_bytes" are bytes;
        "generation" is the number of commits, "created_ms" milliseconds since 1970, "uuid"
        the module's identity."""
    def counters(self) -> Dict[str, Any]:
        """What happened to the module since it was made: hits, misses, puts ..."""
    def schemas(self) -> List[Dict[str, Any]]:
        """The structures that values in the module have: a dict each, with structure
        ("{features: f32[*], label: plain}"), id, records, raw_bytes, stored_bytes, and
        codecs, the number of tensors stored with each. Dead records count."""
    def _settings(self) -> Dict[str, Any]: ...
    def _change_settings(self, changes: Dict[str, Any], /) -> None: ...
    def verify(
        self, progress: Optional[_Progress] = None, damage: Optional[_Damage] = None
    ) -> Dict[str, int]:
        """Read everything and compare it. Returns a dict of how many "chunks", "records", "live"
        ones of them and "bytes" there are, and "damaged": 0, as damage is a CorruptError;
        damage() gets a line for each."""
    def compact(
        self, live_ratio: float = 0.5, *, chunk_bytes: int = 0, codec: Optional[str] = None,
        level: int = 0, dry_run: bool = False, progress: Optional[_Progress] = None,
        damage: Optional[_Damage] = None,
    ) -> Dict[str, int]:
        """Rewrite the chunks of which less than live_ratio of the bytes are live, so that later
        commits reuse the space of dead records, and join neighbours up to chunk_bytes; with a
        codec, code all tensors anew. Reads and writes go on meanwhile. Returns a dict: chunks
        "rewritten", records "dropped", "bytes_before", "bytes_after" and others."""
    def backup(self, root: _Path, compact: bool = False) -> None:
        """Write a copy of the newest commit to a module of this name in another root, which is
        made; InvalidError if it is there. With compact=True without the pages that are free.
        Reads and writes go on meanwhile."""
    def clear(self) -> None:
        """Delete every record in one commit, those that are pending too."""
    def copy(
        self, to: Cache, conflict: Literal["keep", "replace", "same", "fail"] = "fail", *,
        prefix: _Id = "", dry_run: bool = False, progress: Optional[_Progress] = None,
        damage: Optional[_Damage] = None,
    ) -> Dict[str, int]:
        """Copy the records whose cache_ids begin with prefix into another Cache, as they
        are stored, in commit order. What it has already is a conflict: 'keep' its own,
        'replace' it, 'same' fails unless both are equal, 'fail' fails; then nothing is
        copied. CorruptError if damaged records were passed over."""
    def merge_inputs(
        self, modules: Iterable[_Path], *, dry_run: bool = False, force_fs: bool = False,
        progress: Optional[_Progress] = None, damage: Optional[_Damage] = None,
    ) -> Dict[str, int]:
        """Join modules that hold parts of one list of inputs, as `cachex fill --shard`
        makes them, named by their directories ROOT/MODULE: this one becomes what one
        machine would have filled, the same chunks in the same order, and tokens of one go
        on in the other. Each input comes from the module that finished it.

        The dict has the numbers of inputs taken, of those that were there, and of chunks,
        records and bytes stored; with dry_run, that would be. NotFoundError if an input is
        finished in none, which damage is told of line by line; another Error if the
        modules contradict one another. What was stored when it fails stays, and the same
        call goes on."""
    def export(
        self, dir: _Path, *, shard_bytes: int = 0, shard_version: int = 0,
        metadata: bool = True, threads: int = 0,
        order: Literal["published", "commit", "key"] = "published", by_input: bool = False,
        dataset_root: Optional[str] = None, dry_run: bool = False, sha256: bool = True,
        progress: Optional[_Progress] = None,
    ) -> Dict[str, int]:
        """Write the records, tensors of one dtype and shape, as TWH1 shards with a
        manifest; source() opens them. An export that was interrupted goes on where it
        was. The published order is that of a module's inputs, whoever filled it;
        by_input gives each input shards of its own."""

@disjoint_base
class Source:
    """Records by their ordinals; lmdbcache.Source has the rest of it."""

    def __new__(cls, what: Any, options: Dict[str, Any], like: Optional[str], /) -> Self: ...
    @property
    def closed(self) -> bool:
        """Is it closed?"""
    @property
    def like(self) -> str:
        """What tensors are given as: "numpy", "torch" or "buffer"."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> List[Any]: ...
    def _first(self) -> Any: ...
    def id(self, ordinal: int, /) -> Optional[str]:
        """The cache_id of a record, or None in shards without."""
    def find(self, ids: Iterable[_Id], /) -> List[Optional[int]]:
        """The ordinals of cache_ids, None for one that is not here. UnsupportedError where
        there is no index: shards, parts of a split, modules filled by inputs."""
    def gather(
        self, ordinals: Iterable[SupportsIndex], out: Any = None, field: Optional[str] = None,
        threads: int = 1, *, fields: Optional[Iterable[str]] = None,
    ) -> Any:
        """Records as one tensor of shape [len(ordinals), ...], read in the order in which
        they are stored. out is written instead of a new one; field is the part of
        structured records to read, in shards the image by default. With fields, many
        names, it is a dict of one tensor for each, and out is such a dict."""
    def info(self) -> Dict[str, Any]:
        """uuid, generation, chunks, records, length ... of what it stands on."""
    def fetch_stats(self) -> Dict[str, Any]:
        """Of a store: a dict of what fetching has cost since it was opened, as
        lmdbcache_store(3) has it; "stalled" is in seconds. UnsupportedError of others."""
    def refresh(self) -> int:
        """Go on to the newest commit. The number of records then; those that were known
        keep their ordinals."""
    def close(self) -> None:
        """Records that are held stay."""

def modules(root: _Path, /) -> List[str]:
    """The names of the modules in a root directory, in byte order."""

def drop(root: _Path, module: str, /) -> None:
    """Remove a module with its files, also a damaged one. BusyError if anybody has it
    open, a view included."""

def rename(root: _Path, module: str, new: str, /) -> None:
    """Give a module another name in its root."""

def shrink(root: _Path, module: str, /) -> Tuple[int, int]:
    """Give free pages of a module's file back to the file system; nobody may have it open.
    The sizes before and after, in bytes."""

def recover(
    root: _Path, module: str, *, dry_run: bool = False, progress: Optional[_Progress] = None,
    damage: Optional[_Damage] = None,
) -> Dict[str, int]:
    """Rebuild the index of a damaged module from its chunks, in a copy that takes its place
    when it verifies; the old file is kept beside it. What is rescued and what is lost goes
    to damage(), a line each. Nobody may have it open."""

def salvage(
    source: _Path, root: _Path, module: str, *, stale: bool = False, dry_run: bool = False,
    progress: Optional[_Progress] = None, damage: Optional[_Damage] = None,
) -> Dict[str, Any]:
    """Rescue the records of a data.mdb that cannot be opened into a new module; it is never
    written to. stale takes old versions of keys whose newest is lost."""

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
        """Rows of this reader, padding included."""
    @property
    def filled(self) -> int:
        """Rows that are examples."""
    @property
    def ids(self) -> List[Optional[str]]:
        """cache_id of each row, None for padding."""
    @property
    def mask(self) -> Tensor:
        """Of each row: 1 for an example, 0 for padding."""
    @property
    def examples(self) -> Tensor:
        """Of each row: the number of its example in the stream; 2**64 - 1 for padding."""
    @property
    def epochs(self) -> Tensor:
        """Of each row: its epoch."""
    @property
    def sources(self) -> Tensor:
        """Of each row: which source of the mixture it is of."""
    @property
    def lengths(self) -> Tensor:
        """Of each row: units that are there, 1 without windows; the rest is padding."""
    @property
    def documents(self) -> Optional[Tensor]:
        """[rows, window]: number of the record within the window, from 0; None unless
        asked for."""
    @property
    def positions(self) -> Optional[Tensor]:
        """[rows, window]: position within the record, also if it began before the
        window; None unless asked for."""
    def fields(self, like: Optional[str], /) -> Dict[str, Any]:
        """A dict of the tensors [rows, ...], which keep the batch; with views a list of one
        a row; of a ragged field the tensor and the offsets of its rows."""

@disjoint_base
class Reader:
    """Reads a stream over modules or shards, batch by batch."""

    def __new__(cls, sources: List[Any], options: Dict[str, Any], /) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
    def read(self, number: int, /) -> Batch:
        """The batch of this number. Any thread may ask; the order of next() stays as it is."""
    def seek(self, number: int, /) -> None:
        """Go on with the batch of this number at the next next()."""
    def token(self, number: Optional[int] = None, /) -> bytes:
        """The position behind the last batch that was given, or before batch `number`: 96
        bytes, the same on every rank."""
    def info(self) -> Dict[str, int]:
        """A dict of numbers of the stream: "examples", "batches" and "epoch_examples", where
        2**64 - 1 is for ever; "known", the examples that can be read now; "first_batch",
        where the token stood; "batch", examples a batch; "order_hash", of the options that
        make the order."""
    def chunks(self) -> List[int]:
        """With shares: the chunks that this rank reads, the same in all epochs, by their
        positions in the source, ascending; of shards, the positions in the manifest of those
        that have samples. ValueError without shares."""
    def fetch_stats(self) -> Dict[str, Any]:
        """Of a store: a dict of what fetching has cost since it was opened, as
        lmdbcache_store(3) has it; "stalled" is in seconds. UnsupportedError of others."""
    def close(self) -> None:
        """Stop reading: the calls of other threads end, and the sources are let go once the
        last batch of views is released. Other batches stay, and are their holders' own."""
