"""The HTML report: its numbers, its structure, and that nothing of a trace is trusted."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from contrast import contrast
from make_trace import mark, op, trace_of

from trace_util.cli import main
from trace_util.compare import comparison
from trace_util.highlights import focus_on
from trace_util.reader import read_trace
from trace_util.report.compare import difference_lines
from trace_util.report.html.markup import Html, element, joined
from trace_util.report.html.page import report_html

H200 = Path(__file__).parents[1] / "traces" / "recorded" / "nvidia-h200"
EAGER = H200 / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
COMPILED = H200 / "03_simple_mlp" / "64_128_768_3072_compile.json.gz"
COLD = H200 / "01_matmul" / "64_bf16_cold_eager.json.gz"
VOID = {"meta", "br", "input", "link"}


class Page(HTMLParser):
    """The elements of a page, each with its attributes, its text and its ancestors."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[dict] = []
        self.open: list[dict] = []
        self.feed(text)
        self.close()
        assert [one["tag"] for one in self.open] == [], "every element is closed"

    def handle_starttag(self, tag: str, attributes: list) -> None:
        path = [one["tag"] for one in self.open]
        one = {"tag": tag, "text": "", "path": path, **dict(attributes)}
        self.found.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()["tag"] == tag, "elements are nested"

    def handle_startendtag(self, tag: str, attributes: list) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for one in self.open:
            one["text"] += data

    def all(self, *tags: str) -> list[dict]:
        return [one for one in self.found if one["tag"] in tags]


@lru_cache
def page(*paths: Path) -> Page:
    return Page(report_html([read_trace(path) for path in paths]))


