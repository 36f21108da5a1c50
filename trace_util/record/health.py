"""What is wrong with a trace that was just recorded, as far as the lesson can know it."""

from __future__ import annotations

from ..facts import Facts
from .run import Run

NO_KERNELS = (
    "no GPU activity was recorded, though the run used the GPU: another profiler (nsys, ncu) may "
    "hold CUPTI, libcupti may be missing or of another CUDA, or the container or WSL may not let "
    "it read the GPU; do not read this trace as an idle GPU"
)


def complaints(run: Run, facts: Facts) -> list[str]:
    """One sentence for each thing that is missing from the trace; empty when nothing is."""
    asked = run.flags.active
    found = []
    if len(facts.steps) < asked:
        found.append(f"{len(facts.steps)} of {asked} steps were recorded: the window is partial")
    if run.device.type == "cuda" and facts.gpu_activity != "recorded":
        found.append(NO_KERNELS)
    for step in facts.steps:
        if step.lost_kernels:
            lost = step.lost_kernels
            found.append(
                f"{step.name} lost {lost} of the kernels of its {step.launches} launches; leave it "
                "out of averages"
            )
    return found
