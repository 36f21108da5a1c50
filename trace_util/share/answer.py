"""What a stranger's browser gets at an address: the true state of a link."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 10.0
_COMPARED_BYTES = 4096


class Answer(NamedTuple):
    """Whether an address opens, ``None`` where that could not be tried, and what was answered."""

    opens: bool | None
    said: str = ""


def try_address(url: str, copy: Path) -> Answer:
    """Whether the file at ``url`` can be had by everybody.

    One plain GET without a token, through every redirect, as the Perfetto UI makes it. The first
    bytes must be those of the file that was sent: a page of HTML is an answer too.
    """
    request = urllib.request.Request(url, headers={"User-Agent": "trace-util (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            begin = answer.read(_COMPARED_BYTES)
    except urllib.error.HTTPError as error:
        error.close()
        busy = error.code == 429 or error.code >= 500
        said = f"the Hub answers {error.code} to a GET without a token"
        return Answer(None if busy else False, said)
    except (OSError, http.client.HTTPException) as error:
        return Answer(
            None, f"no answer to a GET without a token ({getattr(error, 'reason', error)})"
        )
    with copy.open("rb") as file:
        same = begin == file.read(_COMPARED_BYTES)
    return (
        Answer(True) if same else Answer(False, "the Hub answers with something else than the file")
    )
