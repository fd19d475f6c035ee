# SPDX-License-Identifier: BSD-2-Clause
"""NumPy dtypes with elements of bytes or fields, as opaque dtypes of the library."""

import re
from typing import Any, Optional

import numpy

# A field in a name: "x:<f4". Only numbers, no pointers.
_FIELD = re.compile(r"(\w+):([<>|][biufc]\d+)", re.ASCII)

# The longest name of an opaque dtype.
_MOST = 127


def void_name(dtype: Any) -> Optional[str]:
    """The name of the opaque dtype for elements of a numpy.dtype: "opaque12:x:<f4,y:<f8",
    with its fields, if these describe it completely, otherwise "opaque12:void". None if the
    dtype is not a void."""
    if not isinstance(dtype, numpy.dtype) or dtype.kind != "V" or dtype.hasobject:
        return None
    if dtype.itemsize == 0:
        return None
    name = "void" if dtype.type is numpy.void else dtype.name
    if dtype.names:
        fields = ",".join(f"{field}:{dtype[field].str}" for field in dtype.names)
        if len(fields) <= _MOST and _fields(fields) == dtype:
            name = fields
    return f"opaque{dtype.itemsize}:{name}"


def void_dtype(name: str) -> Any:
    """The numpy.dtype of an opaque dtype: with its fields, or bytes."""
    size, _, own = name[len("opaque") :].partition(":")
    dtype = _fields(own)
    if dtype is not None and dtype.itemsize == int(size):
        return dtype
    return numpy.dtype(f"V{size}")


def _fields(text: str) -> Any:
    """The numpy.dtype of fields without gaps, or None."""
    fields = []
    for part in text.split(","):
        field = _FIELD.fullmatch(part)
        if field is None:
            return None
        fields.append((field[1], field[2]))
    try:
        return numpy.dtype(fields)
    except (TypeError, ValueError):
        return None
