# SPDX-License-Identifier: BSD-2-Clause
"""The loader of lmdbcache.torch: batches of a stream as torch tensors."""

from collections.abc import Iterator, Sequence
from typing import Any, Dict, Optional, Union

import torch
from torch.utils.data import IterableDataset, get_worker_info

from ._stream import Source, reader

_EXTRAS = {
    "ids", "mask", "examples", "epochs", "sources", "lengths", "documents", "positions",
    "state",
}  # fmt: skip


class Loader(IterableDataset[Dict[str, Any]]):
    """Batches of a stream over modules or shards, for a training loop.

        loader = Loader(
            cache, batch=256, shuffle="block", seed=7, epochs=0, rank=r, world=R
        )
        for batch in loader:
            step(batch["features"])

    A batch is a dict with the rows of this rank: a tensor [rows, ...] for each field, named
    by its path, "." if records are tensors. The caller may change and keep the tensors: the
    rows are copied once, from the module into the batch. `extras` adds "ids" (a list),
    "mask", "examples", "epochs", "sources", "lengths", for windows "documents" and
    "positions", or "state". If the last batch is padded, and "mask" is not among the extras,
    the padding is cut off. The other options are those of lmdbcache.reader(), such as
    `verify`: by default a worker or process compares a record with its checksum once, and
    does not detect later damage.

    The batches do not depend on the number of ranks. state_dict() is the position after the
    last batch; Loaders of any world size resume from it, each example once. The next
    iteration after one that stopped early also continues there. After the end of the stream
    the next iteration starts again in the same order: use `epochs` for epochs with different
    shuffles.

    The library reads ahead with its own threads, so you do not need a DataLoader. In a
    DataLoader, with batch_size=None, worker w of n reads every n'th batch, and the batches
    come in the same order. Workers are ahead of the caller, so positions then come with the
    batches: "state" among the extras is the state after the batch, for load_state_dict(),
    with any number of workers. torchdata's StatefulDataLoader stores the positions of its
    workers itself. A stream that follows does not work with workers.

    `pin_memory` copies each batch into page-locked memory.
    """

    def __init__(
        self,
        source: Union[Source, Sequence[Union[Source, Sequence[Source]]]],
        *,
        extras: Sequence[str] = (),
        pin_memory: bool = False,
        **options: Any,
    ) -> None:
        unknown = set(extras) - _EXTRAS
        if unknown:
            raise ValueError(f"extras: unknown {sorted(unknown)}")
        self._source = source
        self._options = options
        self._extras = tuple(extras)
        self._pin = pin_memory
        self._token: Optional[bytes] = options.pop("token", None)
        self._workers = 0  # number of workers, if the token is the position of one of them
        self._ended = False

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        if self._ended:
            self._token, self._workers, self._ended = None, 0, False
        worker = get_worker_info()
        workers = worker.num_workers if worker is not None else 0
        if self._workers not in (0, workers):
            raise ValueError(f"the state is from {self._workers} workers, here are {workers}")
        options = self._options
        if worker is not None:
            if options.get("follow"):
                raise ValueError("a Loader with follow=True does not work with DataLoader workers")
            options = {**options, "threads": 0}
        with reader(self._source, token=self._token, **options) as batches:
            at = batches.info()["first_batch"]
            if worker is not None and self._workers == 0:
                at += worker.id
            self._token, self._workers = batches.token(at), workers
            while True:
                if worker is not None:
                    batches.seek(at)
                batch = next(batches, None)
                if batch is None:
                    self._ended = True
                    break
                out = self._tensors(batch)
                # Before the yield: a state saved while the batch is used is after the batch.
                at += max(workers, 1)
                self._token = batches.token(at)
                if "state" in self._extras:
                    out["state"] = {"version": 1, "token": batches.token(batch.number + 1)}
                del batch
                yield out
                del out

    def _tensors(self, batch: Any) -> Dict[str, Any]:
        cut = batch.rows if "mask" in self._extras else batch.filled
        out: Dict[str, Any] = {}
        for name, tensor in batch.fields("torch").items():
            if isinstance(tensor, (tuple, list)):
                out[name] = tensor  # ragged, or views
                continue
            if cut < batch.rows:
                tensor = tensor[:cut]
            out[name] = tensor.pin_memory() if self._pin else tensor
        for name in self._extras:
            if name == "state":
                continue
            value = getattr(batch, name)
            if name == "ids":
                out[name] = value[:cut]
            elif value is not None:
                out[name] = value.torch()[:cut].clone()
        return out

    def state_dict(self) -> Dict[str, Any]:
        """The position, without the options."""
        if self._token is None:
            with reader(self._source, **self._options) as batches:
                self._token = batches.token()
        state = {"version": 1, "token": self._token}
        return {**state, "workers": self._workers} if self._workers > 0 else state

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Resume from a position, at the next iteration."""
        if state.get("version") != 1:
            raise ValueError("the state has another version")
        self._token, self._workers = state["token"], state.get("workers", 0)
        self._ended = False
