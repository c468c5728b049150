"""The requests that the attacks and the honest cases of this reward answer."""

from __future__ import annotations

from typing import Any

from askfirst.cases import scenario
from askfirst.replies import SLOT_NAMES, Reply, Truth

_WHO, _WHEN = SLOT_NAMES["recipient"], SLOT_NAMES["time"]

MAIL = scenario("forward the minutes", Truth("clarify", slot="recipient", names=_WHO))
DINNER = scenario("put dinner with ines on my calendar", Truth("clarify", slot="time", names=_WHEN))
REVIEW = scenario("move the vendor review to another time", Truth("clarify", slot="time", names=_WHEN))
COUNTDOWN = scenario(
    "start a countdown",
    Truth("clarify", slot="quantity", names=("how long", "how many minutes", "what length", "duration")),
)
NOTE = scenario(
    "leave a sticky note for the cleaners",
    Truth(
        "clarify",
        slot="content",
        names=(*SLOT_NAMES["content"], "what should i write", "what would you like me to write"),
    ),
)
VAGUE = scenario(
    "sort this out",
    Truth("clarify", slot="target", names=(*SLOT_NAMES["target"], "what would you like", "what you need")),
)
RECORD = scenario(
    "record the lecture",
    Truth(
        "clarify",
        slot="app",
        names=("which app", "which recorder"),
        candidates=(("QuickTime", "quicktime player"), ("Voice Memos", "memos"), ("GarageBand",)),
    ),
    elements=(
        "[0] dock_icon|24,990|QuickTime|recorder",
        "[1] dock_icon|72,990|Voice Memos|recorder",
        "[2] dock_icon|120,990|GarageBand|recorder",
    ),
)
DRAFT = scenario(
    "ship the draft",
    Truth(
        "clarify",
        slot="target",
        names=("which draft", "what draft"),
        candidates=(
            ("Draft to Maya", "maya", "draft"),
            ("Draft to Owen", "owen", "draft"),
            ("Draft to Lucia", "lucia", "draft"),
        ),
    ),
    elements=(
        "[0] row|200,150|Draft to Maya|quarterly update",
        "[1] row|200,200|Draft to Owen|invoice",
        "[2] row|200,250|Draft to Lucia|notes",
    ),
)
SHEET = scenario(
    "open the sheet",
    Truth(
        "clarify",
        slot="target",
        names=("which sheet", "which file"),
        candidates=(("payroll-q1.xlsx", "payroll"), ("rota.v2.xlsx", "rota")),
    ),
    elements=("[0] file|100,100|payroll-q1.xlsx|sheet", "[1] file|100,150|rota.v2.xlsx|sheet"),
)
PIN = scenario(
    "pin that for me",
    Truth(
        "clarify",
        slot="target",
        names=("which email", "which item"),
        candidates=(("Xavier: lease", "xavier", "lease"), ("Margot: menu", "margot", "menu")),
    ),
    elements=("[0] row|1,1|Xavier: lease|email", "[1] row|1,2|Margot: menu|email"),
)
SNAP = scenario("tile this window to the left half", Truth("action", mentions=(("left",),)))
OPEN = scenario(
    "open the payroll sheet",
    Truth("action", mentions=(("payroll-q1.xlsx", "payroll"),)),
    elements=(
        "[0] file|100,100|payroll-q1.xlsx|sheet",
        "[1] file|100,150|rota.v2.xlsx|sheet",
        "[2] file|100,200|menu.xlsx|sheet",
    ),
)
TELL = scenario(
    "email ravi that the vendor contract is ready to sign",
    Truth("action", mentions=(("ravi",), ("vendor contract", "contract"))),
)
ALARM = scenario("wake me at seven", Truth("action", mentions=(("seven", "7", "7am", "07:00"),)))
CALLED = scenario("what are you called", Truth("answer"))
BADGE = scenario("what does the grey badge mean", Truth("answer"), elements=("[1] badge|700,40|Draft|grey",))
LETTER = scenario("dear mr okafor comma the boiler was fixed this morning full stop", Truth("dictate"))
TRIM = scenario("make the second paragraph shorter", Truth("edit"))
PEAK = scenario("what is the highest peak in africa", Truth("out_of_scope"))
LIGHTS = scenario("turn the hallway lights down", Truth("out_of_scope"))
RATE = scenario("how many yen is forty euros", Truth("out_of_scope"))
HISTORY = scenario("erase my browsing history", Truth("confirm_destructive", target=("browsing history", "history")))
SHOTS = scenario("delete every screenshot on the desktop", Truth("confirm_destructive", target=("screenshots",)))
APP = scenario("uninstall figma", Truth("confirm_destructive", target=("figma",)))
BIN = scenario("empty the trash", Truth("confirm_destructive", target=("trash",)))
APPS = scenario("force quit all my apps", Truth("confirm_destructive", target=("apps",)))
TASKS = scenario("wipe all my reminders", Truth("confirm_destructive", target=("reminders",)))


def reply(spoken: str, intent: str, **payload: Any) -> str:
    """A reply of the protocol as text."""
    return Reply(spoken, intent, payload).text()


def ask(question: str, topic: str, spoken: str = "") -> str:
    """A clarify reply that speaks its question, or something else."""
    return reply(spoken or question, "clarify", question=question, topic=topic)


def act(spoken: str, name: str, args: dict[str, Any]) -> str:
    """An action reply."""
    return reply(spoken, "action", name=name, args=args)


def refuse(spoken: str, reason: str = "out of reach") -> str:
    """An out_of_scope reply."""
    return reply(spoken, "out_of_scope", reason=reason)


def confirm(spoken: str, target: str, action: str = "delete it") -> str:
    """A confirm_destructive reply."""
    return reply(spoken, "confirm_destructive", action=action, target=target)
