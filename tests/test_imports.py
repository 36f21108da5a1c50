"""Imports point one way, and what is heavy is loaded only by those who need it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "trace_util"

# From what is read first to what is said last: a module may import those before it, never those
# after. What is not named here is a detail of the layer that alone uses it.
LAYERS = (
    ("events", "vocabulary"),
    ("reader", "sources", "repair"),
    ("links", "calls", "nesting", "timeline"),
    ("facts", "gaps", "steps", "inventory"),
    ("explain", "claims", "compare", "findings", "job"),
    ("report", "plot"),
    ("record", "share", "view"),
    ("gather",),
    ("commands",),
)

# A notebook asks the object itself for its HTML, and the traces of a job may lie in a bucket: these
# reach up inside the function that needs it, and nowhere else.
REACHES_UP = {"events.py": {"report"}, "facts.py": {"report"}, "job/places.py": {"share"}}


def imported(path: Path) -> set[str]:
    """First names of the modules of this package that a file imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if not node.level else ["trace_util"]
            if node.level:
                here = path.relative_to(PACKAGE).parts[:-1]
                base = here[: len(here) - node.level + 1]
                parts = ["trace_util", *base, *(node.module or "").split(".")]
            if parts[0] == "trace_util":
                parts = [part for part in parts if part]
                found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def layer_of(name: str) -> int | None:
    return next((i for i, layer in enumerate(LAYERS) if name in layer), None)


@pytest.mark.parametrize("name", [name for layer in LAYERS for name in layer])
def test_module_imports_only_what_comes_before_it(name):
    folder = PACKAGE / name
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{name}.py"]
    own = layer_of(name)
    for path in files:
        later = {m for m in imported(path) if (layer_of(m) or 0) > own}
        later -= REACHES_UP.get(path.relative_to(PACKAGE).as_posix(), set())
        assert not later, f"{path.relative_to(PACKAGE)} imports {', '.join(sorted(later))}"


def only_in(library: str, allowed: set[str]) -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == library for name in names):
                assert first in allowed, f"{path.relative_to(PACKAGE)} imports {library}"


def test_torch_is_imported_by_the_recording_package_alone():
    only_in("torch", {"record"})


def test_huggingface_hub_is_imported_by_the_sharing_package_alone():
    only_in("huggingface_hub", {"share"})


HEAVY = {"torch", "huggingface_hub", "matplotlib", "rich", "pandas", "distributed", "fsspec"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_package_alone_loads_nothing():
    assert not loaded_by("import trace_util") & (HEAVY | {"numpy", "msgspec"})


def test_help_loads_nothing():
    assert not loaded_by("import trace_util.cli as c; c.main(['--help'])") & (HEAVY | {"numpy"})


@pytest.mark.parametrize("command", ["summary", "explain", "check"])
def test_reading_a_trace_loads_neither_torch_nor_the_hub(command):
    trace = "traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz"
    path = PACKAGE.parent / trace
    run = f"import trace_util.cli as c; c.main(['{command}', {str(path)!r}, '--json'])"
    assert not loaded_by(run) & HEAVY
