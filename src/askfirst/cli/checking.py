"""`askfirst check`: plugins against their contracts, rewards against their attacks."""

from __future__ import annotations

import json

from rich.console import Console

from askfirst import plugins
from askfirst.contracts import advantages, envs, losses, rewards
from askfirst.errors import AskfirstError, GateFailed, InputError
from askfirst.rollout import EMPTY
from askfirst.values import GateResult, GateStatus

CHECKED = ("envs", "rewards", "advantages", "losses")


def check(kind: str | None, name: str | None, *, as_json: bool) -> None:
    """Check one plugin, one kind, or everything; exit 1 when one does not hold."""
    if kind is not None and kind not in CHECKED:
        raise InputError(f"no contract is checked here for {kind!r}", hint=f"choose one of: {', '.join(CHECKED)}")
    results = []
    for each in [kind] if kind else CHECKED:
        for plugin in [name] if name else plugins.names(each):
            results.append((each, plugin, *_verdict(each, plugin)))
    if as_json:
        print(json.dumps([{"kind": k, "name": n, "holds": holds, "words": words} for k, n, holds, words in results]))
    else:
        console = Console(highlight=False, soft_wrap=True)
        for each, plugin, holds, words in results:
            console.print(f"{'✓' if holds else '✗'} {each}/{plugin}: {words}", markup=False)
    if not all(holds for _, _, holds, _ in results):
        raise SystemExit(1)


def _verdict(kind: str, name: str) -> tuple[bool, str]:
    module = plugins.load(kind, name)
    try:
        match kind:
            case "envs":
                envs.check(module)
            case "advantages":
                advantages.check(module)
            case "losses":
                losses.check(module)
            case _:
                report = rewards.self_test(module, EMPTY)
                words = f"{report.attacks} attacks held, {report.honest} honest passed"
                return not report.broken, "; ".join(report.broken[:3]) or words
    except AskfirstError as error:
        return False, str(error)
    return True, "the contract holds"


def require_green(result: GateResult) -> None:
    """Raise GateFailed unless the self-test passed: no number is made with a broken reward."""
    if result.status is not GateStatus.PASSED:
        raise GateFailed(f"self-test: {result.reason}")
