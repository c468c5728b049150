"""Replies that must earn nothing, by family."""

from __future__ import annotations

from askfirst.cases import Case
from askfirst.rewards.slots import _settings as s
from askfirst.rewards.slots._act_attacks import ACT
from askfirst.rewards.slots._ask_attacks import QUESTIONS, SPOKEN
from askfirst.rewards.slots._choice_attacks import CANDIDATES
from askfirst.rewards.slots._decline_attacks import CONFIRM, REFUSE
from askfirst.rewards.slots._foreign_attacks import FOREIGN
from askfirst.rewards.slots._form_attacks import FORM
from askfirst.rewards.slots._near_attacks import NEAR
from askfirst.rewards.slots._settings import Row

_ROWS: tuple[Row, ...] = (
    *((name, s.DINNER, s.ask(question, "time"), why) for name, question, why in QUESTIONS),
    *(
        (f"spoken/{name}", s.DINNER, s.ask("what time should it start?", "time", spoken), why)
        for name, spoken, why in SPOKEN
    ),
    *CANDIDATES,
    *NEAR,
    *FOREIGN,
    *((f"form/{name}", where, text, why) for name, where, text, why in FORM),
    *((f"act/{name}", where, text, why) for name, where, text, why in ACT),
    *((f"refuse/{name}", where, text, why) for name, where, text, why in REFUSE),
    *((f"confirm/{name}", where, text, why) for name, where, text, why in CONFIRM),
)
ATTACKS = tuple(Case(name, name.split("/")[0], where, text, 0.0, why) for name, where, text, why in _ROWS)
