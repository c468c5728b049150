"""What the published ClarifyRL rewards pay for exploits, beside `utility`, as Markdown.

python -m benchmarks.clarifyrl_holes
"""

from __future__ import annotations

from collections.abc import Iterator

from askfirst import plugins
from askfirst.cases import Case
from askfirst.clarify.exploits import EXPLOITS, PROPER, Exploit
from askfirst.values import FrozenMap

REWARDS = ("clarifyrl_card", "clarifyrl_code", "utility")
ENV = "clarify"


def main() -> None:
    """What a good policy is paid, then the exploits."""
    print("\n".join(table()))


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| episode | what it does | card | code | code, as trained | `utility` |"
    yield "|---|---|---|---|---|---|"
    for each in (*PROPER, *EXPLOITS):
        name = each.name.replace("/", ": ")
        amounts = " | ".join(f"{amount:.2f}".replace("-", "−") for amount in pays(each))
        yield f"| {name} | {each.why} | {amounts} |"


def pays(each: Exploit) -> tuple[float, float, float, float]:
    """What card, code, code as it was trained with, and `utility` pay for an episode."""
    case = Case(each.name, each.family, each.scenario, each.said, 0.0, each.why, ENV)
    episode = case.trajectory()
    card, code, utility = (plugins.load("rewards", name) for name in REWARDS)
    scores = [
        reward.score(case.scenario, episode, params)
        for reward, params in (
            (card, FrozenMap()),
            (code, FrozenMap()),
            (code, FrozenMap({"as_trained": True})),
            (utility, FrozenMap()),
        )
    ]
    first, second, third, fourth = (float(score.total) for score in scores)
    return first, second, third, fourth


if __name__ == "__main__":
    main()
