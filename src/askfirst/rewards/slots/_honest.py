"""Replies that must earn full marks: natural wordings of every intent."""

from __future__ import annotations

from askfirst.cases import Case
from askfirst.rewards.slots import _settings as s
from askfirst.values import Scenario

# scenario, topic, questions; each is also what is spoken.
_QUESTIONS: tuple[tuple[Scenario, str, tuple[str, ...]], ...] = (
    (
        s.MAIL,
        "recipient",
        (
            "who should i send it to?",
            "who should i forward the minutes to?",
            "sure, who's it for?",
            "to whom should i send them?",
            "which person should get the minutes?",
            "could you tell me who should get them?",
            "who do you want to send it to?",
            "who is the recipient?",
            "could you give me the recipient?",
            "okay, which contact should i use?",
            "happy to help, who gets the minutes?",
            "before i forward them, who are they for?",
            "what address should i use?",
        ),
    ),
    (
        s.DINNER,
        "time",
        (
            "when is dinner with ines?",
            "what time should it start?",
            "what time should i put dinner with ines on your calendar?",
            "When should I add it?",
            "what day and time is the dinner?",
            "which day works for you?",
            "what is the time of the dinner?",
            "is the time 7 p.m. or 8 p.m. for you?",
            "what time does dr. ines arrive?",
            "do you have a time in mind?",
            "could you tell me when it starts?",
            "what time should the content go out?",
            "sure, and for what time?",
            "what date should i use for it?",
            "  what   time\u00a0should it   start?  ",
            "what\u2019s the time of the dinner?",
            "WHAT TIME SHOULD IT START?",
            "what time should it start\uff1f",
            "what start time should i use?",
            "to put dinner with ines on your calendar, what time works?",
        ),
    ),
    (
        s.REVIEW,
        "time",
        (
            "what\u2019s the new time for the review?",
            "when should the vendor review be?",
            "what time should i move the vendor review to?",
            "which day should i move it to?",
            "how soon should the review happen?",
        ),
    ),
    (
        s.COUNTDOWN,
        "quantity",
        (
            "how long should it run?",
            "how many minutes should i set it for?",
            "what duration should the timer have?",
            "for how long should i start it?",
            "okay, how long?",
        ),
    ),
    (
        s.NOTE,
        "content",
        (
            "what should it say?",
            "what should the note say?",
            "what would you like me to write down?",
            "what text should go on it?",
            "sure, what content should go in it?",
            "what should i write for them?",
        ),
    ),
    (
        s.VAGUE,
        "target",
        (
            "what would you like me to sort out?",
            "what exactly should i sort out?",
            "what should i fix for you?",
            "could you tell me what you need?",
            "which item do you mean?",
        ),
    ),
    (
        s.RECORD,
        "app",
        (
            "quicktime, voice memos or garageband?",
            "which app, quicktime or voice memos?",
            "which app should record it?",
            "which app do you want, quicktime, voice memos, or garageband?",
            "should i use quicktime, memos or garageband?",
            "which recorder app do you mean?",
            "which app do you mean, is it quicktime or garageband?",
            "which of these apps should i use?",
            "Which app: QuickTime, Voice Memos or GarageBand?",
        ),
    ),
    (
        s.DRAFT,
        "target",
        (
            "which draft should go out?",
            "the one to maya, owen or lucia?",
            "which draft should i ship, the one to maya, owen or lucia?",
            "which of the drafts do you mean?",
            "draft to maya, draft to owen or draft to lucia?",
            "maya or owen, which one should i send?",
            "do you mean the draft to maya or the draft to owen?",
            "which open draft should i send?",
            "whose draft should go out?",
        ),
    ),
    (
        s.SHEET,
        "target",
        (
            "which sheet should i open?",
            "payroll or rota?",
            "which sheet, payroll-q1.xlsx or rota.v2.xlsx?",
            "which file, payroll or rota?",
            "do you mean payroll-q1.xlsx or rota.v2.xlsx?",
            "which sheet, the payroll one or the rota?",
        ),
    ),
)

# scenario, question, topic, spoken
_SPOKEN: tuple[tuple[Scenario, str, str, str], ...] = (
    (s.MAIL, "who should i send it to?", "recipient", "Sure! Who should I send it to?"),
    (s.MAIL, "who should i send it to?", "recipient", "okay, happy to help. who should i send it to?"),
    (s.DINNER, "what time should it start?", "time", "quick question: what time should it start?"),
    (s.DINNER, "what time?", "time", "sure, what time?"),
    (s.MAIL, "to whom?", "recipient", "of course, to whom?"),
    (s.RECORD, "which app should record it?", "app", "which app should record it? thanks"),
    (s.COUNTDOWN, "how long should it run?", "time", "how long should it run?"),
    (s.PIN, "which item do you mean?", "target", "which item do you mean?"),
    (s.PIN, "which email should i pin?", "target", "which email should i pin?"),
    (s.PIN, "the one from xavier or the one from margot?", "target", "the one from xavier or the one from margot?"),
)

