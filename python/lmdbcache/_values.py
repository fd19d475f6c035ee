# SPDX-License-Identifier: BSD-2-Clause
"""What values have and Python has not."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tagged:
    """A value under a name that says what it stands for: a type of another program or
    language, or one of your own.

    Tags are text, not empty, without NUL. Those that begin with "py." are this package's:
    sets, bytearrays, complex numbers and large integers come back as what they were.
    """

    tag: str
    value: Any
