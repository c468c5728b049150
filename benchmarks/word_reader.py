"""What a reader by words alone loses on `clarify`: python -m benchmarks.word_reader SPLIT ITEMS

Such a reader finds a value where a word of it stands, or a word of a way to say it that split train has (of an unseen
family there is none), that no other value of the key has. What it cannot read it leaves out of the plan. It decides as
the optimum does, or never asks and declares its best guesses. The regret that is left is what a model needs to know
about words beyond those it was trained on; that of reading everything and never asking is what questions are worth.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from statistics import fmean
from typing import Any

from askfirst import plugins
from askfirst.cases import play
from askfirst.clarify.calls import ASSUMPTIONS, DECLINE
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import CONFIRM, Family, ways_of
from askfirst.clarify.optimum import optimum
from askfirst.clarify.oracle import ask, best_plan, naming, propose
from askfirst.clarify.problem import DEFAULT, hidden_of
from askfirst.measures import noted
from askfirst.values import Scenario

POLICIES = {  # whether it asks, whether it reads by words alone
    "asks, reads everything": (True, False),
    "asks, reads by words": (True, True),
    "never asks, reads everything": (False, False),
    "never asks, reads by words": (False, True),
}


def words(text: str) -> set[str]:
    """The words of a text, lower case."""
    return set(re.findall(r"[a-z0-9']+", text.lower()))


def readable(family: Family, name: str, value: str, text: str) -> bool:
    """Whether a word of the text tells this value of a key from its others."""
    if name == CONFIRM:
        return True
    one = family.field(name)
    shown = {each: words(each) for each in one.values}
    known = {each: set(own) for each, own in shown.items()}
    for each in () if family.unseen else one.values:
        known[each] |= words(" ".join(ways_of(family, one, each, "train")))

    def tells(of: dict[str, set[str]]) -> bool:
        return bool(words(text) & of[value] - {word for each in of if each != value for word in of[each]})

    return tells(shown) or tells(known)


def replies(env: Any, scenario: Scenario, asks: bool, by_words: bool) -> tuple[str, ...]:
    """An episode: the questions of the optimum or none, then a plan without what cannot be read."""
    hidden = hidden_of(scenario)
    if hidden.problem.beyond:
        return (propose({DECLINE: "this is not a task of mine"}),)
    asked = optimum(hidden.problem).asks if asks else ()
    questions, plan = tuple(ask(naming(name)) for name in asked), best_plan(hidden, asked)
    if by_words:
        trajectory = play(env, scenario, (*questions, propose(plan)))
        request, *answers = (m.content for m in trajectory.messages if m.role == "user")
        heard, family = dict(zip(asked, answers, strict=False)), FAMILIES[hidden.problem.family]
        for key in hidden.problem.keys:
            told = key.name in plan and key.name not in plan.get(ASSUMPTIONS, ()) and key.source != DEFAULT
            text = heard.get(key.name) or hidden.words.get(key.name, request)
            if told and not readable(family, key.name, hidden.truth[key.name], text):
                del plan[key.name]
    return (*questions, propose(plan))


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split", choices=("train", "dev"))
    parser.add_argument("items", type=int)
    given = parser.parse_args()
    env = plugins.load("envs", "clarify")
    columns = ("all", "seen", "unseen", "seen, ambiguous", "unseen, ambiguous")
    print(f"| mean regret | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, (asks, by_words) in POLICIES.items():
        found: dict[str, list[float]] = defaultdict(list)
        for scenario in env.scenarios(given.split, given.items, 5):
            regret = float(noted(env, scenario, play(env, scenario, replies(env, scenario, asks, by_words)))["regret"])
            family = "unseen" if FAMILIES[hidden_of(scenario).problem.family].unseen else "seen"
            for column in ("all", family, *((f"{family}, ambiguous",) if scenario.ambiguous else ())):
                found[column].append(regret)
        cells = [f"{fmean(found[column]):.2f}" if found[column] else "–" for column in columns]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
