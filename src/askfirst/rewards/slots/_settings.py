"""The requests that the attacks and the honest cases of this reward answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from askfirst.cases import scenario, shown
from askfirst.replies import SLOT_NAMES, Reply, Truth
from askfirst.values import Message, Scenario

# name, scenario, reply, why
Row = tuple[str, Scenario, str, str]

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
MENU = scenario(
    "open the sheet",
    Truth(
        "clarify",
        slot="target",
        names=("which sheet", "which file"),
        candidates=(("payroll-q1.xlsx", "payroll"), ("rota.v2.xlsx", "rota")),
    ),
    elements=(
        "[0] file|100,100|payroll-q1.xlsx|sheet",
        "[1] file|100,150|rota.v2.xlsx|sheet",
        "[2] menu_item|100,9|Menu|toolbar",
    ),
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
NEXT = scenario(
    "use the next button",
    Truth("action", mentions=(("Next Episode", "next"),)),
    elements=("[0] button|300,200|Next Episode|button", "[1] button|340,200|Previous Track|button"),
)
TELL = scenario(
    "email ravi that the vendor contract is ready to sign",
    Truth("action", mentions=(("ravi",), ("vendor contract", "contract"))),
)
ALARM = scenario("wake me at seven", Truth("action", mentions=(("seven", "7", "7am", "07:00"),)))
CALLED = scenario("what are you called", Truth("answer"))
BADGE = scenario("what does the grey badge mean", Truth("answer"), elements=("[1] badge|700,40|Draft|grey",))
LETTER = scenario("dear mr okafor comma the boiler was fixed this morning full stop", Truth("dictate"))
LOGIN = scenario("type user colon admin", Truth("dictate"))
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

SEND = scenario("send it", Truth("clarify", slot="recipient", names=_WHO))
QUOTE = scenario("mail a note about what we said", Truth("clarify", slot="recipient", names=_WHO))
FORWARD = scenario("forward the message and the attachment", Truth("clarify", slot="recipient", names=_WHO))
LATE = scenario(
    "tell them i'm late",
    Truth("clarify", slot="recipient", names=_WHO, candidates=(("Kofi",), ("Ines",))),
    elements=("[0] row|1,1|Kofi|contact", "[1] row|1,2|Ines|contact"),
)
CALL = scenario(
    "add the call with kofi",
    Truth("clarify", slot="time", names=_WHEN),
    elements=("[0] row|1,1|Kofi|i am free after lunch.",),
)
STAMPS = scenario("order stamps", Truth("clarify", slot="quantity", names=SLOT_NAMES["quantity"]))
ABOUT_APP = scenario(
    "write a note about the app",
    Truth("clarify", slot="content", names=(*SLOT_NAMES["content"], "what should i write")),
)
ROOM = scenario("book a room for monday", Truth("clarify", slot="target", names=("which meeting room",)))
PRINT = scenario("print this page", Truth("clarify", names=("which printer", "what printer")))
SHARE = scenario(
    "share the document",
    Truth("clarify", slot="target", names=("which document",), candidates=(("Notes",), ("Release Notes",))),
    elements=("[0] file|1,1|Notes|document", "[1] file|1,2|Release Notes|document"),
)
SONG = scenario(
    "play the song",
    Truth("clarify", slot="target", names=("which song",), candidates=(("What a Wonderful World",), ("When in Rome",))),
    elements=("[0] row|1,1|What a Wonderful World|song", "[1] row|1,2|When in Rome|song"),
)
BAND = scenario(
    "play the band",
    Truth("clarify", slot="target", names=("which band",), candidates=(("Duran Duran",), ("Talk Talk",))),
    elements=("[0] row|1,1|Duran Duran|band", "[1] row|1,2|Talk Talk|band"),
)
BACKUP = scenario(
    "start the backup",
    Truth("clarify", slot="app", names=("which app",), candidates=(("Time Machine",), ("Message Vault",))),
    elements=("[0] dock_icon|1,1|Time Machine|", "[1] dock_icon|1,2|Message Vault|"),
)
TAB = scenario(
    "switch to the tab",
    Truth("clarify", slot="target", names=("which tab",), candidates=(("New",), ("Current",))),
    elements=("[0] tab|1,1|New|", "[1] tab|1,2|Current|"),
)
SHELL = scenario(
    "open the shell file",
    Truth("clarify", slot="target", names=("which file",), candidates=((".zshrc",), (".profile",))),
    elements=("[0] file|1,1|.zshrc|", "[1] file|1,2|.profile|"),
)
TRIP = scenario(
    "move the trip to another day",
    Truth("clarify", slot="time", names=_WHEN, candidates=(("May third",), ("June second",))),
    elements=("[0] cell|1,1|May third|free", "[1] cell|1,2|June second|free"),
)
VIEW = shown(
    "menu bar: File|Edit|View|Window\non-screen elements:\n[0] file|100,100|payroll-q1.xlsx|sheet\n"
    "[1] file|100,150|rota.v2.xlsx|sheet\n[2 more below]\n\nuser said: open the payroll sheet",
    Truth("action", mentions=(("payroll-q1.xlsx", "payroll"),)),
)
COPY = scenario(
    "copy the totals from menu.xlsx into payroll-q1.xlsx",
    Truth("action", mentions=(("payroll-q1.xlsx",),)),
    elements=(
        "[0] file|1,1|payroll-q1.xlsx|sheet",
        "[1] file|1,2|menu.xlsx|sheet",
        "[2] file|1,3|rota.v2.xlsx|sheet",
        "[3] button|1,4||close",
    ),
)
TILE = scenario(
    "tile this window to the left half",
    Truth("action", mentions=(("left",),)),
    elements=("[0] window|0,0|Notes|",),
)
BESIDE = scenario(
    "tile this window to the left half",
    Truth("action", mentions=(("left",),)),
    elements=("[0] window|0,0|Notes|", "[1] toolbar|0,9|Ruler|"),
)
SCROLL = scenario("scroll down a bit", Truth("action"), elements=("[0] list|1,1|Inbox|", "[1] list|1,2|Drafts|"))
PLAY = scenario("play clair de lune", Truth("action", mentions=(("clair de lune",),)))
WAIT = scenario("wait a second", Truth("action"))
ANNA = scenario("text анна that i'm late", Truth("action", mentions=(("анна", "anna"), ("late",))))
BUTTON = scenario("what does the red button do", Truth("answer", mentions=(("row", "rows"),)))
TABS = scenario("how many tabs are open", Truth("answer"))
CUT = scenario("cut the last sentence", Truth("edit"))
BYE = scenario("make the greeting say bye bye", Truth("edit"))
FORMAL = scenario("make the selected text more formal", Truth("edit"))
RELAX = scenario("make this less formal", Truth("edit"))
SPELL = scenario("fix the spelling in this for me", Truth("edit"))
BULLETS = scenario("turn this paragraph into bullet points", Truth("edit"))
GROW = scenario("expand this paragraph a little", Truth("edit"))
SWAP = scenario("swap the first sentence for we should expand", Truth("edit"))
ADD = scenario("add see you soon at the end", Truth("edit"))
WITH = scenario("with a lighter tone, make it shorter", Truth("edit"))
POLISH = scenario("polish the ending", Truth("edit"))
KNOWN = scenario("do you know me", Truth("answer"))
HEAR = scenario("can you hear me", Truth("answer"))
LINE = shown("remove the second line", Truth("edit"))
WIPE = scenario("wipe it", Truth("confirm_destructive"))
BASKET = scenario("empty the bin", Truth("confirm_destructive", confirm_target="bin"))
PHOTOS = scenario("delete the old vacation photos", Truth("confirm_destructive", target=("old vacation photos",)))
THREE = scenario(
    "delete my notes, photos and bookmarks", Truth("confirm_destructive", target=("notes, photos and bookmarks",))
)
BOXES = scenario("delete the shared mailboxes", Truth("confirm_destructive", target=("mailboxes",)))
PASSES = scenario("delete every boarding pass", Truth("confirm_destructive", target=("boarding passes",)))


def reminded(where: Scenario) -> Scenario:
    """The same request with a reminder of the form after it."""
    reminder = Message("system", "answer with one json object.")
    return replace(where, id=f"{where.id}-reminded", opening=(*where.opening, reminder))


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
