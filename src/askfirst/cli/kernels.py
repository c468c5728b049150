"""How many kernels oneDNN keeps for shapes of products that it has met.

By itself 1,024 in each of two caches: with episodes of any length that is gigabytes (docs/performance.md, Memory). Both
are read at the first product; processes that a command starts inherit them.
"""

from __future__ import annotations

import os

KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}


def bound_kernels() -> None:
    """Set what nobody has set."""
    for name, most in KERNELS.items():
        os.environ.setdefault(name, most)