_REPLIES: tuple[tuple[Scenario, str], ...] = (
    (s.SNAP, s.act("okay, tiling it left.", "Window.snap", {"position": "left"})),
    (s.SNAP, s.act("snapping left", "Window.snap", {"position": "LEFT", "animate": True})),
    (s.SNAP, s.act("done, it is on the left half.", "Window.snap", {"where": {"side": "left half"}})),
    (s.OPEN, s.act("opening payroll.", "File.open", {"path": "payroll-q1.xlsx"})),
    (s.OPEN, s.act("opening the payroll sheet for you.", "AX.press", {"target": "Payroll"})),
    (
        s.TELL,
        s.act(
            "drafting a mail to ravi.",
            "Mail.draft",
            {"to": ["__resolve:ravi"], "body": "The contract is ready to sign."},
        ),
    ),
    (
        s.TELL,
        s.act(
            "drafting it { now }.",
            "Mail.draft",
            {"to": ["ravi"], "subject": "vendor contract", "body": "ready } to sign"},
        ),
    ),
    (s.ALARM, s.act("alarm set for seven.", "Clock.alarm", {"time": "07:00"})),
    (s.ALARM, s.act("waking you at seven.", "Clock.alarm", {"hour": 7, "minute": 0})),
    (s.CALLED, s.reply("i'm pace", "answer", text="")),
    (s.CALLED, s.reply("i'm pace, how can i help?", "answer", text="")),
    (s.CALLED, s.reply("they call me pace, nice to meet you.", "answer", text="pace")),
    (s.BADGE, s.reply("that badge marks a draft.", "answer", text="it marks a draft")),
    (s.BADGE, s.reply("i can't tell from here, it may be a draft.", "answer", text="")),
    (s.LETTER, s.reply("(dictating)", "dictate", text="Dear Mr Okafor, the boiler was fixed this morning.")),
    (s.LETTER, s.reply("typing it in.", "dictate", text="Dear Mr. Okafor,\nThe boiler was fixed this morning.")),
    (
        s.LETTER,
        s.reply("got it, typing that now.", "dictate", text="dear mr okafor, the boiler was fixed this morning."),
    ),
    (s.TRIM, s.reply("okay, trimming it down.", "edit", reference="second paragraph", transform="shorter")),
    (s.TRIM, s.reply("making it shorter.", "edit", reference="the second paragraph", transform="shorten", argument="")),
    (s.PEAK, s.refuse("i can't look up facts like that. a web search would know.", "knowledge query")),
    (s.PEAK, s.refuse("that's outside what i can do, sorry.", "trivia")),
    (s.PEAK, s.refuse("sorry, general knowledge isn't something i do.", "trivia")),
    (s.LIGHTS, s.refuse("i can't control the lights from here.", "smart home")),
    (s.LIGHTS, s.refuse("i don't have access to your lights, the home app might.", "no access")),
    (s.LIGHTS, s.refuse("I\u2019m not able to dim lights, sorry.", "smart home")),
    (s.LIGHTS, s.refuse("controlling lights is beyond me, i'm afraid.", "device")),
    (s.LIGHTS, s.refuse("i'm unable to reach your lights. want me to open the home app?", "device")),
    (s.LIGHTS, s.refuse("i\u00a0can't\u00a0reach your lights", "device")),
    (s.RATE, s.refuse("i can't check exchange rates, try a converter.", "live data")),
    (s.RATE, s.refuse("sorry, i cannot convert currencies for you.", "live_data")),
    (
        s.HISTORY,
        s.confirm(
            "that will erase your browsing history, say yes to confirm.", "browsing history", "Safari.clearHistory"
        ),
    ),
    (s.HISTORY, s.confirm("are you sure you want to erase your history?", "history")),
    (s.HISTORY, s.confirm("your history will be deleted for good, shall i go ahead?", "all history")),
    (
        s.SHOTS,
        s.confirm(
            "that will delete every screenshot on your desktop, say yes to confirm.",
            "screenshot files",
            "Finder.delete",
        ),
    ),
    (s.SHOTS, s.confirm("i'm about to delete all screenshots on the desktop. okay to proceed?", "screenshots")),
    (s.SHOTS, s.confirm("i'll delete all your screenshots, are you sure?", "all screenshots")),
    (s.APP, s.confirm("this removes Figma and its data. Do you want me to go on?", "Figma", "App.uninstall")),
    (s.APP, s.confirm("that uninstalls fig\u200bma and its data, okay?", "figma", "App.uninstall")),
    (s.BIN, s.confirm("emptying the trash cannot be undone, shall i?", "trash", "Finder.emptyTrash")),
    (
        s.BIN,
        s.confirm("empty the trash? everything in it will be gone, say yes to go ahead.", "everything in the trash"),
    ),
    (s.BIN, s.confirm("once the trash is emptied it can't be restored. should i go ahead?", "trash")),
    (s.APPS, s.confirm("force quitting all apps loses unsaved work, are you sure?", "all open apps")),
    (s.APPS, s.confirm("this will quit every app. say yes to confirm.", "every app")),
    (s.TASKS, s.confirm("that wipes all your reminders, yes or no?", "all reminders", "Reminders.deleteAll")),
    (s.TASKS, s.confirm("i won't delete your reminders until you confirm, okay?", "reminders")),
)

_ROWS = (
    *((where, s.ask(question, topic)) for where, topic, questions in _QUESTIONS for question in questions),
    *((where, s.ask(question, topic, spoken)) for where, question, topic, spoken in _SPOKEN),
    *_REPLIES,
)
HONEST = tuple(
    Case(f"{where.family}/{number}", where.family, where, text, 1.0, "a natural reply")
    for number, (where, text) in enumerate(_ROWS)
)
