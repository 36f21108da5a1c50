"""``trace-util check``: text, JSON and exit codes, and the lines that a lesson ends with."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from conftest import RECORDED
from trace_edits import broken_copy, put_in, ranked, remove, rename

from trace_util.claims import check
from trace_util.cli import main
from trace_util.reader import read_trace
from trace_util.report.check import lesson_lines
from trace_util.report.html.checks import claims as claims_html
from trace_util.report.text import Style

H200 = RECORDED / "nvidia-h200"
LINEAR = H200 / "02_linear" / "1024_32_64_eager.json.gz"
MM = H200 / "01_matmul" / "64_bf16_warm_eager.json.gz"

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = main(["check", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


TEXT = """\
1024_32_64_eager.json.gz
  lesson   02_linear, eager (from its run facts)
  GPU      NVIDIA H200, sm_90

  6 claims: 4 hold, 0 differ, 2 cannot be seen here
  holds    2.1   aten::t precedes aten::addmm under aten::linear
                   seen in: 3 of 3 steps
                   first step: aten::t at 3.00 µs for 5.00 µs, aten::addmm at
                   9.00 µs for 3.00 µs
  holds    2.2   aten::t, aten::transpose and aten::as_strided launch nothing:
                 metadata only
                   launches beneath 3 aten::t: 0; launches beneath 3
                   aten::transpose: 0; launches beneath 3 aten::as_strided: 0
  holds    2.3   no aten::add: the bias is the GEMM's epilogue; one kernel a
                 step
                 note: the kernel's name says so
                   seen in: 3 of 3 steps
                   kernel of the first step:
                   nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT at 1.00 ms for
                   1.00 µs
  unseen   2.4   compiled, the very same kernel; aten::t is gone; nothing to
                 fuse
                 because the compiled run is needed to compare with; --against
                 names its trace
  holds    2.5   the layout stands in the kernel's name
                   layout: TNT
                   kernel: nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT at 1.00
                   ms for 1.00 µs
  unseen   2.6   compile costs CPU time here
                 because the compiled run is needed to compare with; --against
                 names its trace

  guesses right: 0 of 1
  wrong    kernels_per_step: guessed 3, is 1

  expectations met: 1 of 2
  met      kernels_per_step <= 1
           kernels_per_step: 1
  failed   count("aten::t") == 0: not so in this trace: count("aten::t") is 3
           count("aten::t") (3): aten::t at 3.00 µs for 5.00 µs, aten::t at 19.0
           µs for 5.00 µs, aten::t at 35.0 µs for 5.00 µs
