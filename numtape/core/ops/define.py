"""Definition of elementwise ops: the op, the function that records it, and its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np

from ..log.op import ARRAY, ELEMENTWISE, SpecRule, defop
from ..log.record import Binary, Recorder, Unary, binary, ternary, unary
from . import rules

Array = np.ndarray[Any, Any]
_F = TypeVar("_F", bound=Callable[..., Any])

# For each rule: the dtypes that it accepts, whether the result is bool, and the dtypes it rejects.
_NUMBERS = "floats, complex numbers or integers"
_REALS, _FLOATS = "floats or integers", "floats"
_RULE_TEXTS: dict[Any, tuple[str, bool, str]] = {
    rules.same_dtype: ("of any dtype", False, ""),
    rules.number: (_NUMBERS, False, "the dtype is bool"),
    rules.magnitude: (_NUMBERS, False, "the dtype is bool"),
    rules.real: (_REALS, False, "the dtype is bool or complex"),
    rules.analytic: (
        "floats or complex numbers",
        False,
        "the dtype is not of floats or complex numbers",
    ),
    rules.floating: (_FLOATS, False, "the dtype is not of floats"),
    rules.integer: ("integers", False, "the dtype is not of integers"),
    rules.boolean: ("bool", True, "the dtype is not bool"),
    rules.compare: ("of any dtype", True, ""),
    rules.order: (_REALS, True, "the dtype is bool or complex"),
    rules.float_test: (_FLOATS, True, "the dtype is not of floats"),
}


def unary_op(
    name: str,
    body: str,
    vjp: Callable[..., Any] | None = None,
    spec: SpecRule = rules.floating,
    argument: str = "x",
    doc: str = "",
    **options: Any,
) -> Unary:
    """Define an elementwise op of one operand and return the function that records it.

    Args:
      name: TensorFlow's name of the op, which errors show.
      body: The scalar expression in x.
      vjp: ``vjp(g, y, x)`` returns a tuple of the operand's adjoint; see `defop`.
      spec: The rule for shape and dtype.
      argument: TensorFlow's name for the operand.
      doc: The summary and an example. Args, Returns and Raises are inserted between them.
      **options: Further arguments of `defop`.
    """
    op = defop(name, ELEMENTWISE, 1, spec, body=body, vjp=vjp, **options)
    return cast(Unary, _finish_recorder(unary(op), argument, spec, doc))


def binary_op(
    name: str,
    body: str,
    vjp: Callable[..., Any] | None = None,
    spec: SpecRule = rules.real,
    arguments: str = "x y",
    doc: str = "",
    **options: Any,
) -> Binary:
    """Define an elementwise op of two operands; see `unary_op`."""
    op = defop(name, ELEMENTWISE, 2, spec, body=body, vjp=vjp, **options)
    return cast(Binary, _finish_recorder(binary(op), arguments, spec, doc))


def host_op(
    name: str,
    function: str | Callable[..., Any],
    vjp: Callable[..., Any] | None = None,
    spec: SpecRule = rules.floating,
    arguments: str = "x",
    doc: str = "",
    **options: Any,
) -> Recorder:
    """Define an elementwise op that NumPy or SciPy computes; return the function that records it.

    Operands broadcast; adjoints are summed over the broadcast axes, as for every op.

    Args:
      name: TensorFlow's name of the op, which errors show.
      function: The location of a ufunc, such as ``"scipy.special.gammaln"``, which is imported when
        first needed and computes in float64. Or a function of the operands' arrays that returns an
        array that broadcasts to the result; it is converted to the dtype of the result.
      vjp: Returns the adjoint of each operand, or None; see `defop`.
      spec: The rule for shape and dtype.
      arguments: TensorFlow's names for the operands, one to three.
      doc: As for `unary_op`.
      **options: Further arguments of `defop`.
    """
    arity = len(arguments.split())
    compute = (
        _make_ufunc_compute(function) if isinstance(function, str) else _make_compute(function)
    )
    op = defop(
        name,
        ARRAY,
        arity,
        spec,
        compute=compute,
        vjp=vjp,
        on_host=True,
        elementwise=True,
        **options,
    )
    result = unary(op) if arity == 1 else binary(op) if arity == 2 else ternary(op)
    return _finish_recorder(result, arguments, spec, doc)


def _make_ufunc_compute(place: str) -> Callable[..., None]:
    module, _, name = place.rpartition(".")

    @cache
    def value() -> Any:
        return getattr(import_module(module), name)

    def compute(out: Array, *operands: Array) -> None:
        value()(*operands, out=out, dtype=np.float64, casting="same_kind")

    return compute


def _make_compute(function: Callable[..., Any]) -> Callable[..., None]:
    def compute(out: Array, *operands: Array) -> None:
        out[...] = function(*operands)

    return compute


def _finish_recorder(function: Any, arguments: str, spec: SpecRule, doc: str) -> Recorder:
    """Document a recorder and give its parameters TensorFlow's names.

    Parameters are renamed in the code object: a wrapper would cost a frame for each op.
    """
    code = function.__code__
    names = arguments.split()
    function.__code__ = code.replace(co_varnames=(*names, *code.co_varnames[len(names) :]))
    notes = function.__annotations__
    function.__annotations__ = {
        **dict.fromkeys(names, "TensorLike"),
        "name": notes["name"],
        "return": notes["return"],
    }
    function.__doc__ = (
        _make_docstring(names, spec, doc)
        if doc
        else (f"{function.op.name}, elementwise: ``{function.op.body or 'on the host'}``.")
    )
    result: Recorder = function
    return result


def _make_docstring(names: list[str], spec: SpecRule, doc: str) -> str:
    """Return the docstring: the text, the sections that follow from the rule, and the example."""
    text, _, example = doc.strip().partition(">>>")
    accepted, is_bool, rejected = _RULE_TEXTS[spec]
    first, *others = names
    arguments = f"{first}: A tensor ({accepted}), or a number, list or array."
    shape, errors = f"the shape of ``{first}``", rejected
    for other in others:
        arguments += f"""
      {other}: Another of the same dtype, whose shape broadcasts with the first one's. An operand
        that is not a tensor takes the dtype of the other."""
    if others:
        shape = f"the shape to which {'both' if len(others) == 1 else 'all'} broadcast"
        errors = f"{rejected}{', or ' if rejected else ''}dtypes differ, or shapes do not broadcast"
    raises = f"""
    Raises:
      InvalidArgumentError: If {errors}.
"""
    return f"""{text.rstrip()}

    Args:
      {arguments}
      name: Not used.

    Returns:
      A tensor of {shape}{" and of dtype bool" if is_bool else " and of the same dtype"}.
{raises if errors else ""}
    Example:
      >>>{example.replace(chr(10) + "    ", chr(10) + "      ")}
"""


def name_functions(functions: dict[str, Any], module: str) -> None:
    """Set the ``__name__`` and ``__module__`` of the recorders that a module defines."""
    for name, function in functions.items():
        if hasattr(function, "op") and function.__name__ == "record":
            function.__name__, function.__qualname__ = name.rstrip("_"), name
            function.__module__ = module


def document(text: str, place: str = "<arguments>") -> Callable[[_F], _F]:
    """Return a decorator that replaces ``place`` in a docstring by a text that functions share.

    The text is indented like a docstring. (Python 3.13 removes the indentation of docstrings.)
    """
    lines = "\n".join(line[4:] for line in text.strip("\n").splitlines())

    def insert(function: _F) -> _F:
        if function.__doc__ is not None:
            function.__doc__ = inspect.cleandoc(function.__doc__).replace(place, lines)
        return function

    return insert
