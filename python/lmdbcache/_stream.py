# SPDX-License-Identifier: BSD-2-Clause
"""Batches of a stream, for training loops: Reader."""

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _core
from ._files import _Path, is_store, store_options

Source = Union[_core.Cache, str, "os.PathLike[str]"]


class Reader(_core.Reader):
    """The batches of a stream over modules and shards, in an order that does not depend on
    how many ranks, workers or threads read it. An iterator of Batch.

    Made by reader(). token() is a position that any number of ranks can go on from.
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
    """Read batches of a source: a Cache, or the path of shards or a warehouse. Several make
    a mixture, with `weights`. A list of some in a given order is one source, with the
    records of the first, then those of the second: `[[a, "./shards"]]` is one such list, and
    `[[a, b], c]` a mixture of a list and a Cache.

    batch            examples a batch, over all ranks
    shuffle          "none", "full", "block" or "era"
    seed, epochs     of the shuffle; epochs 0: for ever, and a mixture has 0 only
    block, spread    of shuffle="block": examples a block, default 256, and blocks that are
                     mixed, default 16
    shares           with shuffle="block": deal the chunks of the source, such as shards, to
                     so many shares, which stay with their ranks in all epochs: rank r of
                     `world`, which divides them, has every world'th share, and chunks()
                     lists its chunks. A block is a chunk, `batch` a multiple of the shares,
                     and fewer examples than there are shares come twice in an epoch that
                     another one follows; 0: none
    era_first, era_max
                     of shuffle="era": examples of the first and of the largest era,
                     default 65,536 and 1,048,576
    idealised        the order of as many idealised readers, at most 65,536, without a
                     shuffle; 0: the flat order
    limit            examples in all; 0: no limit
    window, stride   units of the length field an example, and from one to the next, for
                     tokens; 0: an example is a record, a stride is a window
    length_field     the tensor whose first axis is a record's units; None: as the module
                     is set
    drop_short       leave out a last window that is not full
    weights          of the sources of a mixture, integers; None: all alike
    mixture_block    examples in which the shares are exact to one, default 1,024
    follow, timeout  go on while the source grows; a wait above `timeout` seconds is
                     WaitTimeout, None waits for ever
    token            go on from here: what token() gave
    rank, world      this reader's share of each batch; `share` is "strided" or
                     "contiguous"
    fields           tensors to read, "." for records that are tensors; None: all
    views            give records in place, read-only, instead of one tensor of copies
    documents        of windows: give `documents` and `positions` with each batch
    threads, ahead   read ahead with so many threads, so many batches
    memory           bytes of what is read ahead, default 256 MiB
    split, part      "train=0.9,val=0.1" and the part to read; `split_seed` draws other
                     parts, `split_by_run` keeps the records of a run in one
    verify           compare what is read with its checksum "once", at the first read in
                     this process, which does not see what is damaged after that; "always",
                     which is True; or "never", which is False
    ignore_thresholds
                     read a warehouse although it exceeds its validation limits
    open_shards      how many shards of a set are open at a time, as for source()
    generation       of the source, as for source()
    cache, cache_size, fetch_ahead, endpoint, region, profile, ca_file
                     of a store, "s3://BUCKET/PREFIX" or "file:///DIR", as for source(): the
                     shards that this reader needs next are fetched into `cache` before it
                     needs them, and those that it needs last are removed

    lmdbcache_stream(3) defines the orders and what can be combined.
    """
    names: Dict[str, Any] = dict(locals())
    sources = names.pop("source")
    if isinstance(sources, (str, os.PathLike, _core.Cache)):
        sources = [sources]
    if len(sources) > 1 and epochs == 1:
        names["epochs"] = 0
    names = store_options(names, any(is_store(s) for s in sources))
    for name in ("weights", "fields"):
        if names[name] is not None:
            names[name] = list(names[name])
    return Reader([tuple(s) if isinstance(s, list) else s for s in sources], names)


class Stream:
    """Examples of a store, a module or shards for one node of many: an iterable of batches
    that can be saved and goes on where it was, on any number of nodes.

        stream = lmdbcache.Stream("s3://bucket/features", batch=4096, shares=1024,
            reader=(rank, world), cache="/nvme/copies", cache_size="64G", epochs=8)
        for batch in stream:
            train(batch)
            if batch.number % 1000 == 0:
                torch.save({"stream": stream.state_dict(), ...}, ...)

    Shares stay with their readers in all epochs, so that a node fetches its own shards only;
    shares is a multiple of every world that will read, and batch is one of shares. Without
    shares the order is that of `shuffle`. All other options are those of reader().
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
        """The batches from the present position on."""
        return self._open()

    def state_dict(self) -> Dict[str, Any]:
        """The position after the last batch: the same on every node."""
        return {"token": self._open().token()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a position, which other nodes may have saved."""
        self.close()
        self._options["token"] = state["token"]

    def stats(self) -> Dict[str, Any]:
        """What fetching from a store has cost: Reader.fetch_stats()."""
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
