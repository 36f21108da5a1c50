"""Colours: a name for each paint, light and dark.

Told apart by lightness as well as by hue, so that they hold without red and green: the CPU is pale
blue, a launch vermilion, GPU work dark; idle stretches have a pattern of their own besides. Every
ink on its paint has a contrast of 4.5 or more (WCAG 2.2, 1.4.3).
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2130",
    "muted": "#586174",
    "rule": "#c9cfda",
    "grid": "#e9ecf1",
    "lane": "#f5f6f9",
    "step": "#e4e8ef",
    "annotation": "#d5dae4",
    "op": "#b7cdea",
    "metadata_op": "#f4f8fd",
    "launch": "#b8460b",
    "call": "#f0cdb2",
    "wait": "#d9c4ec",
    "gemm": "#123f73",
    "kernel": "#0a6f66",
    "copy": "#8a2f6b",
    "memset": "#a64f88",
    "idle_unknown": "#eef0f4",
    "idle_overhead": "#fdeee1",
    "idle_synchronise": "#f1e8f9",
    "idle_profiler": "#eceef1",
    "hatch_unknown": "#c3cad6",
    "hatch_overhead": "#f0c39d",
    "hatch_synchronise": "#cdb3e6",
    "hatch_profiler": "#b4bbc7",
    "on_dark": "#ffffff",
    "arrow": "#b8460b",
}

DARK = {
    "paper": "#12161d",
    "ink": "#e8ecf3",
    "muted": "#a0abbd",
    "rule": "#3c4656",
    "grid": "#222a36",
    "lane": "#181e27",
    "step": "#2a3342",
    "annotation": "#343e4f",
    "op": "#2f4a70",
    "metadata_op": "#141c28",
    "launch": "#f2924f",
    "call": "#6b4326",
    "wait": "#57407a",
    "gemm": "#7db8f5",
    "kernel": "#4fcdbf",
    "copy": "#ec8fca",
    "memset": "#d8a3c8",
    "idle_unknown": "#1d2430",
    "idle_overhead": "#2e2319",
    "idle_synchronise": "#281f38",
    "idle_profiler": "#20262f",
    "hatch_unknown": "#3a4558",
    "hatch_overhead": "#6b4527",
    "hatch_synchronise": "#5a4383",
    "hatch_profiler": "#465061",
    "on_dark": "#0d1117",
    "arrow": "#f2924f",
}

THEMES = {"light": LIGHT, "dark": DARK}

# What is written on a bar of each paint.
INK_ON = {
    "annotation": "ink",
    "op": "ink",
    "metadata_op": "ink",
    "launch": "on_dark",
    "call": "ink",
    "wait": "ink",
    "gemm": "on_dark",
    "kernel": "on_dark",
    "copy": "on_dark",
    "memset": "on_dark",
}

# The stripes of each idle paint: their angle in degrees and how far they lie apart, px.
STRIPES = {
    "idle_overhead": (45, 7),
    "idle_synchronise": (90, 6),
    "idle_profiler": (135, 5),
    "idle_unknown": (0, 6),
}
