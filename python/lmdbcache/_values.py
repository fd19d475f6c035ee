# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of values without a Python type."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tagged:
    """A value with a tag, the name of its type: of another program or language, or your own.

    Tags are non-empty text without NUL. Tags that begin with "py." belong to this package:
    sets, bytearrays, complex numbers and large integers come back as their own types.
    """

    tag: str
    value: Any
