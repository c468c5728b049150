"""Train small language models to ask before they act, and prove whether it worked."""

__version__ = "0.1.0"
