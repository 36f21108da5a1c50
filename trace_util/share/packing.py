"""The copies that are sent: read once, packed, proved to hold the same, and looked through.

What leaves the machine is always such a copy and never the file itself, which may change between
the look and the upload.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from trace_util import content, giveaways
from trace_util.events import TraceError
from trace_util.exposure import Finding, Scan, json_blocks, text_content
from trace_util.json_strings import pieces
from trace_util.redact import StandIns, redact_trace
from trace_util.share import refusals
from trace_util.share.selection import Candidate, LeftOut
from trace_util.share.survey import Survey


@dataclass(frozen=True)
class Packed:
    """A copy ready to be sent. ``remote`` is its path in the bucket."""

    candidate: Candidate
    copy: Path
    remote: str
    size_bytes: int
    findings: tuple[Finding, ...]  # of what is sent: after the redaction, if there was one


@dataclass(frozen=True)
class Packing:
    """The copies of a selection, and the files of which there is none, with the reason."""

    packed: tuple[Packed, ...]
    left_out: tuple[LeftOut, ...]  # not traces after all
    failed: tuple[LeftOut, ...]  # traces that could not be had


class NotWanted(TraceError):
    """The file is not one to send; the message is the reason alone."""


class NotPossible(TraceError):
    """The file should be sent and cannot be; the message is the reason alone."""


def pack_all(
    files: Sequence[Candidate],
    folder: Path,
    *,
    prefix: str,
    gzip: bool,
    redact: bool,
    quiet: bool,
) -> Packing:
    """Copies of all the files, in ``folder``; in the bucket they will be below ``prefix``.

    A file that would get the name of another stays unpacked: ``x.json`` beside ``x.json.gz``. One
    that would get it by being cleaned is not sent: the same file has the same name each time.
    """
    from tqdm import tqdm

    taken = {candidate.relative for candidate in files}
    remotes: set[str] = set()
    packed, left_out, failed = [], [], []
    for candidate in tqdm(files, desc="pack", unit="file", disable=quiet):
        may_gzip = gzip and candidate.relative + ".gz" not in taken
        try:
            one = pack(candidate, folder, gzip=may_gzip, redact=redact)
            if one.remote in remotes:
                raise NotPossible("its cleaned name is that of another file; rename it")
            remotes.add(one.remote)
            packed.append(replace(one, remote=prefix + one.remote))
        except NotWanted as reason:
            left_out.append(LeftOut(candidate.shown, str(reason)))
        except NotPossible as reason:
            failed.append(LeftOut(candidate.shown, str(reason)))
    return Packing(tuple(packed), tuple(left_out), tuple(failed))


def pack(candidate: Candidate, folder: Path, *, gzip: bool, redact: bool) -> Packed:
    """A copy of the file in ``folder``, gzipped unless that is off or done already.

    Raises:
        NotWanted: empty, half-written or no trace.
        NotPossible: it vanished, is being written or cannot be read.
        TraceError: the disk is full.
    """
    number = len(list(folder.iterdir()))
    copy = folder / f"{number}.copy"
    try:
        digest = _copied(candidate.path, copy, gzip=gzip and not candidate.is_table)
        findings = _looked_through(copy, digest, candidate.is_table)
        remote = _remote_name(candidate, gzip=gzip)
        if redact and findings:
            ending = _ending(copy, candidate.is_table)
            clean = folder / f"{number}.clean{ending}"
            _clean(copy.rename(folder / f"{number}.source{ending}"), clean)
            copy, findings = clean, ()
        if redact:
            remote = _clean_name(remote)
    except OSError as error:
        raise _reason(error) from error
    named = _in_name(remote)
    return Packed(candidate, copy, remote, copy.stat().st_size, (*findings, *named))


def _clean(source: Path, clean: Path) -> None:
    try:
        redact_trace(source, clean)
    except TraceError as error:
        if isinstance(error.__cause__, OSError):  # a full disk is no matter of this file
            raise error.__cause__ from None
        raise NotPossible(str(error).split(": ", 1)[-1]) from None


def _reason(error: OSError) -> Exception:
    if isinstance(error, FileNotFoundError):
        return NotPossible("vanished before it could be read")
    translated = refusals.of_os(error)
    return NotPossible(f"cannot be read ({error.strerror})") if translated is error else translated


def _ending(copy: Path, is_table: bool) -> str:
    """The end of a name that tells the redaction what to read and what to write."""
    if is_table:
        return ".txt"
    return ".json.gz" if content.is_gzip(copy) else ".json"


def _copied(source: Path, copy: Path, *, gzip: bool) -> str | None:
    """Copy the file; returns the SHA-256 of its content if that is plain, ``None`` if packed."""
    with source.open("rb") as file, copy.open("wb") as out, ExitStack() as stack:
        before = os.fstat(file.fileno())
        is_plain = file.read(2) != content.GZIP_MAGIC
        file.seek(0)
        sink = stack.enter_context(content.gzip_writer(out)) if gzip and is_plain else out
        digest, size = hashlib.sha256(), 0
        while data := file.read(content.BLOCK_BYTES):
            digest.update(data)
            size += len(data)
            sink.write(data)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (size, after.st_mtime_ns):
        raise NotPossible("is still being written; send it once it is complete")
    return digest.hexdigest() if is_plain else None


def _looked_through(copy: Path, digest: str | None, is_table: bool) -> tuple[Finding, ...]:
    """Read the copy back: the same content, a whole trace, and what it gives away."""
    scan, survey, hashed = Scan(), Survey(), hashlib.sha256()
    if is_table:
        scan.feed_text(text_content(copy), "the text")
        return scan.findings
    try:
        for parts in pieces(_hashed(json_blocks(copy), hashed.update)):
            survey.feed(parts)
            scan.feed(parts)
    except TraceError as error:  # a gzip stream that ends early or is damaged
        raise NotWanted(str(error).split(": ", 1)[-1]) from None
    if digest is not None and hashed.hexdigest() != digest:
        raise NotPossible("the packed copy does not hold what was read; is the disk sound?")
    if not survey.has_events:
        raise NotWanted(_what_else(copy))
    if not survey.is_whole:
        raise NotWanted("half-written or damaged: its brackets do not close")
    return scan.findings


def _what_else(copy: Path) -> str:
    """What a file without events seems to be, in the reader's words."""
    from trace_util.reader import read_trace

    try:
        read_trace(copy, columns="summary")
    except TraceError as error:
        return str(error).removeprefix(f"{copy}: ")
    return "no events"


def _hashed(blocks: Iterator[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    for block in blocks:
        update(block)
        yield block


def _remote_name(candidate: Candidate, *, gzip: bool) -> str:
    """The path below the prefix: a packed trace ends in ``.gz``."""
    name = candidate.relative
    return f"{name}.gz" if gzip and not candidate.is_table and not name.endswith(".gz") else name


def _in_name(name: str) -> tuple[Finding, ...]:
    """What a file's name gives away."""
    kinds = {match.kind for match in Scan().walk.matches(name)}
    if giveaways.host_in_file_name(name):
        kinds.add(giveaways.HOST)
    return tuple(Finding(kind, "the file's name", 1) for kind in sorted(kinds))


def _clean_name(name: str) -> str:
    """The file's name without what it gives away."""
    walk, stand_ins = Scan().walk, StandIns()
    if host := giveaways.host_in_file_name(name):
        name = name.replace(host, stand_ins.of(giveaways.HOST, host))
    return stand_ins.in_text(name, walk.matches(name))
