from __future__ import annotations

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from conftest import RECORDED
from loopback_hub import Account, Bucket, Fault, LoopbackHub, loopback_hub

from trace_util.events import TraceError
from trace_util.json_strings import text_of

EVENT = '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":1,"dur":2}'
TRACE = '{"schemaVersion": 1, "traceEvents": [' + EVENT + "]}"
ODD_NAME = "run #1 50%?a&b é.json"
TOKEN = "hf_" + "x" * 34


@dataclass
class Ran:
    code: int
    out: str
    err: str
    seconds: float

    @property
    def outcome(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line that says what is wrong."""
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, self.err
        return lines[0].removeprefix("error: ")


class Client:
    """Command lines of trace-util, run by the real client against the loopback Hub."""

    def __init__(self, hub: LoopbackHub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))},
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(folder / "home"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_TOKEN": "ada-token",
            "HF_XET_CLIENT_RETRY_BASE_DELAY": "30ms",
            "NO_PROXY": "*",
        }
        self.server = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "hub_client.py")],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self.server.communicate(timeout=20)

    def download(self, address: str, folder: Path, **environment: str) -> Ran:
        """``trace_util.share.download``, with its result printed."""
        return self("@download", address, str(folder), cwd=self.folder, **environment)

    def __call__(self, *arguments: str, cwd: Path, **environment: str) -> Ran:
        out, err = self.folder / "out.txt", self.folder / "err.txt"
        request = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": environment,
            "out": str(out),
            "err": str(err),
        }
        assert self.server.stdin is not None and self.server.stdout is not None
        start = time.monotonic()
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        code = int(self.server.stdout.readline())
        ran = Ran(code, out.read_text(), err.read_text(), time.monotonic() - start)
        assert "Traceback" not in ran.err, ran.err
        return ran


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LoopbackHub, Client]]:
    folder = tmp_path_factory.mktemp("hub")
    with loopback_hub(folder) as hub:
        client = Client(hub, folder)
        yield hub, client
        client.close()


@pytest.fixture
def hub(served: tuple[LoopbackHub, Client]) -> LoopbackHub:
    """The Hub, with nothing in it."""
    hub = served[0]
    hub.buckets.clear()
    hub.faults.clear()
    hub.requests.clear()
    hub.accounts.clear()
    hub.accounts["ada-token"] = Account("ada", {"engines": "admin", "readers": "read"})
    hub.page_size = 1000
    hub.cas_url = f"local://{hub.cas}"
    return hub


@pytest.fixture
def client(served: tuple[LoopbackHub, Client], hub: LoopbackHub) -> Client:
    return served[1]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with ``traces`` in it: two lessons with a file of the same name, and a table."""
    for lesson in ("02_linear", "03_simple_mlp"):
        (tmp_path / "traces" / lesson).mkdir(parents=True)
        text = TRACE.replace("aten::mm", f"aten::mm of {lesson}")
        (tmp_path / "traces" / lesson / "64_eager.json").write_text(text)
    (tmp_path / "traces" / "02_linear" / "64_eager.txt").write_text("Name  Self CPU\n")
    return tmp_path


REMOTES = ["02_linear/64_eager.json.gz", "02_linear/64_eager.txt", "03_simple_mlp/64_eager.json.gz"]


def remotes(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["remote"] for item in items if item["remote"])


def opened_by(link: str) -> str:
    """The address that the Perfetto UI fetches: the parameter ``url``, decoded once."""
    parameter = re.fullmatch(r"https://ui\.perfetto\.dev/#!/\?url=([^?#&]*)(&[^?#]*)?", link)
    assert parameter is not None, link
    return unquote(parameter[1])


# --- what is sent, and where to ---------------------------------------------------------------


def test_upload_creates_the_bucket_and_prints_a_link_for_each_trace(hub, client, work):
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 0
    assert list(ran.outcome) == ["bucket", "public", "sent", "skipped", "failed"]
    assert ran.outcome["bucket"] == "ada/traces" and ran.outcome["public"] is True
    assert remotes(ran.outcome["sent"]) == REMOTES
    assert ran.outcome["skipped"] == ran.outcome["failed"] == []
    for item in ran.outcome["sent"]:
        assert list(item) == ["path", "remote", "url", "link", "reason"]
        assert item["url"] == f"{hub.url}/buckets/ada/traces/resolve/{item['remote']}"
        if item["remote"].endswith(".txt"):
            assert item["link"] is None
        else:
            assert opened_by(item["link"]) == item["url"]
    assert hub.buckets["ada/traces"].private is False
    assert "ada/traces (to be created): public; anybody on the internet can read" in ran.err


def test_content_is_unchanged_and_gzipped_without_a_time(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    for remote in REMOTES:
        sent = hub.content_of("ada/traces", remote)
        local = (work / "traces" / remote.removesuffix(".gz")).read_bytes()
        if remote.endswith(".gz"):
            assert sent[:2] == b"\x1f\x8b" and sent[4:8] == bytes(4)
            sent = gzip.decompress(sent)
        assert sent == local


def test_every_form_of_the_command_uploads(hub, client, work):
    for arguments in (
        ("upload", "traces", "-b", "one"),
        ("traces", "--bucket", "two"),
        ("-b", "three", "-f", "./traces", "--no-delete"),
        ("traces", "--bucket-name", "ada/four"),
    ):
        assert client(*arguments, "--yes", cwd=work).code == 0
    assert sorted(hub.buckets) == ["ada/four", "ada/one", "ada/three", "ada/two"]
    for bucket in hub.buckets.values():
        assert sorted(bucket.files) == sorted([*REMOTES, "README.md"])


def test_a_second_upload_sends_no_byte(hub, client, work):
    first = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    stored, hub.requests[:] = hub.stored_bytes(), []
    for path in (work / "traces").rglob("*.json"):
        os.utime(path)  # a new time is no new content
    second = client("traces", "-b", "traces", "--json", cwd=work)
    assert second.code == 0 and second.outcome["sent"] == []
    assert remotes(second.outcome["skipped"]) == REMOTES
    assert {item["reason"] for item in second.outcome["skipped"]} == {
        "there already, with the same content"
    }
    links = {item["remote"]: item["link"] for item in first.outcome["sent"]}
    assert {item["remote"]: item["link"] for item in second.outcome["skipped"]} == links
    assert hub.asked("xet-write-token|/batch|POST /api/buckets/ada/traces$") == []
    assert hub.stored_bytes() == stored > 0


def test_only_the_file_that_changed_is_sent_again(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    changed = work / "traces" / "02_linear" / "64_eager.json"
    before = changed.stat()
    changed.write_text(changed.read_text().replace('"dur":2', '"dur":3'))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))  # same size, same time
    ran = client("traces", "-b", "traces", "--json", "--yes", cwd=work)
    assert [item["reason"] for item in ran.outcome["sent"]] == [
        "replaces another content of this name"
    ]
    assert remotes(ran.outcome["sent"]) == ["02_linear/64_eager.json.gz"]
    assert remotes(ran.outcome["skipped"]) == REMOTES[1:]
    assert gzip.decompress(hub.content_of("ada/traces", REMOTES[0])) == changed.read_bytes()


def test_another_content_of_the_same_name_is_replaced_only_if_that_is_agreed(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    path = work / "traces" / "02_linear" / "64_eager.json"
    path.write_text(TRACE.replace("aten::mm", "aten::addmm"))
    before = dict(hub.buckets["ada/traces"].files)
    told = "ada/traces: has another 02_linear/64_eager.json.gz, which would be replaced\n"
    dry = client("traces", "-b", "traces", "--dry-run", cwd=work)
    would = "dry run: would be sent, and replaces another content of this name"
    assert dry.code == 0 and f"skipped  {REMOTES[0]}: {would}\n" in dry.out
    assert dry.err.count(told) == 1
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 1 and ran.err.count(told) == 1
    assert ran.error == (
        f"ada/traces: has another {REMOTES[0]}; add --yes to replace what is there, or send to "
        "another folder with --prefix"
    )
    code, shown = on_a_terminal(client, work, "n\n", "traces", "-b", "traces")
    assert code == 1 and hub.buckets["ada/traces"].files == before
    assert "Send 1 file to ada/traces and replace 1 there? [y/N]" in shown
    code, _ = on_a_terminal(client, work, "y\n", "traces", "-b", "traces")
    assert code == 0
    assert gzip.decompress(hub.content_of("ada/traces", REMOTES[0])) == path.read_bytes()


def test_nothing_in_the_bucket_is_deleted(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    (work / "traces" / "03_simple_mlp" / "64_eager.json").unlink()
    assert client("traces", "-b", "traces", "--yes", cwd=work).code == 0
    assert sorted(hub.buckets["ada/traces"].files) == sorted([*REMOTES, "README.md"])
    assert hub.asked("DELETE") == []


def test_mirror_shows_and_deletes_only_when_told(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    files = hub.buckets["ada/traces"].files
    files["notes.md"] = {**files[REMOTES[0]], "path": "notes.md"}
    (work / "traces" / "03_simple_mlp" / "64_eager.json").unlink()
    (work / "traces" / "02_linear" / "64_eager.json").write_text(TRACE[:-3])  # half-written
    shown = client("traces", "-b", "traces", "--mirror", cwd=work)
    assert "only in the bucket: 03_simple_mlp/64_eager.json.gz\n" in shown.err
    assert "nothing is deleted; add --yes" in shown.err
    assert client("traces", "-b", "traces", "--mirror", "--dry-run", "--yes", cwd=work).code == 0
    assert sorted(files) == sorted([*REMOTES, "README.md", "notes.md"])
    told = client("traces", "-b", "traces", "--mirror", "--yes", cwd=work)
    assert "deleted  03_simple_mlp/64_eager.json.gz" in told.out
    assert sorted(files) == sorted([*REMOTES[:2], "README.md", "notes.md"])
    assert b"03_simple_mlp" not in hub.content_of("ada/traces", "README.md")


def test_mirror_deletes_nothing_below_other_folders_and_nothing_after_a_failure(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    client("traces", "-b", "traces", "--yes", "--prefix", "new", cwd=work)
    (work / "traces" / "03_simple_mlp" / "64_eager.json").unlink()
    (work / "traces" / "02_linear" / "64_eager.json").write_text(TRACE)
    hub.faults.append(Fault("FILE new/02", 503, times=1))
    arguments = ("traces", "-b", "traces", "--prefix", "new", "--mirror", "--yes")
    failed = client(*arguments, cwd=work)
    assert failed.code == 1 and "nothing is deleted, since not everything was sent" in failed.err
    assert "new/03_simple_mlp/64_eager.json.gz" in hub.buckets["ada/traces"].files
    assert client(*arguments, cwd=work).code == 0
    files = set(hub.buckets["ada/traces"].files)
    assert files == {*REMOTES, *(f"new/{remote}" for remote in REMOTES[:2]), "README.md"}


def test_recorded_traces_stay_out_unless_their_folder_is_named(hub, client, work):
    """Nor does a mirror take them for gone, once they were sent by name."""
    recorded = work / "traces" / "recorded"
    recorded.mkdir()
    (recorded / "a.json").write_text(TRACE)
    told = "traces/recorded is left out: it holds what comes with the project; name this folder"
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 0 and told in ran.err
    assert remotes(ran.outcome["sent"]) == REMOTES
    named = ("traces/recorded", "-b", "traces", "--prefix", "recorded", "--yes", "--json")
    ran = client(*named, cwd=work)
    assert ran.code == 0 and "left out" not in ran.err
    assert remotes(ran.outcome["sent"]) == ["recorded/a.json.gz"]
    (work / "traces" / "02_linear" / "64_eager.json").unlink()
    ran = client("traces", "-b", "traces", "--mirror", "--dry-run", cwd=work)
    assert "only in the bucket: 02_linear/" in ran.err
    assert "only in the bucket: recorded" not in ran.err


def test_mirror_never_deletes_outside_of_its_folder_whatever_the_hub_lists():
    from trace_util.outcome import Upload
    from trace_util.share.mirroring import mirrored

    class Generous:
        endpoint = "https://huggingface.co"
        deleted: list[str] = []

        def listing(self, bucket: str, prefix: str = "") -> list[str]:
            return ["other/x.json.gz", "new/x.json.gz", "new/kept.json.gz", "new/notes.md"]

        def delete(self, bucket: str, paths: list[str]) -> dict[str, str]:
            self.deleted += paths
            return {}

        def __getattr__(self, name: str) -> Any:  # the page, which is not what is tested here
            raise TraceError("not here")

    said: list[str] = []
    result = mirrored(
        Generous(),  # type: ignore[arg-type]
        Upload("ada/traces", public=True),
        "new/",
        {"new/kept.json.gz"},
        say=said.append,
        ask=None,
        yes=True,
    )
    assert Generous.deleted == ["new/x.json.gz"] == list(result.deleted)
    assert said[0] == "only in the bucket: new/x.json.gz"


PAGE_SAID = (
    ": its README.md gets a line for each trace with lesson, GPU, versions, verdict and link, "
    "unless it is somebody's own\n"
)


def test_dry_run_creates_and_sends_nothing(hub, client, work):
    ran = client("traces", "-b", "traces", "--dry-run", "--json", cwd=work)
    assert ran.code == 0 and hub.buckets == {} and hub.asked("POST") == []
    assert ran.outcome["public"] is None and ran.outcome["sent"] == []
    assert {item["reason"] for item in ran.outcome["skipped"]} == {"dry run: would be sent"}
    assert remotes(ran.outcome["skipped"]) == REMOTES
    assert ran.err.count("ada/traces" + PAGE_SAID) == 1
    hub.buckets["ada/traces"] = Bucket(private=False)
    sent = client("traces", "-b", "traces", cwd=work)
    assert sent.code == 0 and sent.err.count("ada/traces" + PAGE_SAID) == 1
    assert PAGE_SAID not in client("traces", "-b", "traces", cwd=work).err  # nothing new


def test_dry_run_without_a_token_says_what_it_could_not_know(hub, client, work):
    for given, bucket in (("traces", "traces"), ("me/traces", "me/traces")):
        ran = client(
            "traces", "-b", given, "--dry-run", "--mirror", "--json", cwd=work, HF_TOKEN=""
        )
        assert ran.code == 0 and hub.requests == []
        assert ran.outcome["bucket"] == bucket and ran.outcome["public"] is None
        assert ran.outcome["unknown"].startswith("no Hugging Face token: run `hf auth login`")
        assert remotes(ran.outcome["skipped"]) == REMOTES
        assert {item["reason"] for item in ran.outcome["skipped"]} == {
            "dry run: would be sent, unless the bucket has it already"
        }
        first, page, reason, *unknown = ran.err.splitlines()
        assert page + "\n" == bucket + PAGE_SAID
        assert re.match(rf"{bucket}: 3 files would be sent at most \([\d.]+ k?B\)$", first)
        assert reason.startswith("The Hub was not asked: no Hugging Face token")
        whose = [f"So it is not known in which account the bucket {bucket} would be."]
        assert unknown == [
            *([] if "/" in bucket else whose),
            "So it is not known whether the bucket exists, is public, and has these files already.",
        ]
    ran = client("traces", "-b", "traces", "--dry-run", cwd=work, HF_TOKEN="")
    assert ran.out.splitlines()[-1] == "traces: dry run, 0 sent, 3 skipped, 0 failed"


def test_dry_run_without_a_network_still_looks_for_secrets(client, work):
    dead = {"HF_ENDPOINT": "http://127.0.0.1:9"}
    planted(work / "traces" / "02_linear" / "64_eager.json")
    for environment in (dead, {**dead, "HF_TOKEN": ""}, {"HF_HUB_OFFLINE": "1"}):
        ran = alone(client, work, "traces", "-b", "traces", "--dry-run", "--json", **environment)
        assert ran.code == 1 and ran.seconds < 15
        reasons = {item["remote"]: item["reason"] for item in ran.outcome["failed"]}
        assert sorted(reasons) == REMOTES
        assert "holds a secret" in reasons["02_linear/64_eager.json.gz"]
        ran = alone(
            client, work, "traces", "-b", "traces", "--dry-run", "--redact", "--json", **environment
        )
        assert ran.code == 0 and remotes(ran.outcome["skipped"]) == REMOTES


def test_dry_run_takes_the_hubs_no_for_an_answer(hub, client, work):
    hub.accounts["reader"] = Account("ada", role="read")
    ran = client("traces", "-b", "traces", "--dry-run", "--token", "reader", cwd=work)
    assert ran.code == 1 and ran.error.startswith("the token of ada can only read")
    ran = client("traces", "-b", "traces", "--dry-run", "--token", TOKEN, cwd=work)
    assert ran.code == 1 and "not valid or has expired" in ran.error


def test_namespaces(hub, client, work):
    assert client("traces", "-b", "t", "-n", "engines", "--yes", cwd=work).code == 0
    assert client("traces", "-b", "engines/u", "--yes", cwd=work).code == 0
    assert client("traces", "-b", "hf://buckets/engines/v", "--yes", cwd=work).code == 0
    assert sorted(hub.buckets) == ["engines/t", "engines/u", "engines/v"]


def test_prefix_and_plain_files(hub, client, work):
    arguments = ("traces", "-b", "traces", "--yes", "--prefix", "/h200//today/", "--no-gzip")
    assert client(*arguments, cwd=work).code == 0
    names = sorted(name for name in hub.buckets["ada/traces"].files if name != "README.md")
    assert names == [f"h200/today/{remote.removesuffix('.gz')}" for remote in REMOTES]
    sent = hub.content_of("ada/traces", "h200/today/02_linear/64_eager.json")
    assert sent == (work / "traces" / "02_linear" / "64_eager.json").read_bytes()


def test_gzip_is_told_by_content_and_names_stay_apart(hub, client, tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.json").write_text(TRACE)
    (folder / "a.json.gz").write_bytes(gzip.compress(TRACE.replace("mm", "bmm").encode()))
    (folder / "packed.json").write_bytes(gzip.compress(TRACE.encode()))
    (folder / "plain.json.gz").write_text(TRACE)
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=tmp_path)
    assert remotes(ran.outcome["sent"]) == [
        "a.json", "a.json.gz", "packed.json.gz", "plain.json.gz"
    ]  # fmt: skip

    def content(remote: str) -> bytes:
        return hub.content_of("ada/traces", remote)

    assert content("a.json") == TRACE.encode()
    assert content("a.json.gz") == (folder / "a.json.gz").read_bytes()
    assert content("packed.json.gz") == (folder / "packed.json").read_bytes()
    assert gzip.decompress(content("plain.json.gz")) == TRACE.encode()


def test_an_odd_name_survives_the_round_trip(hub, client, tmp_path):
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / ODD_NAME).write_text(TRACE)
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=tmp_path)
    (item,) = ran.outcome["sent"]
    assert item["remote"] == f"{ODD_NAME}.gz"
    inner = opened_by(item["link"])
    assert inner == item["url"] and "?" not in inner and "#" not in inner
    assert unquote(inner) == f"{hub.url}/buckets/ada/traces/resolve/{ODD_NAME}.gz"
    assert ODD_NAME.replace("#", r"\#") in hub.content_of("ada/traces", "README.md").decode()


def test_a_private_bucket_gets_the_command_that_works_instead_of_a_link(hub, client, work):
    ran = client("traces", "-b", "traces", "--yes", "--private", "--json", cwd=work)
    assert ran.code == 0 and ran.outcome["public"] is False
    assert hub.buckets["ada/traces"].private is True
    assert {item["link"] for item in ran.outcome["sent"]} == {None}
    trace = next(i for i in ran.outcome["sent"] if i["remote"] == REMOTES[0])
    assert trace["reason"] == f"private; trace-util open hf://buckets/ada/traces/{REMOTES[0]}"
    assert hub.asked("/resolve/") == []


def test_more_files_than_fit_one_group(hub, client, tmp_path):
    (tmp_path / "traces").mkdir()
    for number in range(120):
        (tmp_path / "traces" / f"{number:03}.json").write_text(TRACE.replace("mm", f"mm{number}"))
    hub.page_size = 50
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=tmp_path)
    assert ran.code == 0 and len(ran.outcome["sent"]) == 120
    assert len(hub.asked("/batch")) == 4  # 50, 50, 20 and the page
    page = hub.content_of("ada/traces", "README.md").decode()
    assert page.count("\n| [") == 120


# --- what is left out -------------------------------------------------------------------------


def test_what_is_not_sent_is_listed_with_the_reason(hub, client, work):
    folder = work / "traces"
    (work / "secret.json").write_text(TRACE)
    (folder / ".hidden.json").write_text(TRACE)
    (folder / "empty.json").write_text("")
    (folder / "empty.json.gz").write_bytes(gzip.compress(b""))
    (folder / "half.json").write_text(TRACE[:-20])
    (folder / "half.json.gz").write_bytes(gzip.compress(TRACE.encode() * 50)[:-12])
    (folder / "graph.json").write_text('{"schema": "1.0.1", "nodes": []}')
    (folder / "none.json").write_text('{"traceEvents": null}')
    (folder / "pointer.json").write_text("version https://git-lfs.github.com/spec/v1\noid x\n")
    (folder / "picture.png").write_text("x")
    (folder / "notes.txt").write_text("x")
    os.symlink(work / "secret.json", folder / "out.json")
    os.symlink(folder / "02_linear", folder / "again")
    os.mkfifo(folder / "pipe.json")
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 0 and ran.seconds < 10
    assert remotes(ran.outcome["sent"]) == REMOTES
    reasons = {Path(item["path"]).name: item["reason"] for item in ran.outcome["skipped"]}
    assert reasons == {
        ".hidden.json": "hidden",
        "empty.json": "empty",
        "empty.json.gz": "an empty gzip file: an empty trace; was the export interrupted?",
        "half.json": "half-written or damaged: its brackets do not close",
        "half.json.gz": "half-written, its gzip stream ends early",
        "graph.json": (
            "an execution graph (`nodes`), as ExecutionTraceObserver writes it, not a timeline"
        ),
        "none.json": "no events; did the schedule reach its active steps?",
        "pointer.json": "a Git LFS pointer; fetch the file itself with `git lfs pull`",
        "picture.png": "not a trace (.json, .json.gz) or its table (.txt)",
        "notes.txt": "a text, but not the table of a trace here",
        "out.json": "a link that leads out of the folder",
        "again": "a link to a folder, whose files go under their own names",
        "pipe.json": "a pipe",
    }


def test_a_folder_without_a_trace_is_an_error(hub, client, tmp_path):
    (tmp_path / "traces").mkdir()
    assert client("traces", "-b", "t", cwd=tmp_path).error == (
        "traces: holds no traces (.json, .json.gz)"
    )
    (tmp_path / "traces" / "p.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    ran = client("traces", "-b", "t", cwd=tmp_path)
    assert ran.code == 1
    assert ran.error == (
        "traces: no trace to send; traces/p.json is not one: a Git LFS pointer; fetch the file "
        "itself with `git lfs pull`"
    )
    assert client("upload", "none", "-b", "t", cwd=tmp_path).error == (
        "none: no such file or folder"
    )


# --- before anything goes public --------------------------------------------------------------


def planted(path: Path) -> None:
    system = {"env": {"HF_TOKEN": TOKEN}, "hostname": "turing-7"}
    event = {**json.loads(EVENT), "name": "/home/ada.l/net.py(3): f"}
    document = {"metadata": {"system": system}, "traceEvents": [json.loads(EVENT), event]}
    path.write_text(json.dumps(document))


def test_a_planted_token_stops_the_upload(hub, client, work):
    planted(work / "traces" / "02_linear" / "64_eager.json")
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 1 and hub.buckets == {} and hub.asked("POST|PUT") == []
    assert ran.outcome["sent"] == []
    reasons = {item["remote"]: item["reason"] for item in ran.outcome["failed"]}
    assert reasons == {
        REMOTES[0]: 'holds a secret: secret under "HF_TOKEN" (1); --redact sends a cleaned copy',
        REMOTES[1]: "not sent, since another file holds a secret",
        REMOTES[2]: "not sent, since another file holds a secret",
    }
    assert not any(value in ran.out + ran.err for value in (TOKEN, "turing-7", "ada.l"))


def test_a_secret_that_is_a_number_stops_the_upload_too(hub, client, work):
    path = work / "traces" / "02_linear" / "64_eager.json"
    path.write_text(json.dumps({"api_key": 12345678, **json.loads(path.read_text())}))
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 1 and hub.buckets == {} and hub.asked("POST|PUT") == []
    reasons = [item["reason"] for item in ran.outcome["failed"]]
    assert 'holds a secret: secret under "api_key" (1); --redact sends a cleaned copy' in reasons
    ran = client("traces", "-b", "traces", "--yes", "--json", "--redact", cwd=work)
    assert ran.code == 0 and len(ran.outcome["sent"]) == 3


def test_redact_sends_a_copy_without_the_planted_values(hub, client, work):
    source = work / "traces" / "02_linear" / "64_eager.json"
    planted(source)
    ran = client("traces", "-b", "traces", "--yes", "--redact", "--json", cwd=work)
    assert ran.code == 0 and remotes(ran.outcome["sent"]) == REMOTES
    sent = gzip.decompress(hub.content_of("ada/traces", REMOTES[0]))
    texts = "\n".join(map(text_of, re.findall(rb'"[^"]*"', sent)))
    assert not any(value in texts for value in (TOKEN, "turing-7", "ada.l"))
    before, after = json.loads(source.read_text()), json.loads(sent)
    for one, other in zip(before["traceEvents"], after["traceEvents"], strict=True):
        assert {**one, "name": ""} == {**other, "name": ""}
    assert after["traceEvents"][0] == before["traceEvents"][0]
    for content in (hub.content_of("ada/traces", name) for name in hub.buckets["ada/traces"].files):
        plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        assert TOKEN.encode() not in plain
    again = client("traces", "-b", "traces", "--redact", "--json", cwd=work)
    assert again.outcome["sent"] == []  # the cleaned copy comes out the same


def test_names_and_paths_are_said_and_asked_for_before_a_public_upload(hub, client, work):
    path = work / "traces" / "02_linear" / "64_eager.json"
    path.write_text(TRACE.replace("aten::mm", "/home/ada.l/net.py(3): f"))
    hub.buckets["ada/open"] = Bucket(private=False)
    hub.buckets["ada/closed"] = Bucket(private=True)
    ran = client("traces", "-b", "open", cwd=work)
    assert ran.code == 1 and hub.buckets["ada/open"].files == {}
    assert ran.error == (
        'ada/open: is public, and the files give away path under "name" (1); add --redact to send '
        "cleaned copies, or --yes to send them as they are"
    )
    assert 'traces/02_linear/64_eager.json: gives away path under "name" (1)' in ran.err
    assert "ada.l" not in ran.err
    assert client("traces", "-b", "closed", cwd=work).code == 0  # nobody else can read it
    assert client("traces", "-b", "open", "--yes", cwd=work).code == 0


def test_a_host_in_a_file_name_is_noticed_and_goes(hub, client, tmp_path):
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "turing-7_4711.1732900000000.pt.trace.json").write_text(TRACE)
    hub.buckets["ada/traces"] = Bucket(private=False)
    ran = client("traces", "-b", "traces", cwd=tmp_path)
    assert "give away host name under the file's name (1)" in ran.error
    ran = client("traces", "-b", "traces", "--redact", "--json", cwd=tmp_path)
    assert remotes(ran.outcome["sent"]) == [
        "redacted-host-name-1_4711.1732900000000.pt.trace.json.gz"
    ]


def on_a_terminal(client: Client, work: Path, answer: str, *arguments: str) -> tuple[int, str]:
    """Run a command line on a terminal of its own and type the answer."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "trace_util.cli", *arguments],
        cwd=work,
        env={**client.environment, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=terminal,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    try:
        while True:
            shown += os.read(controller, 4096)
            if b"[y/N] " in shown and answer:
                os.write(controller, answer.encode())
                answer = ""
    except OSError:  # the other end has closed
        pass
    os.close(controller)
    return process.wait(timeout=30), shown.decode()


def test_a_missing_bucket_is_asked_for_on_a_terminal(hub, client, work):
    code, shown = on_a_terminal(client, work, "n\n", "traces", "-b", "traces")
    assert code == 1 and hub.buckets == {}
    assert "Create the public bucket and send 3 files to ada/traces? [y/N]" in shown
    assert "error: ada/traces: not agreed to; nothing was sent" in shown
    code, shown = on_a_terminal(client, work, "y\n", "traces", "-b", "traces", "--private")
    assert code == 0 and hub.buckets["ada/traces"].private is True
    assert len(hub.buckets["ada/traces"].files) == 4


# --- errors, one line each --------------------------------------------------------------------


def test_without_a_terminal_a_missing_bucket_is_one_line(hub, client, work):
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 1 and hub.buckets == {}
    assert ran.error == (
        "ada/traces: there is no such bucket, and no terminal to ask on; add --yes to create it, "
        "public (or private: --private)"
    )


def test_no_token(hub, client, work):
    ran = client("traces", "-b", "traces", cwd=work, HF_TOKEN="")
    assert ran.code == 1 and hub.requests == [] and ran.out == ""
    assert ran.err == (
        "error: no Hugging Face token: run `hf auth login`, set HF_TOKEN or give --token "
        f"(a token with write access, from {hub.url}/settings/tokens)\n"
    )


def test_a_bad_token_and_one_that_is_none(hub, client, work):
    ran = client("traces", "-b", "traces", "--token", TOKEN, cwd=work)
    assert ran.code == 1 and "the token is not valid or has expired" in ran.error
    assert TOKEN not in ran.err
    hub.requests.clear()
    ran = client("traces", "-b", "traces", "--token", "a token\nof two lines é", cwd=work)
    assert ran.error == "the token holds characters that no token has; copy it again"
    assert hub.requests == []


def test_a_token_that_may_not(hub, client, work):
    hub.accounts["reader"] = Account("ada", role="read")
    ran = client("traces", "-b", "traces", "--yes", "--token", "reader", cwd=work)
    assert ran.code == 1 and ran.error.startswith("the token of ada can only read; make one with")
    assert hub.asked("POST") == []
    hub.accounts["fine"] = Account("ada", role="fineGrained", bucket_scope=False)
    ran = client("traces", "-b", "traces", "--yes", "--token", "fine", cwd=work)
    assert ran.code == 1 and hub.buckets == {}
    assert ran.error.startswith("ada/traces: the token may not do this (This token has no write")
    hub.buckets["ada/there"] = Bucket(private=False)
    ran = client("traces", "-b", "there", "--token", "fine", "--json", cwd=work)
    assert ran.code == 1 and ran.outcome["sent"] == []
    assert len(ran.outcome["failed"]) == 3
    for item in ran.outcome["failed"]:
        assert item["reason"].startswith("ada/there: the token may not do this")
        assert "it needs write access to buckets in that namespace" in item["reason"]


def test_namespaces_that_are_not_ones_own(hub, client, work):
    ran = client("traces", "-b", "nobody/traces", "--yes", cwd=work)
    assert ran.code == 1 and ran.error == (
        "nobody: no such namespace for this token; it is ada's and can write to: ada, engines"
    )
    ran = client("traces", "-b", "readers/traces", "--yes", cwd=work)
    assert ran.code == 1 and ran.error == (
        "readers: ada may only read there; it is ada's and can write to: ada, engines"
    )
    ran = client("traces", "-b", "engines/t", "-n", "ada", "--yes", cwd=work)
    assert ran.error == "engines/t: names another namespace than --namespace ada; say one"
    assert hub.buckets == {}


@pytest.mark.parametrize(
    "name", ["q?x=1", "a b", "a/b/c", "-x", "x.", "a--b", "a..b", "é", "", "/", "x.git", "a" * 97]
)
def test_a_bad_bucket_name_is_refused_before_any_request(hub, client, work, name):
    ran = client("traces", f"-b={name}", "--yes", cwd=work)
    assert ran.code == 2 and hub.requests == []
    assert ran.error.startswith(f"{name!r}: not a bucket name; use letters, digits, '-'") or (
        name == "a/b/c" and ran.error.startswith(f"{name!r}: not a namespace name")
    )


def test_private_does_not_change_a_public_bucket(hub, client, work):
    hub.buckets["ada/traces"] = Bucket(private=False)
    ran = client("traces", "-b", "traces", "--private", "--yes", cwd=work)
    assert ran.code == 1 and hub.buckets["ada/traces"].files == {}
    assert ran.error.startswith("ada/traces: is public already, and --private only says how to")


def test_rate_limit_and_server_errors(hub, client, work):
    hub.faults.append(Fault("whoami", 429, times=2))
    assert client("traces", "-b", "traces", "--yes", cwd=work).code == 0
    hub.faults.append(Fault("whoami", 429, headers={"Retry-After": "300"}))
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 1 and ran.seconds < 10
    assert ran.error == (
        f"the account: too many requests to {hub.url}; try again in 300 s, the rest is then sent"
    )
    hub.faults[:] = [Fault("whoami", 503)]
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 1
    assert ran.error == f"the account: {hub.url} answers with error 503; try again later"
    assert len(hub.asked("whoami")) == 3 + 1 + 4


@pytest.mark.alone
def test_waits_between_tries_grow_and_end(hub, client, work):
    hub.faults.append(Fault("whoami", 503))
    ran = alone(client, work, "traces", "-b", "traces")
    assert ran.code == 1 and len(hub.asked("whoami")) == 4
    assert 3.5 < ran.seconds < 20


def test_something_else_than_a_hub_answers(hub, client, work):
    hub.faults.append(Fault("whoami", 200))
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 1 and "does not answer as a Hugging Face Hub does" in ran.error


def test_an_upload_that_fails_in_the_middle_lists_the_rest_and_a_rerun_sends_it(
    hub, client, tmp_path
):
    (tmp_path / "traces").mkdir()
    for number in range(60):
        (tmp_path / "traces" / f"{number:02}.json").write_text(TRACE.replace("mm", f"mm{number}"))
    hub.buckets["ada/traces"] = Bucket(private=False)
    hub.faults.append(Fault("FILE 07.json.gz", 500, times=1))
    counted = iter(range(10))
    plain_fault_for = hub.fault_for

    def second_batch_fails(request: str) -> Fault | None:
        if request.endswith("/batch") and next(counted) >= 1:
            return Fault("", 503)
        return plain_fault_for(request)

    hub.fault_for = second_batch_fails  # type: ignore[method-assign]
    try:
        ran = client("traces", "-b", "traces", "--json", cwd=tmp_path)
    finally:
        del hub.fault_for
    assert ran.code == 1
    assert len(ran.outcome["sent"]) == 49 and len(ran.outcome["failed"]) == 11
    reasons = {item["remote"]: item["reason"] for item in ran.outcome["failed"]}
    assert reasons.pop("07.json.gz") == "refused with 500"
    assert set(reasons) == {f"{number}.json.gz" for number in range(50, 60)}
    assert set(reasons.values()) == {
        f"ada/traces: {hub.url} answers with error 503; try again later"
    }
    assert all(item["link"] is None for item in ran.outcome["failed"])
    again = client("traces", "-b", "traces", "--json", cwd=tmp_path)
    assert again.code == 0 and len(again.outcome["sent"]) == 11
    assert len(again.outcome["skipped"]) == 49


def test_an_answer_that_got_lost_is_looked_up(hub, client, work):
    hub.buckets["ada/traces"] = Bucket(private=False)
    hub.faults.append(Fault("/batch", 502, after=True))
    ran = client("traces", "-b", "traces", "--json", cwd=work)
    assert ran.code == 0 and remotes(ran.outcome["sent"]) == REMOTES
    assert sorted(hub.buckets["ada/traces"].files) == [*REMOTES[:2], REMOTES[2], "README.md"]


def test_what_was_stored_counts_as_sent_when_it_cannot_be_looked_up(hub, client, work):
    hub.faults.append(Fault("/paths-info", 503))
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 0 and remotes(ran.outcome["sent"]) == REMOTES
    assert ran.outcome["failed"] == []
    assert "the page of ada/traces was not written: ada/traces: " in ran.err


def test_a_storage_that_cannot_be_reached(hub, client, work):
    hub.buckets["ada/traces"] = Bucket(private=False)
    hub.cas_url = "http://127.0.0.1:9"
    ran = client("traces", "-b", "traces", "--json", cwd=work)
    assert ran.code == 1 and ran.seconds < 30
    assert len(ran.outcome["failed"]) == 3
    for item in ran.outcome["failed"]:
        assert item["reason"].startswith("ada/traces: the storage cannot be reached")


def test_a_storage_in_trouble_is_asked_a_bounded_number_of_times(hub, client, work):
    hub.buckets["ada/traces"] = Bucket(private=False)
    hub.cas_url = hub.url
    hub.faults.append(Fault("/v1/", 503))
    ran = client("traces", "-b", "traces", "--json", cwd=work)
    assert ran.code == 1 and ran.outcome["sent"] == []
    assert len(hub.asked("POST /v1/")) == 16  # 4 tries of ours, each 1 + 3 of hf_xet


def test_a_link_that_does_not_open_is_not_printed(hub, client, work):
    hub.faults.append(Fault(f"GET /buckets/ada/traces/resolve/{REMOTES[0]}", 404))
    hub.faults.append(Fault(f"GET /cdn/ada/traces/{REMOTES[2]}", 200))
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 1 and {item["link"] for item in ran.outcome["sent"]} == {None}
    assert ran.outcome["failed"] == []
    again = client("traces", "-b", "traces", cwd=work)
    assert again.code == 1 and again.out.endswith(
        "ada/traces, public: 0 sent, 3 skipped, 0 failed; 2 links do not open\n"
    )
    hub.faults.clear()
    assert client("traces", "-b", "traces", cwd=work).code == 0
    reasons = {item["remote"]: item["reason"] for item in ran.outcome["sent"]}
    assert reasons == {
        REMOTES[0]: "its link does not open: the Hub answers 404 to a GET without a token",
        REMOTES[1]: None,
        REMOTES[2]: "its link does not open: the Hub answers with something else than the file",
    }
    assert "CORS" not in ran.out


def test_a_link_of_a_trace_that_had_to_be_mended_says_so(hub, client, work):
    path = work / "traces" / "02_linear" / "64_eager.json"
    path.write_text(TRACE.replace("[", "[,", 1))
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    reasons = {item["remote"]: item["reason"] for item in ran.outcome["sent"]}
    said = reasons.pop(REMOTES[0])
    assert re.fullmatch(r"read with repairs: .+ \(1\); the Perfetto UI may refuse the file", said)
    assert set(reasons.values()) == {None} and ran.code == 0
    again = client("traces", "-b", "traces", cwd=work)
    assert f"skipped  {REMOTES[0]}: there already, with the same content; {said}\n" in again.out
    private = client("traces", "-b", "closed", "--private", "--yes", cwd=work)
    assert f"02_linear/64_eager.json.gz; {said}\n" in private.out


def test_a_link_that_could_not_be_tried_is_printed_and_said_to_be(hub, client, work):
    hub.faults.append(Fault("GET /buckets/ada/traces/resolve/", 429))
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    assert ran.code == 0
    for item in ran.outcome["sent"]:
        assert bool(item["link"]) == item["remote"].endswith(".gz")
        assert item["reason"] == (
            "its link could not be tried: the Hub answers 429 to a GET without a token"
        )


def test_a_file_that_grows(hub, client, work):
    growing = work / "traces" / "growing.json"
    growing.write_text(TRACE + " " * 30_000_000)  # takes a while to read
    code = (
        "import sys, time\n"
        "with open(sys.argv[1], 'a', buffering=1) as f:\n"
        "    while True: f.write(' ' * 1000); time.sleep(0.0002)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(growing)])
    try:
        while growing.stat().st_size < 30_010_000:
            time.sleep(0.01)
        ran = client("traces", "-b", "traces", "--yes", "--json", cwd=work)
    finally:
        writer.kill()
        writer.wait()
    assert ran.code == 1 and remotes(ran.outcome["sent"]) == REMOTES
    (item,) = ran.outcome["failed"]
    assert (item["path"], item["reason"]) == (
        "traces/growing.json",
        "is still being written; send it once it is complete",
    )


def test_a_full_disk(hub, client, work, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        big = (work / "traces" / "big.json").open("wb")
        with big:
            noise = os.urandom(200_000).hex()
            big.write(TRACE.replace("aten::mm", noise).encode())
        ran = client("traces", "-b", "traces", "--yes", cwd=work, TMPDIR=str(small))
        assert ran.code == 1 and hub.buckets == {}
        assert ran.error.startswith("no space left on the disk; free some, or point TMPDIR")
        assert client("traces", "-b", "traces", "--yes", cwd=work).code == 0
        fetched = client.download("hf://buckets/ada/traces/big.json.gz", small)
        assert fetched.error.startswith("no space left on the disk; free some, or point TMPDIR")
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def alone(client: Client, work: Path, *arguments: str, **environment: str) -> Ran:
    """Run a command line in an interpreter of its own, so that its endpoint can be another."""
    start = time.monotonic()
    root = str(Path(__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-m", "trace_util.cli", *arguments],
        cwd=work,
        env={**client.environment, "PYTHONPATH": root, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return Ran(ran.returncode, ran.stdout, ran.stderr, time.monotonic() - start)


def test_a_dead_endpoint_is_said_within_seconds(client, work):
    ran = alone(client, work, "traces", "-b", "traces", HF_ENDPOINT="http://127.0.0.1:9")
    assert ran.code == 1 and ran.seconds < 10 and ran.out == ""
    assert ran.err.startswith("error: http://127.0.0.1:9 cannot be reached (")
    assert ran.err.count("\n") == 1


@pytest.mark.alone
def test_an_endpoint_that_never_answers_is_given_up_within_seconds(hub, client, work):
    hub.faults.append(Fault("whoami", 200, delay_s=20))
    ran = alone(client, work, "traces", "-b", "traces")
    assert ran.code == 1 and 5 < ran.seconds < 15
    assert ran.error.startswith(f"{hub.url} cannot be reached (no answer within 6 s)")


def test_without_network_token_or_terminal_nothing_hangs(client, work):
    ran = alone(
        client, work, "traces", "-b", "traces", HF_ENDPOINT="http://127.0.0.1:9", HF_TOKEN=""
    )
    assert ran.code == 1 and ran.seconds < 10 and ran.err.count("\n") == 1
    assert ran.err.startswith("error: no Hugging Face token")
    ran = alone(client, work, "traces", "-b", "traces", HF_HUB_OFFLINE="1")
    assert ran.code == 1 and ran.err == (
        "error: HF_HUB_OFFLINE is set, so nothing is sent or fetched; unset it\n"
    )


@pytest.mark.alone
def test_ctrl_c_is_clean(hub, client, work, tmp_path):
    hub.buckets["ada/traces"] = Bucket(private=False)
    hub.faults.append(Fault("/batch", 200, delay_s=15))
    copies = tmp_path / "copies"
    copies.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "trace_util.cli", "traces", "-b", "traces", "--json"],
        cwd=work,
        env={
            **client.environment,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "TMPDIR": str(copies),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not hub.asked("/batch"):
        assert process.poll() is None
        time.sleep(0.02)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - start < 10
    assert process.returncode == 1 and "Traceback" not in err
    failed = json.loads(out)["failed"]
    assert {item["reason"] for item in failed} == {"interrupted; run it again for the rest"}
    assert remotes(failed) == REMOTES
    assert list(copies.iterdir()) == []
    hub.faults.clear()
    assert client("traces", "-b", "traces", cwd=work).code == 0


# --- the page, and the way back ---------------------------------------------------------------


def test_the_page_keeps_other_traces_and_ones_own_words(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    page = hub.content_of("ada/traces", "README.md").decode()
    assert page.count("\n| [") == 2
    (work / "more").mkdir()
    (work / "more" / "x.json").write_text(TRACE)
    client("more", "-b", "traces", "--prefix", "more", cwd=work)
    page = hub.content_of("ada/traces", "README.md").decode()
    rows = [line for line in page.splitlines() if line.startswith("| [")]
    assert [re.match(r"\| \[([^]]*)\]", row)[1].replace("\\", "") for row in rows] == [
        "02_linear/64_eager.json.gz", "03_simple_mlp/64_eager.json.gz", "more/x.json.gz"
    ]  # fmt: skip
    assert all(row.count("[open](https://ui.perfetto.dev/#!/?url=") == 1 for row in rows)


def test_the_page_says_what_a_recorded_trace_is(hub, client, tmp_path):
    source = RECORDED / "nvidia-h200" / "01_matmul" / "64_bf16_warm_eager.json.gz"
    (tmp_path / "traces" / "01_matmul").mkdir(parents=True)
    copy = tmp_path / "traces" / "01_matmul" / source.name
    copy.write_bytes(source.read_bytes())
    ran = client("traces", "-b", "traces", "--yes", "--json", cwd=tmp_path)
    (item,) = ran.outcome["sent"]
    assert hub.content_of("ada/traces", item["remote"]) == source.read_bytes()
    page = hub.content_of("ada/traces", "README.md").decode()
    (row,) = [line for line in page.splitlines() if line.startswith("| [")]
    cells = [cell.strip().replace("\\", "") for cell in row.split(" | ")]
    run = json.loads(gzip.decompress(source.read_bytes()))["run_facts"]
    assert cells[0] == f"| [01_matmul/64_bf16_warm_eager.json.gz]({item['url']})"
    assert cells[1] == "01_matmul eager 64_bf16_warm_eager"
    assert cells[2] == run["gpu"] == "NVIDIA H200"
    assert f"torch {run['versions']['torch']}, " in cells[3]
    assert cells[4].startswith("overhead-bound: the GPU works ")
    assert cells[5] == f"[open]({item['link']}) |"
    assert "&visStart=" in item["link"] and "PinTracksByRegex" in unquote(item["link"])


def test_somebody_elses_page_is_left_alone(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    files = hub.buckets["ada/traces"].files
    files["README.md"] = {**files[REMOTES[1]], "path": "README.md"}
    before = dict(files["README.md"])
    (work / "traces" / "new.json").write_text(TRACE)
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 0
    assert "ada/traces: its README.md is somebody's own and is left as it is" in ran.err
    assert files["README.md"] == before


def put(hub: LoopbackHub, client: Client, folder: Path, content: bytes) -> dict[str, Any]:
    """Make ``content`` the page of ada/traces, through the storage."""
    (folder / "README.md").write_bytes(content)
    ran = client("@put", "ada/traces", str(folder / "README.md"), "README.md", cwd=folder)
    assert ran.code == 0, ran.err
    return dict(hub.buckets["ada/traces"].files["README.md"])


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_page_in_another_encoding_is_left_alone_and_links_are_printed(
    hub, client, work, encoding
):
    hub.buckets["ada/traces"] = Bucket(private=False)
    before = put(hub, client, work, "# Für später\n".encode(encoding))
    ran = client("traces", "-b", "traces", cwd=work)
    assert ran.code == 0 and ran.out.count("https://ui.perfetto.dev/") == 2
    assert (
        ran.err.count("README.md is not UTF-8 text, so somebody's own, and is left as it is") == 1
    )
    assert hub.buckets["ada/traces"].files["README.md"] == before


def test_the_words_around_the_table_keep_their_line_ends(hub, client, work):
    client("traces", "-b", "traces", "--yes", cwd=work)
    page = hub.content_of("ada/traces", "README.md")
    put(hub, client, work, page.replace(b"# Traces\n", b"# Mine\r\n"))
    (work / "traces" / "new.json").write_text(TRACE)
    assert client("traces", "-b", "traces", cwd=work).code == 0
    after = hub.content_of("ada/traces", "README.md")
    assert after.startswith(b"# Mine\r\n") and b"new.json.gz" in after


def test_a_download_is_what_was_sent(hub, client, tmp_path, work):
    (work / "traces" / ODD_NAME).write_text(TRACE)
    client("traces", "-b", "traces", "--private", "--yes", cwd=work)
    into = tmp_path / "in"
    ran = client.download(f"hf://buckets/ada/traces/{ODD_NAME}.gz", into)
    assert (ran.code, ran.out) == (0, f"{into / ODD_NAME}.gz\n")
    assert gzip.decompress((into / f"{ODD_NAME}.gz").read_bytes()) == TRACE.encode()
    assert [path.name for path in into.iterdir()] == [f"{ODD_NAME}.gz"]
    assert client.download("hf://buckets/ada/traces/none.json", into).error == (
        "ada/traces: holds no none.json"
    )
    address = f"{hub.url}/buckets/ada/traces/resolve/{REMOTES[0]}"
    assert client.download(address, into, HF_TOKEN="").error == (
        "ada/traces: is private or not there; log in as somebody who may read it "
        "(`hf auth login`, HF_TOKEN or --token)"
    )
    assert client.download(address, into, HF_TOKEN=TOKEN).error.startswith(
        "the token is not valid or has expired"
    )
    hub.buckets["ada/traces"].private = False
    assert client.download(address, into, HF_TOKEN="").code == 0
    assert client.download("hf://buckets/ada/x", into).error.startswith("hf://buckets/ada/x: not")
