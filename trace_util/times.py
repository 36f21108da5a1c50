"""Times as traces spell them (microseconds, in several ways) to int64 nanoseconds, exactly.

Traces hold whole microseconds since 1970 (2021), microseconds with three decimals since a base time
or since boot (today), and absolute microseconds with decimals or as texts (other writers). A double
holds a microsecond count below 2**43 to the nanosecond; larger ones with decimals must be read from
their text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from struct import error as PackError
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

# No time may pass this (the year 2116), so that start plus duration cannot leave int64.
LIMIT_NS = 2**62 - 1
INVALID_NS = np.iinfo(np.int64).min

# Half the spacing of doubles, relative to the value: how far a text may lie from its double.
_HALF_SPACING = 2.0**-53
# Below this, a double's error times 1000 stays clear of half a nanosecond, and the thousandths
# nearest to it are those that were written.
_DOUBLE_HOLDS_THOUSANDTHS = 2.0**43

_THREE_DECIMALS = re.compile(rb"(?:-?[0-9]{1,15}\.[0-9]{3} )*")
_MORE_DECIMALS = re.compile(rb'"(?:ts|dur)"\s*:\s*"?-?[0-9]{13,}\.[0-9]{4}')


def has_finer_decimals(text: bytes | memoryview) -> bool:
    """Whether a large time in this text has more than the three decimals that Kineto writes."""
    return _MORE_DECIMALS.search(text) is not None


def nanoseconds_of_numbers(values: Sequence[Any]) -> NDArray[np.int64] | None:
    """Microseconds decoded from JSON as nanoseconds ``[n]``; ``None`` where only the text is exact.

    ``None`` too where a value is no number.
    """
    try:
        whole = np.frombuffer(pack(f"{len(values)}q", *values), dtype=np.int64)
    except PackError:
        return _of_doubles(values)
    if len(whole) and max(-int(whole.min()), int(whole.max())) > LIMIT_NS // 1000:
        return None
    nanoseconds: NDArray[np.int64] = whole * 1000
    return nanoseconds


def _of_doubles(values: Sequence[Any]) -> NDArray[np.int64] | None:
    try:
        array = np.frombuffer(pack(f"{len(values)}d", *values), dtype=np.float64)
    except (PackError, OverflowError):
        return None
    largest = max(-float(array.min()), float(array.max()))
    if not largest < _DOUBLE_HOLDS_THOUSANDTHS:
        return None
    whole = np.floor(array)
    thousandths = (array - whole) * 1000
    rounded = np.rint(thousandths)
    doubt = float(np.abs(thousandths - rounded).max())
    error = (largest + 1) * _HALF_SPACING * 1000
    # Either every text that this double may stand for rounds to the same nanosecond, or (from
    # 2**42 on, where doubles are 0.98 ns apart) it has three decimals, as Kineto writes them.
    if doubt + error >= 0.5 and doubt > error:
        return None
    nanoseconds = whole.astype(np.int64)
    nanoseconds *= 1000
    nanoseconds += rounded.astype(np.int64)
    return nanoseconds


def nanoseconds_of_texts(texts: Sequence[bytes]) -> NDArray[np.int64]:
    """Microseconds as JSON texts (numbers or strings) as nanoseconds ``[n]``.

    ``INVALID_NS`` where a text is no time: absent, null or not finite. What lies past ``LIMIT_NS``
    becomes that.
    """
    joined = b" ".join(texts).replace(b'"', b"") + b" "
    if _THREE_DECIMALS.fullmatch(joined):
        return np.fromstring(joined.replace(b".", b""), dtype=np.int64, sep=" ")
    return np.fromiter(map(_nanoseconds, texts), dtype=np.int64, count=len(texts))


def _nanoseconds(text: bytes) -> int:
    text = text.strip(b'" ')
    whole, _, part = text.partition(b".")
    if len(part) <= 3 and whole.isdigit() and (part.isdigit() or not part) and len(whole) < 16:
        return int(whole + part.ljust(3, b"0"))
    try:
        value = Decimal(text.decode("ascii"))
        if not value.is_finite():
            return INVALID_NS
        if value and value.adjusted() > 16:  # a zero has an exponent too
            return LIMIT_NS if value > 0 else -LIMIT_NS
        nanoseconds = int((value * 1000).to_integral_value())
    except (InvalidOperation, ValueError):
        return INVALID_NS
    return max(-LIMIT_NS, min(nanoseconds, LIMIT_NS))
