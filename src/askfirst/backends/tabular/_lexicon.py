"""Word classes of everyday requests to a computer: what the policy knows of English before it learns anything."""

from __future__ import annotations

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


POLITE = _set(
    "please hey ok okay can could would will you i we'd i'd need want like to just kindly lets let's go ahead and "
    "pace um so alright right be kind quickly well uh hm"
)
THANKS = _set("please thanks thank you now")
PERSON = _set("him her them they he she someone somebody folks anyone people guest person")
# Verbs that are followed by the person concerned, besides those of telling.
TOWARDS = _set("let remind show make add take text if")
THING = _set("it this that these those one ones thing things something stuff")
FUNCTION = _set(
    "a an the my our your his her its their to for with from of in on at by and or is are be me us up out off down "
    "over into as so then now do does did have has i you we please can could would will want need like just that this "
    "it one what which who when where how why if about there here again today tonight tomorrow monday tuesday "
    "wednesday thursday friday saturday sunday next noon midnight morning afternoon evening weekend week month am pm "
    "get take make bring see"
)
DETERMINER = _set("a an the my our your his her its their this that these those some any every all")
ASK = _set("what what's which who who's whose when where how how's why is are was were does do did any should whats am")

# Class → words that belong to it. A request can be of several classes; the first that holds a word stands for it.
CLASSES: dict[str, frozenset[str]] = {
    "talk": _set(
        "send mail email forward share message tell call phone invite ask ping cc thank say congratulate know hand "
        "pass notify inform contact introduce airdrop chat dial congratulations loop reach deliver submit greet warn "
        "location meet video mails emails write"
    ),
    "plan": _set(
        "remind reminder reminders schedule reschedule postpone book calendar event meeting appointment alarm wake "
        "plan diary slot hold block forget nudge sure automatically later delay agenda remember due deadline"
    ),
    "fill": _set(
        "type fill note reply respond caption title rename label comment enter sign paste subject body box field "
        "answer jot entry item form text memo description heading compose question name address number code id"
    ),
    "amount": _set(
        "volume brightness turn speed timer some few bit copies louder quieter zoom resize percent skip ahead rewind "
        "size bigger smaller higher lower font stretch countdown several increase decrease raise brighter dimmer "
        "faster slower refills refill crop trim rows usual forward"
    ),
    "program": _set(
        "app apps application program programs software tool editor client browser uses launch start restart switch "
        "load"
    ),
    "app": _set(
        "safari chrome firefox slack messages teams zoom notes mail spotify music calendar pages word excel numbers "
        "keynote photos preview finder terminal maps weather podcasts trello notion discord outlook reminders books "
        "figma"
    ),
    "shortcut": _set("shortcut shortcuts routine automation workflow"),
    "blank": _set(
        "other item entry whatever someone somebody something anything anyone some thing right usual certain"
    ),
    "kind": _set(
        "file files folder page pages tab window row photo video image picture document spreadsheet slide draft email "
        "message note playlist song episode recording letter printer speaker device account bookmark channel list "
        "button screenshot download article report chart flyer column cell attachment link clip track"
    ),
    "vague": _set(
        "usual stuff situation things everything something thing sort handle deal care happen finish fix mess magic "
        "ready prepare right better whatever started proper job useful"
    ),
    "destroy": _set(
        "delete erase wipe remove empty trash clear uninstall discard overwrite format reset purge destroy quit kill "
        "scrap nuke drop shred replace revert cancel throw bin flush abandon close shut power"
    ),
    "sweep": _set("all every everyone whole entire completely permanently forever good without anything"),
    "edit": _set(
        "shorten sentence paragraph wording bullet bullets formal casual selection rewrite tone tense shorter longer "
        "clearer polite phrase rephrase grammar spelling capitalize bold line summarize simpler tighten"
    ),
    "dictate": _set("dictate following down"),
    "screen": _set("screen see open listed showing visible displayed highlighted many count first second top bottom"),
    "online": _set(
        "weather rain umbrella forecast snow sunset pollen hot cold windy news headlines latest election shares "
        "trading stock exchange rate market price score game match won standings team translate language recipe "
        "flight flights hotel ticket tickets ride cab taxi table restaurant pizza delivery order buy package parcel "
        "post tweet upload story divided times plus average convert square symptoms medicine invest lawyer legal "
        "capital invented history watch monitor keep eye alert last yesterday earlier conversation checking whether "
        "happened people"
    ),
    "device": _set(
        "lights lamp thermostat heating tv television android iphone vacuum oven door lock garage washer heater fan "
        "camera doorbell mobile warmer cooler dim unmute mute"
    ),
}
TIME = re.compile(
    r"\b(\d{1,2}(:\d\d)? ?[ap]m|\d{1,2}:\d\d|o'clock|noon|midnight|today|tonight|tomorrow"
    r"|(mon|tues|wednes|thurs|fri|satur|sun)day|(this|next) (morning|afternoon|evening|weekend|week|month)"
    r"|at (\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|in (an?|\d+|two|three|four|five|ten|fifteen|twenty|thirty) (minutes?|hours?|days?|weeks?)"
    r"|(january|february|march|april|may|june|july|august|september|october|november|december) (the )?\d+)\b"
)
NUMBER = re.compile(
    r"\b(\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy"
    r"|eighty|ninety|hundred|half|quarter|max(imum)?|min(imum)?|percent|minutes?|hours?|seconds?)\b"
)
CONTENT = re.compile(r"\b(saying|says?|titled|called|named|with the text|to say|reading|with|as)\b (?=\S)|[:,\"“]")
KNOWN = PERSON | THING | FUNCTION | DETERMINER | ASK | frozenset().union(*CLASSES.values())
CLASS_OF = {word: name for name, members in reversed(CLASSES.items()) for word in members}
