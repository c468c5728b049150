"""The token format of the backends that have no tokenizer: six bytes of UTF-8 a token.

A token below 256 is a mark: the end, a role, or whatever the backend gives a meaning from `FIRST_FREE` on.
Every other token is up to six bytes read as a big-endian number behind a leading byte 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from askfirst.errors import BackendFault
from askfirst.values import Message

END = 0
ROLES = {"system": 1, "user": 2, "assistant": 3}
FIRST_FREE = 16
FIRST_TEXT = 256
BYTES_PER_TOKEN = 6


@lru_cache(maxsize=1024)
def pack(text: str) -> tuple[int, ...]:
    """Text as tokens. Remembered: in a group many say the same."""
    body = text.encode()
    pieces = (body[i : i + BYTES_PER_TOKEN] for i in range(0, len(body), BYTES_PER_TOKEN))
    return tuple(int.from_bytes(b"\x01" + piece) for piece in pieces)


def unpack(token_ids: Iterable[int]) -> str:
    """The text of the tokens; marks are dropped, and a character cut by the token budget becomes U+FFFD."""
    # The leading byte 1 is the first that is not zero.
    pieces = (int(token).to_bytes(8).lstrip(b"\0")[1:] for token in token_ids if token >= FIRST_TEXT)
    return b"".join(pieces).decode("utf-8", errors="replace")


def chat(messages: Sequence[Message]) -> tuple[int, ...]:
    """A chat as tokens, ready for the assistant's reply. Raises BackendFault for an unknown role."""
    ids: list[int] = []
    for message in messages:
        if message.role not in ROLES:
            raise BackendFault(f"no role is called {message.role!r}", hint=f"known: {', '.join(ROLES)}")
        ids += [ROLES[message.role], *pack(message.content)]
    return (*ids, ROLES["assistant"])


def continued(messages: Sequence[Message]) -> tuple[int, ...]:
    """What a chat says behind its last reply, as tokens, ready for the assistant's next one."""
    last = max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1)
    return chat(messages[last + 1 :])


def messages_of(token_ids: Sequence[int]) -> list[Message]:
    """The chat that the tokens spell; the open assistant turn at the end is left out."""
    names = {mark: role for role, mark in ROLES.items()}
    starts = [i for i, token in enumerate(token_ids) if token in names]
    ends = [*starts[1:], len(token_ids)]
    found = [Message(names[token_ids[a]], unpack(token_ids[a + 1 : b])) for a, b in zip(starts, ends, strict=True)]
    return found[:-1] if found and found[-1].role == "assistant" and not found[-1].content else found


class TextTokens:
    """The part of a Policy that is the same for every backend of this format and no weights."""

    trainable_parameters = 0
    logprob_tolerance = 0.0

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of a chat, six bytes each."""
        return chat(messages)

    def encode_next(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of what was said since the last reply, ready for the next one."""
        return continued(messages)

    def encode_reply(self, text: str) -> tuple[int, ...]:
        """Tokens of a reply with the end token."""
        return (*pack(text), END)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of reply tokens."""
        return unpack(token_ids)

    def footprint(self, prompts: Sequence[tuple[int, ...]], copies: int, new: int) -> None:
        """Too little to matter."""

    def anchor(self) -> None:
        """Nothing to do: it is its own reference."""
