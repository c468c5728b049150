"""Arithmetic in Python's notation and by Python's rules, through the syntax tree and within bounds.

Texts of errors are those of CPython 3.11 as far as they can be had without running anything.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

Number = int | float
LONGEST = 1000  # characters
DEEPEST = 100  # levels of the tree; a sum of n terms has n
WIDEST = 4096  # bits of a whole number; a double ends at 1024
ALLOWED = frozenset("0123456789+-*/(). ")
BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number | complex]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


class ArithmeticFailure(ValueError):
    """The expression has no value; the message says why."""


def evaluated(expression: str) -> str:
    """The value of an expression, rounded to 2 places (half to even, of the binary value), as Python writes a float.

    Raises ArithmeticFailure for what is no arithmetic, for what has no value, and beyond the bounds.
    """
    if not ALLOWED.issuperset(expression):
        raise ArithmeticFailure("invalid characters in expression")
    if len(expression) > LONGEST:
        raise ArithmeticFailure(f"expression is longer than {LONGEST} characters")
    try:
        tree = ast.parse(expression.lstrip(), filename="<string>", mode="eval")
        return str(round(float(_value(tree.body, 0)), 2))
    except (SyntaxError, ArithmeticError) as error:
        raise ArithmeticFailure(str(error)) from error
    except (RecursionError, MemoryError) as error:  # the parser's own bounds
        raise ArithmeticFailure("expression is nested too deeply") from error


def _value(node: ast.expr, depth: int) -> Number:
    if depth > DEEPEST:
        raise ArithmeticFailure("expression is nested too deeply")
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, depth + 1)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _applied(type(op), _value(left, depth + 1), _value(right, depth + 1))
        case ast.Tuple():
            raise ArithmeticFailure("float() argument must be a string or a real number, not 'tuple'")
    raise ArithmeticFailure("expression is no arithmetic")


def _applied(op: type[ast.operator], left: Number, right: Number) -> Number:
    power = op is ast.Pow and isinstance(left, int) and isinstance(right, int)
    if power and (int(left).bit_length() - 1) * right > WIDEST:  # it has at least so many bits
        raise ArithmeticFailure("number is too large")
    found = BINARY[op](left, right)
    if isinstance(found, complex):
        raise ArithmeticFailure("float() argument must be a string or a real number, not 'complex'")
    if isinstance(found, int) and found.bit_length() > WIDEST:
        raise ArithmeticFailure("number is too large")
    return found