def summary(path: Path, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["summary", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_float=Decimal)


def rows_under(found: Page, caption: str) -> list[list[str | None]]:
    """The exact numbers of each row of the table with that caption; None for words."""
    text = [one["text"] for one in found.all("caption")]
    at = next(i for i, one in enumerate(text) if one.startswith(caption))
    tables = report_tables(found)
    return tables[at]


def report_tables(found: Page) -> list[list[list[str | None]]]:
    tables: list[list[list[str | None]]] = []
    for one in found.found:
        if one["tag"] == "table":
            tables.append([])
        elif one["tag"] == "tr" and "tbody" in one["path"]:
            tables[-1].append([])
        elif one["tag"] == "td" and tables:
            tables[-1][-1].append(one.get("data-exact"))
    return tables


def number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


@pytest.mark.parametrize("path", [EAGER, COMPILED, COLD], ids=lambda path: path.name)
def test_numbers_are_those_of_the_summary(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, told = page(path), summary(path, capsys)
    fields = {one["data-field"]: number(one["data-exact"]) for one in found.all("span")
              if one.get("data-field")}  # fmt: skip
    assert fields.pop("unprofiled_step.median_us") == told["unprofiled_step"]["median_us"]
    assert fields.pop("kernels.count") == told["kernels"]["count"]
    assert fields == {name: told[name] for name in fields}
    assert {"window_us", "gpu_busy_in_window_us", "launches"} <= fields.keys()

    steps = rows_under(found, "The recorded steps")
    names = ("duration_us", "gpu_busy_us", "kernels", "memsets", "copies", "launches")
    assert [[number(cell) for cell in row] for row in steps] == [
        [step[name] for name in names] for step in told["steps"]
    ]
    kernels = rows_under(found, "Kernels by name")
    assert [[number(cell) for cell in (row[1], row[2], *row[4:])] for row in kernels] == [
        [one[name] for name in ("count", "total_us", "min_us", "median_us", "max_us")]
        for one in told["kernels"]["by_name"]
    ]
    ops = rows_under(found, "CPU ops by name")
    assert [[number(cell) for cell in row] for row in ops] == [
        [one[name] for name in ("count", "total_us", "self_us", "launches", "gpu_us")]
        for one in told["ops"]
    ]


def test_cells_show_the_number_that_they_carry() -> None:
    seen = 0
    for one in page(EAGER).all("td"):
        exact = one.get("data-exact")
        shown = re.fullmatch(r"([\d,.]+)( %)?", one["text"])
        if exact is None or shown is None:
            continue
        value = float(exact) * (100 if shown.group(2) else 1)
        decimals = len(shown.group(1).partition(".")[2])
        assert float(shown.group(1).replace(",", "")) == pytest.approx(
            value, abs=0.6 * 10**-decimals
        )
        seen += 1
    assert seen > 60


def test_verdict_claims_and_roofline_are_those_of_the_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = page(COMPILED, EAGER)
    sections = [one["text"] for one in found.all("section")]
    assert len(sections) == 3
    assert sections.pop(0).startswith("Comparison")
    marks = ("holds", "differs", "unseen")
    verdicts = (one["text"] for one in found.all("span") if one.get("class") in marks)
    for path, text in zip((COMPILED, EAGER), sections, strict=True):
        assert main(["explain", str(path), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["regime"].lower() in text.lower()
        assert told["reason"][1:] in text
        for finding in told["findings"]:
            assert finding["claim"][1:] in text
        other = EAGER if path == COMPILED else COMPILED
        main(["check", str(path), "--against", str(other), "--json"])
        claims = json.loads(capsys.readouterr().out)["claims"]
        words = ["contradicted" if c["contradicted"] else c["verdict"] for c in claims]
        assert [next(verdicts) for _ in claims] == words
        assert all(c["id"] in text and c["text"] in text for c in claims)
        assert "Roofline of the H200" in text


def test_comparison_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    section = " ".join(page(EAGER, COMPILED).all("section")[0]["text"].split())
    assert main(["compare", str(EAGER), str(COMPILED)]) == 0
    told = capsys.readouterr().out
    found = comparison([read_trace(EAGER), read_trace(COMPILED)])
    (one,) = found.differences
    lines = list(difference_lines(found, one))
    assert len(lines) > 6
    for label, text in lines:
        assert label in section and " ".join(text.split()) in section
        assert text.split()[0] in told
    for number in re.findall(r"[\d.,]+ µs", told):
        assert number in section


def test_structure_serves_a_screen_reader() -> None:
    found = page(EAGER, COMPILED)
    assert [one.get("lang") for one in found.all("html")] == ["en"]
    landmarks = Counter(one["tag"] for one in found.all("header", "nav", "main", "footer", "h1"))
    assert landmarks == {"header": 1, "nav": 1, "main": 1, "footer": 1, "h1": 1}
    ids = [one["id"] for one in found.found if one.get("id")]
    assert len(ids) == len(set(ids))
    levels = [int(one["tag"][1]) for one in found.all("h1", "h2", "h3", "h4")]
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False)), "no level is skipped"
    named = [i for one in found.found for key in ("aria-labelledby", "aria-describedby")
             for i in one.get(key, "").split()]  # fmt: skip
    assert named and set(named) <= set(ids)
    assert [one["href"][1:] for one in found.all("a") if one["href"].startswith("#")][0] == "main"
    assert all(one["text"].strip() for one in found.all("caption", "th", "summary", "h2", "h3"))
    assert len(found.all("caption")) == len(found.all("table")) > 6
    assert {one["scope"] for one in found.all("th")} == {"col", "row"}
    regions = [one for one in found.found if one.get("role") == "region"]
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in regions)
    assert all(one.get("role") == "img" for one in found.all("svg"))
    assert len(found.all("svg")) == len(found.all("desc")) == 7


def test_nothing_is_fetched_and_nothing_runs() -> None:
    found = page(EAGER, COMPILED)
    assert not found.all("script", "link", "img", "iframe", "object", "embed", "form", "base")
    policy = next(one["content"] for one in found.all("meta") if one.get("http-equiv"))
    assert "default-src 'none'" in policy and "script-src 'none'" in policy
    assert not [name for one in found.found for name in one if name.startswith("on")]
    assert not re.search(r"url\((?!#)|@import", found.all("style")[0]["text"])
    hrefs = {one["href"] for one in found.all("a")}
    assert all(href.startswith(("#", "https://")) for href in hrefs)


def hostile(path: Path) -> Path:
    """A trace every text of which tries to become part of the page."""
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\x1b[31m"
    call = {"correlation": 1, "External id": 1}
    rows = [
        ("user_annotation", "ProfilerStep#2", 0, 100, 1, {}),
        ("user_annotation", bad, 1, 90, 1, {}),
        ("cpu_op", bad, 2, 50, 1, {"External id": 1, "Input Dims": bad}),
        ("cuda_runtime", "cudaLaunchKernel", 10, 10, 1, call),
        ("kernel", bad, 30, 15, 7, {**call, "device": 0, "stream": 7}),
        (bad, bad, 60, 5, 1, {}),
    ]
    events = [
        {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": bad, "tid": tid,
         "args": args}
        for cat, name, ts, dur, tid, args in rows
    ]  # fmt: skip
    run = {key: bad for key in ("lesson", "tag", "command", "gpu", "annotation", "variant")}
    document = {
        "deviceProperties": [{"id": 0, "name": bad}],
        "run_facts": {**run, "versions": {"torch": bad, bad: bad}},
        bad: bad,
        "traceEvents": events,
    }
    path.write_text(json.dumps(document))
    return path


def test_names_of_a_hostile_trace_stay_text(tmp_path: Path) -> None:
    trace = hostile(tmp_path / "<b>'\"&.json")
    text = report_html([read_trace(trace)], title="<i>me</i>")
    found = Page(text)
    assert not found.all("script", "img", "b", "i")
    assert not [name for one in found.found for name in one if name.startswith("on")]
    assert "alert(1)" in found.all("main")[0]["text"], "the name is shown"
    assert "\x1b" not in text and "\x00" not in text


def test_a_number_that_the_trace_cannot_say_is_not_0(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 5, "pid": 1, "tid": 1}
    ]
    trace = tmp_path / "cpu.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    text = Page(report_html([read_trace(trace)])).all("main")[0]["text"]
    assert "GPU busy" not in text
    assert "nothing was launched" in text.lower()


def test_a_wide_step_is_kept_out_of_the_median_too(tmp_path: Path) -> None:
    marks = [mark(2, 0, 90), mark(3, 100, 10), mark(4, 120, 12)]
    text = report_html([trace_of(*marks, op(101, 2))])
    assert "it is kept out of the figures here" in text
    assert ">11.0 µs</span><small>median of 2 recorded steps, 1 wide kept out</small>" in text
    even = report_html([trace_of(*marks[1:], op(101, 2))])
    assert "<small>median of 2 recorded steps</small>" in even


def test_links_lead_to_perfetto_on_the_evidence() -> None:
    address = "https://example.org/traces/eager.json.gz"
    found = Page(report_html([read_trace(EAGER)], urls=[address]))
    links = [one for one in found.all("a") if one["href"].startswith("https://ui.perfetto.dev/")]
    assert len(links) >= 2
    assert all("url=https%3A%2F%2Fexample.org" in one["href"] for one in links)
    views = {re.search(r"visStart=(\d+)&visEnd=(\d+)", one["href"]).groups() for one in links}
    assert len(views) == len(links), "each opens on its own stretch of time"
    focus = focus_on(read_trace(EAGER))
    closer = sorted((int(low), int(high)) for low, high in views)
    closer.remove((focus.window_start_ns, focus.window_end_ns))
    for note, (low, high) in zip(focus.notes, closer, strict=True):
        assert low <= note.start_ns and note.start_ns + note.duration_ns <= high
        assert high - low <= 9 * max(note.duration_ns, 1000), "close enough to see it"
    assert not [one for one in links if "aten" in one["href"]], "addresses quote no names"


def test_a_page_that_carries_its_trace_allows_its_own_script_alone() -> None:
    text = report_html([read_trace(EAGER)], embed=True)
    found = Page(text)
    assert [one.get("type") for one in found.all("script")] == ["text/plain", None]
    policy = next(one["content"] for one in found.all("meta") if one.get("http-equiv"))
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy)
    buttons = found.all("button")
    assert len(buttons) >= 2 and all(one["data-ui"].startswith("https://ui.") for one in buttons)


