"""Columns that cost only the rows with a value: they say what ordinary columns say."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_trace import call, kernel, op, trace_of, written
from msgspec.structs import astuple

from trace_util import sparse
from trace_util.columns import Column
from trace_util.reader import read_trace
from trace_util.sparse import Sparse, SparseColumn

VALUES = st.sampled_from([-1, -1, -1, 0, 1, 200, 70_000, 2**40])
CHUNKS = st.lists(st.lists(VALUES, max_size=12), max_size=6)


def filled(column: Any, chunks: list[list[int]]) -> Any:
    for chunk in chunks:
        values = np.array(chunk, dtype=np.int64)
        where = np.flatnonzero(values != -1)
        if len(where):
            column.scatter(len(chunk), where, values[where])
        else:
            column.fill(len(chunk))
    return column


@given(CHUNKS, CHUNKS, st.integers(0, 40), st.randoms(use_true_random=False))
def test_sparse_columns_hold_what_ordinary_ones_do(
    first: list[list[int]], second: list[list[int]], least: int, rng: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "_LEAST_ROWS", least)  # some turn into ordinary ones, early or late
        made, other = filled(SparseColumn(), first), filled(SparseColumn(), second)
        plain, beside = filled(Column(), first), filled(Column(), second)
        made.append(pickle.loads(pickle.dumps(other.state())), None, 0)
        plain.append(beside.state(), None, 0)
        assert len(made) == len(plain)
        assert made.array().tolist() == plain.array().tolist()
        mask = np.array([rng.random() < 0.7 for _ in range(len(plain))], dtype=bool)
        made.keep(mask)
        plain.keep(mask)
    assert made.array().tolist() == plain.array().tolist()


def test_a_column_with_many_values_becomes_an_ordinary_one() -> None:
    few, many = SparseColumn(), SparseColumn()
    for _ in range(3):
        few.scatter(4000, np.arange(0, 4000, 10), np.arange(400))
        many.scatter(4000, np.arange(0, 4000, 2), np.arange(2000))
    assert isinstance(few.array(), Sparse)
    assert isinstance(many.array(), np.ndarray)


COLUMN = Sparse(6, np.array([1, 4], dtype=np.int32), np.array([7, 9], dtype=np.int16))
WRITTEN = np.array([-1, 7, -1, -1, 9, -1], dtype=np.int16)


@pytest.mark.parametrize(
    "where",
    [
        slice(None),
        slice(1, 5, 3),
        np.array([4, 0, 1, 4]),
        np.array([], dtype=np.int64),
        np.array([True, True, False, False, True, False]),
        [5, 4],
        4,
    ],
)
def test_rows_are_looked_up_as_in_an_array(where: Any) -> None:
    assert np.array_equal(COLUMN[where], WRITTEN[where])
    assert COLUMN[where].dtype == WRITTEN.dtype


def test_numpy_takes_it_for_an_array() -> None:
    assert len(COLUMN) == 6 and COLUMN.shape == (6,)
    assert (COLUMN >= 0).tolist() == (WRITTEN >= 0).tolist()
    assert (COLUMN + COLUMN).tolist() == (WRITTEN + WRITTEN).tolist()
    assert np.isin(COLUMN, [9]).tolist() == np.isin(WRITTEN, [9]).tolist()
    assert np.flatnonzero(COLUMN == 9).tolist() == [4]
    assert (COLUMN.max(initial=0), COLUMN.min(), COLUMN.sum()) == (9, -1, 12)
    assert pickle.loads(pickle.dumps(COLUMN)).tolist() == WRITTEN.tolist()
    assert np.asarray(COLUMN, dtype=np.int64).dtype == np.int64
    with pytest.raises(AttributeError):
        _ = COLUMN.no_such_thing


def test_a_summary_has_sparse_columns_and_all_columns_none(tmp_path: Any) -> None:
    events = [op(1, 9), call(2, 1, 1), kernel(5, 3, 1)]
    assert all(type(one) is np.ndarray for one in astuple(trace_of(*events).events))
    brief = read_trace(written({"traceEvents": events}, tmp_path), columns="summary").events
    for name in ("device", "stream", "correlation", "size_bytes"):
        assert isinstance(getattr(brief, name), Sparse)
    assert brief.correlation.tolist() == [-1, 1, 1]
