"""The tools that change nothing. Each takes the database and its arguments by name, and returns what it shows.

All raise Refused where the answer is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.retail.arithmetic import ArithmeticFailure, evaluated
from askfirst.retail.database import Database
from askfirst.retail.given import Refused, key, lowered, shown

Given = Mapping[str, Any]


def calculate(db: Database, given: Given) -> str:
    """The value of an arithmetic expression."""
    expression = given["expression"]
    if not isinstance(expression, str):
        raise Refused("expression is no text")
    try:
        return evaluated(expression)
    except ArithmeticFailure as failure:
        raise Refused(str(failure)) from failure


def find_user_id_by_email(db: Database, given: Given) -> str:
    """The first user with this address, whatever its case."""
    email = lowered(given["email"])
    for name, user in db.records("users"):
        if user["email"].lower() == email:
            return name
    raise Refused("user not found")


def find_user_id_by_name_zip(db: Database, given: Given) -> str:
    """The first user with these names, whatever their case, and exactly this zip code."""
    first, last = lowered(given["first_name"]), lowered(given["last_name"])
    for name, user in db.records("users"):
        names = (user["name"]["first_name"].lower(), user["name"]["last_name"].lower())
        if names == (first, last) and user["address"]["zip"] == given["zip"]:
            return name
    raise Refused("user not found")


def get_user_details(db: Database, given: Given) -> str:
    """A user's record."""
    return shown(found(db, "user", given))


def get_order_details(db: Database, given: Given) -> str:
    """An order's record."""
    return shown(found(db, "order", given))


def get_product_details(db: Database, given: Given) -> str:
    """A product's record."""
    return shown(found(db, "product", given))


def found(db: Database, kind: str, given: Given) -> Mapping[str, Any]:
    """The user, order or product that an argument names. Raises Refused where there is none."""
    record = db.record(f"{kind}s", key(given[f"{kind}_id"]))
    if record is None:
        raise Refused(f"{kind} not found")
    return record


def list_all_product_types(db: Database, given: Given) -> str:
    """Product ids by name, sorted."""
    return shown(dict(sorted((product["name"], name) for name, product in db.records("products"))))


def think(db: Database, given: Given) -> str:
    """Nothing."""
    return ""


def transfer_to_human_agents(db: Database, given: Given) -> str:
    """That it is done; who calls ends the episode."""
    return "Transfer successful"
