# SPDX-License-Identifier: BSD-2-Clause
"""Batches of a stream, for training loops: Reader."""

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _core
from ._files import Store, _Path, is_store, store_options

Source = Union[_core.Cache, Store, str, "os.PathLike[str]"]


class Reader(_core.Reader):
    """The batches of a stream over modules and shards, in an order that does not depend on
    the number of ranks, workers or threads. An iterator of Batch.

    Created by reader(). token() is a position from which any number of ranks can resume.
    """

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> "Reader":
        return self


def reader(
    source: Union[Source, Sequence[Union[Source, Sequence[Source]]]],
    *,
    batch: int = 256,
    shuffle: str = "none",
    seed: int = 0,
    epochs: int = 1,
    window: int = 0,
    stride: int = 0,
    drop_short: bool = False,
    block: Optional[int] = None,
    spread: Optional[int] = None,
    shares: int = 0,
    era_first: Optional[int] = None,
    era_max: Optional[int] = None,
    idealised: int = 0,
    weights: Optional[Sequence[int]] = None,
    mixture_block: Optional[int] = None,
    limit: int = 0,
    follow: bool = False,
    timeout: Optional[float] = None,
    token: Optional[bytes] = None,
    rank: int = 0,
    world: int = 1,
    share: str = "strided",
    fields: Optional[Sequence[str]] = None,
    views: bool = False,
    documents: bool = False,
    threads: int = 2,
    ahead: int = 8,
    memory: Optional[int] = None,
    length_field: Optional[str] = None,
    split: Optional[str] = None,
    split_seed: int = 0,
    split_by_run: bool = False,
    part: Optional[str] = None,
    verify: Union[bool, str] = "once",
    ignore_thresholds: bool = False,
    open_shards: int = 0,
    generation: Optional[int] = None,
    cache: "Optional[_Path]" = None,
    cache_size: Union[int, str, None] = None,
    fetch_ahead: Optional[int] = None,
    endpoint: Optional[str] = None,
    region: Optional[str] = None,
    profile: Optional[str] = None,
    ca_file: "Optional[_Path]" = None,
) -> Reader:
    """Read batches of a source: a Cache, or the path of shards or a warehouse. A list of
    several is a mixture, with `weights`. A list within the list is one source with the
    records of its first member, then those of the second: `[[a, "./shards"]]` is one source,
    and `[[a, b], c]` a mixture of a list and a Cache.

    batch            examples per batch, over all ranks
    shuffle          "none", "full", "block" or "era"
    seed, epochs     of the shuffle; epochs 0: without end; a mixture allows only 0
    block, spread    of shuffle="block": examples per block, default 256, and blocks mixed at
                     a time, default 16
    shares           with shuffle="block": deal the chunks of the source, such as shards,
                     into this number of shares, which stay with their ranks in all epochs:
                     rank r of `world`, which must divide the number, has every world'th
                     share, and chunks() lists its chunks. A block is then a chunk, and
                     `batch` must be a multiple of the shares. In all epochs but the last,
                     some examples, fewer than the shares, occur twice; 0: no shares
    era_first, era_max
                     of shuffle="era": examples of the first and of the largest era,
                     default 65,536 and 1,048,576
    idealised        the order of this number of idealised readers, at most 65,536, without
                     a shuffle; 0: the flat order
    limit            examples in all; 0: no limit
    window, stride   units of the length field per example, and from one example to the next,
                     for tokens; 0: an example is a record, the stride is the window
    length_field     the tensor with the units of a record as its first axis; None: that of
                     the module's settings
    drop_short       omit a last window that is not full
    weights          of the sources of a mixture, integers; None: all equal
    mixture_block    number of examples in which the proportions are exact to one example,
                     default 1,024
    follow, timeout  continue while the source grows; a wait above `timeout` seconds raises
                     WaitTimeout, None: no limit
    token            resume from this position, a result of token()
    rank, world      this reader's rows of each batch; `share` is "strided" or "contiguous"
    fields           tensors to read, "." for records that are tensors; None: all
    views            return records in place, read-only, instead of one tensor of copies
    documents        for windows: return `documents` and `positions` with each batch
    threads, ahead   number of threads that read ahead, and of batches read ahead
    memory           maximum bytes read ahead, default 256 MiB
    split, part      "train=0.9,val=0.1" and the part to read; `split_seed` gives other
                     parts, `split_by_run` keeps the records of a run in one part
    verify           when to compare data with its checksum: "once", at the first read in
                     this process, which does not detect later damage; "always" or True; or
                     "never" or False
    ignore_thresholds
                     read a warehouse even if it exceeds its validation limits
    open_shards      number of shards of a set open at the same time, as for source()
    generation       of the source, as for source()
    cache, cache_size, fetch_ahead, endpoint, region, profile, ca_file
                     for a store, a URL or a Store, as for source(): the
                     next shards are fetched into `cache` before this reader needs them, and
                     those that it needs last are removed

    lmdbcache_stream(3) defines the orders and their combinations.
    """
    names: Dict[str, Any] = dict(locals())
    sources = names.pop("source")
    if isinstance(sources, (str, os.PathLike, _core.Cache, Store)):
        sources = [sources]
    if len(sources) > 1 and epochs == 1:
        names["epochs"] = 0
    names = store_options(names, any(is_store(s) for s in sources))
    for name in ("weights", "fields"):
        if names[name] is not None:
            names[name] = list(names[name])
    return Reader([tuple(s) if isinstance(s, list) else s for s in sources], names)


class Stream:
    """Batches of a store, a module or shards for one of many nodes: an iterable with a
    position that can be saved and resumed on any number of nodes.

        stream = lmdbcache.Stream("s3://bucket/features", batch=4096, shares=1024,
            reader=(rank, world), cache="/nvme/copies", cache_size="64G", epochs=8)
        for batch in stream:
            train(batch)
            if batch.number % 1000 == 0:
                torch.save({"stream": stream.state_dict(), ...}, ...)

    Shares stay with their readers in all epochs, so that a node fetches only its own shards;
    `shares` must be a multiple of every world size that you will use, and `batch` a multiple
    of `shares`. Without shares the order is that of `shuffle`. All other options are those of
    reader().
    """

    def __init__(
        self,
        source: Union[Source, Sequence[Any]],
        *,
        reader: Tuple[int, int] = (0, 1),
        shares: int = 0,
        shuffle: Optional[str] = None,
        **options: Any,
    ) -> None:
        if shuffle is None:
            shuffle = "block" if shares > 0 else "none"
        self._source = source
        self._options = {**options, "shares": shares, "shuffle": shuffle}
        self._options["rank"], self._options["world"] = reader
        self._reader: Optional[Reader] = None

    def _open(self) -> Reader:
        if self._reader is None:
            self._reader = reader(self._source, **self._options)
        return self._reader

    def __iter__(self) -> Reader:
        """The batches from the current position on."""
        return self._open()

    def state_dict(self) -> Dict[str, Any]:
        """The position after the last batch: the same on every node."""
        return {"token": self._open().token()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Resume from a position, which another node may have saved."""
        self.close()
        self._options["token"] = state["token"]

    def stats(self) -> Dict[str, Any]:
        """The costs of fetching from a store: Reader.fetch_stats()."""
        return self._open().fetch_stats()

    def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
