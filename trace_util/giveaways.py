"""What in a text would give its author away: shapes of secrets, people, machines and folders.

Pure patterns. A *secret* opens something (a token, a key, a password) and must never leave the
machine; the other kinds only say who worked where. The prefixes of tokens are those that their
makers document: https://huggingface.co/docs/hub/security-tokens ("hf_"),
https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/ ("ghp_" and kin),
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html ("AKIA", "ASIA"),
https://docs.gitlab.com/security/tokens/ ("glpat-"), https://api.slack.com/authentication/token-types
("xoxb-" and kin), https://cloud.google.com/docs/authentication/api-keys ("AIza"),
https://docs.stripe.com/keys ("sk_live_" and kin),
https://www.rfc-editor.org/rfc/rfc7519 (the three parts of a web token).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SECRET = "secret"
USER = "user name"
HOST = "host name"
JOB = "job name"
PATH = "path"
EMAIL = "e-mail address"
ADDRESS = "network address"
COMMAND = "command line"
ENVIRONMENT = "environment"


class Match(NamedTuple):
    """A stretch ``text[start:end]`` of the given kind."""

    start: int
    end: int
    kind: str


_SECRET_SHAPES = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        hf_[A-Za-z0-9]{30,} | api_org_[A-Za-z0-9]{30,}
      | gh[pousr]_[A-Za-z0-9]{36,} | github_pat_[A-Za-z0-9_]{40,}
      | glpat-[A-Za-z0-9_-]{20,} | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{50,}
      | A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9]) | AIza[A-Za-z0-9_-]{35}
      | sk-[A-Za-z0-9_-]{20,} | [rs]k_(?:live|test)_[A-Za-z0-9]{20,}
      | xox[abeoprs]-[A-Za-z0-9-]{10,}
      | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
    )""",
    re.VERBOSE,
)
# A word that announces a secret, and the secret after it. A flag of more words begins anew at its
# next hyphen; without a bound, each hyphen of a long chain would look through all that follow.
_ANNOUNCED_SECRET = re.compile(
    r"""(?:
        (?i:--?(?:[a-z]+[_-]){0,30}(?:token|passwd|password|passphrase|secret|api-?_?key|wandb[_-]key))(?:=|\s+)(?P<flag>[^\s"'-]\S{3,})
      | (?i:\bbearer|\bauthorization:\s*basic)\s+(?P<bearer>[A-Za-z0-9._~+/-]{12,}=*)
      | \b[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY)=(?P<variable>[^\s"',;]{4,})
      | (?i:\b(?:[a-z0-9]+[_-]){0,30}
          (?:token|passwd|password|passphrase|secret|api[_-]?key|access_?key))
        (?:\s*:\s+|\s+=\s+)(?P<told>[^\s"',;]{4,})
      | ://[^\s/:@]*:(?P<login>[^\s/@]+)@
    )""",
    re.VERBOSE,
)
_SECRET_LIKE = re.compile(
    r"(?i:token|secret|passw|passphrase|wandb.key|credential|api_?key|access_?key|private.?key|authorization|bearer)"
    r"|(?<![A-Za-z0-9])(?:hf_|api_org_|gh[pousr]_|github_pat_|glpat-|npm_|pypi-|A[KS]IA|AIza|sk-|[rs]k_(?:live|test)_"
    r"|xox[a-z]-|eyJ)|://[^\s/]*@"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*-----|.*)", re.DOTALL
)
_EMAIL = re.compile(
    r"(?<![\w.+-])[A-Za-z0-9][\w.+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
)

