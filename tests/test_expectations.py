"""Guesses and expectations: what they may say, what the trace answers, and what is refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RECORDED
from trace_edits import GPU, broken_copy, remove, remove_all, unlink

from trace_util.claims import Check, check
from trace_util.events import UsageError
from trace_util.reader import read_trace
from trace_util.slim import slim_trace

MLP = RECORDED / "nvidia-h200" / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
ADDMM = RECORDED / "nvidia-h200" / "01_matmul" / "64_bf16_warm_compile.json.gz"


def expecting(*texts: str, path: Path = MLP) -> Check:
    return check(read_trace(path), expectations=texts, against=())


@pytest.mark.parametrize(
    "text",
    [
        "kernels_per_step <= 5",
        "kernels_per_step == 5 and launches_per_step == 5",
        "kernels == 15",
        "kernels.count / steps == 5",
        "gpu_busy_share >= 0.2",
        "0 < gpu_busy_share < 1",
        'count("Memcpy DtoD") == 0',
        'count("aten::t") == 9',
        'count("aten::t*") >= 18',
        'count("Memset") == memsets',
        'count("ProfilerStep") == 3',
        'gpu == "NVIDIA H200"',
        "not lost_launches > 0",
        "gpu_busy_us > -1.5e0 + 2 * 3 // 2 % 4",
        "kernels == 0 or steps == 3",
        "unprofiled_step.median_us >= unprofiled_step.min_us",
        "window_us >= gpu_busy_in_window_us",
        "gpu_busy_share > 72.8% and (gpu_busy_share) < 72.9 %",
        "0% < gpu_busy_share<100%",
        "kernels % 4 == 3 and kernels == 31%16",
        'count("50% and") == 0',
    ],
)
def test_expectation_met(text: str) -> None:
    (one,) = expecting(text).expectations
    assert (one.holds, one.reason) == (True, "")
    assert one.evidence


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kernels_per_step <= 4", "not in any of 3 steps: kernels_per_step is 5"),
        (
            "kernels_per_step <= 5 and copies > 0",
            "not in any of 3 steps: kernels_per_step is 5, copies is 0",
        ),
        (
            "gpu_busy_us_per_step < 232",
            "not in ProfilerStep#2 and 1 more: gpu_busy_us_per_step is 235.5, 234.1, 231.3",
        ),
        ('count("aten::mm") == 0', 'not so in this trace: count("aten::mm") is 9'),
        ('count("Memset (Device)") < 6', 'not so in this trace: count("Memset (Device)") is 6'),
        ("gpu_busy_share > 0.9", "not so in this trace: gpu_busy_share is 0.7287"),
        ("1 / copies > 0", "a division by zero"),
    ],
)
def test_expectation_not_met(text: str, reason: str) -> None:
    found = expecting(text)
    assert [(one.holds, one.reason) for one in found.expectations] == [(False, reason)]
    assert not found.passed


def test_expectation_must_hold_in_every_step(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove("GeluCUDA", "kernel", which=2))
    found = check(read_trace(copy), expectations=["kernels_per_step == 5"], allow_incomplete=True)
    (one,) = found.expectations
    assert one.reason == "not in ProfilerStep#4: kernels_per_step is 5, 5, 4"
    numbers = {evidence.what: evidence.value for evidence in one.evidence}
    assert numbers["kernels_per_step"] == "5, 5, 4"
    assert numbers["kernels of ProfilerStep#4"] == 4


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("kernels_per_step <= 5", "ProfilerStep#4"),
        ("gpu_busy_us_per_step < 1e9", "ProfilerStep#4"),
        ("kernels <= 20", "the trace"),
        ("gpu_busy_share <= 100 %", "the trace"),
        ('count("*GeluCUDA*") <= 3', "the trace"),
    ],
)
def test_gpu_work_of_lost_kernels_is_not_judged(text: str, where: str, tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove("GeluCUDA", "kernel", which=2))
    (one,) = expecting(text, path=copy).expectations
    assert not one.holds
    assert one.reason.endswith(f" cannot be known: {where} lost the kernels of a launch")


@pytest.mark.parametrize("text", ["kernels_per_step <= 4", "gpu_busy_us_per_step < 10"])
def test_gpu_work_without_launches_is_not_judged_by_step(text: str, tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, unlink(*GPU))
    (one,) = expecting(text, path=copy).expectations
    assert not one.holds
    assert one.reason.endswith("cannot be known: 21 GPU events name no launch, and so no step")
    (whole,) = expecting("kernels == 15", path=copy).expectations
    assert whole.holds
    (one,) = check(read_trace(copy), expectations=[text], allow_incomplete=True).expectations
    assert one.holds


def test_claims_about_the_gpu_are_unseen_without_launches(tmp_path: Path) -> None:
    found = check(read_trace(broken_copy(MLP, tmp_path, unlink(*GPU))))
    (five,) = [claim for claim in found.claims if claim.id == "3.1"]
    assert (five.verdict, five.reason) == (
        "unseen",
        "21 GPU events name no launch, and so no step",
    )
    assert found.passed


def test_gpu_work_that_a_cpu_could_not_do_is_not_absent(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove_all(*GPU, "cuda_runtime", "cuda_driver"))
    texts = ['count("Memcpy DtoD") == 0', 'count("aten::copy_") == 0']
    memcpy, op = check(read_trace(copy), expectations=texts, against=()).expectations
    assert (memcpy.holds, op.holds) == (False, True)
    assert memcpy.reason == (
        'count("Memcpy DtoD") cannot be known: nothing was launched: the run was on the CPU'
    )


def test_host_facts_are_judged_beside_lost_kernels(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove("GeluCUDA", "kernel", which=2))
    found = expecting("launches_per_step == 5", "lost_launches == 1", path=copy)
    assert all(one.holds for one in found.expectations)


def cut_file(folder: Path) -> Path:
    whole = gzip.decompress(MLP.read_bytes())
    copy = folder / "cut.json"
    copy.write_bytes(whole[: len(whole) * 3 // 4])
    return copy


def spliced_file(folder: Path) -> Path:
    whole = gzip.decompress(MLP.read_bytes())
    copy = folder / "two.json"
    copy.write_bytes(whole + whole)
    return copy


def bad_checksum(folder: Path) -> Path:
    packed = bytearray(MLP.read_bytes())
    packed[-8] ^= 0xFF  # the CRC is in the last eight bytes, RFC 1952
    copy = folder / "crc.json.gz"
    copy.write_bytes(bytes(packed))
    return copy


def copy_of_a_cut_file(folder: Path) -> Path:
    slim_trace(cut_file(folder), folder / "copy.json", "no-python")
    return folder / "copy.json"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (copy_of_a_cut_file, "it was made of a file that was cut off or damaged"),
        (cut_file, "the file is cut off"),
        (bad_checksum, "its gzip data is damaged"),
        (spliced_file, "its text breaks off and goes on, as where two writers had one path"),
    ],
)
def test_incomplete_trace_meets_no_expectation(
    made: Callable[[Path], Path], reason: str, tmp_path: Path
) -> None:
    trace = read_trace(made(tmp_path))
    found = check(trace, expectations=["kernels >= 1"], against=())
    assert [one.reason for one in found.expectations] == [f"not judged: {reason}"]
    assert found.incomplete == reason
    assert found.warnings and not found.passed
    allowed = check(trace, expectations=["kernels >= 1"], against=(), allow_incomplete=True)
    assert [one.holds for one in allowed.expectations] == [True]


def test_claims_of_a_cut_file_say_that_it_is_cut(tmp_path: Path) -> None:
    whole = gzip.decompress(MLP.read_bytes())
    copy = tmp_path / "cut.json"
    copy.write_bytes(whole[: whole.index(b'"cuda_driver"')])  # before the first launch
    reasons = [c.reason for c in check(read_trace(copy), "03_simple_mlp", against=()).claims]
    told = [reason for reason in reasons if reason]
    assert told and all("the file is cut off" in reason for reason in told)
    assert not [reason for reason in told if "nothing was launched" in reason]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gpu_busy_share <= 90", "is a share"),
        ("0 <= gpu_busy_share <= 1.5", "is a share"),
        ("gpu_busy_share >= -10 %", "is a share"),
        ("gpu_busy_us >= 50 %", "is no share"),
        ('count("k") >= 50%', "is no share"),
        ("kernels / 0 == 1", "a division by zero"),
        ("kernels % (2 - 2) == 1", "a division by zero"),
    ],
)
def test_comparison_that_no_trace_can_decide_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        expecting(text)


def test_ratio_of_two_facts_may_be_a_percentage() -> None:
    assert expecting("gpu_busy_in_window_us / window_us >= 5 %").passed


def test_name_that_only_holds_a_text_is_told() -> None:
    (one,) = expecting('count("GeluCUDA") == 0').expectations
    assert one.holds
    assert "GeluCUDA" in str(one.evidence[1].value)


@pytest.mark.parametrize(
    "text",
    [
        'count("vectorized_elementwise_kernel*") == 6',
        'count("vectorized_elementwise_kernel") == 6',
        'count("vectorized_elementwise_kernel<MulFunctor, bf16>") == 3',
        'count("vectorized_elementwise_kernel<GeluCUDA…lImpl, bf16>") == 3',
        'count("bf16 GEMM 256x128 (nvjet)") == 6',
        'count("*GEMM*") == 9',
    ],
)
def test_kernels_are_counted_as_reports_print_them(text: str) -> None:
    (one,) = expecting(text).expectations
    assert (one.holds, one.hints) == (True, ())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("GEMM", "names that only hold it, mind the case, and *: bf16 GEMM 256x128 (nvjet), "),
        ("*gemm*", "names that only hold it, mind the case, and *: bf16 GEMM 256x128 (nvjet), "),
        ("nvjet_sm", "names that only begin so, add * to count them: nvjet_sm90_tst_256x128"),
        (
            "vectorised_elementwise_kernel*",
            "names that are nearly so: vectorized_elementwise_kernel<GeluCUDAKernelImpl, bf16>, ",
        ),
    ],
)
def test_name_that_counts_nothing_is_told_beside_those_like_it(name: str, told: str) -> None:
    (one,) = expecting(f'count("{name}") == 0').expectations
    (hint,) = one.hints
    assert one.holds
    assert hint.startswith(f'count("{name}") is about nothing in this trace; {told}')


@pytest.mark.parametrize("name", ["Memcpy DtoD", "aten::bmm", "triton_poi_fused_mul_0"])
def test_name_of_something_else_that_is_absent_is_no_slip(name: str) -> None:
    (one,) = expecting(f'count("{name}") == 0').expectations
    assert (one.holds, one.hints) == (True, ())


def test_failing_expectation_shows_the_events() -> None:
    (one,) = expecting('count("Memcpy DtoD") == 0', path=ADDMM).expectations
    (copies,) = one.evidence
    assert (copies.value, len(copies.events)) == (3, 3)
    assert copies.events[0].name == "Memcpy DtoD (Device -> Device)"


def test_event_of_evidence_is_found_in_the_file() -> None:
    from trace_edits import load

    (one,) = expecting('count("aten::gelu") == 0').expectations
    events = load(MLP)["traceEvents"]
    for shown in one.evidence[0].events:
        there = events[shown.row]
        assert there["name"] == "aten::gelu"
        assert shown.start_ns == round(there["ts"] * 1000)
        assert shown.duration_ns == round(there["dur"] * 1000)


def test_name_cut_inside_a_word_counts_nothing_but_says_so() -> None:
    (one,) = expecting('count("nvjet") == 0').expectations
    assert one.holds
    hint = one.evidence[1]
    assert "add *" in hint.what
    assert "nvjet_sm90_tst_256x128" in str(hint.value)


def test_gpu_facts_without_recorded_gpu_work_fail(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove_all(*GPU))
    texts = ["kernels_per_step <= 5", "gpu_busy_share >= 0", 'count("Memcpy DtoD") == 0']
    found = check(read_trace(copy), expectations=texts)
    why = "kernels were launched, but what the GPU did was not recorded"
    assert [(one.holds, one.reason) for one in found.expectations] == [
        (False, f"kernels_per_step cannot be known: {why}"),
        (False, f"gpu_busy_share cannot be known: {why}"),
        (False, f'count("Memcpy DtoD") cannot be known: {why}'),
    ]
    (host,) = check(read_trace(copy), expectations=['count("aten::mm") == 9']).expectations
    assert host.holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernels_per_stp <= 5", "no such fact; did you mean kernels_per_step"),
        ("zzzzqqqq == 1", "no such fact; such as kernels_per_step; trace-util"),
        ("kernels_per_step", "compares nothing"),
        ("5", "compares nothing"),
        ("1 + 1", "compares nothing"),
        ("kernels == 15 and 1", "compares nothing"),
        ("kernels ==", "not an expression"),
        ("", "not an expression"),
        ("kernels = 5", "not an expression"),
        ("a" * 600 + " == 1", "longer than 500 characters"),
        ("-" * 400 + "1 == 1", "nested too deeply"),
        ("(" * 240 + "1" + ")" * 240 + " == 1", "not an expression"),
        ('__import__("os").system("true") == 0', "the only function is"),
        ("().__class__ == 1", "only names of facts"),
        ("[1][0] == 1", "not allowed"),
        ("(lambda: 1)() == 1", "the only function is"),
        ("9 ** 9 ** 9 > 0", "not allowed"),
        ("1 << 9 > 0", "not allowed"),
        ("True == 1", "True is no number"),
        ("kernels < 1e999", "a number is too large"),
        ("kernels in 5", "not allowed"),
        ("count(kernels) == 0", "a name in quotes"),
        ('count("a", "b") == 0', "the only function is"),
        ('kernels == "5"', "cannot be compared"),
        ('gpu + "x" == "y"', "cannot be calculated"),
        ("f'{kernels}' == 1", "not allowed"),
        ("1 == 1", "no fact is compared"),
        ("kernels == 15 or 1 < 2", "no fact is compared"),
        ("not 1 == 2", "no fact is compared"),
        ("kernels == kernels", "compared with itself"),
        ('count("x") <= count("x")', "compared with itself"),
        ('count("") == 0', "a name in quotes"),
        ('count(" ") == 0', "a name in quotes"),
        ("kernels == 5 % x", "no such fact"),
        ("kernels == %", "not an expression"),
    ],
)
def test_expression_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        expecting(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "actual", "right"),
    [
        ("kernels_per_step=5", 5, True),
        ("kernels_per_step = 6", 5, False),
        ("copies=0", 0, True),
        ("gpu=nvidia h200", "NVIDIA H200", True),
        ("steps=3.0", 3, True),
    ],
)
def test_guess_marked(text: str, actual: object, right: bool) -> None:
    found = check(read_trace(MLP), guesses=[text], against=())
    (guess,) = found.guesses
    assert (guess.actual, guess.holds) == (actual, right)
    assert found.passed == right


def test_guess_of_a_share_holds_within_a_quarter() -> None:
    trace = read_trace(MLP)
    share = check(trace, against=()).facts["gpu_busy_share"]
    assert isinstance(share, float)
    texts = [f"gpu_busy_share={share * f}" for f in (0.74, 0.76, 1.24, 1.26)]
    texts.append(f"gpu_busy_share={share * 110}%")
    found = check(trace, guesses=texts, against=()).guesses
    assert [guess.holds for guess in found] == [False, True, True, False, True]


def test_guess_of_a_step_is_wrong_where_one_step_differs(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove("GeluCUDA", "kernel"))
    (guess,) = check(read_trace(copy), guesses=["kernels_per_step=5"]).guesses
    assert (guess.actual, guess.holds) == ((5, 4, 5), False)


@pytest.mark.parametrize("text", ["kernels_per_step", "=5", "kernels=", ""])
def test_guess_of_another_form_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a guess; write FACT=VALUE"):
        check(read_trace(MLP), guesses=[text])


@pytest.mark.parametrize("value", ["abc", "nan", "inf", "-inf", "1e999", "0x5", "5 6", "5%%", "²"])
@pytest.mark.parametrize("fact", ["kernels_per_step", "gpu_busy_share", "relative_error"])
def test_guess_that_is_no_number_refused(fact: str, value: str) -> None:
    with pytest.raises(UsageError, match=f" is no number, and {fact} is one"):
        check(read_trace(MLP), guesses=[f"{fact}={value}"], against=())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu_busy_share=73", "a share is 0 to 1, or a percentage such as 25 %"),
        ("gpu_busy_share=-0.1", "a share is 0 to 1"),
        ("gpu_busy_share=101 %", "a share is 0 to 1"),
        ("kernels_per_step=50%", "kernels_per_step is no share; give its number without %"),
        ("foo=1", "foo: no such fact; such as kernels_per_step; trace-util check TRACE --json"),
    ],
)
def test_guess_that_nothing_can_be_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        check(read_trace(MLP), guesses=[text], against=())
    assert message in str(error.value) and len(str(error.value)) < 120


@pytest.mark.parametrize(
    ("text", "guessed"), [("50%", 0.5), ("72.9 %", 0.729), ("1", 1), (".7", 0.7)]
)
def test_guess_of_a_share_as_a_percentage(text: str, guessed: float) -> None:
    (one,) = check(read_trace(MLP), guesses=[f"gpu_busy_share={text}"], against=()).guesses
    assert one.guess == pytest.approx(guessed)


def test_guess_of_what_cannot_be_known_is_wrong(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove_all(*GPU))
    (guess,) = check(read_trace(copy), guesses=["kernels_per_step=0"]).guesses
    assert (guess.actual, guess.holds) == (None, False)
