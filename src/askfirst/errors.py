"""Every error raised on purpose, as one tree, with the exit code each one means.

AskfirstError
├── InputError      exit 2   something the user gave: a plan, a suite, a model name
│   ├── PlanError
│   ├── SuiteError
│   ├── ModelError
│   ├── SplitError
│   └── PluginError
├── Refusal         exit 1   an honest no: the rules were applied and the answer is no
│   ├── GateFailed
│   └── NothingSelected
├── Fault           exit 3   ours, or a plugin's, or the machine's: never the policy's
│   ├── RewardFault
│   ├── JudgeFault
│   ├── EnvironmentFault
│   ├── BackendFault
│   └── StorageFault
└── Interrupted     exit 130 the user pressed Ctrl-C; the message says how to go on
"""

from __future__ import annotations


class AskfirstError(Exception):
    """Base of the tree. `where` is a file, line or field; `hint` says what to do next."""

    exit_code = 3

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message, where, hint)
        self.message, self.where, self.hint = message, where, hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.where, self.hint))

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  → {self.hint}" if self.hint else text


def _rebuild(kind: type[AskfirstError], message: str, where: str, hint: str) -> AskfirstError:
    return kind(message, where=where, hint=hint)


class InputError(AskfirstError, ValueError):
    """The user's input is wrong; nothing was started."""

    exit_code = 2


class PlanError(InputError):
    """A plan does not parse, does not validate, or contradicts itself."""


class SuiteError(InputError):
    """A fixture suite is missing, empty or malformed."""


class ModelError(InputError):
    """A model name, folder or file does not resolve to a model."""


class SplitError(InputError):
    """An unknown split, or a sealed one asked for without its key."""


class PluginError(InputError):
    """A plugin name does not resolve, or its module lacks what its kind must define."""


class Refusal(AskfirstError):
    """The rules were applied and the answer is no."""

    exit_code = 1


class GateFailed(Refusal):
    """A gate measured something outside its bound, so the run does not start or go on."""


class NothingSelected(Refusal):
    """No checkpoint may go on to the sealed split."""


class Fault(AskfirstError):
    """Not the user's doing and not the policy's lesson."""


class RewardFault(Fault):
    """A reward raised or returned something outside its declared bounds."""


class JudgeFault(Fault):
    """A judge raised, or returned something that is no judgement."""


class EnvironmentFault(Fault):
    """An environment raised or broke its contract."""


class BackendFault(Fault):
    """A backend raised or returned something malformed."""


class StorageFault(Fault, OSError):
    """The disk is full, read-only or unreadable; earlier files are intact."""


class Interrupted(AskfirstError):
    """Ctrl-C was pressed; what was committed stays."""

    exit_code = 130
