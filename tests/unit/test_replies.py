import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askfirst import replies
from askfirst.replies import Reply, ReplyError, Truth, parse_action, parse_reply
from askfirst.values import Act, Answer, Ask, Confirm, FrozenMap, Invalid, Refuse, Scenario

PAYLOADS = {
    "action": {"name": "set_volume", "args": {"level": 3}},
    "answer": {"text": ""},
    "dictate": {"text": "hello"},
    "edit": {"reference": "it", "transform": "uppercase"},
    "out_of_scope": {"reason": "no weather"},
    "clarify": {"question": "Who should it go to?", "topic": "recipient"},
    "confirm_destructive": {"action": "delete", "target": "the folder"},
}


def reply(intent: str, payload: object, /, **other: object) -> str:
    return json.dumps({"spokenText": "Sure.", "intent": intent, "payload": payload} | other)


def test_there_are_seven_intents_and_six_slots():
    assert set(PAYLOADS) == set(replies.PAYLOADS)
    assert set(replies.SLOT_NAMES) == set(replies.SLOTS)
    assert all(name == name.lower() for names in replies.SLOT_NAMES.values() for name in names)


@pytest.mark.parametrize(
    ("intent", "payload"),
    [
        *PAYLOADS.items(),
        ("action", {"name": "mute", "args": {}, "calls": []}),
        ("edit", {"reference": "it", "transform": "replace", "argument": ""}),
    ],
)
def test_what_the_protocol_allows_is_read_as_it_stands(intent, payload):
    parsed = parse_reply(f" {reply(intent, payload)}\n")
    assert (parsed.spoken, parsed.intent, parsed.payload) == ("Sure.", intent, payload)
    assert parse_reply(parsed.text()) == parsed


@pytest.mark.parametrize("intent", PAYLOADS)
def test_every_required_field_is_required_and_typed(intent):
    for field in PAYLOADS[intent]:
        without = {k: v for k, v in PAYLOADS[intent].items() if k != field}
        with pytest.raises(ReplyError, match=f"payload lacks {field}"):
            parse_reply(reply(intent, without))
        for wrong in (None, 3, True, ["x"]):
            with pytest.raises(ReplyError, match=f"payload {field} is not of its type"):
                parse_reply(reply(intent, without | {field: wrong}))
    with pytest.raises(ReplyError, match=r"unknown fields \['extra'\]"):
        parse_reply(reply(intent, PAYLOADS[intent] | {"extra": 1}))


GOOD = reply("answer", {"text": "5"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not one JSON object"),
        ("Who should it go to?", "not one JSON object"),
        (f"```json\n{GOOD}\n```", "not one JSON object"),
        (GOOD + GOOD, "not one JSON object"),
        (GOOD[:-1], "not one JSON object"),
        ("[" * 5000, "not one JSON object"),
        (GOOD + " " * 8000, "longer than 8000"),
        (f"[{GOOD}]", "not an object with exactly"),
        ("null", "not an object with exactly"),
        ('{"intent": "answer", "payload": {"text": "5"}}', "not an object with exactly"),
        (reply("answer", {"text": "5"}, confidence=1), "not an object with exactly"),
        (reply("answer", {"text": "5"}, spokenText=" \n"), "spokenText"),
        (reply("answer", {"text": "5"}, spokenText=None), "spokenText"),
        (reply("ask", {"question": "Who?"}), "intent is not one of the seven"),
        (reply("answer", {"text": "5"}, intent=["answer"]), "intent is not one of the seven"),
        (reply("answer", "5"), "payload is not an object"),
        (reply("clarify", {"question": " ", "topic": "time"}), "payload question is blank"),
        (reply("clarify", {"question": "Who?", "topic": "person"}), "topic is not one of the six"),
        (reply("action", {"name": "x", "args": {}, "calls": {}}), "payload calls is not of its type"),
        (reply("edit", {"reference": "it", "transform": "x", "argument": None}), "payload argument is not of its type"),
        (GOOD.replace('"intent"', '"intent": "clarify", "intent"'), "duplicate keys"),
        (GOOD.replace('"text": "5"', '"text": "5", "text": "6"'), "duplicate keys"),
        (reply("action", {"name": "x", "args": {"level": float("nan")}}), "NaN is not JSON"),
        (reply("action", {"name": "x", "args": {"level": -float("inf")}}), "-Infinity is not JSON"),
        (reply("action", {"name": "x", "args": {"level": 1}}).replace("1}", "1e999}"), "a number is too large"),
        (reply("answer", {"text": "\ud800"}), "half a surrogate pair"),
    ],
)
def test_what_breaks_the_protocol_is_refused_with_a_reason(text, reason):
    with pytest.raises(ReplyError, match=reason) as caught:
        parse_reply(text)
    assert parse_action(text) == Invalid(str(caught.value))


