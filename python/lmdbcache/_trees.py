# SPDX-License-Identifier: BSD-2-Clause
"""Conversions between nested torch data and values, for torch.py and compat."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

import torch

from . import Cache, NotFoundError, SchemaError, Tensor

Id = Union[str, bytes]

# Some torch operations do not support all dtypes: other elements are moved as their bits.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_COMMON = {
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
}  # fmt: skip

_absent = object()
_EMPTY = torch.empty(0)


# ---- values -------------------------------------------------------------------------


def _plain_name(name: Any) -> bool:
    return isinstance(name, str) and name != "" and "\0" not in name


def decode(value: Any) -> Any:
    """A value that was read, with its tensors as torch tensors."""
    if isinstance(value, dict):
        return {name: decode(part) for name, part in value.items()}
    if isinstance(value, list):
        return [decode(part) for part in value]
    if isinstance(value, tuple):
        return tuple(decode(part) for part in value)
    return as_torch(value)


def as_torch(value: Any) -> Any:
    """An array as a torch tensor over the same memory; anything else unchanged."""
    if isinstance(value, Tensor):
        return value.torch()
    if hasattr(value, "__array_interface__") and not isinstance(value, torch.Tensor):
        return torch.from_numpy(value)
    return value


# ---- trees --------------------------------------------------------------------------


def map_tree(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """A copy of nested data with its tensors replaced by the results of `function`.
    Mappings become dicts, derived types of list and tuple become lists and tuples."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {name: map_tree(function, part) for name, part in value.items()}
    if isinstance(value, list):
        return [map_tree(function, part) for part in value]
    if isinstance(value, tuple):
        return tuple(map_tree(function, part) for part in value)
    return value


def _step(name: str) -> str:
    """A name, escaped for a path."""
    return name.replace("\\", "\\\\").replace(".", "\\.")


def leaves(value: Any, path: str = "") -> Optional[list[tuple[str, torch.Tensor]]]:
    """The tensors of nested data, each with its path in a record, in order; None if the data
    has anything else, or a name that is not valid in a map."""
    if isinstance(value, torch.Tensor):
        return [(path, value)]
    if isinstance(value, Mapping):
        if not all(map(_plain_name, value)):
            return None
        parts = [(_step(name), part) for name, part in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(str(i), part) for i, part in enumerate(value)]
    else:
        return None
    out: list[tuple[str, torch.Tensor]] = []
    for name, part in parts:
        below = leaves(part, f"{path}.{name}" if path else name)
        if below is None:
            return None
        out += below
    return out or None


