"""What the generated shop sells, and the names and places of its customers. Products are shared by all splits.

A product has one option with four values, so that a variant is named by its value. Family names, and with them
customers, belong to one split each; so do the numbers of orders.
"""

from __future__ import annotations

from collections.abc import Mapping

from askfirst.values import FrozenMap

# Product → its option and the option's values; the variant at `_SOLD_OUT` of each four is not available.
_TYPES: tuple[tuple[str, str, tuple[str, str, str, str]], ...] = (
    ("mug", "color", ("blue", "red", "white", "green")),
    ("backpack", "color", ("black", "grey", "brown", "navy")),
    ("desk lamp", "color", ("silver", "black", "white", "copper")),
    ("t-shirt", "size", ("small", "medium", "large", "extra large")),
    ("rain jacket", "size", ("small", "medium", "large", "extra large")),
    ("keyboard", "layout", ("compact", "full", "split", "numeric")),
    ("water bottle", "capacity", ("500 ml", "750 ml", "1000 ml", "330 ml")),
    ("notebook", "paper", ("plain", "lined", "dotted", "squared")),
    ("headphones", "color", ("black", "white", "gold", "purple")),
    ("picture frame", "material", ("oak", "steel", "bamboo", "walnut")),
    ("candle", "scent", ("vanilla", "pine", "lemon", "lavender")),
    ("blanket", "material", ("wool", "cotton", "fleece", "linen")),
    ("tea kettle", "material", ("steel", "glass", "copper", "enamel")),
    ("wall clock", "color", ("white", "black", "red", "oak")),
    ("yoga mat", "thickness", ("4 mm", "6 mm", "8 mm", "10 mm")),
    ("umbrella", "color", ("yellow", "black", "green", "pink")),
)
OPTIONS = tuple(dict.fromkeys(option for _, option, _ in _TYPES))
VARIANTS = 4
_SOLD_OUT = 3


def _product(number: int) -> FrozenMap:
    name, option, values = _TYPES[number]
    variants = {}
    for at, value in enumerate(values):
        item = f"{number + 11}{at + 1:02d}"
        price = round(6.5 + 4.25 * ((number * 5 + at * 3) % 16) + 0.1 * at, 2)
        known = {"item_id": item, "options": FrozenMap({option: value}), "available": at != _SOLD_OUT, "price": price}
        variants[item] = FrozenMap(known)
    return FrozenMap({"name": name, "product_id": str(number + 11), "variants": FrozenMap(variants)})


PRODUCTS: Mapping[str, FrozenMap] = FrozenMap({str(n + 11): _product(n) for n in range(len(_TYPES))})

FIRST_NAMES = tuple(
    "Ada Ben Cleo Dario Edith Femi Grace Hugo Ines Jonas Kira Leo Mona Nils Olga Pavel Quinn Rosa Sven Tara Uma Victor "
    "Wanda Yusef Zoe Arno Bea Cyril Dora Emil".split()
)
LAST_NAMES: Mapping[str, tuple[str, ...]] = {
    "train": tuple(
        "Abbott Barlow Carver Dalton Ellery Foster Garner Holloway Irving Jarvis Keller Lambert Marsh Norwood Osborn "
        "Parrish Quigley Ramsey Sutton Thorne Underhill Vance Walton Yates Zeller Archer Benson Calder Draper".split()
    ),
    "dev": tuple("Ashby Boswell Crane Dunmore Easton Finch Granger Hartley Ingram Jessup Kirby Langley".split()),
    "sealed": tuple("Aldous Brandt Corwin Dexter Elwood Farrow Gilmore Hobart Ivers Kendall Loomis Merritt".split()),
}
# The first digit of an order's number.
ORDER_DIGITS: Mapping[str, str] = {"train": "12345", "dev": "67", "sealed": "89"}
STREETS = tuple("Elm Road/Mill Lane/Oak Street/Park Avenue/River Walk/Station Road/Hill Street/Lake Drive".split("/"))
# City, state and the first three digits of its zip codes.
CITIES = (
    *(("Salem", "OR", "973"), ("Dayton", "OH", "454"), ("Boise", "ID", "837"), ("Tulsa", "OK", "741")),
    *(("Mobile", "AL", "366"), ("Fresno", "CA", "937"), ("Albany", "NY", "122"), ("Macon", "GA", "312")),
)
STATUSES = ("pending", "processed", "delivered", "cancelled")
SOURCES = ("credit_card", "paypal", "gift_card")
BRANDS = ("visa", "mastercard")
