"""Demonstrations: short honest replies to a scenario, and the guesses that an impatient assistant would make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from askfirst.envs.judgment._draw import Draw, fill
from askfirst.envs.judgment._frames import Frame, by_id, open_class, variables
from askfirst.envs.judgment._pairs import draw_values
from askfirst.envs.judgment._words import APPS
from askfirst.replies import SAID, SLOT_NAMES, Reply, Truth, truth
from askfirst.store import seed_from
from askfirst.values import Demonstration, Scenario

MAX_OPTIONS = 3
_ELEMENT = re.compile(r"^\[\d+\] [^|]*\|[^|]*\|([^|]+)\|(.*)$")
_WORD = re.compile(r"[a-z0-9']+")
MAX_OVERLAP = 0.45  # of a question with the request; scorers call more than 0.6 an echo
_OPENERS = ("okay, ", "sure, ", "on it, ", "", "", "")
_PLAIN_QUESTIONS = {
    "recipient": ("who do you have in mind?", "who is this for?", "which person do you mean?"),
    "time": ("when would you like that?", "what time works for you?", "when should that be?"),
    "content": ("what should it say?", "what would you like to say?", "what text do you want?"),
    "quantity": ("what amount should i set?", "what amount would you like?"),
    "app": ("which app do you mean?", "which app would you like?"),
    "target": ("which item do you mean?", "what exactly do you mean?"),
}


def demonstrations(scenario: Scenario, seed: int = 0) -> tuple[Demonstration, ...]:
    """Honest replies to a generated scenario and, where a question is due, guesses; none for a suite's scenario."""
    frame = by_id().get(scenario.template)
    if frame is None:
        return ()
    return tuple(dict.fromkeys(_shown(frame, scenario, seed)))


def _shown(frame: Frame, scenario: Scenario, seed: int) -> tuple[Demonstration, ...]:
    draw, judged = Draw(seed_from("demonstrations", scenario.id, seed)), truth(scenario)
    names = frame.before + (() if scenario.ambiguous else frame.after)
    values = dict(zip(open_class(names), scenario.values, strict=False))
    values |= _apps(frame, values, scenario)
    if scenario.ambiguous:
        return (*_questions(frame, judged, values, scenario, draw), *_guesses(frame, judged, values, scenario, draw))
    if frame.is_pair:
        if judged.mentions:
            values["label"] = judged.mentions[0][0]
        return tuple(_honest(_action(frame, values, opener)) for opener in draw.some(_OPENERS, 2))
    return _plain(frame, judged, values, scenario, draw)


def _apps(frame: Frame, values: Mapping[str, str], scenario: Scenario) -> dict[str, str]:
    """The app names that the request holds, found by its template."""
    template = frame.clear if frame.clear and not scenario.ambiguous else frame.say
    if "{app" not in template:
        return {}
    one = "|".join(re.escape(app.lower()) for app in sorted(APPS, key=len, reverse=True))
    pattern = re.escape(template).replace(r"\(", "(?:").replace(r"\)", ")").replace(r"\|", "|")
    for name in variables(template):
        known = re.escape(values[name]) if name in values else f"(?P<{name}>{one})"
        pattern = pattern.replace(re.escape(f"{{{name}}}"), known)
    found = re.search(pattern, scenario.opening[0].content.rpartition(SAID)[2])
    return found.groupdict() if found else {}


def labels_shown(scenario: Scenario) -> list[str]:
    """The labels of the elements of a scenario's opening, in order."""
    lines = scenario.opening[0].content.split("\n")
    return [m.group(1) for line in lines if (m := _ELEMENT.match(line))]


def _honest(reply: Reply) -> Demonstration:
    return Demonstration(reply.text(), guess=False)


def _ask(question: str, slot: str) -> Demonstration:
    return _honest(Reply(question, "clarify", {"question": question, "topic": slot}))


def _questions(
    frame: Frame, judged: Truth, values: Mapping[str, str], scenario: Scenario, draw: Draw
) -> tuple[Demonstration, ...]:
    found = [fill(ask, values) for ask in draw.shuffled(frame.ask)]
    if judged.candidates:
        found = _options(judged, draw)
    said = scenario.opening[0].content.rpartition(SAID)[2]
    found = [question for question in found if _overlap(question, said) <= MAX_OVERLAP]
    if not judged.candidates or not found:
        found.append(draw.pick(_PLAIN_QUESTIONS[frame.slot or judged.slot]))
    return tuple(_ask(question, judged.slot) for question in dict.fromkeys(found[:3]))