def take(tensor: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Rows of a tensor, of any dtype."""
    if tensor.dtype not in _COMMON:
        bits = tensor.view(_BITS[tensor.element_size()])
        return bits.index_select(0, index.to(tensor.device)).view(tensor.dtype)
    return tensor.index_select(0, index.to(tensor.device))


def set_rows(tensor: torch.Tensor, index: torch.Tensor, rows: torch.Tensor) -> None:
    """Write rows of a tensor, of any dtype."""
    if tensor.dtype not in _COMMON:
        kind = _BITS[tensor.element_size()]
        tensor, rows = tensor.view(kind), rows.contiguous().view(kind)
    tensor[index.to(tensor.device)] = rows


def stack(rows: Sequence[Any]) -> Any:
    """One batch of many records. Tensors of one dtype and shape are stacked; plain data that
    is the same in all records appears once; other differing parts become lists."""
    first = rows[0]
    if isinstance(first, torch.Tensor):
        if all(
            isinstance(row, torch.Tensor)
            and row.shape == first.shape
            and row.dtype == first.dtype
            for row in rows
        ):
            if first.dtype not in _COMMON:
                kind = _BITS[first.element_size()]
                return torch.stack([r.contiguous().view(kind) for r in rows]).view(first.dtype)
            return torch.stack(list(rows))
        return list(rows)
    if isinstance(first, dict):
        if all(isinstance(row, dict) and row.keys() == first.keys() for row in rows):
            return {name: stack([row[name] for row in rows]) for name in first}
        return list(rows)
    if isinstance(first, (list, tuple)):
        kind_of = type(first)
        if all(type(row) is kind_of and len(row) == len(first) for row in rows):
            parts = [stack([row[i] for row in rows]) for i in range(len(first))]
            return parts if isinstance(first, list) else tuple(parts)
        return list(rows)
    if all(_same(row, first) for row in rows):
        return first
    return list(rows)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b or (a != a and b != b))


def writable(cache: Cache) -> bool:
    """True if records can be put."""
    return not cache._options["readonly"]


# ---- cache_ids ----------------------------------------------------------------------


def ids_of(ids: Any) -> list[Id]:
    """The cache_ids of a batch: text and bytes unchanged, an int as its decimal digits, so
    that 7 and "7" are one record; a tensor or array has one per int or text."""
    if isinstance(ids, (str, bytes)):
        raise TypeError("one cache_id where a list with one for each row is expected")
    if isinstance(ids, torch.Tensor) and (
        ids.dim() != 1 or ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool
    ):
        raise TypeError("a tensor of cache_ids must have one axis and integers")
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    out = list(ids)
    if set(map(type, out)) <= {str, bytes}:
        return out
    return [_id_of(one) for one in out]


def _id_of(one: Any) -> Id:
    if isinstance(one, (str, bytes)):
        return one
    if isinstance(one, bool) or not hasattr(one, "__index__"):
        raise TypeError(f"a cache_id is str, bytes or int, not {type(one)!r}")
    return str(one.__index__())


# ---- reading many -------------------------------------------------------------------


class Rows:
    """Reads many records of a cache as one batch: with one gather if all have one structure,
    dtype and shape, otherwise record by record. Any thread may use it."""

    def __init__(self, cache: Cache, field: Optional[str] = None) -> None:
        self.cache = cache
        self.field = field
        # The structure of the last records, and the paths of their tensors; None if they
        # have other data than tensors.
        self._seen: tuple[Any, Optional[list[str]]] = (_EMPTY, [""])

    def learn(self, record: Any) -> None:
        """Expect records of this structure."""
        found = leaves(record)
        if found is None:
            self._seen = None, None
        else:
            self._seen = map_tree(lambda _: _EMPTY, record), [path for path, _ in found]

    def _gather(self, ids: Sequence[Id]) -> Optional[tuple[Any, list[int]]]:
        """A batch with a row for each id, which is 0 for missing records; None if the records
        differ in structure, dtype or shape. If all are missing, the batch is None."""
        form, paths = self._seen
        if paths is None:
            return None
        fields = [".".join(part for part in (self.field, path) if part) for path in paths]
        try:
            if fields == [""]:
                block, missing = self.cache.gather(ids)
                blocks = [block]
            else:
                found, missing = self.cache.gather(ids, fields=fields)
                blocks = [found[field] for field in fields]
        except (SchemaError, NotFoundError, ValueError):
            return None  # of another structure, or not of one shape
        if blocks[0] is None:
            return None, missing
        given = map(as_torch, blocks)
        return map_tree(lambda _: next(given), form), missing

    def read(self, ids: Sequence[Id]) -> tuple[Any, Optional[list[Any]], list[int]]:
        """A batch, or None and a list of records if they do not form a batch; and the
        positions of missing records, which are None in the list and 0 in the batch."""
        gathered = self._gather(ids)
        if gathered is not None:
            return gathered[0], None, gathered[1]
        records = [self.record(one) for one in ids]
        missing = [i for i, record in enumerate(records) if record is _absent]
        if len(missing) < len(records):
            self.learn(next(record for record in records if record is not _absent))
        return None, [None if r is _absent else r for r in records], missing

    def record(self, one: Id) -> Any:
        """One record, or _absent."""
        value = self.cache.get(one, _absent)
        if value is _absent:
            return _absent
        value = decode(value)
        if self.field:
            for name in self.field.split("."):
                value = value[name if isinstance(value, dict) else int(name)]
        return value


def row_of(batch: Any, i: int) -> Any:
    """Record i of a batch."""
    return map_tree(lambda tensor: tensor[i], batch)


def first_device(value: Any) -> Optional[torch.device]:
    """The device of the first tensor of nested data."""
    if isinstance(value, torch.Tensor):
        return value.device
    parts: Any = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    for part in parts:
        device = first_device(part)
        if device is not None:
            return device
    return None
