# SPDX-License-Identifier: BSD-2-Clause
"""The cache in torch programs: modules with cached outputs, a data set, a loader.

    import lmdbcache.torch

    encoder = lmdbcache.torch.cached(encoder.eval(), cache)
    features = encoder(images, cache_ids=names)     # computes only missing rows

    encoder = lmdbcache.torch.cached(encoder.eval(), cache, ids=lmdbcache.key)
    features = encoder(["a red fox", "a grey goose"])   # cache_ids from the inputs

    data = lmdbcache.torch.MapDataset(cache)
    loader = DataLoader(data, batch_size=256, shuffle=True, collate_fn=data.collate)

    loader = lmdbcache.torch.Loader(cache, batch=256, shuffle="block", rank=r, world=R)

A cache_id is text or bytes, or an int, which is its decimal digits: 7 and "7" are one
record, in every version of this module.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Optional, Union

import torch
from torch import nn

from . import Cache, NotFoundError, _reopen, key
from ._loader import Loader
from ._trees import (
    Id,
    Rows,
    first_device,
    ids_of,
    leaves,
    map_tree,
    row_of,
    set_rows,
    stack,
    take,
    writable,
)

__all__ = ["Cached", "Loader", "MapDataset", "cached", "collate"]

# The largest number of axes of a stored tensor.
_MAX_AXES = 16


def cached(
    module: nn.Module,
    cache: Cache,
    ids: Union[str, Callable[..., Iterable[Any]]] = "cache_ids",
    *,
    whole: Sequence[Union[int, str]] = (),
    enabled: bool = True,
    stateless: bool = True,
) -> "Cached":
    """Store a module's outputs in a cache: a record for each row of a batch.

    The returned module takes the same arguments, and a keyword argument with the cache_ids
    of the rows: a list or a tensor of ints. It computes the missing rows, each cache_id
    once, without gradients, and returns the whole batch on the device of the inputs. It
    passes on an exception of the inner module, and stores nothing then.

    ids        name of the argument, which may also be a key of a mapping among the
               arguments; or a function of the arguments that returns the cache_ids; or
               lmdbcache.key, for cache_ids computed from the inputs
    whole      positions and names of arguments without a row for each cache_id, even if
               their first axis has the same length
    enabled    False: always compute, and store nothing
    stateless  raise RuntimeError for trainable parameters in training mode, and for inputs
               that require a gradient

    With ids=lmdbcache.key the module is called as without a cache. If the only argument is
    a list of texts or a tensor [n, ...], the cache_id of a row is key(row), so that
    cache[key("a red fox")] is the record of that prompt. With several arguments it is the
    key of the tuple of their rows, followed by a dict of the keyword arguments. Arguments
    that are not cut into rows count unchanged, so that other settings give other records;
    the model itself does not count, so give each model its own module of the cache. Texts
    that are padded to the longest of a batch have other tokens in another batch: pad to
    one length.

    Among the arguments, each tensor with one row of the first axis per cache_id, and each
    list or tuple with as many texts, also inside dicts, lists and tuples, is cut down to
    the rows to compute; everything else is passed on. Each tensor of an output must have a
    row for each row of the input, otherwise ValueError; plain data in it is stored with
    each record. Mappings and derived types of tuple come back as dicts and tuples. If the
    records of a batch have several shapes, the result is a list of records.

    With a cache that is open readonly nothing is stored. state_dict() is that of the inner
    module. Any thread may call the module.
    """
    return Cached(module, cache, ids, whole=whole, enabled=enabled, stateless=stateless)


class Cached(nn.Module):
    """The result of cached()."""

    module: nn.Module

    def __init__(
        self,
        module: nn.Module,
        cache: Cache,
        ids: Union[str, Callable[..., Iterable[Any]]] = "cache_ids",
        *,
        whole: Sequence[Union[int, str]] = (),
        enabled: bool = True,
        stateless: bool = True,
    ) -> None:
        super().__init__()
        self.module = module
        self.cache: Any = cache
        self.ids = ids
        self.whole = frozenset(whole)
        self.enabled = enabled
        self.stateless = stateless
        self._rows = Rows(cache)
        self.training = module.training
        hook: Any = self.register_load_state_dict_pre_hook
        hook(_below_module)

    # ---- the inner module's ----------------------------------------------------------

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The inner module's, under its names."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load a state_dict() of the inner module. Records computed with an older state
        stay: give each state its own module of the cache."""
        return self.module.load_state_dict(*args, **kwargs)

    def named_parameters(
        self, *args: Any, **kwargs: Any
    ) -> Iterator[tuple[str, nn.Parameter]]:
        """The inner module's, under its names."""
        return self.module.named_parameters(*args, **kwargs)

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, torch.Tensor]]:
        """The inner module's, under its names."""
        return self.module.named_buffers(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(self.module, name)

    # ---- a call ----------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's output, with rows from the cache if they are stored."""
        given, kwargs = self._cache_ids(args, kwargs)
        if not self.enabled:
            return self.module(*args, **kwargs)
        self._refuse(args, kwargs)
        names = ids_of(given)
        if not names:
            with torch.no_grad():
                return _dense(self.module(*args, **kwargs))

        batch, records, missing = self._rows.read(names)
        device = first_device((args, kwargs))
        computed = None
        # The rows to compute, each cache_id once; rows[j] is the position of row missing[j]
        # among them.
        order: dict[Id, int] = {}
        todo: list[int] = []
        for i in missing:
            if names[i] not in order:
                order[names[i]] = len(order)
                todo.append(i)
        rows = [order[names[i]] for i in missing]
        if missing:
            computed = self._compute(args, kwargs, len(names), todo)
            self._store(list(order), computed)
            self._rows.learn(computed)
            if device is None:
                device = first_device(computed)
        return _merge(batch, records, missing, computed, rows, len(names), device)

    def _cache_ids(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The cache_ids of a call, and its other keyword arguments."""
        if not self.enabled and callable(self.ids):
            return None, kwargs
        if self.ids is key:
            return _content_ids(args, kwargs, self.whole), kwargs
        if callable(self.ids):
            return self.ids(*args, **kwargs), kwargs
        name = self.ids
        rest = {key: value for key, value in kwargs.items() if key != name}
        if not self.enabled:
            return None, rest
        if kwargs.get(name) is not None:
            return kwargs[name], rest
        for arg in (*args, *rest.values()):
            if isinstance(arg, Mapping) and arg.get(name) is not None:
                return arg[name], rest
        return self._wants_ids(args, rest), rest

    def _wants_ids(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise ValueError(f"call a cached module with {self.ids}=, one cache_id for each row")

    def _refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self.stateless:
            return
        if self.training and any(p.requires_grad for p in self.module.parameters()):
            raise RuntimeError(
                "a module with trainable parameters is not cached in training mode: "
                "call eval() or requires_grad_(False)"
            )
        if torch.is_grad_enabled() and _wants_gradient((args, kwargs)):
            raise RuntimeError(
                "an input requires a gradient, which a cached module does not compute: "
                "detach() it"
            )

    def _compute(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], n: int, rows: list[int]
    ) -> Any:
        """The module's output for some of n rows."""
        cut = _Cut(n, rows, self.ids if isinstance(self.ids, str) else None)
        some_args = [arg if i in self.whole else cut(arg) for i, arg in enumerate(args)]
        some_kwargs = {
            name: arg if name in self.whole else cut(arg) for name, arg in kwargs.items()
        }
        if not cut.found:
            raise ValueError(f"{n} cache_ids, but no argument has as many rows")
        with torch.no_grad():
            output = _dense(self.module(*some_args, **some_kwargs))
        _check_rows(output, len(rows))
        device = first_device((args, kwargs))
        return map_tree(lambda t: t if device is None else t.to(device), output)

    def _store(self, names: list[Id], output: Any) -> None:
        cache = self._rows.cache
        if not writable(cache):
            return
        columns = map_tree(lambda tensor: tensor.cpu(), output)
        tensors = leaves(columns)
        if (
            tensors is not None
            and not isinstance(columns, list)
            and all(tensor.dim() <= _MAX_AXES for _, tensor in tensors)
        ):
            cache.put_many(names, columns)
        else:
            rows = [row_of(columns, i) for i in range(len(names))]
            cache.put_many(names, rows)


def _content_ids(
    args: tuple[Any, ...], kwargs: dict[str, Any], whole: frozenset[Union[int, str]]
) -> list[Id]:
    """The key of each row of the arguments."""
    named = list(kwargs)
    cut = [i not in whole for i in range(len(args))] + [name not in whole for name in named]
    every = [*args, *kwargs.values()]
    n = _count_rows(arg for arg, rows in zip(every, cut) if rows)
    if n is None and any(isinstance(arg, (list, tuple)) and not arg for arg in args):
        return []  # no texts
    if n is None:
        raise ValueError(
            "no argument has rows: a list of texts, or a tensor whose first axis is the batch"
        )
    columns = [_column(arg, n) if rows else [arg] * n for arg, rows in zip(every, cut)]
    try:
        if len(columns) == 1 and not named:
            return [key(row) for row in columns[0]]
        if not named:
            return [key(row) for row in zip(*columns)]
        at = len(args)
        return [key((*row[:at], dict(zip(named, row[at:])))) for row in zip(*columns)]
    except TypeError as error:
        raise TypeError(
            f"ids=lmdbcache.key: {error}: give ids a function of the arguments"
        ) from None


def _count_rows(values: Iterable[Any]) -> Optional[int]:
    """The number of rows of the first value that has rows; None if there is none."""
    for value in values:
        n = None
        if isinstance(value, torch.Tensor):
            n = value.shape[0] if value.dim() > 0 else None
        elif isinstance(value, Mapping):
            n = _count_rows(value.values())
        elif isinstance(value, (list, tuple)) and value:
            texts = all(isinstance(part, (str, bytes)) for part in value)
            n = len(value) if texts else _count_rows(value)
        if n is not None:
            return n
    return None


def _column(value: Any, n: int) -> Sequence[Any]:
    """An argument's part in each of n rows, with the rules of _Cut."""
    if isinstance(value, torch.Tensor):
        if value.dim() == 0 or value.shape[0] != n:
            return [value] * n
        return value.detach().cpu().unbind(0)
    if isinstance(value, Mapping):
        columns = [_column(part, n) for part in value.values()]
        return [dict(zip(value, row)) for row in zip(*columns)] if columns else [{}] * n
    if isinstance(value, (list, tuple)):
        if len(value) == n and all(isinstance(part, (str, bytes)) for part in value):
            return value
        parts = [_column(part, n) for part in value]
        kind: Any = list if isinstance(value, list) else tuple
        return [kind(row) for row in zip(*parts)] if parts else [kind()] * n
    return [value] * n


def _below_module(
    self: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any
) -> None:
    """A parent loads the result of state_dict(): the inner module's names are one level
    below."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[f"{prefix}module.{key[len(prefix):]}"] = state_dict.pop(key)


def _dense(output: Any) -> Any:
    return map_tree(lambda tensor: tensor.detach(), output)


def _wants_gradient(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.requires_grad
    if isinstance(value, Mapping):
        return any(map(_wants_gradient, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_wants_gradient, value))


class _Cut:
    """Cuts arguments down to some of n rows."""

    def __init__(self, n: int, rows: list[int], ids: Optional[str]) -> None:
        self.n = n
        self.rows = rows
        self.ids = ids
        self.all = rows == list(range(n))
        self.index = torch.tensor(rows, dtype=torch.long)
        self.found = False  # an argument has n rows

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.dim() == 0 or value.shape[0] != self.n:
                return value
            self.found = True
            return value if self.all else take(value, self.index)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (list, tuple)):
            if len(value) == self.n and all(isinstance(v, (str, bytes)) for v in value):
                self.found = True
                return self._like(value, [value[i] for i in self.rows])
            return self._like(value, [self(part) for part in value])
        return value

    def _like(self, value: Any, parts: list[Any]) -> Any:
        if isinstance(value, list):
            return parts
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        parts = {}
        for name, part in value.items():
            if name == self.ids and isinstance(part, (list, tuple)) and len(part) == self.n:
                parts[name] = self._like(part, [part[i] for i in self.rows])
            else:
                parts[name] = self(part)
        if type(value) is dict or not isinstance(value, MutableMapping):
            return parts
        out = copy.copy(value)  # keeps its type, such as that of a tokenizer
        for name, part in parts.items():
            out[name] = part
        return out


def _check_rows(output: Any, n: int) -> None:
    """Check that each tensor of an output has n rows."""
    if isinstance(output, torch.Tensor):
        if output.dim() == 0 or output.shape[0] != n:
            raise ValueError(
                f"the module's output has the shape {tuple(output.shape)} for {n} rows: "
                "its first axis must have one for each"
            )
    elif isinstance(output, Mapping):
        for part in output.values():
            _check_rows(part, n)
    elif isinstance(output, (list, tuple)):
        if any(isinstance(part, (str, bytes)) for part in output):
            raise ValueError("a list of text in a module's output has no rows")
        for part in output:
            _check_rows(part, n)


def _merge(
    batch: Any,
    records: Optional[list[Any]],
    missing: list[int],
    computed: Any,
    rows: list[int],
    n: int,
    device: Optional[torch.device],
) -> Any:
    """Join the stored rows and the computed ones: computed row rows[j] is row missing[j] of
    n."""
    if len(missing) == n:
        return _take_rows(computed, rows)
    if missing and records is None and _alike(batch, computed):
        index = torch.tensor(missing, dtype=torch.long)
        batch = _to(batch, device)
        some = _take_rows(computed, rows)
        for (_, block), (_, part) in zip(leaves(batch) or (), leaves(some) or ()):
            set_rows(block, index, part.to(block.device))
        return batch
    if missing:
        if records is None:
            records = [row_of(batch, i) for i in range(n)]
        for i, at in zip(missing, rows):
            records[i] = row_of(computed, at)
    if records is None:
        return _to(batch, device)
    return stack([_to(record, device) for record in records])


def _take_rows(batch: Any, rows: list[int]) -> Any:
    if rows == list(range(len(rows))):
        return batch
    index = torch.tensor(rows, dtype=torch.long)
    return map_tree(lambda tensor: take(tensor, index), batch)


def _to(value: Any, device: Optional[torch.device]) -> Any:
    return value if device is None else map_tree(lambda t: t.to(device), value)


def _alike(a: Any, b: Any) -> bool:
    """True if the records of both batches have one structure, dtype and shape."""
    left, right = leaves(a), leaves(b)
    return (
        left is not None
        and right is not None
        and [(p, t.dtype, t.shape[1:]) for p, t in left]
        == [(p, t.dtype, t.shape[1:]) for p, t in right]
    )


# ---- data sets ----------------------------------------------------------------------


def collate(batch: Any) -> Any:
    """A collate_fn for DataLoader that returns the batch of MapDataset unchanged."""
    return batch


def _verifying(cache: Cache, verify: Union[bool, str]) -> Cache:
    """A handle on the same module with this verify mode. With a writer_rank the cache itself:
    on other ranks puts are only in the memory of their own handle."""
    options = cache._options
    if options["verify"] == verify or options["writer_rank"] is not None:
        return cache
    return _reopen({**options, "create": False, "verify": verify})


class MapDataset(torch.utils.data.Dataset[Any]):
    """Records of a cache by position, for torch's DataLoader and samplers.

        data = MapDataset(cache, field="features")
        loader = DataLoader(data, batch_size=256, shuffle=True, collate_fn=data.collate)

    ids     the cache_ids in their order; None: all stored now, in the order of their bytes
    field   the part of structured records to read, such as "boxes.0"
    verify  as for open(); a cache that was opened with a writer_rank keeps its own mode

    data[i] is a copy of a record. A batch of the loader is one block: tensors of shape
    [batch, ...], read into one piece of memory at once, so do not collate it again. A
    deleted record raises KeyError. Workers open the cache again; pending writes are flushed
    here and when the data set is sent to a process.
    """

    collate = staticmethod(collate)

    def __init__(
        self,
        cache: Cache,
        ids: Optional[Iterable[Any]] = None,
        field: Optional[str] = None,
        verify: Union[bool, str] = "once",
    ) -> None:
        self.cache = cache
        self.field = field
        self._flush()
        self.ids: list[Id] = list(cache.keys()) if ids is None else ids_of(ids)
        self._rows = Rows(_verifying(cache, verify), field)

    def _flush(self) -> None:
        if writable(self.cache):
            self.cache.flush()

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return self.__dict__

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> Any:
        name = self.ids[index]
        found = self._rows.read([name])
        if found[2]:
            raise self._gone(name)
        batch, records, _ = found
        return row_of(batch, 0) if records is None else records[0]

    def __getitems__(self, indices: Sequence[int]) -> Any:
        """A batch of the records at these positions."""
        names = [self.ids[i] for i in indices]
        batch, records, missing = self._rows.read(names)
        if missing:
            raise self._gone(names[missing[0]])
        return batch if records is None else stack(records)

    def _gone(self, name: Id) -> Exception:
        try:
            self.cache[name]
        except NotFoundError as error:
            return error
        return NotFoundError(name)
