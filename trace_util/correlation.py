"""Which call launched which GPU event: by correlation, which is unique in one process only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from trace_util.blocks import rows_where
from trace_util.events import Events, Ints
from trace_util.tally import distinct

Indexes = Ints


# So many GPU events of a device decide which process it belongs to.
SAMPLE = 1024


class _Table:
    """The first row of each key, for look-ups of many keys at once."""

    def __init__(self, key: Ints, rows: Indexes) -> None:
        order = np.argsort(key, kind="stable")
        self.key, self.rows = key[order], rows[order]

    def __getitem__(self, key: Ints) -> Indexes:
        """The row of each key, -1 where there is none."""
        if not len(self.key):
            return np.full(len(key), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[at] == key, self.rows[at], -1)


def launch_of(events: Events, is_call: NDArray[np.bool_], gpu: Indexes) -> Indexes:
    """For each GPU event the call of the same process and correlation, -1 if none, ``[gpu]``.

    A correlation of 0 or less links nothing. GPU events do not name the process that launched them;
    where a file holds several processes, each device belongs to the one whose calls fit it best.
    Of several calls with one key the one that starts first, and lasts longest, stands.
    """
    launch = np.full(len(gpu), -1, dtype=np.int32)
    correlation = events.correlation[gpu]
    at = np.flatnonzero(correlation > 0)
    calls = _launching(events, is_call, distinct(correlation[at]))
    if not len(calls):
        return launch
    calls = calls[np.lexsort((-events.duration_ns[calls], events.start_ns[calls]))]
    tables = {}
    for process in _by_appearance(events.process[calls], calls):
        mine = calls[events.process[calls] == process]
        tables[process] = _Table(events.correlation[mine], mine)
    if len(tables) == 1:
        (table,) = tables.values()
        launch[at] = table[correlation[at]]
        return launch
    for process, mine in _owners(events, gpu[at], tables):
        launch[at[mine]] = tables[process][correlation[at[mine]]]
    left = at[launch[at] < 0]
    launch[left] = _only(table[correlation[left]] for table in tables.values())
    return launch


def _launching(events: Events, is_call: NDArray[np.bool_], wanted: Indexes) -> Indexes:
    """The calls that have one of the wanted correlations."""
    return rows_where(is_call, lambda rows: _in(events.correlation[rows], wanted))


def _in(values: Ints, wanted: Indexes) -> NDArray[np.bool_]:
    """Which of the values are among the wanted ones, which are in rising order."""
    if not len(wanted):
        return np.zeros(len(values), dtype=bool)
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    found: NDArray[np.bool_] = wanted[at] == values
    return found


def _by_appearance(column: Ints, rows: Indexes) -> list[int]:
    """The distinct values of a column, in the order in which the file first shows them."""
    values, first = np.unique(column[np.argsort(rows, kind="stable")], return_index=True)
    return [int(value) for value in values[np.argsort(first)]]


def _owners(
    events: Events, gpu: Indexes, tables: dict[int, _Table]
) -> Iterator[tuple[int, Indexes]]:
    """For each device the process that it belongs to, and the positions of its GPU events."""
    device = device_key(events, gpu)
    devices_of = dict.fromkeys(tables, 0)
    for one in _by_appearance(device, gpu):
        mine = np.flatnonzero(device == one)
        sample = gpu[mine[:: len(mine) // SAMPLE + 1]]
        # max keeps the first of equals: the order of the file then decides, device by device.
        fit = {p: (*_fit(events, sample, t), -devices_of[p]) for p, t in tables.items()}
        owner = max(fit, key=fit.__getitem__)
        devices_of[owner] += 1
        yield owner, mine


def _fit(events: Events, gpu: Indexes, table: _Table) -> tuple[int, int]:
    """How well calls fit GPU events: how many start before their work, how many share an op."""
    calls = table[events.correlation[gpu]]
    gpu, calls = gpu[calls >= 0], calls[calls >= 0]
    in_order = events.start_ns[calls] <= events.start_ns[gpu]
    one_op = (events.external_id[calls] == events.external_id[gpu]) & (events.external_id[gpu] > 0)
    return int(in_order.sum()), int((in_order & one_op).sum())


def _only(answers: Iterable[Indexes]) -> Indexes:
    """Where exactly one of the answers has a row that row, else -1."""
    columns = list(answers)
    given = sum((rows >= 0).astype(np.int64) for rows in columns)
    best = np.maximum.reduce(columns)
    return np.where(given == 1, best, -1)


def device_key(events: Events, gpu: Indexes) -> Indexes:
    """One number for each (process row, device) of GPU events; merged files keep either apart."""
    device = events.device[gpu].astype(np.int64) + 1
    return events.process[gpu].astype(np.int64) * (int(events.device.max(initial=0)) + 2) + device


def external_op(events: Events, rows: Indexes, is_op: NDArray[np.bool_]) -> Indexes:
    """For each of the rows the op with its `External id`, -1 if none or if it is not certain.

    The ids are unique in one process. A GPU event does not name its process, so that an id which
    several processes use says nothing about it.
    """
    ids = events.external_id
    ops = rows_where(is_op & (ids > 0)) if len(rows) else rows
    if not len(ops):
        return np.full(len(rows), -1, dtype=np.int64)
    on_host = events.device[rows] < 0
    answers = []
    for process in distinct(events.process[ops]).tolist():
        mine = ops[events.process[ops] == process]
        found = _Table(ids[mine], mine)[ids[rows]]
        found[(ids[rows] <= 0) | (on_host & (events.process[rows] != process))] = -1
        answers.append(found)
    return _only(answers)