@pytest.mark.alone
def test_ten_megabytes_take_three_seconds_and_two_megabytes(tmp_path: Path) -> None:
    trace = read_trace(repeated(tmp_path / "big.json", size=10_000_000))
    began = time.process_time()
    text = report_html([trace])
    assert time.process_time() - began < 3
    assert len(text.encode()) < 2_000_000


def repeated(path: Path, *, size: int) -> Path:
    """A trace of so many bytes: steps of a training-like size, without a lesson's run facts."""
    import gzip

    with gzip.open(COMPILED) as file:
        document = json.load(file)
    complete = [e for e in document["traceEvents"] if e.get("ph") == "X"]
    complete = [e for e in complete if "mlp_fwd" not in e["name"]]
    marks = [e for e in complete if e["name"].startswith("ProfilerStep")]
    inside = [e for e in complete if e not in marks and e.get("cat") != "Trace"]
    length = 3000.0
    count = size // len(json.dumps(inside))
    events = []
    for i in range(count):
        for e in inside:
            args = {k: v + 10_000 * i if k in ("correlation", "External id") else v
                    for k, v in e.get("args", {}).items()}  # fmt: skip
            events.append({**e, "ts": e["ts"] + i * length, "args": args})
    first = marks[0]
    step = length * (count // 4)
    events += [
        {**first, "name": f"ProfilerStep#{i}", "ts": first["ts"] + i * step, "dur": step - 1}
        for i in range(4)
    ]
    path.write_text(json.dumps({**document, "run_facts": {}, "traceEvents": events}))
    assert path.stat().st_size > 0.95 * size
    return path


def test_style_can_be_read_in_light_and_dark() -> None:
    sheet = (Path(__file__).parents[1] / "trace_util/report/html/style.css").read_text()
    blocks = re.findall(r":root\{([^}]*)\}", sheet)
    for block in blocks[:2]:
        colours = dict(re.findall(r"--([a-z]+):(#[0-9a-f]{3,6})", block))
        colours = {k: "#" + "".join(c * 2 for c in v[1:]) if len(v) == 4 else v
                   for k, v in colours.items()}  # fmt: skip
        for ink in ("text", "soft", "accent", "good", "bad", "wait"):
            for ground in ("page", "card"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        assert contrast(colours["text"], colours["code"]) >= 4.5
        assert contrast(colours["card"], colours["accent"]) >= 4.5, "a button's text"


def test_elements_escape_what_is_not_html() -> None:
    assert element("p", "a<b", Html("<i>c</i>"), title='"x"') == (
        '<p title="&quot;x&quot;">a&lt;b<i>c</i></p>'
    )
    assert element("br") == "<br>"
    assert element("td", None, class_=None, hidden=True, data_exact=3) == (
        '<td hidden data-exact="3"></td>'
    )
    assert joined("&", Html("&amp;"), None) == "&amp;&amp;"
    assert element("p", "a\x00b") == "<p>a\\x00b</p>"


def test_command_writes_the_page_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(EAGER), str(COMPILED), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert str(H200) not in out.read_text(), "a page is shared; folders of this machine are not"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "x.pdf"], "x.pdf: a report is an .html; name one"),
        (["-o", "no/x.html"], "no/x.html: not written: there is no folder no"),
        (
            ["-o", "x.html", "--url", "https://a/b", "--url", "https://a/c"],
            "2 addresses for 1 trace",
        ),
        (["-o", "x.html", "--url", "ftp://a/b"], "Perfetto fetches https addresses only"),
        (["-o", "x.html", "--url", "https://a/b?c"], "Perfetto refuses a file address with '?'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_reported_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    wrong_usage = "not written" not in said
    assert main(["report", str(EAGER), *arguments]) == (2 if wrong_usage else 1)
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_public_traces_of_all_ages_have_a_page(shared_traces: Path) -> None:
    for path in sorted(shared_traces.glob("*.json.gz")):
        if path.name.startswith("not-a-trace"):
            continue
        text = report_html([read_trace(path)])
        assert len(text.encode()) < 2_000_000, path.name
        Page(text)


def test_the_peaks_come_with_what_is_to_be_known_of_them():
    text = report_html([read_trace(EAGER)])
    assert "(Tensor Core rates without sparsity, half of what the source prints)" in text
