"""How customers word what they want. Every wording belongs to one split.

In a wording `{order}`, `{item}`, `{variant}`, `{payment}`, `{reason}`, `{address}` stand for what is said of a slot:
its value, or words that leave it open.
"""

from __future__ import annotations

from collections.abc import Mapping

SPLITS = ("train", "dev", "sealed")
# Family → wordings: the first half is for train, of the rest half for dev and half for sealed.
REQUESTS: Mapping[str, tuple[str, ...]] = {
    "cancel": (
        "Please cancel {order}.{reason}",
        "I want to cancel {order}.{reason}",
        "Can you cancel {order} for me?{reason}",
        "{order} should be cancelled.{reason}",
        "I would like {order} called off.{reason}",
        "Could {order} be cancelled, please?{reason}",
        "Kindly call off {order}.{reason}",
        "There is {order} that has to be cancelled.{reason}",
    ),
    "return": (
        "I want to return {item} from {order}.{payment}",
        "Please take back {item} from {order}.{payment}",
        "I would like to send back {item} of {order}.{payment}",
        "Can I return {item} from {order}?{payment}",
        "I am not keeping {item} from {order}, I want to return it.{payment}",
        "I need to give back {item} out of {order}.{payment}",
        "How do I return {item}? It came with {order}.{payment}",
        "Set up a return of {item} from {order}, please.{payment}",
    ),
    "exchange": (
        "I want to exchange {item} from {order} for {variant}.{payment}",
        "Please swap {item} from {order} for {variant}.{payment}",
        "Can you exchange {item} of {order} for {variant}?{payment}",
        "I would like {variant} in exchange for {item} from {order}.{payment}",
        "I got {item} with {order} and would rather have {variant}.{payment}",
        "Could I trade {item} from {order} for {variant}?{payment}",
        "{order} has arrived, but please exchange {item} for {variant}.{payment}",
        "Let me swap {item} that came with {order} for {variant}.{payment}",
    ),
    "modify_items": (
        "Please change {item} in {order} to {variant}.{payment}",
        "I want to change {item} in {order} to {variant}.{payment}",
        "Can you make {item} in {order} {variant}?{payment}",
        "Before {order} ships, change {item} to {variant}.{payment}",
        "I picked the wrong one: {item} in {order} should be {variant}.{payment}",
        "Could {item} of {order} be changed to {variant}?{payment}",
        "Put {variant} in {order} instead of {item}, please.{payment}",
        "For {order} I meant {variant}, not {item}.{payment}",
    ),
    "modify_address": (
        "Please send {order} to {address}.",
        "I want {order} shipped to {address}.",
        "Can you change the address of {order} to {address}?",
        "{order} has to go to {address}.",
        "I have moved, so {order} should go to {address}.",
        "Could {order} be delivered to {address} instead?",
        "Redirect {order} to {address}, please.",
        "The delivery of {order} should be to {address}.",
    ),
    "modify_payment": (
        "Please put {order} on {payment}.",
        "I want to pay for {order} with {payment}.",
        "Can you move {order} to {payment}?",
        "{order} should be charged to {payment}.",
        "I would rather use {payment} for {order}.",
        "Could {payment} be used for {order} instead?",
        "Switch the payment of {order} to {payment}, please.",
        "For {order} I prefer to pay by {payment}.",
    ),
    "status": (
        "What is the status of {order}?",
        "How far along is {order}?",
        "Can you tell me the status of {order}?",
        "Please look up the status of {order}.",
        "I am wondering what state {order} is in.",
        "Has anything happened with {order}? I need its status.",
        "Give me the current status of {order}, please.",
        "Which status does {order} have at the moment?",
    ),
    "paid": (
        "How much did I pay for {order}?",
        "What was the total of {order}?",
        "Can you tell me what {order} cost me?",
        "Please look up the total of {order}.",
        "I need to know the amount paid for {order}.",
        "What did {order} come to in all?",
        "Remind me how much {order} was, please.",
        "Which amount was charged for {order}?",
    ),
    "beyond": (
        "Please place a new order of a garden chair for me.",
        "Give me ten percent off, the shop next door is cheaper.",
        "I want to speak to the manager about your adverts.",
        "Can you repair the zip of my old coat?",
        "Please add gift wrapping to everything I buy.",
        "Order me a second copy of what I bought last year.",
        "I want the delivery fee of last month back.",
        "Do you have a job for my nephew?",
        "Please match the price that I saw elsewhere.",
        "I would like to sell you my used furniture.",
        "Can somebody come and put up my shelves?",
        "Please make my loyalty points count double.",
        "Write a letter to the courier for me, they were rude.",
        "I want to become a reseller of your goods.",
        "Please extend the warranty of my toaster.",
        "Could you hold a parcel until I am back in spring?",
    ),
}
# What is said of who speaks: by name and zip code, by email, or not at all.
BY_NAME: Mapping[str, tuple[str, ...]] = {
    "train": ("I am {name}, zip {zip}.", "This is {name}, zip code {zip}.", "{name} here, zip {zip}."),
    "dev": ("My name is {name} and my zip is {zip}.",),
    "sealed": ("You are speaking with {name}, zip code {zip}.",),
}
BY_EMAIL: Mapping[str, tuple[str, ...]] = {
    "train": ("My email is {email}.", "I am {email}."),
    "dev": ("You know me as {email}.",),
    "sealed": ("My account is under {email}.",),
}
UNKNOWN: Mapping[str, tuple[str, ...]] = {
    "train": ("Hello.", "Hi there."),
    "dev": ("Good morning.",),
    "sealed": ("Good day to you.",),
}
REASONS: Mapping[str, str] = {
    "no longer needed": "I no longer need it.",
    "ordered by mistake": "I ordered it by mistake.",
}
SAID_OF_PAYMENT: Mapping[str, str] = {
    "return": " The refund should go to {}.",
    "exchange": " Use {} for the difference.",
    "modify_items": " Use {} for the difference.",
}
# What customers say to a question, to a call that they are to confirm, and to news.
PUZZLED, ONE_AT_A_TIME, NO_IDEA = "What do you mean?", "One thing at a time, please.", "I have nothing to say on that."
YES, NO, WAITING = "Yes.", "No, that is not what I want.", "I am still waiting for what I asked for."


def requests(family: str, split: str) -> tuple[tuple[str, str], ...]:
    """The wordings of a family that belong to a split, each with its name."""
    every = REQUESTS[family]
    half, rest = len(every) // 2, len(every) // 4
    first, last = {"train": (0, half), "dev": (half, half + rest), "sealed": (half + rest, len(every))}[split]
    return tuple((f"{family}/{at}", every[at]) for at in range(first, last))