"""


def test_text_at_a_fixed_width(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(broken_copy(LINEAR, tmp_path, ranked).parent)
    expect = ("--expect", "kernels_per_step <= 1", "--expect", 'count("aten::t") == 0')
    code, out, err = run(capsys, LINEAR.name, "--alone", "--guess", "kernels_per_step=3", *expect)
    assert code == 1
    assert out == TEXT
    assert all(len(line) <= 80 for line in out.splitlines())
    assert err == (
        "failed: guess kernels_per_step: 3 is wrong\n"
        'failed: expected count("aten::t") == 0: not so in this trace: count("aten::t") is 3\n'
    )


def test_lesson_lines_of_a_recorded_run() -> None:
    found = check(read_trace(MM))
    assert lesson_lines(found, Style(width=100)) == [
        "holds    1.1   size 64 is overhead-bound: the GPU is busy for a few percent of the window",
        "holds    1.3   the dispatch chain nests step > matmul_add > aten::matmul > aten::mm, then "
        "aten::add",
        "holds    1.4   eager launches one GEMM and one elementwise kernel a step",
        "differs  1.5   an occupancy query precedes the GEMM's launch and not the add's: cuBLAS "
        "takes an",
        "               nvjet kernel on this architecture and launches it by cuLaunchKernelEx, "
        "without asking",
        "               for the occupancy first",
        "holds    1.8   compile makes the CPU side of one small op dearer",
        "holds    1.10  identical kernels do not take identical time",
        "holds    1.11  the closing cudaDeviceSynchronize is the profiler's flush and waits for "
        "the queued",
        "               GPU work",
        "unseen   1.2: this run's size is 64; --size 4096 shows it",
        "unseen   1.6: this run was warmed up; a run without --warmup shows it",
        "unseen   1.7, 1.9: this run is not compiled; --compile shows it",
    ]


def test_gate_that_is_met_by_a_name_of_nothing_is_not_silent(capsys: Capture) -> None:
    code, _, err = run(capsys, LINEAR, "--alone", "--expect", 'count("GEMM") == 0')
    assert code == 0
    assert err == (
        'note: count("GEMM") is about nothing in this trace; names that only hold it, mind the '
        "case, and *: bf16 GEMM 64x8 with bias (nvjet)\n"
    )


def test_number_and_verb_agree(capsys: Capture) -> None:
    one = H200 / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
    _, out, _ = run(capsys, one, "--alone")
    assert "  8 claims: 3 hold, 1 differs, 4 cannot be seen here\n" in out
    assert "Of 8 claims, 3 hold, 1 differs on this GPU, and 4 cannot be seen in this trace." in str(
        claims_html(check(read_trace(one), against=()))
    )


def test_healthy_trace_passes(capsys: Capture) -> None:
    code, out, err = run(capsys, LINEAR, "--expect", "kernels_per_step == 1")
    assert (code, err) == (0, "")
    assert "6 claims: 6 hold, 0 differ, 0 cannot be seen here" in out


def test_known_difference_passes(capsys: Capture) -> None:
    code, out, _ = run(capsys, MM)
    assert code == 0
    assert "because cuBLAS takes an nvjet kernel" in " ".join(out.split())


def test_contradicted_claim_fails_with_its_line(capsys: Capture, tmp_path: Path) -> None:
    copy = broken_copy(LINEAR, tmp_path, put_in("aten::add", "linear_fwd", at=0.01))
    code, out, err = run(capsys, copy)
    assert code == 1
    assert err == "failed: claim 2.3: aten::add in ProfilerStep#3\n"
    assert "contradicted: aten::add in ProfilerStep#3" in out


def test_removed_kernel_names_its_lost_launch(capsys: Capture, tmp_path: Path) -> None:
    copy = broken_copy(LINEAR, tmp_path, remove("nvjet", "kernel"))
    _, _, err = run(capsys, copy)
    assert err == "failed: claim 2.3: 0 kernels in ProfilerStep#3; 1 of its launches have none\n"


def test_json_has_the_documented_fields(capsys: Capture) -> None:
    code, out, _ = run(
        capsys, LINEAR, "--json", "--guess", "kernels_per_step=1", "--expect", "launches == 4"
    )
    told = json.loads(out)
    assert code == 1 and told["passed"] is False
    assert told["lesson"] == "02_linear"
    assert [claim["id"] for claim in told["claims"]] == [f"2.{n}" for n in range(1, 7)]
    assert set(told["claims"][0]) == {
        "id", "verdict", "text", "reason", "contradicted", "evidence",
    }  # fmt: skip
    assert {claim["verdict"] for claim in told["claims"]} == {"holds"}
    (guess,) = told["guesses"]
    assert guess == {"fact": "kernels_per_step", "guess": 1, "actual": 1, "holds": True}
    (expected,) = told["expectations"]
    assert (expected["expectation"], expected["holds"]) == ("launches == 4", False)
    assert expected["evidence"][0]["value"] == told["facts"]["launches"] == 3


def test_facts_are_those_of_the_summary(capsys: Capture) -> None:
    _, out, _ = run(capsys, MM, "--json")
    facts = json.loads(out)["facts"]
    assert main(["summary", str(MM), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    shared = [
        name
        for name in facts
        if name in summary and name not in ("kernels", "steps", "synchronisations")
    ]
    assert len(shared) > 12
    assert {name: summary[name] for name in shared} == {name: facts[name] for name in shared}
    dotted = [name.split(".") for name in facts if "." in name]
    assert [summary[a][b] for a, b in dotted] == [facts[f"{a}.{b}"] for a, b in dotted]
    assert facts["kernels_per_step"] == summary["steps"][0]["kernels"]
    assert facts["duration_us_per_step"] == [step["duration_us"] for step in summary["steps"]]


def test_evidence_times_are_on_the_files_clock(capsys: Capture) -> None:
    from trace_edits import load

    _, out, _ = run(capsys, LINEAR, "--json")
    events = load(LINEAR)["traceEvents"]
    shown = [
        event
        for claim in json.loads(out)["claims"]
        for evidence in claim["evidence"]
        for event in evidence["events"]
        if event["trace"] is None
    ]
    assert len(shown) > 3
    for event in shown:
        there = events[event["row"]]
        assert (there["name"], there["ts"], there["dur"]) == (
            event["name"],
            event["start_us"],
            event["duration_us"],
        )


def test_other_given_by_hand(capsys: Capture, tmp_path: Path) -> None:
    compiled = LINEAR.with_name("1024_32_64_compile.json.gz")
    copy = broken_copy(compiled, tmp_path, rename("_TNT", "_NNT", "kernel"))
    code, _, err = run(capsys, LINEAR, "--against", copy)
    assert (code, err) == (1, "failed: claim 2.4: the compiled run has another kernel\n")
    assert run(capsys, LINEAR, "--against", compiled)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--lesson", "09_moe"), "09_moe: no such lesson; one of 01_matmul"),
        (("--expect", "kernel_per_step <= 5"), "did you mean kernels_per_step"),
        (("--guess", "kernels"), "not a guess; write FACT=VALUE"),
        (("--guess", "kernels=x"), "'x' is no number, and kernels is one"),
        (("--expect", "1 == 1"), "no fact is compared"),
        (("--claim", "9.9"), "no claim 9.9"),
        (("--against", "nowhere.json"), "nowhere.json"),
    ],
)
def test_bad_request_is_one_line(capsys: Capture, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(capsys, LINEAR, *arguments)
    assert (code, out) == (1 if arguments[0] == "--against" else 2, ""), "2 is wrong usage"
    assert err.startswith("error: ") and message in err
    assert err.count("\n") == 1


def test_foreign_trace_needs_a_question(capsys: Capture, shared_traces: Path) -> None:
    path = shared_traces / "b200-same-stream-overlaps.json.gz"
    code, _, err = run(capsys, path)
    assert code == 2
    assert "it does not say its lesson; give --lesson, --guess or --expect" in err
    assert run(capsys, path, "--expect", 'count("nvjet*") == 109')[0] == 0


def test_incomplete_trace_is_told_and_fails(tmp_path: Path, capsys: Capture) -> None:
    whole = gzip.decompress(MM.read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    code, out, err = run(capsys, cut, "--alone", "--expect", "kernels >= 0")
    assert code == 1
    assert "warning  the end of the file is missing" in out
    assert "failed: expected kernels >= 0: not judged: the file is cut off" in err
    code, out, _ = run(capsys, cut, "--alone", "--expect", "kernels >= 0", "--json")
    told = json.loads(out)
    assert (code, told["incomplete"]) == (1, "the file is cut off")
    assert any("the end of the file is missing" in one for one in told["warnings"])
    code, out, _ = run(
        capsys, cut, "--alone", "--expect", "kernels >= 0", "--allow-incomplete", "--json"
    )
    assert json.loads(out)["expectations"][0]["holds"]
