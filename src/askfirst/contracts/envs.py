"""What every environment must satisfy; each function raises EnvironmentFault, naming what was found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from askfirst.cases import play
from askfirst.errors import EnvironmentFault, SplitError
from askfirst.measures import measures, noted
from askfirst.replies import PAYLOADS
from askfirst.rollout import MAX_TURNS
from askfirst.store import canonical
from askfirst.values import Action, Ask, Invalid, ItemOutcome, Message, Scenario

SPLITS = ("train", "dev", "sealed")
DRAWN = 300  # scenarios a split in each check
_SHORT = 4  # hidden texts below this length say nothing when they occur
_TEXTS = ("", "{}", "?", "\x00", "[1, 2", '{"intent": "clarify"}', "\ud800", "a" * 9000, "null")


def check(env: ModuleType) -> None:
    """Every contract of an environment, in turn."""
    refuses_unknown_splits(env)
    deterministic(env)
    distinct(env)
    splits_disjoint(env)
    twins_match(env)
    demonstrations_parse(env)
    keeps_secrets(env)
    ends_in_time(env)
    parses_anything(env)
    composes_batches(env)
    measures_what_it_notes(env)


def refuses_unknown_splits(env: ModuleType) -> None:
    """A split that is none of the three raises SplitError."""
    try:
        found = env.scenarios("test", 1, 0)
    except SplitError:
        return
    raise _broken(env, f"split 'test' gives {len(found)} scenarios, expected a SplitError")


def deterministic(env: ModuleType) -> None:
    """The same arguments give equal scenarios; another seed gives others."""
    for split in SPLITS:
        one, two = env.scenarios(split, 50, 7), env.scenarios(split, 50, 7)
        if one != two:
            raise _broken(env, f"two draws of {split} with seed 7 differ")
        other = env.scenarios(split, 50, 8)
        if {s.id for s in one} == {s.id for s in other}:
            raise _broken(env, f"seeds 7 and 8 give the same scenarios of {split}")


def distinct(env: ModuleType) -> None:
    """As many scenarios as asked for, no id twice, families declared, and never two truths for one opening."""
    for split in SPLITS:
        drawn = env.scenarios(split, DRAWN, 1)
        twice = [name for name, count in Counter(s.id for s in drawn).items() if count > 1]
        if len(drawn) != DRAWN or twice:
            raise _broken(env, f"{DRAWN} scenarios of {split} asked for, {len(drawn)} came, ids twice: {twice[:3]}")
        strangers = sorted({s.family for s in drawn} - set(env.FAMILIES))
        if strangers:
            raise _broken(env, f"families {strangers} are not in FAMILIES")
        mislabelled = [s.id for s in drawn if s.split != split]
        if mislabelled:
            raise _broken(env, f"scenarios of {split} say they are of another split: {mislabelled[:3]}")
        judged: dict[tuple[Message, ...], Scenario] = {}
        for scenario in drawn:
            twin = judged.setdefault(scenario.opening, scenario)
            if twin.hidden != scenario.hidden:
                raise _broken(env, f"scenarios {twin.id} and {scenario.id} show the same and are judged differently")


def splits_disjoint(env: ModuleType) -> None:
    """No id, opening, template or value occurs in two splits."""
    drawn = {split: env.scenarios(split, DRAWN, 2) for split in SPLITS}
    owners: dict[tuple[str, str], str] = {}
    for split, scenarios in drawn.items():
        for what, part in (part for s in scenarios for part in _parts(s)):
            if owners.setdefault((what, part), split) != split:
                raise _broken(env, f"{what} {part!r} occurs in {owners[what, part]} and in {split}")


def twins_match(env: ModuleType) -> None:
    """Ambiguous scenarios and clear twins of one seed pair up by twin id, and differ in what is shown and expected."""
    if not _has_strata(env, "ambiguous", "clear_twin"):
        return
    for split in SPLITS:
        ambiguous = env.scenarios(split, 100, 3, {"ambiguous": 1})
        clear = {s.twin: s for s in env.scenarios(split, 100, 3, {"clear_twin": 1})}
        for one in ambiguous:
            other = clear.get(one.twin)
            if not one.twin or other is None:
                raise _broken(env, f"ambiguous scenario {one.id} of {split} has no clear twin")
            if not one.ambiguous or other.ambiguous:
                raise _broken(env, f"twins {one.id} and {other.id} are not one ambiguous and one clear")
            if one.opening == other.opening or one.hidden == other.hidden or one.template != other.template:
                raise _broken(env, f"twins {one.id} and {other.id} do not differ in exactly what was missing")


def demonstrations_parse(env: ModuleType) -> None:
    """Honest demonstrations parse, and ask exactly where asking is right; guesses act, and only where it is not.

    A seed may change their wording, and is taken where it does not.
    """
    for seed, scenario in enumerate(_sample(env)):
        shown = env.demonstrations(scenario, seed=seed)
        if not any(not d.guess for d in shown):
            raise _broken(env, f"scenario {scenario.id} has no honest demonstration")
        for demonstration in shown:
            actions: list[Action] = [env.parse(reply) for reply in (demonstration.reply, *demonstration.then)]
            asks = any(isinstance(action, Ask) for action in actions)
            invalid = next((action for action in actions if isinstance(action, Invalid)), None)
            if invalid:
                raise _broken(env, f"a demonstration of {scenario.id} is invalid: {invalid.reason}")
            right = scenario.ambiguous and not demonstration.guess
            if asks != right or (demonstration.guess and not scenario.ambiguous):
                kind = "guess" if demonstration.guess else "honest reply"
                said = " ".join(type(action).__name__ for action in actions)
                raise _broken(env, f"a {kind} to {scenario.family} {scenario.id} is {said}")


def keeps_secrets(env: ModuleType) -> None:
    """The opening names no intent of the protocol, and no later message tells a hidden text that was not shown.

    An environment whose tools show some of what a scenario hides names the fields that are told by the user alone, as
    `SECRET`; without it all are.
    """
    for scenario in _sample(env):
        shown = "\n".join(m.content for m in env.start(scenario))
        told = [intent for intent in PAYLOADS if "_" in intent and intent in shown]
        if told:
            raise _broken(env, f"the opening of {scenario.id} says {told}")
        for demonstration in env.demonstrations(scenario):
            for message in _play(env, scenario, demonstration.reply):
                asked = isinstance(env.parse(demonstration.reply), Ask)
                secret = {name: scenario.hidden[name] for name in getattr(env, "SECRET", scenario.hidden)}
                leaks = [t for t in _texts(secret) if t in message.content and t not in shown]
                if leaks and not asked:
                    raise _broken(env, f"{scenario.id} tells {leaks[:2]} without being asked")


def ends_in_time(env: ModuleType) -> None:
    """Whatever is replied, an episode ends within the environment's turn budget."""
    for scenario in _sample(env)[:40]:
        for reply in (*(d.reply for d in env.demonstrations(scenario)[:1]), *_TEXTS):
            _play(env, scenario, reply)


