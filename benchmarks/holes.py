"""Which families of attacks the published scorers let through, beside the reward that is trained on, as Markdown.

python -m benchmarks.holes
"""

from __future__ import annotations

from collections import defaultdict

from askfirst import plugins
from askfirst.cases import Case
from askfirst.contracts.rewards import cases

REWARDS = ("lenient", "strict", "slots")
PASSED = 0.5


def main() -> None:
    """The attacks of `slots`, by family: how many of them each reward passes, and one that strict passes."""
    by_family: dict[str, list[Case]] = defaultdict(list)
    for case in cases(plugins.load("rewards", "slots"))[0]:
        by_family[case.name.split("/")[0]].append(case)
    print(f"| family | attacks | {' | '.join(REWARDS)} | one that `strict` passes |")
    print("|---|---|" + "---|" * (len(REWARDS) + 1))
    totals = dict.fromkeys(REWARDS, 0)
    for family, each in sorted(by_family.items()):
        passed = {name: [case for case in each if passes(name, case)] for name in REWARDS}
        totals = {name: totals[name] + len(passed[name]) for name in REWARDS}
        counts = " | ".join(str(len(passed[name])) for name in REWARDS)
        shown = passed["strict"][0].why if passed["strict"] else ""
        print(f"| {family} | {len(each)} | {counts} | {shown} |")
    print(f"| all | {sum(map(len, by_family.values()))} | {' | '.join(str(totals[name]) for name in REWARDS)} | |")


def passes(name: str, case: Case) -> bool:
    """Whether a reward takes the attack for a good reply."""
    reward = plugins.load("rewards", name)
    return bool(reward.score(case.scenario, case.trajectory(), {}).total > PASSED)


if __name__ == "__main__":
    main()
