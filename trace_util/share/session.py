"""The client's own session, kept on a short lead: one try a request, each with a time limit."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

# hf_xet reads these when its session is made. Its own values make a dead storage take 383 s.
os.environ.setdefault("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "3")
os.environ.setdefault("HF_XET_CLIENT_RETRY_BASE_DELAY", "300ms")

from huggingface_hub import constants, get_session  # noqa: E402
from huggingface_hub.errors import HfHubHTTPError  # noqa: E402
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # noqa: E402
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

from trace_util.share import refusals  # noqa: E402

ENDPOINT = constants.ENDPOINT.rstrip("/")
ANSWER_S = 30.0

# The root of httpx's errors, whichever major version of it the client uses.
TRANSPORT_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]
_BUSY_STATUS = frozenset((408, 429, 500, 502, 503, 504))

T = TypeVar("T")


@contextmanager
def no_bars() -> Iterator[None]:
    """Inside, the client draws no progress bars; afterwards it does as it did before."""
    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


@contextmanager
def single_requests(what: str | None, endpoint: str) -> Iterator[None]:
    """Inside, each request of the client is one try with a time limit.

    The client would repeat a busy answer or a broken connection itself, and longer than anybody
    waits. It does not repeat what is raised here.
    """
    session: Any = get_session()
    plain_send, plain_timeout = session.send, session.timeout

    def send(*args: Any, **options: Any) -> Any:
        try:
            response = plain_send(*args, **options)
        except TRANSPORT_ERROR as error:
            raise refusals.unreachable(endpoint, str(error) or type(error).__name__) from None
        if response.status_code in _BUSY_STATUS:
            response.close()
            wait_s = _asked_wait(response.headers.get("Retry-After"))
            raise refusals.of_status(response.status_code, "", what, endpoint, wait_s)
        return response

    session.timeout = ANSWER_S
    session.send = send
    try:
        yield
    finally:
        if session.__dict__.get("send") is send:  # a first contact given up may still be in here
            del session.send
        session.timeout = plain_timeout


def _asked_wait(header: str | None) -> float | None:
    """Seconds, from a ``Retry-After`` that gives them (the other form, a date, is not used)."""
    return float(header) if header and header.strip().isdigit() else None


def within(seconds: float, call: Callable[[], T]) -> T:
    """The call's result, given up after ``seconds``: name resolution has no limit of its own."""
    outcome: list[tuple[T | None, BaseException | None]] = []

    def run() -> None:
        try:
            outcome.append((call(), None))
        except BaseException as error:  # handed over to the caller's thread
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise refusals.unreachable(ENDPOINT, f"no answer within {seconds:.0f} s")
    result, error = outcome[0]
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
