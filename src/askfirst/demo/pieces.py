"""What the demo shows as HTML. Everything that a model or a plan says is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from askfirst.demo.talk import Talk, words_of
from askfirst.policy import Policy
from askfirst.report.figures import Figure
from askfirst.report.static import svg
from askfirst.rollout import Stage
from askfirst.values import Score

Record = Mapping[str, Any]
CURVES = ("reward", "strict-pass", "ask-unclear", "ask-clear")  # of the report's, those that the demo shows


def heading(title: str) -> str:
    """The title of the page."""
    return f'<div class="af"><h1>{escape(title)}</h1></div>'


def verdict(found: Record) -> str:
    """The first screen of the report: the verdict, its rules, before and after, and a few curves."""
    decided = found["verdict"]["decision"] if found["verdict"] else "No verdict yet"
    rows = "".join(
        f"<tr><td>{_held(rule['holds'])}</td><td>{_words(rule['metric'])}</td><td>{escape(rule['words'])}</td>"
        f"<td>{escape(rule['asked'])}</td></tr>"
        for rule in found["intervals"]
    )
    rules = _table(("rule", "metric", "estimate and bounds", "asked"), rows) if rows else ""
    passed = sum(gate["status"] in ("passed", "not_applicable") for gate in found["gates"])
    facts = [f"{passed} of {len(found['gates'])} gates passed", f"warnings: {len(found['warnings'])}"]
    facts.append(f"deviations from the plan: {len(found['deviations'])}")
    return (
        f'<div class="af"><h2>{escape(decided)}</h2>'
        f"<p>{escape(found['sentence'])}</p><p>{escape(' · '.join(facts))}</p>{rules}{_changes(found['outcomes'])}"
        f'<div class="figures">{"".join(_figure(f) for f in found["figures"] if f.name in CURVES)}</div></div>'
    )


def rollout(entry: Record) -> str:
    """A recorded episode: what was asked, and side by side what was said and what the reward made of it."""
    head = " · ".join(str(entry[name]) for name in ("source", "family", "stratum", "outcome"))
    asked = _turn("request", entry["request"]) if entry["request"] else ""
    sides = "".join(f"<div>{_side(side, entry['logprobs'])}</div>" for side in entry["sides"])
    return f'<div class="af"><p>{_words(head)} · step {entry["step"]}</p>{asked}<div class="sides">{sides}</div></div>'


def choice(entry: Record) -> str:
    """A rollout in a line, for a list."""
    last = entry["sides"][-1]
    text = entry["request"].splitlines()[-1] if entry["request"] else (last["turns"] or [["", ""]])[0][1]
    return f"{entry['outcome']} {last['total']:.2f} · {text[:80]} · {entry['id']}"


def reply(stage: Stage, policy: Policy, talk: Talk, judged: Score | str) -> str:
    """Under a chat: what the last reply does, its tokens shaded by how unlikely they were, and the reward's word."""
    if talk.said is None:
        return ""
    # Whole texts are compared, because a character may need more than one token.
    ids, shaded, before = talk.said.token_ids, "", ""
    for k, logprob in enumerate(talk.said.logprobs, start=1):
        text = policy.decode(ids[:k])
        if text != before and text.startswith(before) and not text.endswith("\N{REPLACEMENT CHARACTER}"):
            style = f'style="--heat:{_heat(logprob):.3f}" title="{logprob:.2f} nats"'
            shaded += f"<span {style}>{escape(text[len(before) :])}</span>"
            before = text
    mean = sum(talk.said.logprobs) / len(talk.said.logprobs)
    does = words_of(stage.env.parse(talk.messages[-1].content)) if not talk.waits or talk.stop is None else ""
    return (
        f'<div class="af"><p><b>{escape(does)}</b></p><p class="tokens">{shaded}</p>'
        f"<p>{len(ids)} tokens, {mean:.2f} nats a token; darker where less likely</p>{score(judged)}</div>"
    )


def score(judged: Score | str) -> str:
    """What the reward says, or why it says nothing."""
    if isinstance(judged, str):
        return f"<p>{escape(judged)}</p>"
    return _scored(judged.passed, judged.total, judged.terms, judged.failures) + f"<p>{escape(judged.reward)}</p>"


def _side(side: Record, logprobs: Sequence[int]) -> str:
    turns = "".join(_turn(role, text) for role, text in side["turns"])
    cells = "".join(
        f'<i style="--heat:{_heat(cents / 100):.3f}" title="token {k}: {cents / 100:.2f} nats"></i>'
        for k, cents in enumerate(logprobs, start=1)
    )
    strip = f'<p>sampled tokens, darker where less likely:</p><div class="tokens">{cells}</div>' if cells else ""
    name = f"<h3>{escape(side['name'])}</h3>" if side["name"] else ""
    return name + turns + _scored(side["passed"], side["total"], side["terms"], side["failures"]) + strip


def _scored(passed: bool, total: float, terms: Mapping[str, float], failures: Sequence[str]) -> str:
    sums = " + ".join(f"{_words(name)} {value:.2f}" for name, value in terms.items())
    word = '<b class="yes">passed</b>' if passed else '<b class="no">failed</b>'
    why = f'<p class="no">{_words(", ".join(failures))}</p>' if failures else ""
    return f"<p>{word} · score {total:.2f} = {sums or 'no terms'}</p>{why}"


def _changes(found: Any) -> str:
    if found is None:
        return ""
    rows = ""
    for p in found.metrics:
        change = [100 * each for each in (p.difference.estimate, p.difference.lower, p.difference.upper)]
        rows += (
            f"<tr><td>{_words(p.metric)}</td><td>{p.n}</td><td>{p.before.estimate:.0%}</td>"
            f"<td>{p.after.estimate:.0%}</td><td>{change[0]:+.1f} [{change[1]:+.1f}, {change[2]:+.1f}]</td></tr>"
        )
    title = f"<h3>Before and after on the same items, {escape(found.split)}</h3>"
    return title + _table(("metric", "n", "before", "after", "change, points"), rows)


def _table(heads: Sequence[str], rows: str) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _figure(figure: Figure) -> str:
    words = escape("; ".join(figure.words))
    return f'<figure><div role="img" aria-label="{escape(figure.title)}: {words}">{svg(figure)}</div></figure>'


def _turn(role: str, text: str) -> str:
    return f'<div class="turn {escape(role)}"><small>{escape(role)}</small><pre>{escape(text)}</pre></div>'


def _heat(logprob: float) -> float:
    """How dark a token is: the chance that another one had been drawn."""
    return 1 - math.exp(min(0.0, logprob))


def _held(holds: bool) -> str:
    return '<span class="yes">✓ holds</span>' if holds else '<span class="no">✗ does not hold</span>'


def _words(text: str) -> str:
    return escape(str(text).replace("_", " "))
