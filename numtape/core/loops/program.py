"""From a function to the source of its sweeps, step by step: start reading here."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from ...errors import KernelError
from .activity import analyse
from .forward import Forward, Text
from .nodes import Body, Raised, address, is_constant, shadow
from .normal import normal
from .outs import Out, left, outs
from .reverse import Reverse
from .store import outside
from .types import INTS, infer, of


@dataclass
class Program:
    """A function's sweeps.

    Attributes:
      source: The text of both.
      name: What their names begin with: ``name_forward``, ``name_reverse``, and ``name_gradient``
        of what does one and then the other.
      parameters: What they take: kinds are ``array``, ``axis`` (with its number), ``number``,
        ``adjoint`` of an array or number; with the argument's number and dtype. Behind these come
        SP, END, ``OUT`` and ``MARK``; of the reverse sweep SP and ``SEED``; of both all five.
      written: Numbers of the arguments that are arrays and written to.
      result: The result's dtype.
      file, line: Where the function stands.
      raised: The exceptions that it raises.
      outs: The results, if there may be several.
      form: How they stand in what the function returns: a place in ``outs``, or a tuple.
    """

    source: str
    name: str
    parameters: list[tuple[str, int, str, int]]
    written: list[int]
    result: str
    file: str
    line: int
    raised: list[Raised] = field(default_factory=list)
    outs: list[Out] = field(default_factory=list)
    form: Any = None

    @property
    def key(self) -> str:
        """What the compiled sweeps depend on."""
        return f"{self.source}\n{self.parameters}"


def program(
    function: FunctionType, kinds: list[tuple[str, int]], wanted: list[int], *,
    boundscheck: bool = False, divisions: bool = False, several: bool = False,
) -> Program:  # fmt: skip
    """The sweeps of a function.

    Args:
      function: What is differentiated.
      kinds: For each argument its dtype, and its number of axes: -1 of a number.
      wanted: The numbers of the arguments whose derivatives are wanted.
      boundscheck: Whether an index out of bounds is an error.
      divisions: Whether a division by 0 is.
      several: Whether it may return several values and arrays. The reverse sweep can then be run
        again and again.
    """
    body = normal(function, kinds)
    infer(body)
    result = of(body.result, body.names) if body.result else ""
    if body.form is None or (not several and result in ("", *INTS)):
        raise KernelError(f"a derivative: it returns {_returned(body)}", body.file, body.line,
                          "Return a float; nt.jacobian takes several results and arrays."
                          if body.outs else "Return a float.")  # fmt: skip
    if several:
        body.result = ""
    activity = analyse(body, [body.parameters[k] for k in wanted])
    forward = Forward(body, activity, boundscheck, divisions)
    reverse = Reverse(forward, several)
    shared, parameters, loads = _parameters(body, kinds)
    for name, array in body.arrays.items():
        if array.addressed:
            loads.append(f"{address(name)} = address_of({name})")
            over = f"address_of(d_{name})" if name in activity.active else "0"
            loads.append(f"{shadow(name)} = {over}")
    adjoints, stores = [], []
    for j, (name, (dtype, ndim)) in enumerate(zip(body.parameters, kinds, strict=True)):
        if ndim >= 0 and name in activity.active:
            adjoints.append(f"d_{name}")
            parameters.append(("adjoint", j, dtype, 0))
        elif j in wanted:
            adjoints.append(f"d_{name}_at")
            stores.append(f"d_{name}_at[0] = d_{name}")
            parameters.append(("adjoint", j, "float64", 0))
    read = outside(body.nodes, body.left())
    zeros = sorted(
        x for x in activity.active if x not in body.arrays and not is_constant(x)
        and (x in body.scalars or x in read)
    )  # fmt: skip
    ahead, back = Text(), Text()
    for line in (*loads, *_initial(body)):
        ahead.put(line)
    ahead.lines += forward.lines
    results = [f"OUT[0] = {body.result}"] if body.result else left(body)
    for line in (*results, "MARK[0] = SP", "return 0"):
        ahead.put(line)
    for line in (*loads, *(f"d_{name} = 0.0" for name in zeros), *_initial(body)):
        back.put(line)
    back.lines += reverse.lines
    for line in (*stores, "return 0"):
        back.put(line)
    taken = ", ".join([*shared, *adjoints])
    source = "\n".join([
        f"def {body.name}_forward({taken}, SP, END, OUT, MARK):",
        *ahead.lines, "", "",
        f"def {body.name}_reverse({taken}, SP, SEED):",
        *back.lines, "", "",
        f"def {body.name}_gradient({taken}, SP, END, OUT, MARK, SEED):",
        f"    STATUS = {body.name}_forward({taken}, SP, END, OUT, MARK)",
        "    if STATUS: return STATUS",
        f"    return {body.name}_reverse({taken}, MARK[0], SEED)", "",
    ])  # fmt: skip
    written = [j for j, name in enumerate(body.parameters) if name in activity.written]
    return Program(source, body.name, parameters, written, result, body.file, body.line,
                   body.raised, outs(body, activity), body.form)


def _returned(body: Body) -> str:
    """What a function returns, in words."""
    if body.form is None:
        return "nothing"
    if isinstance(body.form, tuple):
        return "a tuple"
    name = body.outs[0]
    return "an array" if name in body.arrays else f"a number of dtype {of(name, body.names)}"


def _parameters(
    body: Body, kinds: list[tuple[str, int]]
) -> tuple[list[str], list[tuple[str, int, str, int]], list[str]]:
    """The names of parameters, what they are, and the lines that read numbers."""
    names: list[str] = []
    found: list[tuple[str, int, str, int]] = []
    loads = []
    for j, (name, (dtype, ndim)) in enumerate(zip(body.parameters, kinds, strict=True)):
        if ndim < 0:
            names.append(f"{name}_at")
            found.append(("number", j, dtype, 0))
            loads.append(f"{name} = {name}_at[0]" + (" != 0" if dtype == "bool" else ""))
            continue
        names.append(name)
        found.append(("array", j, dtype, 0))
        for k in range(ndim):
            names.append(f"{name}_n{k}")
            found.append(("axis", j, "", k))
    return names, found, loads


def _initial(body: Body) -> list[str]:
    """What gives names a value that a program may leave without one."""
    zeros = {"bool": "False", "float32": "np.float32(0)", "float64": "0.0"}
    given = body.given()
    names = sorted(name for name in body.names if name not in given)
    return [
        f"{name} = {zeros.get(body.names[name], '0')}" for name in names
        if body.names[name] not in INTS or not name.startswith("_")
    ]  # fmt: skip
