"""Tables of the reports: aligned, cut to the width, and dimmed titles where colour is allowed."""

from __future__ import annotations

import re

from trace_util.report.text import (
    PLAIN,
    Column,
    Style,
    columns_of,
    name_column,
    number_column,
    table,
)

COLUMNS = [name_column("op"), number_column("time µs")]


def test_names_are_aligned_left_and_numbers_right() -> None:
    assert table(COLUMNS, [["aten::mm", "8.32"], ["mm", "1,024.00"]]) == (
        "  op         time µs\n"
        "  aten::mm      8.32\n"
        "  mm        1,024.00"
    )  # fmt: skip


def test_wide_and_combining_characters_take_their_columns() -> None:
    told = table(COLUMNS, [["矩阵", "1"], ["e\u0301t", "2"], ["µ…", "3"]], PLAIN, indent=0)
    assert told.splitlines() == [
        "op    time µs",
        "矩阵        1",
        "e\u0301t          2",
        "µ…          3",
    ]
    assert {columns_of(line) for line in told.splitlines()} == {13}


def test_the_last_column_leaves_no_blanks_behind() -> None:
    told = table([number_column("n"), name_column("op")], [["1", "a"], ["2", "long"]], PLAIN, 0)
    assert told == "n  op\n1  a\n2  long"


def test_a_title_is_cut_where_its_names_leave_less_room() -> None:
    columns = [Column("a title of some length", flexible=True), number_column("n" * 26)]
    told = table(columns, [["name", "1"]], Style(width=42), indent=0)
    assert told.splitlines() == [
        "a title of so…  " + "n" * 26,
        "name            " + " " * 25 + "1",
    ]


def test_a_table_without_rows_is_its_titles() -> None:
    assert table(COLUMNS, []) == "  op  time µs"


def test_titles_are_dim_where_colour_is_allowed() -> None:
    told = table([number_column("n"), name_column("op")], [["1", "mm_1"]], Style(colour=True))
    titles, row = told.splitlines()
    assert "\x1b[2mn\x1b[0m" in titles and "\x1b[2mop" in titles
    assert re.sub(r"\x1b\[\d+m", "", titles).rstrip() == "  n  op"
    assert row == "  1  mm_1"
