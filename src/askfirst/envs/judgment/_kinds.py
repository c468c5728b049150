"""What can stand on the screen: element kinds, how their labels are made, and which kinds may be taken for another."""

from __future__ import annotations

from dataclasses import dataclass

MODS = ("june", "july", "v2", "final", "old", "copy", "q1", "q2", "march", "signed", "revised", "spring")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of element.

    `label` is a template over value pools; its first variable is what a person would call the element by.
    `named` says how ({s}: that variable, {n}: the noun); empty where nobody would. `group` holds kinds that
    might be meant by each other's noun. `modified` labels can share their first variable and differ in a modifier.
    """

    name: str
    noun: str
    role: str
    text: str
    label: str
    group: str
    named: str = "{s} {n}"
    modified: bool = False
    plural: str = ""


_ROWS = (
    Kind("file", "file", "file", "file", "{topic:slug}{mod}.zip", "file", modified=True),
    Kind("spreadsheet", "spreadsheet", "file", "spreadsheet", "{topic:slug}{mod}.xlsx", "file", modified=True),
    Kind("document", "document", "file", "document", "{topic:slug}{mod}.docx", "file", modified=True),
    Kind("photo", "photo", "file", "photo", "{place:slug}{mod}.jpg", "file", modified=True),
    Kind("video", "video", "file", "video", "{place:slug}{mod}.mov", "file", modified=True),
    Kind("screenshot", "screenshot", "file", "screenshot", "shot-{topic:slug}.png", "file", named="{n} of the {s}"),
    Kind("download", "download", "row", "download", "{topic:slug}.dmg", "file"),
    Kind("folder", "folder", "folder", "folder", "{topic:cap}", "folder"),
    Kind("tab", "tab", "tab", "web page", "{topic:cap} — {site}", "tab"),
    Kind("window", "window", "window", "window", "{app} — {topic:cap}", "window"),
    Kind("draft", "draft", "row", "draft", "Draft to {person:cap}", "mail", named="{n} to {s}"),
    Kind("email", "email", "row", "email", "{person:cap}: {topic}", "mail", named="{n} from {s}"),
    Kind("message", "message", "row", "message", "{person:cap} — {time}", "mail", named="{n} from {s}"),
    Kind("note", "note", "row", "note", "{topic:cap}", "note"),
    Kind("playlist", "playlist", "row", "playlist", "{title}", "list of songs"),
    Kind("song", "song", "row", "song", "{title}", "song"),
    Kind("podcast", "episode", "row", "episode", "{title}", "episode"),
    Kind("event", "meeting", "event", "meeting", "{topic:cap} sync {time}", "event"),
    Kind("reminder", "reminder", "row", "reminder", "{errand:cap}", "note", named="{n} to {s}"),
    Kind("printer", "printer", "menu_item", "printer", "{room:cap} {brand}", "device"),
    Kind("speaker", "speaker", "menu_item", "speaker", "{room:cap} Speaker", "device"),
    Kind("device", "device", "row", "device", "{person:cap}'s {machine}", "device", named=""),
    Kind("account", "account", "row", "account", "{person}@{domain}.com", "account", named=""),
    Kind("bookmark", "bookmark", "menu_item", "bookmark", "{topic:cap}", "bookmark"),
    Kind("channel", "channel", "row", "channel", "#{topic:slug}", "channel"),
    Kind("list", "list", "row", "list", "{topic:cap}", "list"),
    Kind("slide", "slide", "row", "slide", "{topic:cap}", "slide"),
)
KINDS = {kind.name: kind for kind in _ROWS}

# Kinds of the file group that nobody takes for each other when named by their own noun.
_APART = frozenset({"spreadsheet", "document", "photo", "video"})

# Fillers of labels that name nothing by themselves.
CLOSED = {
    "site": ("Docs", "Wiki", "Forum", "Board", "Blog", "Shop", "Guide"),
    "time": ("9am", "10am", "11am", "1pm", "2pm", "3pm", "4pm", "5pm"),
    "brand": ("Epson", "Brother", "Xerox", "Lexmark", "Ricoh"),
    "machine": ("iPad", "MacBook", "Watch", "Tablet", "Keyboard"),
    "domain": ("acme", "orchardmail", "northbox", "papertrail"),
}

# Window furniture, never what a request is about.
CHROME = (
    "Back",
    "Forward",
    "View",
    "Sidebar",
    "Search",
    "Help",
    "Filter",
    "Zoom In",
    "Toolbar",
    "Preferences",
    "Refresh",
    "Menu",
)


def may_be_confused(one: str, other: str) -> bool:
    """Whether an element of kind `other` could be meant by the noun of kind `one`."""
    if one == other:
        return True
    return KINDS[one].group == KINDS[other].group and not {one, other} <= _APART
