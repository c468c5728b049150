"""The ask-or-act problem with a known optimum: families, calls, the simulated user, costs, and what an episode did.

Environment `clarify` and reward `utility` both need these, so they stand here once.
"""
