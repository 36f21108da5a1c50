"""Which ops may be called metadata only: those that PyTorch itself says return their input."""

from __future__ import annotations

import pytest
from make_trace import call, kernel, op, trace_of

from trace_util.report.html.page import report_html
from trace_util.views import VIEW_OPS


@pytest.mark.parametrize("name", sorted(VIEW_OPS - {"aten::_unsafe_view", "aten::lift_fresh"}))
def test_every_view_returns_its_input_as_the_schema_says(name: str) -> None:
    torch = pytest.importorskip("torch")
    schemas = torch._C._jit_get_schemas_for_operator(name)
    assert schemas
    told = [returned for schema in schemas for returned in schema.returns]
    assert any(returned.alias_info for returned in told)


@pytest.mark.parametrize("name", ["reshape", "contiguous", "flatten", "to", "copy_", "addmm"])
def test_what_may_compute_is_no_view(name: str) -> None:
    assert f"aten::{name}" not in VIEW_OPS


def test_page_calls_views_alone_metadata_only() -> None:
    events = [op(0, 2, "aten::t"), op(3, 9, "aten::addmm"), op(20, 5), call(21, 2, 1)]
    text = report_html([trace_of(*events, kernel(30, 5, 1))])
    assert text.count("none: metadata only") == 1
    rows = {one.split("</th>")[0]: one for one in text.split('<th scope="row">')}
    assert "none: metadata only" in rows["aten::t"]
    assert ">none<" in rows["aten::addmm"]