def _overlap(question: str, said: str) -> float:
    """Jaccard overlap of the words of two texts."""
    one, other = set(_WORD.findall(question)), set(_WORD.findall(said.lower()))
    return len(one & other) / len(one | other)


def _options(judged: Truth, draw: Draw) -> list[str]:
    """Questions that name the candidates as they would be called, and one that names what they are."""
    shown = [_short(ways) for ways in judged.candidates]
    own = (name for name in judged.names if name.startswith("which ") and name not in SLOT_NAMES[judged.slot])
    noun = next(own, judged.topic)
    several = len(shown) > MAX_OPTIONS or sum(len(s.split()) for s in shown) > 7
    plain = draw.pick((f"{noun} do you mean?", f"{noun} should i take?", f"{noun} did you want?"))
    if several:
        return [plain, f"{noun} of the {_count(len(shown))} is it?"]
    listed = f"{', '.join(shown[:-1])} or {shown[-1]}"
    templates = (f"{noun}, {listed}?", f"{noun} do you mean, {listed}?", f"did you mean {listed}?", f"is it {listed}?")
    return [*draw.some(templates, 2), plain]


def _count(n: int) -> str:
    return ("none", "one", "two", "three", "four", "five", "six")[n]


def _short(ways: Sequence[str]) -> str:
    """A way to name a candidate that is easy to say: its second name where there is one."""
    return (ways[1] if len(ways) > 1 else ways[0]).lower()


def _guesses(
    frame: Frame, judged: Truth, values: Mapping[str, str], scenario: Scenario, draw: Draw
) -> tuple[Demonstration, ...]:
    """The request acted on with an invented value, or with whatever stands first on the screen."""
    found = []
    for opener in draw.some(_OPENERS, 2):
        invented = {**draw_values(frame.after, frame.split, draw), **values}
        labels = [ways[0] for ways in judged.candidates] or labels_shown(scenario)
        invented["label"] = draw.pick(labels) if labels else draw_values(("topic",), frame.split, draw)["topic"]
        found.append(Demonstration(_action(frame, invented, opener).text(), guess=True))
    return tuple(dict.fromkeys(found))


def _action(frame: Frame, values: Mapping[str, str], opener: str) -> Reply:
    name, args = action(frame.act, values)
    spoken = f"{opener}{fill(frame.done, values)}"
    return Reply(_lower_start(spoken), "action", {"name": name, "args": args})


def action(template: str, values: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Name and arguments of an action written as `Name argument=template; …`."""
    name, _, rest = template.partition(" ")
    args: dict[str, Any] = {}
    for part in rest.split("; ") if rest else ():
        key, _, text = part.partition("=")
        args[key] = [f"__resolve:{fill(text[1:], values)}"] if text.startswith("@") else fill(text, values)
    return name, args


def _plain(
    frame: Frame, judged: Truth, values: Mapping[str, str], scenario: Scenario, draw: Draw
) -> tuple[Demonstration, ...]:
    shown = labels_shown(scenario)
    known = {**values, "label": shown[0] if shown else "", "k": _count(min(len(shown), 6))}
    openers = draw.some(_OPENERS, 2)
    match judged.intent:
        case "action":
            return tuple(_honest(_action(frame, known, opener)) for opener in openers)
        case "confirm_destructive":
            return _confirm(frame, judged, known, draw)
        case "out_of_scope":
            spoken, reason = fill(frame.done, known), fill(frame.act, known)
            said = draw.some((spoken, f"sorry, {spoken}", f"{spoken} from here", f"sorry, {spoken} from here"), 2)
            return tuple(_honest(Reply(s, "out_of_scope", {"reason": reason})) for s in said)
        case "edit":
            payload = dict(p.split("=", 1) for p in fill(frame.act, known).split("; "))
            return tuple(_honest(Reply(f"{o}{frame.done}", "edit", payload)) for o in openers)
        case intent:
            spoken = fill(frame.done, known)
            return (_honest(Reply(_lower_start(spoken), intent, {"text": fill(frame.act, known)})),)


def _confirm(frame: Frame, judged: Truth, known: Mapping[str, str], draw: Draw) -> tuple[Demonstration, ...]:
    does, name = fill(frame.done, known), frame.act
    target = next((way for way in judged.target if way.lower() in does.lower()), judged.target[0])
    said = (
        f"this will {does}, say yes to confirm",
        f"that would {does}, are you sure?",
        f"are you sure you want to {does}?",
    )
    return tuple(
        _honest(Reply(s, "confirm_destructive", {"action": name, "target": target})) for s in draw.some(said, 2)
    )


def _lower_start(text: str) -> str:
    return text[:1].lower() + text[1:]