def parses_anything(env: ModuleType) -> None:
    """Every text parses to an action; nonsense to Invalid."""
    for text in _TEXTS:
        found = env.parse(text)
        if not isinstance(found, Invalid):
            raise _broken(env, f"{text[:20]!r} parses to {type(found).__name__}, expected Invalid")


def composes_batches(env: ModuleType) -> None:
    """Strata come in the proportions asked for, each count within one of its share."""
    if not _has_strata(env):
        return
    asked: Sequence[Mapping[str, float]] = (
        dict.fromkeys(env.STRATA, 1),
        {name: 1 / (i + 1) for i, name in enumerate(env.STRATA)},
        {env.STRATA[-1]: 2},
    )
    for weights in asked:
        for n in (1, 16, 61):
            drawn = Counter(s.stratum for s in env.scenarios("train", n, 5, weights))
            total = sum(weights.values())
            wrong = {k: drawn[k] for k, w in weights.items() if abs(drawn[k] - n * w / total) >= 1}
            if wrong or sum(drawn.values()) != n:
                raise _broken(env, f"{n} scenarios of mix {dict(weights)} hold {dict(drawn)}")


def measures_what_it_notes(env: ModuleType) -> None:
    """An environment with measures counts them from facts that a record can hold, and none from no items."""
    hooks = [name for name in ("facts", "tallies") if hasattr(env, name)]
    if len(hooks) == 1:
        raise _broken(env, f"it has {hooks[0]} without the other of facts and tallies")
    if not hooks:
        return
    items = [_item(env, scenario) for scenario in env.scenarios("dev", 24, 4)]
    try:
        kept = [replace(item, facts=json.loads(canonical(item.facts))) for item in items]
    except (TypeError, ValueError) as error:
        raise _broken(env, f"its facts do not go into a record: {error}") from error
    found = measures(env, items)
    if not found or found != measures(env, kept):
        raise _broken(env, "measures of facts that were read back differ from those of the facts, or are none")
    if measures(env, ()):
        raise _broken(env, "it measures something where there are no items")


def _item(env: ModuleType, scenario: Scenario) -> ItemOutcome:
    demonstration = env.demonstrations(scenario)[0]
    episode = play(env, scenario, (demonstration.reply,))
    names = (scenario.id, scenario.family, scenario.stratum)
    return ItemOutcome(*names, True, False, True, 1.0, (), episode.reply, facts=noted(env, scenario, episode))


def _parts(scenario: Scenario) -> Iterator[tuple[str, str]]:
    yield "id", scenario.id
    yield from (("opening", message.content) for message in scenario.opening)
    yield from (("value", value.lower()) for value in scenario.values)
    if scenario.template:
        yield "template", scenario.template


def _sample(env: ModuleType) -> list[Scenario]:
    if not _has_strata(env):
        return [s for split in SPLITS for s in env.scenarios(split, DRAWN, 4)]
    even = dict.fromkeys(env.STRATA, 1)
    return [s for split in SPLITS for s in env.scenarios(split, DRAWN, 4, even)]


def _play(env: ModuleType, scenario: Scenario, reply: str) -> list[Message]:
    """What the environment says when the same reply is given until the episode ends."""
    messages: list[Message] = list(env.start(scenario))
    said: list[Message] = []
    budget: int = getattr(env, "MAX_TURNS", MAX_TURNS)
    for _ in range(budget):
        messages.append(Message("assistant", reply))
        answer = env.step(scenario, tuple(messages))
        if answer is None:
            return said
        messages.append(answer)
        said.append(answer)
    raise _broken(env, f"the episode of {scenario.id} has not ended after {budget} turns")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        if len(value) >= _SHORT:
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _texts(part)


def _has_strata(env: ModuleType, *names: str) -> bool:
    return bool(getattr(env, "STRATA", ())) and set(names) <= set(env.STRATA)


def _broken(env: ModuleType, what: str) -> EnvironmentFault:
    return EnvironmentFault(what, where=env.__name__)
