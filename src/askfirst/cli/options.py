"""Who else is told what a run says: options of `askfirst run` that variables of the environment may hold too.

An address for notices is often a secret, which a variable keeps out of the list of processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from askfirst.errors import InputError

# Option → the variable that may hold the same, several of them with blanks between.
OPTIONS: Mapping[str, str] = {"--track": "ASKFIRST_TRACK", "--notify": "ASKFIRST_NOTIFY"}


def taken(arguments: Sequence[str]) -> list[str]:
    """Arguments of `askfirst run` without --track NAME and --notify URL, which go into the environment.

    Raises InputError where one of them has no value.
    """
    rest, given = [], {variable: os.environ.get(variable, "").split() for variable in OPTIONS.values()}
    left = iter(arguments if arguments[:1] == ["run"] else ())
    for argument in left:
        option, separator, value = argument.partition("=")
        if option not in OPTIONS:
            rest.append(argument)
            continue
        value = value if separator else next(left, "")
        if not value or value.startswith("--"):
            raise InputError(f"{option} wants a value", hint="--track tensorboard, or --notify ntfy://TOPIC")
        given[OPTIONS[option]].append(value)
    os.environ |= {variable: " ".join(values) for variable, values in given.items() if values}
    return rest if arguments[:1] == ["run"] else list(arguments)


def named(option: str) -> list[str]:
    """The values of an option, from the command line and the environment."""
    return os.environ.get(OPTIONS[option], "").split()