# A Python frame as the profiler spells it, "FILE(LINE): FUNCTION": here a path may hold blanks.
_FRAME = re.compile(r"^(?P<path>(?:/|[A-Za-z]:[\\/])[^\n]*?)(?=\(\d+\): )", re.MULTILINE)
_WEB = r"(?:https?|hf|s3|gs)://[^\s\"']+"
_WORD = r"[^\s/\\:;,\"'<>|()\[\]{}*?]+"
_UNIX_PATH = (
    rf"(?<![\w.<>*/+-])/+(?:{_WORD}(?: {_WORD})*/)+(?:{_WORD})?"  # a folder may hold blanks
)
_HOME = rf"(?<![\w.])/(?:home|Users)/{_WORD}"
_WINDOWS_PATH = r"(?<![A-Za-z0-9])[A-Za-z]:[\\/]+(?:[^\s\\/:*?\"<>|]+[\\/]+)+[^\s\\/:*?\"<>|()]*"
_NETWORK_PATH = r"(?<![\w\\])\\\\[\w.-]+\\[^\s\"]+"
_PATHS = re.compile(
    f"(?P<web>{_WEB})|(?P<path>{_UNIX_PATH}|{_HOME}|{_WINDOWS_PATH}|{_NETWORK_PATH})"
)
# Folders that every machine has and that say nothing of its owner.
_COMMON_PATH = re.compile(
    r"""/(?:usr|lib|lib64|bin|sbin|dev|proc|sys)(?:/|$)
      | /opt/(?:conda|rocm[^/]*|nvidia|cuda[^/]*|hostedtoolcache|venv|pytorch)(?:/|$)
      | /tmp/(?:torchinductor_root|ipykernel_\d+|tmp\w+)(?:/|$)
      | /tmp/[^/]*$
      | /(?:home|Users)/?$
    """,
    re.VERBOSE,
)
_USER_IN_PATH = re.compile(
    r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+|torchinductor_)(?P<user>[^\\/\s:;,\"'()]+)"
)

# Names of members whose value is of a kind, whatever it looks like.
_KEYS = (
    (
        SECRET,
        r"(?:.*[_.-])?(?:token|secrets?|passwd|passwords?|api[_-]?keys?|(?:secret_)?access_?key"
        r"|private_?key|credentials?|authorization|cookie)",
    ),
    (
        ENVIRONMENT,
        r"(?:os_?|process_?|system_?)?env(?:iron(?:ment)?)?(?:_?(?:vars|variables|dump))?",
    ),
    (COMMAND, r"cmd_?line|command_?line|command|cmd|argv|sys_?argv|launch_?command"),
    (
        HOST,
        r"(?:.*_)?(?:host_?name|fqdn|node_?name|machine_?name|computer_?name|worker_?name)"
        r"|host|node|machine|logical_server_subtype|tw_cluster|cluster(?:_?name)?|pod(?:_?name)?",
    ),
    (USER, r"(?:.*_)?(?:user_?name|user|login|log_?name|owner|author|account)"),
    (JOB, r"(?:.*_)?(?:job|job_?name|job_?id|task_?id|run_?name)"),
    (EMAIL, r"(?:.*_)?e_?mail"),
    (ADDRESS, r"(?:.*_)?(?:ip|ip_?addr(?:ess)?|master_?addr|mac_?addr(?:ess)?)"),
    (PATH, r"(?:.*_)?(?:cwd|pwd|work_?dir|working_?dir(?:ectory)?|home_?dir|home)"),
)
_KEY_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KEYS)
# Members whose numbers are secrets, and how those look. "max_token", "eos_token" and "s_per_token"
# are counts, ids and times, and "token" alone may be one, which has fewer digits; what tracing
# tools call a cookie is a counter.
_SECRET_NUMBERS = (
    (
        r"(?:.*[_.-])?(?:secrets?|passwd|passwords?|api[_-]?keys?|(?:secret_)?access_?key"
        r"|private_?key|credentials?|authorization)",
        re.compile(rb"[-\d][\d.eE+-]{3,}"),
    ),
    (
        r"(?:(?:.*[_.-])?(?:access|api|auth|bearer|bot|github|gitlab|hf|hub|login|refresh|secret"
        r"|session|user)[_.-]?)?token",
        re.compile(rb"-?\d{8,}"),
    ),
)
# A lesson's own command line says what was run and nothing of who ran it.
_LESSON_COMMAND = re.compile(r"(?:python3?|torchrun)(?: [^/\\]*)? ?\d\d_\w+\.py(?: [^/\\]*)?")
# What stands where somebody has already removed a value, or where there never was one.
_NOTHING = re.compile(
    r"|-+|\*+|<[^<>]*>|(?i:removed|redacted.*|none|null|unknown|n/?a|localhost|127\.0\.0\.1|root"
    r"|true|false|xxx+)"
)
# Words too common in traces to be searched for, should somebody or something be called so.
_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        root user users admin main test data home work train model python python3 torch triton cuda
        ubuntu runner jovyan nobody default local localhost linear matmul aten host node login build
        kernel stream device profiler session project docker container research student guest
        machine team shared master
        """,
    )
)


def matches(text: str, more: Iterable[Match] = ()) -> list[Match]:
    """The stretches of ``text`` that give something away, in order and without overlap.

    ``more`` are stretches that do for another reason than their shape. A path is matched whole;
    :func:`path_rest` says how much of it may stay.
    """
    found: list[Match] = []  # in order and apart, so that only neighbours can overlap
    tried = [*more, *_candidates(text)]
    for match in sorted(tried, key=lambda m: (m.kind != SECRET, m.start, -m.end)):
        at = bisect(found, match)
        begins_behind = not at or found[at - 1].end <= match.start
        if begins_behind and (at == len(found) or match.end <= found[at].start):
            found.insert(at, match)
    return found


def _candidates(text: str) -> Iterator[Match]:
    for pattern in (_SECRET_SHAPES, _PRIVATE_KEY):
        for m in pattern.finditer(text):
            yield Match(m.start(), m.end(), SECRET)
    for m in _ANNOUNCED_SECRET.finditer(text):
        group = m.lastgroup or 0
        if not _NOTHING.fullmatch(m[group]) and (
            m.lastgroup not in ("variable", "told") or is_odd(m[group])
        ):
            yield Match(m.start(group), m.end(group), SECRET)
    if "@" in text:
        for m in _EMAIL.finditer(text):
            yield Match(m.start(), m.end(), EMAIL)
    if "/" in text or "\\" in text:
        for pattern in (_FRAME, _PATHS):
            for m in pattern.finditer(text):
                if m["path"] is not None and not is_common_path(m["path"]):
                    yield Match(m.start("path"), m.end("path"), PATH)


def is_odd(value: str) -> bool:
    """Whether ``value`` looks made by a machine: long, or letters and digits mixed."""
    return len(value) >= 8 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def may_be_shown(text: str) -> bool:
    """Whether the start of an unknown text can be quoted: nothing in it is like a secret.

    Stricter than :func:`matches`: a message goes into logs, and an innocent word is no loss.
    """
    return not _SECRET_LIKE.search(text) and all(
        not is_odd(word) for word in re.findall(r"[\w+/=-]{16,}", text)
    )


def is_common_path(path: str) -> bool:
    """Whether a path says nothing of the machine's owner."""
    return _COMMON_PATH.match(path) is not None and not user_in_path(path)


