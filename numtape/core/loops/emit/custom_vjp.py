"""Calls of kernels that have a custom VJP: their text in both sweeps.

The forward sweep calls the function, and keeps its arguments and its result. The reverse sweep
calls the rule with the adjoint of the result, the result and the arguments, and adds the results of
the rule to the adjoints of the arguments. Neither function is differentiated itself. Start with
`back`.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NoReturn

from ....errors import KernelError
from ..analysis.callees import CalleeFrame, Variant
from ..analysis.types import INTS
from ..ir import Body, Call, address, shadow
from .results import Out, outputs_of, words
from .text import NO_ROOM, RULE, failure_status, size_text, take_text


def keep_lines(call: Call, body: Body, k: int, active: Set[str], written: Set[str]) -> list[str]:
    """Return the forward sweep's lines after a call that creates an array.

    They keep the array, reserve space for its adjoint, and copy it if it is written to later.
    """
    name, array = call.array, body.arrays[call.array]
    count = 2 + array.ndim  # words of the result, at the top of the stack
    axes = [f"{name}_n{i}" for i in range(array.ndim)]
    lines = ["SP = MARK[0]", f"{address(name)} = int64_at(SP - {8 * count})[0]"]
    for i, axis in enumerate(axes):
        lines.append(f"{axis} = int64_at(SP - {8 * (array.ndim - i)})[0]")
    size = f"({' * '.join(axes)})"
    lines += [
        f"if 16.0 * {size} + 64.0 > END - SP: return {failure_status(NO_ROOM, call.line)}",
        f"{shadow(name)} = SP",
    ]
    if name in active:
        lines += _fill_lines(array.dtype, shadow(name), size, "0", k, call.line)
    if name in written:
        element = f"{array.dtype}_at({address(name)})[K{k}]"
        lines += [f"Y{k} = SP", *_fill_lines(array.dtype, f"Y{k}", size, element, k, call.line)]
    return lines


def _fill_lines(dtype: str, at: str, size: str, value: str, k: int, line: int) -> list[str]:
    return [
        f"for K{k} in range({size}):",
        f"    {dtype}_at({at})[K{k}] = {value}",
        take_text(size_text(size, dtype), [line]),
    ]


def back(
    call: Call,
    frame: CalleeFrame,
    rule: Variant,
    body: Body,
    k: int,
    active: Set[str],
    recomputes: bool,
    called: bool,
) -> list[str]:
    """Return the reverse sweep's lines: the call of the rule, and the sums of adjoints.

    A ``called`` function returns where its stack begins, or minus a status.
    """
    lines: list[str] = []
    result_array = body.arrays.get(call.array)
    if result_array is None:
        dtype = body.names[call.out]
        value = f"np.float32(d_{call.out})" if dtype == "float32" else f"d_{call.out}"
        lines += [f"{frame.read(dtype, frame.seed)} = {value}", f"d_{call.out} = 0.0"]
    inputs = []
    for kind, j, dtype, axis in rule.face.parameters:
        cell = frame.result if j else frame.seed
        if j > 1:
            inputs.append(frame.rule_inputs[kind, j - 2, axis])
        elif kind == "number":
            inputs.append(frame.read(dtype, cell))
        elif kind == "array":
            inputs.append(f"{dtype}_at({frame.read('int64', cell)})")
        else:
            inputs.append(frame.read("int64", frame.axes[axis]))
    mark, end = frame.read("int64", frame.mark), frame.read("int64", frame.end)
    cells = f"{frame.at('float64', frame.out)}, {frame.at('int64', frame.mark)}"
    lines += [
        f"{mark} = 0",
        rule.call(inputs, f"F{k} + {8 * frame.words}, {end}, {cells}"),
        f"if STATUS: return {'-STATUS' if called else 'STATUS'}",
        f"T{k} = {mark} - {8 * words(rule.body)}",
    ]
    results = outputs_of(rule.body, rule.activity)
    for j, place in enumerate(_places(call, rule.body)):
        name = call.names[j]
        array = body.arrays.get(name)
        if place is None or (array.dtype if array else body.names.get(name, "bool")) in INTS:
            continue
        _check(call, j, results[place], body, rule.body)
        if name not in active:
            continue
        if name in body.arrays:
            lines += _add_lines(call, j, results[place], frame, body, k)
        elif rule.body.result:
            lines.append(f"d_{name} += {frame.read('float64', frame.out)}")
        else:
            lines.append(f"d_{name} += {_read(results[place], k)}[0]")
    if result_array is not None and recomputes:
        size = " * ".join(frame.read("int64", cell) for cell in frame.axes)
        lines += [
            f"for K{k} in range({size}):",
            f"    {result_array.dtype}_at({frame.read('int64', frame.seed)})[K{k}] = 0",
        ]
    return lines


def _read(out: Out, k: int) -> str:
    """Return a pointer to a word of a rule's results, as text."""
    return f"{out.dtype}_at(T{k} + {8 * out.word})"


