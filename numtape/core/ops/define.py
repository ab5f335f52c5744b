"""Elementwise ops out of one line: the record, the function that records it, and its text."""

from __future__ import annotations

from typing import Any

from ..log.op import ELEMENTWISE, defop
from ..log.record import Recorder, binary, unary
from . import rules

# For each rule the dtypes that it takes, whether it gives bools, and which dtypes are an error.
_NUMBERS = "float32, float64 or integers"
_FLOATS = "float32 or float64"
_TEXTS: dict[Any, tuple[str, bool, str]] = {
    rules.same: ("of any dtype", False, ""),
    rules.number: (_NUMBERS, False, "the dtype is bool"),
    rules.floating: (_FLOATS, False, "the dtype is not of floats"),
    rules.integer: ("integers", False, "the dtype is not of integers"),
    rules.boolean: ("bool", True, "the dtype is not bool"),
    rules.compared: ("of any dtype", True, ""),
    rules.ordered: (_NUMBERS, True, "the dtype is bool"),
    rules.tested: (_FLOATS, True, "the dtype is not of floats"),
}


def unary_op(
    name: str, body: str, vjp: Any = None, spec: Any = rules.floating, argument: str = "x",
    doc: str = "", **more: Any,
) -> Recorder:  # fmt: skip
    """The function that records an elementwise op of one operand; ``more`` goes to `defop`.

    Args:
      name: The registered name.
      body: The scalar expression in x.
      vjp: Gives the operand's adjoint.
      spec: The rule for shape and dtype.
      argument: TensorFlow's name for the operand.
      doc: The docstring but for arguments, result and errors; then an example.
      **more: See `defop`.
    """
    op = defop(name, ELEMENTWISE, 1, spec, body=body, vjp=vjp, **more)
    return _public(unary(op), argument, spec, doc)


def binary_op(
    name: str, body: str, vjp: Any = None, spec: Any = rules.number, arguments: str = "x y",
    doc: str = "", **more: Any,
) -> Recorder:  # fmt: skip
    """The function that records an elementwise op of two operands; see `unary_op`."""
    op = defop(name, ELEMENTWISE, 2, spec, body=body, vjp=vjp, **more)
    return _public(binary(op), arguments, spec, doc)


def _public(function: Any, arguments: str, spec: Any, doc: str) -> Recorder:
    """The function, documented, its first parameters under TensorFlow's names for them.

    They are renamed in the code object: a wrapper would cost a frame an op.
    """
    code = function.__code__
    names = arguments.split()
    function.__code__ = code.replace(co_varnames=(*names, *code.co_varnames[len(names) :]))
    notes = function.__annotations__
    function.__annotations__ = {
        **dict.fromkeys(names, "Any"), "name": notes["name"], "return": notes["return"],
    }  # fmt: skip
    function.__doc__ = _text(names, spec, doc) if doc else (
        f"{function.op.name}, elementwise: ``{function.op.body}``."
    )
    found: Recorder = function
    return found


def _text(names: list[str], spec: Any, doc: str) -> str:
    """A docstring: what the rule says stands between the text and the example."""
    text, _, example = doc.strip().partition(">>>")
    takes, bools, bad = _TEXTS[spec]
    first, *others = names
    arguments = f"{first}: A tensor ({takes}), or a number, list or array."
    result, misfits = f"the shape of ``{first}``", bad
    if others:
        arguments += f"""
      {others[0]}: Another of the same dtype, whose shape broadcasts with the first one's. What is
        no tensor takes the dtype of the other."""
        result = "the shape to which both broadcast"
        misfits = f"{bad}{', or ' if bad else ''}dtypes differ, or shapes do not broadcast"
    raises = f"""
    Raises:
      InvalidArgumentError: If {misfits}.
"""
    return f"""{text.rstrip()}

    Args:
      {arguments}
      name: Not used.

    Returns:
      A tensor of {result}{" and of dtype bool" if bools else " and of the same dtype"}.
{raises if misfits else ""}
    Example:
      >>>{example.replace(chr(10) + "    ", chr(10) + "      ")}
"""


def named(functions: dict[str, Any], module: str) -> None:
    """Give the functions that a module made the names that they have there."""
    for name, function in functions.items():
        if hasattr(function, "op") and function.__name__ == "record":
            function.__name__, function.__qualname__ = name.rstrip("_"), name
            function.__module__ = module
