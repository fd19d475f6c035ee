# SPDX-License-Identifier: BSD-2-Clause
"""The classes of torchcachex 0.2.0, implemented with this cache. Change one line of a program:

    from lmdbcache.compat.torchcachex import ArrowIPCCacheBackend, CacheModuleDecorator

Files of torchcachex are not read: their values are computed again. The differences:

- every tensor of the arguments is cut down to the rows to compute, not only the first
  argument; a duplicate is computed once
- puts are visible at once, with any size of the LRU, and changing a result does not change
  later ones
- an int in cache_ids is its decimal digits: 7 and "7" are one record
- no pickle: an object that is neither a tensor nor plain data raises TypeError
- each tensor of an output, also in lists, has a row for each computed row
- plain data that is the same in all records of a batch appears once, not as a list
"""

import io
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Optional

import torch
from torch import nn

import lmdbcache

from .._trees import Rows, decode, ids_of, map_tree, row_of
from ..torch import Cached

__all__ = ["ArrowIPCCacheBackend", "CacheModuleDecorator"]


class _Recent(OrderedDict[Any, Any]):
    """The most recently used values, limited in number."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self.room:
            self.popitem(last=False)


class ArrowIPCCacheBackend:
    """A module of the cache, cache_dir/module_id, with torchcachex's methods.

    lru_size     number of values that a rank that does not write keeps in memory. The
                 writer needs none: its `lru` is the module itself; 0: an empty dict
    flush_every  records per commit
    async_write, max_workers
                 ignored: a thread of the library commits

    Close it with close(), or drop the last reference, which flushes.
    """

    def __init__(
        self,
        cache_dir: str,
        module_id: str,
        lru_size: int = 4096,
        async_write: bool = True,
        max_workers: int = 2,
        flush_every: int = 2048,
        writer_rank: int = 0,
        current_rank: Optional[int] = None,
    ) -> None:
        self.module_id = module_id
        self.async_write = async_write
        self.flush_every = int(flush_every)
        self.writer_rank = int(writer_rank)
        if current_rank is None:
            current_rank = int(os.environ.get("RANK", 0))
        self.current_rank = int(current_rank)
        self.executor = None
        self.cache = lmdbcache.open(
            cache_dir,
            module_id,
            like="torch",
            flush_every=self.flush_every,
            rank=self.current_rank,
            writer_rank=self.writer_rank,
        )
        # Programs look at these; the engine does not.
        self.cache_dir = Path(cache_dir) / module_id
        self.segments_dir = self.cache_dir / "segments"
        self.index_path = self.cache_dir / "index.pkl"
        self.schema_path = self.cache_dir / "schema.json"
        self.segments_dir.mkdir(exist_ok=True)
        self.lru_enabled = lru_size > 0
        self.lru: Any = {}
        if self.lru_enabled:
            self.lru = self.cache if self._writes else _Recent(lru_size)
        self._rows = Rows(self.cache)

    @property
    def _writes(self) -> bool:
        return self.current_rank == self.writer_rank

    def get_batch(
        self, keys: Sequence[Any], map_location: str = "cpu"
    ) -> tuple[list[Any], list[int]]:
        """The values of cache_ids, None for missing ones, and the positions of the missing
        ones. A stored None is found, so its position is not included."""
        names = ids_of(keys)
        batch, records, missing = self._rows.read(names)
        if records is None:
            absent = set(missing)
            records = [
                None if i in absent else row_of(batch, i) for i in range(len(names))
            ]
        if isinstance(self.lru, _Recent):
            for i in missing:
                records[i] = self.lru.get(names[i])
            missing = [i for i in missing if names[i] not in self.lru]
        if torch.device(map_location).type != "cpu":
            records = [map_tree(lambda t: t.to(map_location), r) for r in records]
        return records, missing

    def put_batch(self, items: Mapping[Any, Any]) -> None:
        """Store values under their cache_ids. A value that cannot be stored does not stop the
        others; its exception is raised at the end."""
        failed: Optional[Exception] = None
        for name, (key, value) in zip(ids_of(items), items.items()):
            try:
                if self._writes:
                    self.cache[name] = map_tree(lambda t: t, value)
                elif self.lru_enabled:
                    self.lru[name] = map_tree(lambda t: t.detach().cpu(), value)
            except Exception as error:
                if failed is None:
                    error.add_note(f"put_batch: {key!r}")
                    failed = error
        if failed is not None:
            raise failed

    def flush(self) -> None:
        """Commit all puts. They are on disk when this returns."""
        if self._writes:
            self.cache.flush()
            self.index_path.touch()

    def close(self) -> None:
        """flush() and close."""
        self.cache.close()

    # ---- attributes that programs read -----------------------------------------------

    @property
    def index(self) -> dict[str, tuple[int, int]]:
        """The committed cache_ids, each with its position. Each access creates it again."""
        return {key: (0, i) for i, key in enumerate(self.cache.keys(order="commit"))}

    @property
    def key_to_idx(self) -> dict[str, int]:
        """The same with positions alone."""
        return {key: i for i, key in enumerate(self.cache.keys(order="commit"))}

    def _first(self) -> list[Any]:
        for key in self.cache.keys(order="commit"):
            return [decode(self.cache[key])]
        return []

    @property
    def schema(self) -> Optional[str]:
        """The structure of the first record as text; None without a record."""
        for record in self._first():
            return str(map_tree(lambda t: f"{t.dtype} {list(t.shape)}", record))
        return None

    @property
    def output_structure(self) -> Optional[str]:
        """The type of the first record: "tensor", "dict", "tuple", "list" or "blob"."""
        kinds = {torch.Tensor: "tensor", dict: "dict", tuple: "tuple", list: "list"}
        for record in self._first():
            return kinds.get(type(record), "blob")
        return None

    def _load_schema(self) -> Optional[str]:
        return self.schema

    def _parse_arrow_type(self, text: str) -> Any:
        """The Arrow type with this name; the Arrow string type for an unknown name."""
        pyarrow: Any = import_module("pyarrow")
        if text.startswith("list<") and text.endswith(">"):
            return pyarrow.list_(self._parse_arrow_type(text[5:-1].split(": ")[-1]))
        try:
            return pyarrow.type_for_alias(text)
        except ValueError:
            return pyarrow.string()

    def _torch_to_arrow_dtype(self, dtype: torch.dtype) -> Any:
        """The Arrow type for a torch dtype; float32 if there is none."""
        pyarrow: Any = import_module("pyarrow")
        try:
            return pyarrow.type_for_alias(str(dtype).removeprefix("torch."))
        except ValueError:
            return pyarrow.float32()


class CacheModuleDecorator(Cached):
    """lmdbcache.torch.cached() with torchcachex's arguments.

    module, cache, enabled, key_from_batch_fn, enforce_stateless and map_location_on_read
    are its attributes; the last has no effect: results are on the device of the inputs.
    cache_ids are a keyword argument, or a key of the first mapping among the arguments, or
    the result of key_from_batch_fn for the arguments.
    """

    def __init__(
        self,
        module: nn.Module,
        cache_backend: ArrowIPCCacheBackend,
        enabled: bool = True,
        key_from_batch_fn: Optional[Callable[..., Sequence[Any]]] = None,
        enforce_stateless: bool = True,
        map_location_on_read: str = "cpu",
    ) -> None:
        super().__init__(
            module, cache_backend.cache, enabled=enabled, stateless=enforce_stateless
        )
        self.training = True
        self.cache = cache_backend
        self.key_from_batch_fn = key_from_batch_fn
        self.map_location_on_read = map_location_on_read

    @property
    def enforce_stateless(self) -> bool:
        """Refuse trainable parameters in training mode?"""
        return self.stateless

    @enforce_stateless.setter
    def enforce_stateless(self, value: bool) -> None:
        self.stateless = value

    def _wants_ids(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.key_from_batch_fn is not None:
            return list(self.key_from_batch_fn(*args, **kwargs))
        return super()._wants_ids(args, kwargs)

    def _move_like_input(self, value: Any, like: Any) -> Any:
        device = like.device if isinstance(like, torch.Tensor) else torch.device("cpu")
        return map_tree(lambda tensor: tensor.to(device), value)


# ---- utilities ----------------------------------------------------------------------


def _tree_index(value: Any, i: int) -> Any:
    """Record i of a batch; of a list of tensors the tensor i."""
    if isinstance(value, torch.Tensor):
        return value[i]
    if isinstance(value, Mapping):
        return {name: _tree_index(part, i) for name, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        return value[i]
    if isinstance(value, (list, tuple)):
        parts = [_tree_index(part, i) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _tree_stack(records: list[Any]) -> Any:
    """A batch of records: tensors of one shape stacked, everything else in lists."""
    if not records:
        raise ValueError("Cannot stack empty list of samples")
    first = records[0]
    if isinstance(first, torch.Tensor):
        alike = all(record.shape == first.shape for record in records)
        return torch.stack(records) if alike else records
    if isinstance(first, Mapping):
        return {name: _tree_stack([r[name] for r in records]) for name in first}
    if isinstance(first, (list, tuple)):
        parts = [_tree_stack([r[i] for r in records]) for i in range(len(first))]
        return parts if isinstance(first, list) else tuple(parts)
    return records


def _serialize_sample(value: Any) -> bytes:
    """A record as torch.save() writes it, its tensors on the CPU."""
    out = io.BytesIO()
    torch.save(map_tree(lambda tensor: tensor.detach().cpu(), value), out)
    return out.getvalue()


def _deserialize_sample(data: bytes, map_location: str = "cpu") -> Any:
    """What _serialize_sample() was given: tensors and plain data, no other objects."""
    return torch.load(io.BytesIO(data), map_location=map_location, weights_only=True)