def _add_lines(call: Call, j: int, out: Out, frame: CalleeFrame, body: Body, k: int) -> list[str]:
    """Return lines that check an array's shape and add it to an argument's adjoint."""
    name = call.names[j]
    if out.argument >= 0:  # the rule returns one of its arguments
        kind = "array", out.argument - 2, 0
        source = (
            frame.rule_inputs[kind]
            if out.argument > 1
            else (
                f"{out.dtype}_at({frame.read('int64', (frame.seed, frame.result)[out.argument])})"
            )
        )
        if out.argument > 1:
            lengths = [frame.rule_inputs["axis", out.argument - 2, i] for i in range(out.ndim)]
        else:
            lengths = [frame.read("int64", cell) for cell in frame.axes]
    else:
        source = f"{out.dtype}_at(int64_at(T{k} + {8 * out.word})[0])"
        lengths = [f"int64_at(T{k} + {8 * (out.word + 2 + i)})[0]" for i in range(out.ndim)]
    own_lengths = [frame.rule_inputs["axis", j, i] for i in range(out.ndim)]
    lines = [
        f"if {own_length} != {length}: return {failure_status(RULE, call.line)}"
        for own_length, length in zip(own_lengths, lengths, strict=True)
        if own_length != length
    ]
    array = body.arrays[name]
    adjoint = f"d_{name}"
    if not array.argument:
        adjoint = f"{array.dtype}_at({frame.read('int64', frame.adjoint_addresses[j])})"
    return [
        *lines,
        f"for K{k} in range({' * '.join(own_lengths)}):",
        f"    {adjoint}[K{k}] += {source}[K{k}]",
    ]


def _places(call: Call, rule: Body) -> list[int | None]:
    """Return the result of a rule that is the adjoint of each argument; None for no adjoint."""
    form = rule.form if isinstance(rule.form, tuple) else (rule.form,)
    if rule.form is None or len(form) != len(call.names) or any(isinstance(x, tuple) for x in form):
        count = 0 if rule.form is None else len(form)
        _refuse(
            rule,
            f"a rule that gives {count} of {len(call.names)} adjoints",
            "Return one for each argument, and None for an int.",
        )
    return list(form)


def _check(call: Call, j: int, out: Out, body: Body, rule: Body) -> None:
    """Raise KernelError if an adjoint has another rank than its argument, or an int dtype."""
    ndim = len(call.axes[j]) if call.names[j] in body.arrays else -1
    if out.ndim != ndim:
        kinds = ["a number" if n < 0 else f"an array of {n} axes" for n in (out.ndim, ndim)]
        _refuse(
            rule,
            f"{kinds[0]} as the adjoint of argument {j}, {kinds[1]}",
            "Return what has the argument's shape.",
        )
    if out.dtype in INTS and ndim >= 0:
        _refuse(rule, f"an adjoint of dtype {out.dtype} for argument {j}", "Return floats.")


def _refuse(rule: Body, what: str, way: str) -> NoReturn:
    raise KernelError(what, rule.file, rule.line, way)