@pytest.mark.parametrize(
    ("intent", "action"),
    [
        ("clarify", Ask("Who should it go to?", "recipient")),
        ("answer", Answer("")),
        ("out_of_scope", Refuse("no weather")),
        ("confirm_destructive", Confirm("delete", "the folder")),
        ("action", Act("set_volume", FrozenMap({"args": '{"level": 3}'}))),
        ("dictate", Act("dictate", FrozenMap({"text": "hello"}))),
        ("edit", Act("edit", FrozenMap({"reference": "it", "transform": "uppercase"}))),
    ],
)
def test_each_intent_is_one_kind_of_action(intent, action):
    parsed = parse_action(reply(intent, PAYLOADS[intent]))
    assert parsed == action
    assert hash(parsed) == hash(action)


def test_the_order_of_arguments_does_not_make_another_action():
    one, two = ({"name": "x", "args": args} for args in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert parse_action(reply("action", one)) == parse_action(reply("action", two))


def test_the_truth_comes_back_out_of_a_scenario():
    truth = Truth("clarify", "recipient", ("who",), candidates=(("the report", "report"), ("the memo",)))
    scenario = Scenario("s", "desktop", "ambiguous", "dev", True, (), truth.hide())
    assert replies.truth(scenario) == truth
    assert hash(scenario) == hash(Scenario("s", "desktop", "ambiguous", "dev", True, (), truth.hide()))
    with pytest.raises(TypeError):
        replies.truth(Scenario("s", "desktop", "clear", "dev", False, (), FrozenMap({"answer": "5"})))


@given(st.text() | st.text(alphabet='{}[]":,\\u0d8aeI 1-.N'))
def test_only_a_reply_error_leaves_the_parser_on_any_text(text):
    action = parse_action(text)
    if isinstance(action, Invalid):
        assert 0 < len(action.reason) < 200
    else:
        assert isinstance(parse_reply(text), Reply)


def nested(lists: int) -> str:
    """A reply with that many lists in one another; body, payload and args are three levels around them."""
    return reply("action", {"name": "x", "args": {"a": 0}}).replace("0", "[" * lists + "]" * lists)


def test_arguments_may_nest_sixteen_deep():
    assert parse_reply(nested(14)).intent == "action"


@pytest.mark.parametrize("lists", [15, 300, 900, 980, 990, 3900])
def test_nesting_cannot_exhaust_the_stack(lists):
    text = nested(lists)
    with pytest.raises(ReplyError, match=r"nested deeper than 16 levels|not one JSON object"):
        parse_reply(text)
    assert isinstance(parse_action(text), Invalid)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(scalars, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=6)
fields = st.sampled_from([*{f for p in PAYLOADS.values() for f in p}, "calls", "argument", "other"])
payloads = st.sampled_from([*PAYLOADS.values()]) | st.dictionaries(fields, anything, max_size=3) | anything


@given(
    st.fixed_dictionaries(
        {"spokenText": st.just("Sure.") | anything, "intent": st.sampled_from([*PAYLOADS]), "payload": payloads},
        optional={"more": anything},
    )
)
def test_near_misses_are_refused_or_read_back_the_same(body):
    text = json.dumps(body)
    try:
        parsed = parse_reply(text)
    except ReplyError:
        assert isinstance(parse_action(text), Invalid)
        return
    assert {"spokenText": parsed.spoken, "intent": parsed.intent, "payload": parsed.payload} == body
    assert parse_reply(parsed.text()) == parsed
    assert not isinstance(parse_action(text), Invalid)