def user_in_path(path: str) -> str | None:
    """The user's name in a path beneath a home folder, ``None`` when there is none."""
    m = _USER_IN_PATH.search(path)
    return m["user"] if m and not _NOTHING.fullmatch(m["user"]) else None


def path_rest(path: str) -> str:
    """The end of a path that may stay: from the package on, or the file's own name.

    >>> path_rest("/home/ada/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    'torch/nn/linear.py'
    >>> path_rest("/home/ada")
    ''
    """
    for folder in ("site-packages", "dist-packages"):
        m = re.search(rf"[\\/]{folder}[\\/](.+)$", path)
        if m:
            return m[1].replace("\\", "/")
    beneath_home = _USER_IN_PATH.sub("", path)
    return re.split(r"[\\/]", beneath_home)[-1]


def host_in_file_name(name: str) -> str | None:
    """The host that ``tensorboard_trace_handler`` wrote into a file's name, ``None`` otherwise.

    It makes ``HOST_PID.TIME.pt.trace.json`` (torch/profiler/profiler.py, torch 2.11).
    """
    m = re.match(r"(?:.*/)?([^/]+?)_\d+\.\d+\.pt\.trace\.json", name)
    return m[1] if m and not _NOTHING.fullmatch(m[1]) else None


def kind_of_key(key: str) -> str | None:
    """The kind of the value that a member of this name holds, ``None`` for an innocent name."""
    return next((kind for kind, pattern in _KEY_KINDS if pattern.fullmatch(key)), None)


def secret_number(key: str) -> re.Pattern[bytes] | None:
    """What the number that a member of this name holds must look like to be a secret.

    ``None`` where no number is one. True and false say too little to be secrets.
    """
    return next(
        (shape for name, shape in _SECRET_NUMBERS if re.fullmatch(name, key, re.IGNORECASE)), None
    )


def is_secret_flag(text: str) -> bool:
    """Whether ``text`` is a command line's flag whose value is a secret: ``--token``."""
    return text.startswith("-") and kind_of_key(text.lstrip("-")) == SECRET


def is_given_away(kind: str, value: str) -> bool:
    """Whether ``value``, found under a key of ``kind``, says anything."""
    if _NOTHING.fullmatch(value.strip()):
        return False
    if kind == COMMAND:
        return _LESSON_COMMAND.fullmatch(value) is None
    if kind == PATH:
        return not is_common_path(value)
    return kind != SECRET or len(value) >= 4


def is_searchable(word: str) -> bool:
    """Whether a name is rare enough to be looked for in every other text of the trace."""
    return len(word) >= 4 and not is_common_word(word) and not word.isdigit()


def is_common_word(word: str) -> bool:
    """Whether traces hold the word whoever made them."""
    return word.lower() in _COMMON_WORDS
