"""How users speak and behave. Each persona belongs to one split; a user's behaviour is a function of the scenario.

What a policy can plan with is shown in the opening: the share of questions that get an answer. The rest of a persona
stands outside the states of the optimum, and moves it in no way:

* Words around an answer carry nothing.
* A refusal is a question without an answer, like one that the user cannot answer.
* `slips`: a wrong value, taken back in the same breath, leaves the right one known.
* `single`: of several things in one question the first is answered, and it alone is paid for.
* `wavers`: who is asked again about what was already told changes their mind, and the last word holds. The optimum
  asks about nothing that is known: a question more, and the plan is as sure as before.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY = (1.0, 0.9, 0.8)  # chances of an answer


@dataclass(frozen=True, slots=True)
class Persona:
    """A way to answer. `{}` is the value in words; in `slip` `{a}` is taken back and `{b}` holds."""

    split: str
    carriers: tuple[str, ...]
    unknown: tuple[str, ...]
    puzzled: tuple[str, ...]
    slip: str = ""
    slips: float = 0.0
    single: bool = False
    wavers: bool = False
    knows: tuple[float, ...] = ANY


PERSONAS = {
    "matter-of-fact": Persona(
        "train",
        ("{}.", "{}, please.", "well, {}.", "{}, I would say.", "hm, {}."),
        ("I do not know.",),
        ("Sorry, I do not follow.", "I am not sure what you mean.", "Hm, what do you want to know?"),
    ),
    "terse": Persona("train", ("{}.", "{}", "{}!"), ("No idea.", "Not known."), ("What?", "Unclear.")),
    "chatty": Persona(
        "train",
        (
            "oh, I am glad that you ask: {}. It keeps us all busy.",
            "let me see, {}. I said so to my sister only an hour ago.",
            "you will like this: {}. Lovely, is it not?",
        ),
        ("That I cannot tell you, you know how these things are.", "Hm, nobody at home could say, I am afraid."),
        ("You have lost me there, dear.", "I was thinking of something else, what did you want to hear?"),
        slip="{a}, no, sorry, {b}",
        slips=0.3,
    ),
    "polite": Persona(
        "dev",
        ("{}, thank you for asking.", "{}, if I may."),
        ("I am sorry, I cannot say.", "I regret that I have not been told."),
        ("I beg your pardon?", "Forgive me, what is the question?"),
    ),
    "impatient": Persona(
        "dev",
        ("{}. Can we move on?", "{}, and now get going."),
        ("I have no time for this.", "Skip it."),
        ("Get to the point.", "What is it that you need?"),
        single=True,
    ),
    "forgetful": Persona(
        "dev",
        ("ah yes, {}.", "if I remember rightly, {}."),
        ("It has slipped my mind.", "I knew it this morning."),
        ("Where were we?", "I have lost the thread."),
        slip="{a}, no, wait, {b}",
        slips=0.5,
        wavers=True,
        knows=(0.7,),
    ),
    "hostile": Persona(
        "sealed",
        ("why do you ask? {}.", "if you must know, {}."),
        ("That is none of your business.", "I would rather not say."),
        ("Stop wasting my time.", "I will not answer that."),
        single=True,
        knows=(0.8,),
    ),
    "fickle": Persona(
        "sealed",
        ("{}, for now.", "today I would say {}."),
        ("I have not made up my mind.", "Who can tell?"),
        ("That is too much for me.", "Ask me something simpler."),
        slip="{a}, or scratch that, {b}",
        slips=0.6,
        wavers=True,
    ),
}


def of_split(split: str) -> tuple[str, ...]:
    """The names of the personas of a split."""
    return tuple(name for name, persona in PERSONAS.items() if persona.split == split)
