"""Arithmetic by Python's rules, within bounds, whatever is given."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from askfirst.retail.arithmetic import DEEPEST, LONGEST, ArithmeticFailure, evaluated


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        ("  1", "1.0"),
        ("1/3", "0.33"),
        ("2.675", "2.67"),
        ("0.125", "0.12"),
        ("-0.001", "-0.0"),
        ("7//2 - 2**3*(1 - .5)", "-1.0"),
        ("2**-1", "0.5"),
        ("+--3", "3.0"),
        ("1**9999999", "1.0"),
        ("(-1)**99999", "-1.0"),
        ("0**99999", "0.0"),
        ("10**400 // 10**399", "10.0"),
        ("12345678901234567890", "1.2345678901234567e+19"),
        ("1" + "0" * 400 + ".0", "inf"),
        ("1+" * DEEPEST + "1", f"{DEEPEST + 1}.0"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert evaluated(expression) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1e3", "invalid characters in expression"),
        ("10 % 3", "invalid characters in expression"),
        ("\t1", "invalid characters in expression"),
        ("٣", "invalid characters in expression"),
        ("1/0", "division by zero"),
        ("0.0**-1", "0.0 cannot be raised to a negative power"),
        ("", "invalid syntax"),
        ("(1", "was never closed"),
        ("()", "not 'tuple'"),
        ("(-8)**0.5", "not 'complex'"),
        ("10**400", "int too large to convert to float"),
        ("10.0**400", "out of range"),
        ("...", "expression is no arithmetic"),
        ("2(3)", "expression is no arithmetic"),
        ("9**9**9", "number is too large"),
        ("(2**4000)*(2**4000)", "number is too large"),
        ("(-2)**(2**60)", "number is too large"),
        ("1+" * (DEEPEST + 1) + "1", "nested too deeply"),
        ("-" * (LONGEST - 1) + "1", "nested too deeply"),
        ("1" * (LONGEST + 1), f"longer than {LONGEST} characters"),
        ("(" * 450 + "1" + ")" * 450, "nested"),
    ],
)
def test_refusals(expression: str, message: str) -> None:
    with pytest.raises(ArithmeticFailure, match=message):
        evaluated(expression)


def applied(left: tuple[str, float], op: str, right: tuple[str, float]) -> tuple[str, float]:
    (one, a), (other, b) = left, right
    assume(op in "+-*" or b != 0)
    value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0, "//": a // b if b else 0}[op]
    return f"({one}) {op} ({other})", value


NUMBERS = st.integers(0, 10**6).map(lambda n: (str(n), n)) | st.integers(0, 10**6).map(
    lambda n: (f"{n / 100:.2f}", n / 100)
)
SUMS: st.SearchStrategy[tuple[str, float]] = st.recursive(
    NUMBERS, lambda inner: st.builds(applied, inner, st.sampled_from(["+", "-", "*", "/", "//"]), inner), max_leaves=5
)


@settings(max_examples=25)
@given(SUMS)
def test_a_built_expression_has_the_value_it_was_built_with(built: tuple[str, float]) -> None:
    text, value = built
    assert evaluated(text) == str(round(float(value), 2))


@settings(max_examples=50)
@given(st.text(alphabet="0123456789+-*/(). ", max_size=40) | st.text(max_size=20))
@example("9" * 300 + "**" + "9" * 300)
@example("**".join(["9"] * 300))
def test_anything_is_a_number_or_a_refusal_and_takes_no_time(expression: str) -> None:
    began = time.process_time()
    with contextlib.suppress(ArithmeticFailure):
        float(evaluated(expression))
    assert time.process_time() - began < 0.5
