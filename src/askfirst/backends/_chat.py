"""Messages to tokens and back. Control tokens come from the chat template, never from what someone wrote."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from askfirst.errors import ModelError
from askfirst.values import Message

_MARK = "\ue000{}\ue001"  # private-use characters around a number: no template and no vocabulary knows them
_MARKED = re.compile("\ue000(\\d+)\ue001")
REMEMBERED = 4096  # chats and replies whose tokens are kept


class Chat:
    """The chat format of one tokenizer."""

    def __init__(self, tokenizer: Any, name: str, end_ids: Sequence[int] = ()) -> None:
        """`end_ids` are the model's own end tokens. Raises ModelError for a tokenizer without template or end."""
        if not tokenizer.chat_template:
            raise ModelError("the model's tokenizer has no chat template", where=name, hint="choose an instruct model")
        self.tokenizer = tokenizer
        self._control = self._control_pattern()
        spaced = f" {_MARK.format(0)} "
        self._trims = spaced not in self._render([Message("user", spaced)], reply_next=True)
        self.end_id = self._reply_end(frozenset(end_ids))
        self.end_ids = frozenset({*end_ids, self.end_id})
        self.encode = functools.lru_cache(REMEMBERED)(self._encode)
        self.encode_reply = functools.lru_cache(REMEMBERED)(self._encode_reply)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of the tokens without a final end token."""
        ids = list(token_ids)
        if ids and ids[-1] in self.end_ids:
            ids.pop()
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _encode(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        """Tokens of a chat up to where the assistant speaks."""
        marked = [Message(m.role, _MARK.format(i)) for i, m in enumerate(messages)]
        return self._filled(self._render(marked, reply_next=True), messages)

    def _filled(self, skeleton: str, messages: tuple[Message, ...]) -> tuple[int, ...]:
        """Tokens of what the template wrote, each mark replaced by the message of that number.

        The text is tokenised as a whole, as in the model's own training, unless that yields other
        control tokens than the template's own: then some message spells one, and every message is
        tokenised apart, with such spellings cut in two.
        """
        if self._trims:
            messages = tuple(Message(m.role, m.content.strip()) for m in messages)
        text = _MARKED.sub(lambda match: messages[int(match[1])].content, skeleton)
        whole = self._tokens(text)
        pieces = _MARKED.split(skeleton)  # template, number, template, number, …, template
        frame = [self._tokens(piece) for piece in pieces[::2]]
        own = [i for piece in frame for i in piece if i in self._control_ids]
        if [i for i in whole if i in self._control_ids] == own:
            return tuple(whole)
        ids = list(frame[0])
        for number, piece in zip(pieces[1::2], frame[1:], strict=True):
            ids += self._plain_tokens(messages[int(number)].content) + piece
        return tuple(ids)

    def encode_next(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        """Tokens of a chat behind its last reply, the reply's end token left out, up to where the assistant speaks.

        What came before stays as it was sampled, whatever the template would make of it by now.
        """
        last = max(i for i, m in enumerate(messages) if m.role == "assistant")
        marked = [Message(m.role, _MARK.format(i)) for i, m in enumerate(messages)]
        rest = self._render(marked, reply_next=True).partition(_MARK.format(last))[2]
        ids = self._filled(rest, messages)
        return ids[1:] if ids and ids[0] == self.end_id else ids

    def _encode_reply(self, text: str) -> tuple[int, ...]:
        """Tokens of a reply, the end token last."""
        return (*self._plain_tokens(text), self.end_id)

    def _plain_tokens(self, text: str) -> list[int]:
        """Tokens of text in which nothing is a control token."""
        ids: list[int] = []
        start = 0
        for match in self._control.finditer(text) if self._control else ():
            cut = match.start() + 1  # a control token cut after its first character is none
            ids += self._tokens(text[start:cut])
            start = cut
        return ids + self._tokens(text[start:])

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def _render(self, messages: Sequence[Message], reply_next: bool) -> str:
        chat = [{"role": m.role, "content": m.content} for m in messages]
        try:
            text: str = self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=reply_next)
        except TemplateError as error:
            if len(messages) > 1 and messages[0].role == "system" and messages[1].role == "user":
                # Some templates refuse a system message; their authors put it before the first user message.
                joined = Message("user", f"{messages[0].content}\n\n{messages[1].content}")
                return self._render([joined, *messages[2:]], reply_next)
            raise ModelError(f"the model's chat template refuses this chat: {error}") from error
        return text

    def _control_pattern(self) -> re.Pattern[str] | None:
        """Control tokens: those the tokenizer calls special, and added ones that its template writes."""
        skeleton = self._render([Message("user", _MARK.format(0)), Message("assistant", _MARK.format(1))], False)
        special, in_template = set(self.tokenizer.all_special_ids), set(self._tokens(skeleton))
        control = {}
        for token_id, token in self.tokenizer.added_tokens_decoder.items():
            written = len(token.content.strip()) > 1 and token_id in in_template
            if token.special or token_id in special or written:
                control[token_id] = token.content
        self._control_ids = frozenset(control)
        # Overlapping matches: within a spelling cut in two another may begin.
        longest_first = sorted(filter(lambda c: len(c) > 1, control.values()), key=len, reverse=True)
        return re.compile(f"(?={'|'.join(map(re.escape, longest_first))})") if longest_first else None

    def _reply_end(self, model_ends: frozenset[int]) -> int:
        """The token that the template puts behind a reply, where the model or tokenizer calls it an end."""
        skeleton = self._render([Message("user", _MARK.format(0)), Message("assistant", _MARK.format(1))], False)
        ends = model_ends | {self.tokenizer.eos_token_id}
        behind = [i for i in self._tokens(skeleton.rpartition(_MARK.format(1))[2]) if i in ends]
        if behind:
            return behind[0]
        if self.tokenizer.eos_token_id is None:
            raise ModelError("the model's tokenizer names no end token", hint="choose an instruct model")
        return int(self.tokenizer.eos_token_id)


class Speaking:
    """The part of a policy that its `_chat` does alone."""

    _chat: Chat

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of a chat, ready for the assistant's reply; no message can spell a control token."""
        return self._chat.encode(tuple(messages))

    def encode_next(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens that continue a chat behind its last reply as it was sampled, ready for the assistant."""
        return self._chat.encode_next(tuple(messages))

    def encode_reply(self, text: str) -> tuple[int, ...]:
        """Tokens of a reply as the policy would have sampled it, the end token included."""
        return self._chat.encode_reply(text)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of sampled tokens, without the end token."""
        return self._chat.decode(token_ids)
