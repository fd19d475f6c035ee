# SPDX-License-Identifier: BSD-2-Clause
"""The loader of lmdbcache.torch: batches of a stream as tensors of torch."""

from collections.abc import Iterator, Sequence
from typing import Any, Dict, Optional, Union

import torch

from ._stream import Source, reader


class Loader:
    """Batches of a stream over modules or shards, for a training loop.

        loader = Loader(cache, batch=256, shuffle="block", seed=7, epochs=0, rank=r, world=R)
        for batch in loader:
            step(batch["features"])

    A batch is a dict of this rank's share: a tensor [rows, ...] for each field, named by its
    path, "." where records are tensors. `extras` adds "ids" (a list), "mask", "examples",
    "epochs", "sources" or "lengths". Where the last batch is padded, and "mask" is not
    asked for, the padding is cut off.

    The batches do not depend on how many ranks read them. state_dict() is the position
    behind the batch that was given last; a Loader of any rank and world that is given it
    goes on there, each example once. So does the next iteration after one that was left
    early; after one that came to the end of the stream it begins anew, in the same order:
    an epoch that is to be shuffled anew is one of `epochs`. The engine reads ahead with threads of its own, so use
    it without a DataLoader, or with num_workers=0. Options are those of lmdbcache.reader().

    `pin_memory` copies each batch into page-locked memory.
    """

    def __init__(
        self,
        source: Union[Source, Sequence[Source]],
        *,
        extras: Sequence[str] = (),
        pin_memory: bool = False,
        **options: Any,
    ) -> None:
        unknown = set(extras) - {
            "ids",
            "mask",
            "examples",
            "epochs",
            "sources",
            "lengths",
            "documents",
            "positions",
        }
        if unknown:
            raise ValueError(f"extras: {sorted(unknown)}")
        self._source = source
        self._options = options
        self._extras = tuple(extras)
        self._pin = pin_memory
        self._token: Optional[bytes] = options.pop("token", None)
        self._ended = False

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        if self._ended:
            self._token, self._ended = None, False
        with reader(self._source, token=self._token, **self._options) as batches:
            self._token = batches.token()
            while True:
                batch = next(batches, None)
                if batch is None:
                    self._ended = True
                    break
                # Before the batch is given: what is saved while it is used has it behind.
                self._token = batches.token()
                out = self._tensors(batch)
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
            # A copy of its own: the reader needs the batch's memory for the next ones.
            tensor = tensor[:cut]
            out[name] = tensor.pin_memory() if self._pin else tensor.clone()
        for name in self._extras:
            value = getattr(batch, name)
            if name == "ids":
                out[name] = value[:cut]
            elif value is not None:
                out[name] = value.torch()[:cut].clone()
        return out

    def state_dict(self) -> Dict[str, Any]:
        """The position, and nothing of what the options say."""
        if self._token is None:
            with reader(self._source, **self._options) as batches:
                self._token = batches.token()
        return {"version": 1, "token": self._token}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Go on from a position, at the next iteration."""
        if state.get("version") != 1:
            raise ValueError("the state of a Loader of another version")
        self._token, self._ended = state["token"], False
