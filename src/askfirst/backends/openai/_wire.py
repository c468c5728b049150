"""One chat completion over HTTP: sent, awaited for a time, tried again, and read as what an untrusted server said."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx

from askfirst.errors import InputError, ModelError
from askfirst.store import generator
from askfirst.values import StopReason

LARGEST = 8 << 20  # bytes of an answer
LONGEST_WAIT = 60.0  # seconds before another try, whatever the server asks for
AGAIN = frozenset({408, 409, 425, 429})  # and every 5xx: another try may well be answered
_HALVES = re.compile("[\ud800-\udfff]")
_OPENED = re.compile(r"\A\s*<(think|thinking|reasoning)>")
_CLOSED = re.compile(r"</(think|thinking|reasoning)>")


@dataclass(frozen=True, slots=True)
class Target:
    """Which model of which server is asked, and how.

    `url` ends where `/chat/completions` begins. `key` goes into a header and nowhere else. `thinking_tokens` are added
    to the budget of a reply for what a model says to itself. A request is tried `tries` times, `backoff_seconds` and
    then twice as long, four times … apart.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    concurrency: int = 8
    timeout_seconds: float = 120.0
    tries: int = 5
    backoff_seconds: float = 0.5
    thinking_tokens: int = 0

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise InputError(f"not an address: {error}", where=self.url) from error
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
            hint = "such as http://127.0.0.1:8000/v1; a key comes from a variable of the environment"
            raise InputError("expected http(s)://HOST[:PORT][/PATH] and nothing else", where=url.host, hint=hint)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to one request, by the hash of that. Counts are the server's, None where it gave none.

    `seconds` are those of the try that was answered.
    """

    version: int
    request: str
    text: str
    thinking: str
    stop: StopReason
    prompt_tokens: int | None
    completion_tokens: int | None
    thinking_tokens: int | None
    tries: int
    seconds: float


class Unanswered(Exception):
    """No try of a request was answered; the last reason."""


class _Failed(Exception):
    """A try failed in a way that another may not; `wait` is what the server asked for, in seconds."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


def client(target: Target) -> httpx.Client:
    """Connections to a target's server, for any number of threads."""
    headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}
    limits = httpx.Limits(max_connections=target.concurrency)
    return httpx.Client(base_url=target.url, headers=headers, timeout=target.timeout_seconds, limits=limits)


def ask(
    http: httpx.Client, target: Target, body: Mapping[str, Any], name: str, pause: Callable[[float], bool]
) -> Answer:
    """The answer to a request called `name`. `pause(seconds)` waits, and is true where nobody wants the answer any
    more.

    Raises Unanswered after the last try, ModelError for what no other try would mend (a wrong key, an unknown model).
    """
    why, chance = "given up", generator("backoff", name)
    for number in range(target.tries):
        began = time.monotonic()
        try:
            found = _read(_post(http, target, body), target, name)
        except _Failed as failed:
            why = str(failed)
            longest = target.backoff_seconds * 2**number * (0.5 + 0.5 * chance.random())
            if number + 1 == target.tries or pause(min(LONGEST_WAIT, max(failed.wait, longest))):
                break
        else:
            return Answer(1, name, *found, number + 1, time.monotonic() - began)
    raise Unanswered(why)


def _post(http: httpx.Client, target: Target, body: Mapping[str, Any]) -> bytes:
    """The body of an answer with status 200, read within the time and size that it may have."""
    deadline, chunks, size = time.monotonic() + target.timeout_seconds, list[bytes](), 0
    try:
        with http.stream("POST", "/chat/completions", json=body) as answer:
            for chunk in answer.iter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > LARGEST or time.monotonic() > deadline:
                    raise _Failed(f"an answer of more than {LARGEST} bytes or {target.timeout_seconds:g} seconds")
    except (httpx.RequestError, httpx.StreamError) as error:
        raise _Failed(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
    status, said = answer.status_code, b"".join(chunks)
    if status in AGAIN or status >= 500:
        raise _Failed(f"HTTP {status}", _asked_to_wait(answer.headers.get("retry-after", "")))
    if status != 200:
        hint = "the variable that endpoint.key_from names holds no valid key" if status in (401, 403) else ""
        told = _shown(said.decode("utf-8", "replace"), target.key)
        raise ModelError(f"the server refuses: HTTP {status} {told}".rstrip(), where=target.url, hint=hint)
    return said


def _shown(text: str, key: str) -> str:
    """The beginning of what a server said, on one line, without the key."""
    return re.sub(r"[^ -~]+", " ", text.replace(key, "…") if key else text)[:300].strip()


def _asked_to_wait(header: str) -> float:
    """Seconds of a Retry-After header, a number or a date; 0 where it says nothing that can be read."""
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", header.strip()):
        return float(header)
    try:
        when = email.utils.parsedate_to_datetime(header)
        return max(0.0, when.timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _read(said: bytes, target: Target, name: str) -> tuple[str, str, StopReason, int | None, int | None, int | None]:
    """Text, thinking, why it stopped and the server's counts. Raises _Failed for what is no chat completion."""
    try:
        document = json.loads(said)
        choice = document["choices"][0]
        message, usage = choice["message"], document.get("usage")
        content, apart = message.get("content"), message.get("reasoning_content") or message.get("reasoning")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise _Failed(f"not a chat completion: {_shown(said[:80].decode('utf-8', 'replace'), target.key)!r}") from error
    if not isinstance(content, str | None) or not isinstance(apart, str | None):
        raise _Failed("not a chat completion: its content is no text")
    thinking, text = _apart(content or "", target.thinking_tokens > 0)
    thinking = apart or thinking
    stop = StopReason.END
    if choice.get("finish_reason") == "length":
        thought = bool(thinking) or target.thinking_tokens > 0
        stop = StopReason.THINKING if thought and not text.strip() else StopReason.LENGTH
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    counts = (_count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), _count(details, "reasoning_tokens"))
    return _HALVES.sub("\ufffd", text), _HALVES.sub("\ufffd", thinking), stop, *counts


def _apart(content: str, declared: bool) -> tuple[str, str]:
    """What a model says to itself, and its reply. A chat template may have opened the tag: then only its end is seen,
    which counts where thinking is declared."""
    opened, closed = _OPENED.match(content), _CLOSED.search(content)
    if not opened and not (closed and declared):
        return "", content
    begins = opened.end() if opened else 0
    if closed is None:
        return content[begins:], ""
    return content[begins : closed.start()], content[closed.end() :].lstrip()


def _count(fields: Any, name: str) -> int | None:
    found = fields.get(name) if isinstance(fields, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 53 else None
