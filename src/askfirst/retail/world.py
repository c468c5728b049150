"""A retailer: users, orders and products by id, the policy for the agent, and the schemas of the tools.

Records have the shapes of the published data (`User`, `Order`, `Product` below); they are frozen, with their keys in
the order in which they were given, which is the order in which tools show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from askfirst.errors import InputError
from askfirst.retail.hashing import Page, page_of
from askfirst.values import FrozenMap

Record = Mapping[str, Any]
Records = Mapping[str, Record]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]  # whole numbers too
Status = Literal["pending", "processed", "delivered", "cancelled"]


class Shape(BaseModel):
    """What a record is held to: these fields, of exactly these types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Name(Shape):
    """Who a user is."""

    first_name: str
    last_name: str


class Address(Shape):
    """Where things go."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class Method(Shape):
    """A way to pay; a gift card, and only that, has `gift_card` in its id and a balance."""

    source: Literal["credit_card", "paypal", "gift_card"]
    id: str
    brand: str = ""
    last_four: str = ""
    balance: Money = 0


class User(Shape):
    """A customer. `payment_methods` by id; `orders` are ids."""

    name: Name
    address: Address
    email: str
    payment_methods: dict[str, Method]
    orders: list[str]


class Item(Shape):
    """A variant of a product as it was ordered."""

    name: str
    product_id: str
    item_id: str
    price: Money
    options: dict[str, str]


class Fulfillment(Shape):
    """A parcel."""

    tracking_id: list[str]
    item_ids: list[str]


class Payment(Shape):
    """An entry of an order's payment history."""

    transaction_type: Literal["payment", "refund"]
    amount: Money
    payment_method_id: str


class Order(Shape):
    """An order; the first entry of its history is a payment."""

    order_id: str
    user_id: str
    address: Address
    items: Annotated[list[Item], Field(min_length=1)]
    fulfillments: list[Fulfillment]
    status: Status
    payment_history: Annotated[list[Payment], Field(min_length=1)]


class Variant(Shape):
    """What of a product can be bought."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: Money


class Product(Shape):
    """A kind of thing. `variants` by item id."""

    name: str
    product_id: str
    variants: dict[str, Variant]


KINDS: Mapping[str, Any] = {"users": User, "orders": Order, "products": Product}


@dataclass(frozen=True, eq=False, repr=False)  # its repr would be megabytes
class World:
    """Frozen records by id; `policy` is the agent's system message; `tools` are function schemas, perhaps none.

    Two worlds are the same only if they are one object.
    """

    users: Records
    orders: Records
    products: Records
    policy: str = ""
    tools: tuple[Record, ...] = ()

    @classmethod
    def of(cls, tables: Mapping[str, Any], policy: str = "", tools: Sequence[Any] = (), where: str = "*") -> World:
        """A world of plain JSON values: `tables` has users, orders and products by id.

        Raises InputError, naming the record and the field, where one has not the shape of its kind or contradicts
        another; `where` is where the message says that a table stands, with * for its name.
        """
        if set(tables) != set(KINDS):
            raise InputError(f"has {sorted(tables)}; expected {sorted(KINDS)}", where=where.replace("*", "world"))
        for name, kind in KINDS.items():
            check_shape(GenericAlias(dict, (str, kind)), tables[name], where.replace("*", name))
        world = cls(**{name: frozen(tables[name]) for name in KINDS}, policy=policy, tools=frozen(tools))
        for name, problem in _contradictions(world):
            raise InputError(problem, where=where.replace("*", name))
        return world

    @cached_property
    def tables(self) -> Mapping[str, Records]:
        """The three tables by name."""
        return {name: getattr(self, name) for name in KINDS}

    @cached_property
    def page(self) -> Page:
        """The text form of the whole database and its hash; worked out once."""
        return page_of(self.tables)

    @property
    def sha256(self) -> str:
        """Hash of the database as it is before anything is changed."""
        return self.page.sha256


def frozen(value: Any) -> Any:
    """A JSON value as one that does not change: mappings as FrozenMap, lists as tuples."""
    if isinstance(value, Mapping):
        return FrozenMap({key: frozen(each) for key, each in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def thawed(value: Any) -> Any:
    """A copy that can be changed: mappings as dict, tuples as lists."""
    if isinstance(value, Mapping):
        return {key: thawed(each) for key, each in value.items()}
    return list(map(thawed, value)) if isinstance(value, list | tuple) else value


def check_shape(kind: Any, value: Any, where: str) -> None:
    """Raise InputError, naming the field, where a plain JSON value is not of a kind."""
    try:
        _adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InputError(f"{first['msg']} at {field or 'the top'}", where=where) from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _contradictions(world: World) -> Iterator[tuple[str, str]]:
    """Table and problem of every record that contradicts another."""
    for key, user in world.users.items():
        yield from (("users", f"{key} {problem}") for problem in _of_user(world, key, user))
    for key, order in world.orders.items():
        yield from (("orders", f"{key} {problem}") for problem in _of_order(world, key, order))
    for key, product in world.products.items():
        if key != product["product_id"] or any(name != each["item_id"] for name, each in product["variants"].items()):
            yield "products", f"{key} or one of its variants has another id"


def _of_user(world: World, key: str, user: Record) -> Iterator[str]:
    for order in user["orders"]:
        if world.orders.get(order, {}).get("user_id") != key:
            yield f"lists order {order}, which is not this user's"
    for name, method in user["payment_methods"].items():
        if name != method["id"]:
            yield f"has payment method {name} with another id"
        if len({method["source"] == "gift_card", "gift_card" in name, "balance" in method}) > 1:
            yield f"has payment method {name}, which is half a gift card: by its id, its source or its balance"


def _of_order(world: World, key: str, order: Record) -> Iterator[str]:
    user = world.users.get(order["user_id"])
    if key != order["order_id"] or user is None or key not in user["orders"]:
        yield "has another id, or is not listed by its user"
        return
    for item in order["items"]:
        if item["item_id"] not in world.products.get(item["product_id"], {}).get("variants", {}):
            yield f"holds item {item['item_id']}, which is no variant of product {item['product_id']}"
    for entry in order["payment_history"]:
        if entry["payment_method_id"] not in user["payment_methods"]:
            yield f"was paid with {entry['payment_method_id']}, which its user does not have"
    if order["payment_history"][0]["transaction_type"] != "payment":
        yield "has a payment history that does not begin with a payment"
