"""Backend `tinker`: models behind any service of the Tinker API, such as `askfirst serve tinker`.

The SDK reads TINKER_BASE_URL and TINKER_API_KEY.
"""

from __future__ import annotations

from askfirst.backends.tinker.policy import TinkerPolicy
from askfirst.policy import ModelSpec, Policy


def open_policy(spec: ModelSpec, seed: int) -> Policy:
    """A fresh adapter, drawn from `seed`, of the base model that the service knows by the name in `spec`.

    Raises InputError where no service answers, and for a model or an adapter that it does not offer.
    """
    return TinkerPolicy(spec, seed)
