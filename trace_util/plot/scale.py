"""Time to px: one scale for a figure, and ticks at round times."""

from __future__ import annotations

from dataclasses import dataclass

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
_FEWEST_PX = 78.0  # between two ticks


@dataclass(frozen=True)
class Axis:
    """The longest time of a figure in ns, laid over ``width`` px from ``left``."""

    longest_ns: int
    left: float
    width: float

    def x(self, ns: float) -> float:
        """The place of a time since the start of a panel."""
        return round(self.left + ns / max(self.longest_ns, 1) * self.width, 2)

    @property
    def step_ns(self) -> int:
        """The time from tick to tick: 1, 2 or 5 times a power of ten."""
        least = max(self.longest_ns * _FEWEST_PX / self.width, 1.0)
        power = 1
        while True:
            for factor in (1, 2, 5):
                if factor * power >= least:
                    return factor * power
            power *= 10

    @property
    def unit(self) -> str:
        """The unit of the ticks' numbers."""
        return self._unit[1]

    @property
    def _unit(self) -> tuple[int, str]:
        reach = self.longest_ns
        return next(unit for unit in _UNITS if reach >= 2 * unit[0] or unit[0] == 1)

    def ticks(self, length_ns: int) -> list[tuple[int, str]]:
        """Times in ns up to ``length_ns`` and their numbers."""
        ns, _ = self._unit
        step = self.step_ns
        return [(at, f"{at / ns:,g}") for at in range(0, length_ns + 1, step)]
