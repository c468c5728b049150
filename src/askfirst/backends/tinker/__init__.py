"""Backend `tinker`: models behind any service of the Tinker API, such as `askfirst serve tinker`.

The SDK reads TINKER_BASE_URL and TINKER_API_KEY.
"""

from __future__ import annotations

from askfirst.errors import InputError
from askfirst.policy import ModelSpec, Policy


def open_policy(spec: ModelSpec, seed: int) -> Policy:
    """A fresh adapter, drawn from `seed`, of the base model that the service knows by the name in `spec`.

    Raises InputError where the SDK is missing or no service answers, and for a model or an adapter that it does not
    offer.
    """
    try:
        # Here, since the name of the backend is known, and listed, without the SDK.
        from askfirst.backends.tinker.policy import TinkerPolicy
    except ModuleNotFoundError as error:
        raise InputError(f"backend tinker needs {error.name}", hint="pip install 'askfirst[tinker,hf]'") from error
    return TinkerPolicy(spec, seed)
