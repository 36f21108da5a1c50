from __future__ import annotations

import time

import pytest

from trace_util import giveaways
from trace_util.giveaways import is_given_away, is_searchable, kind_of_key, matches, path_rest

# Nothing here is a secret; the parts are joined so that no file holds anything of that shape.
SECRETS = [
    "hf_" + "x" * 34,
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "AKIA" + "ABCDEFGH" * 2,
    "glpat-" + "abcde" * 4,
    "AIza" + "abcde" * 7,
    "sk-" + "abcd-" * 6,
    "sk_" + "live_" + "a1" * 12,
    "xoxb-" + "123456-abcdef",
    "eyJ" + "abcdefgh" + "." + "eyJ" + "abcdefgh" + "." + "abcdefgh",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda s: s[:6])
@pytest.mark.parametrize("around", ["{}", "run --x {} now", "name={}", "({})", "prefix:{};"])
def test_a_secret_is_found_by_its_shape(secret, around):
    text = around.format(secret)
    assert [text[m.start : m.end] for m in matches(text) if m.kind == "secret"] == [secret]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("python x.py --token hunter2", "hunter2"),
        ("python x.py --api-key=abcd1234", "abcd1234"),
        ("WANDB_API_KEY=0123abcd0123 python x.py", "0123abcd0123"),
        ("Authorization: Bearer abcdefghijkl", "abcdefghijkl"),
        ("https://ada:secretword@example.com/x", "secretword"),
    ],
)
def test_a_secret_is_found_by_what_announces_it(text, secret):
    assert [text[m.start : m.end] for m in matches(text) if m.kind == "secret"] == [secret]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/home/ada/my work/net.py(33): forward", "/home/ada/my work/net.py"),
        ("C:\\Users\\ada\\net.py(1): f", "C:\\Users\\ada\\net.py"),
        ("f;/data/ada/a.py(1): g", "/data/ada/a.py"),
        ("at file:///home/ada/x.py", "///home/ada/x.py"),
        ("/tmp/torchinductor_ada/ob/c.py(132): call", "/tmp/torchinductor_ada/ob/c.py"),
        ("cwd:/Users/ada", "/Users/ada"),
        ("\\\\server\\share\\x.py", "\\\\server\\share\\x.py"),
    ],
)
def test_a_path_is_found(text, path):
    assert [text[m.start : m.end] for m in matches(text)] == [path]
    assert [m.kind for m in matches(text)] == ["path"]


@pytest.mark.parametrize(
    "text",
    [
        "aten::mm",
        "ProfilerStep#2",
        "Torch-Compiled Region: 0/1",
        "torch/nn/modules/module.py(1501): _call_impl",
        "/usr/lib/python3.11/threading.py(3): run",
        "/tmp/torchinductor_root/ob/c.py(132): call",
        "/tmp/trace.json",
        "void at::native::vectorized_elementwise_kernel<4, at::native::add, std::array<char*, 3>>",
        "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT",
        "num_tokens=128 MAX_TOKEN=128",
        "see https://github.com/pytorch/pytorch/issues/98432",
        "triton_poi_fused__unsafe_view_gelu_mul_0",
        "Memcpy DtoD (Device -> Device)",
        "ab" * 32,
        "",
    ],
)
def test_what_every_trace_holds_gives_nothing_away(text):
    assert matches(text) == []


def test_paths_keep_the_end_that_a_reader_looks_for():
    assert path_rest("/home/ada/v/lib/python3.11/site-packages/torch/nn/x.py") == "torch/nn/x.py"
    assert path_rest("/data/ada/net.py") == "net.py"
    assert path_rest("/home/ada") == ""
    assert path_rest("C:\\Users\\ada\\net.py") == "net.py"


def test_a_member_is_told_by_its_name():
    kinds = {
        "HF_TOKEN": "secret", "password": "secret", "aws_secret_access_key": "secret",
        "env": "environment", "os_environ": "environment", "argv": "command line",
        "host_name": "host name", "tw_user": "user name", "username": "user name",
        "tw_job": "job name", "cwd": "path", "master_addr": "network address",
    }  # fmt: skip
    assert {key: kind_of_key(key) for key in kinds} == kinds
    for key in ("name", "cat", "ph", "args", "device", "stream", "correlation", "num_tokens"):
        assert kind_of_key(key) is None
    for key in ("External id", "Process Group Name", "kernel_backend", "labels", "trace_id"):
        assert kind_of_key(key) is None


def test_a_lesson_command_and_what_is_already_gone_give_nothing_away():
    command = giveaways.COMMAND
    assert not is_given_away(command, "python 02_linear.py --batch 1024")
    assert not is_given_away(command, "torchrun --nproc-per-node 2 05_parallel_mlp.py")
    assert is_given_away(command, "python 02_linear.py --out /home/ada/x")
    assert is_given_away(command, "python train.py")
    for value in ("removed", "", "<hidden>", "redacted-host-name-1", "localhost"):
        assert not is_given_away(giveaways.HOST, value)


@pytest.mark.parametrize("text", ["-a" * 10_000, "C:\\a\\" * 20_000])
def test_a_long_chain_is_looked_through_in_little_time(text):
    began = time.perf_counter()
    matches(text)
    assert time.perf_counter() - began < 5


def test_a_flag_of_many_words_announces_a_secret():
    text = "--" + "word_" * 20 + "token=hunter2"
    assert [text[m.start : m.end] for m in matches(text)] == ["hunter2"]


def test_matches_are_in_order_and_apart():
    secret = SECRETS[0]
    text = f"/home/ada/{secret}/x ada@example.org /home/ada/y --token {secret} /home/bob/z"
    found = matches(text)
    assert [text[m.start : m.end] for m in found if m.kind == "secret"] == [secret, secret]
    assert all(a.end <= b.start for a, b in zip(found, found[1:], strict=False))


@pytest.mark.parametrize(
    ("word", "searched"),
    [
        ("lovelace", True),
        ("node4711", True),
        ("4711", False),  # a job's number: sizes and times would go with it
        ("40961234", False),
        ("ada", False),
        ("Train", False),
    ],
)
def test_only_rare_names_are_searched_for_elsewhere(word, searched):
    assert is_searchable(word) is searched


ODD = "q7" + "Zx9" * 5


@pytest.mark.parametrize(
    "text",
    [
        f"redis://:{ODD}@cache:6379/0",
        f"password: {ODD}",
        f"DB_PASSWORD: {ODD}",
        f"aws_secret_access_key = {ODD}",
        f"curl -H X-Api-Key: {ODD}",
        f"train.py --wandb_key={ODD} --lr 1",
        f"train.py --passphrase {ODD}",
    ],
)
def test_secret_is_found_where_a_colon_or_blanks_announce_it(text: str) -> None:
    assert [(text[one.start : one.end], one.kind) for one in giveaways.matches(text)] == [
        (ODD, giveaways.SECRET)
    ]


@pytest.mark.parametrize("text", ["token: int", "max_token = 4096", "secret: none", "api_key: str"])
def test_innocent_word_behind_a_colon_is_no_secret(text: str) -> None:
    assert giveaways.matches(text) == []
