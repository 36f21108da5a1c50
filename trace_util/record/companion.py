"""What a lesson says of a run that its claims compare it with, and that is not there."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from ..claims import Check
from ..runs import HAND_WRITTEN
from .run import command
from .save import Saved

# How such a reason goes on for `trace-util check`, whose flag names a trace; a lesson has none.
NAMED_BY_A_FLAG = "; --against "
MLP = "03_simple_mlp"


def in_lesson(check: Check, saved: Saved) -> Check:
    """The check, saying what to run where a claim would name a flag of ``trace-util check``."""
    claims = tuple(
        replace(claim, ruling=replace(claim.ruling, reason=in_words(claim.reason, saved)))
        for claim in check.claims
    )
    return replace(check, claims=claims)


def in_words(reason: str, saved: Saved) -> str:
    """A claim's reason, with the run that would show it in the place of the flag."""
    missing, flag, _ = reason.partition(NAMED_BY_A_FLAG)
    if not flag:
        return reason
    is_compiled = missing.startswith("the compiled run")
    if saved.run.variant in HAND_WRITTEN:
        return f"{missing}: {mlp_command(saved, is_compiled)}, then this command again"
    return f"{missing}: this command {'with' if is_compiled else 'without'} --compile"


def mlp_command(saved: Saved, is_compiled: bool) -> str:
    """The command of the MLP lesson for the run that a hand-written kernel is compared with."""
    words = shlex.split(command(saved.run))
    words[words.index(f"{saved.run.lesson}.py")] = f"{MLP}.py"
    words = _without_kernel(words)
    beside = saved.trace.parent.parent / MLP
    if beside != Path("traces", MLP):
        words += [f"--trace_dir={beside}"]
    return shlex.join(words + ["--compile"] * is_compiled)


def _without_kernel(words: list[str]) -> list[str]:
    if "--kernel" in words:
        at = words.index("--kernel")
        return words[:at] + words[at + 2 :]
    return [word for word in words if not word.startswith("--kernel=")]
