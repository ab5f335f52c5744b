"""From a function to the source of its sweeps, step by step. Start reading here."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from ...errors import KernelError
from .analysis import counters
from .analysis.activity import Activity, analyse
from .analysis.callees import MAX_CALL_DEPTH, Interface
from .analysis.types import INTS, UNSIGNED, infer, of
from .emit.checkpointing import outside
from .emit.forward import Forward
from .emit.results import Out, leave_text, outputs_of
from .emit.reverse import Reverse
from .emit.text import DEEP, Text, failure_status
from .frontend.lowering import normal
from .ir import Body, Lines, Raised, calls, is_constant


@dataclass
class LoopProgram:
    """The forward and reverse sweep of a function.

    Attributes:
      source: The text of both sweeps.
      name: The prefix of their names: ``name_forward``, ``name_reverse``, and ``name_gradient``,
        which runs one after the other.
      parameters: Their parameters, as kind, argument number, dtype and axis. Kinds are ``array``,
        ``axis``, ``number``, and ``adjoint`` of an array or number. These are followed by SP, END,
        ``OUT`` and ``MARK`` in the forward sweep, SP and ``SEED`` in the reverse sweep, and all
        five in the gradient.
      written: The numbers of the array arguments that the function writes to.
      result: The dtype of the result if it is one number; "" otherwise.
      file, line: The function's source position.
      standing: Source positions of operations that may fail, by the numbers in statuses.
      raised: The exceptions that the function raises.
      outputs: The results.
      form: The structure of the function's result: an index of ``outputs``, or a tuple.
      functions: The number of variants that are called without inlining: their sweeps are
        ``F_1``, ``R_1`` and so on.
      grows: Whether the reverse sweep needs stack space, because it recomputes calls.
    """

    source: str
    name: str
    parameters: list[tuple[str, int, str, int]]
    written: list[int]
    result: str
    file: str
    line: int
    standing: Lines
    raised: list[Raised] = field(default_factory=list)
    outputs: list[Out] = field(default_factory=list)
    form: Any = None
    functions: int = 0
    grows: bool = False

    @property
    def key(self) -> str:
        """The key of the compiled sweeps."""
        return f"{self.source}\n{self.parameters}\n{self.functions}"


def program(
    function: FunctionType,
    kinds: list[tuple[str, int]],
    argnums: list[int],
    *,
    boundscheck: bool = False,
    divisions: bool = False,
    several: bool = False,
    rule: FunctionType | None = None,
) -> LoopProgram:
    """Generate the sweeps of a function.

    Args:
      function: The differentiated function.
      kinds: The dtype and number of axes of each argument; -1 axes for a number.
      argnums: The numbers of the arguments to differentiate with respect to.
      boundscheck: Whether an index out of bounds is an error.
      divisions: Whether a division by 0 is an error.
      several: Whether the function may return several values and arrays. The reverse sweep can
        then run repeatedly.
      rule: The custom VJP of the function, or None.

    Raises:
      KernelError: If the function cannot be differentiated.
    """
    body = normal(function, kinds, rule=rule)
    infer(body)
    for one in (body, *body.functions.bodies):
        counters.unroll(one)
    result = of(body.result, body.names) if body.result else ""
    if body.form is None or (not several and result in ("", *INTS)):
        raise KernelError(
            f"a derivative: it returns {_describe_results(body)}",
            body.file,
            body.line,
            "Return a float; nt.jacobian takes several results and arrays."
            if body.outputs
            else "Return a float.",
        )
    if several:
        body.result = ""
    activity = analyse(body, [body.parameters[k] for k in argnums])
    face = Interface(body, tuple(kinds), tuple(argnums), activity)
    options = boundscheck, divisions, several
    forward, reverse = f"{body.name}_forward", f"{body.name}_reverse"
    begin = ["DEPTH = 0"] if calls(body) else []
    lines = _sweeps(body, activity, face, (forward, reverse), begin, options, False)
    parameter_text = ", ".join(face.parameter_names)
    lines += [
        f"def {body.name}_gradient({parameter_text}, SP, END, OUT, MARK, SEED):",
        f"    STATUS = {forward}({parameter_text}, SP, END, OUT, MARK)",
        "    if STATUS: return STATUS",
        f"    return {reverse}({parameter_text}, MARK[0], SEED)",
        "",
    ]
    count = 0
    variants = body.functions.variants
    while count < len(variants):  # generating one may add others
        variant = list(variants.values())[count]
        count += 1
        begin = [
            "DEPTH = MARK[0]",
            f"if DEPTH > {MAX_CALL_DEPTH}: return {failure_status(DEEP, variant.body.begin)}",
        ]
        lines += ["", f"# {variant.name}"]
        lines += _sweeps(
            variant.body,
            variant.activity,
            variant.face,
            (f"F_{count}", f"R_{count}"),
            begin,
            options,
            True,
        )
    written = [j for j, name in enumerate(body.parameters) if name in activity.written]
    return LoopProgram(
        "\n".join(lines),
        body.name,
        face.parameters,
        written,
        result,
        body.file,
        body.line,
        body.standing,
        body.raised,
        outputs_of(body, activity),
        body.form,
        count,
        any(call.recompute for one in (body, *body.functions.bodies) for call in calls(one)),
    )


def _sweeps(
    body: Body,
    activity: Activity,
    face: Interface,
    names: tuple[str, str],
    begin: list[str],
    options: tuple[bool, bool, bool],
    called: bool,
) -> list[str]:
    """Return the text of both sweeps of a function.

    The reverse sweep of a ``called`` function returns where its stack begins.
    """
    boundscheck, divisions, several = options
    forward = Forward(body, activity, boundscheck, divisions)
    reverse = Reverse(forward, several, called)
    read = outside(body.nodes, body.result_operands())
    zeros = sorted(
        x
        for x in activity.active
        if x not in body.arrays and not is_constant(x) and (x in body.scalars or x in read)
    )
    forward_text, reverse_text = Text(), Text()
    for line in (*begin, *face.loads, *_initial(body)):
        forward_text.put(line)
    forward_text.lines += forward.lines
    results = [f"OUT[0] = {body.result}"] if body.result else leave_text(body)
    for line in (*results, "MARK[0] = SP", "return 0"):
        forward_text.put(line)
    if called:  # never true, but lets Numba infer the return type of a recursive function
        reverse_text.put("if SP < 0: return SP")
    for line in (*face.loads, *(f"d_{name} = 0.0" for name in zeros), *_initial(body)):
        reverse_text.put(line)
    reverse_text.lines += reverse.lines
    for line in (*face.stores, "return SP" if called else "return 0"):
        reverse_text.put(line)
    parameter_text = ", ".join(face.parameter_names)
    return [
        f"def {names[0]}({parameter_text}, SP, END, OUT, MARK):",
        *forward_text.lines,
        "",
        "",
        f"def {names[1]}({parameter_text}, SP, SEED):",
        *reverse_text.lines,
        "",
        "",
    ]


def _describe_results(body: Body) -> str:
    """Describe a function's result, for an error message."""
    if body.form is None:
        return "nothing"
    if isinstance(body.form, tuple):
        return "a tuple"
    name = body.outputs[0]
    return "an array" if name in body.arrays else f"a number of dtype {of(name, body.names)}"


def _initial(body: Body) -> list[str]:
    """Return lines that initialize the names that the function may leave unassigned."""
    zeros = {"bool": "False", "float32": "np.float32(0)", "float64": "0.0"}
    zeros |= {name: f"np.{name}(0)" for name in UNSIGNED}
    arguments = body.argument_names()
    names = sorted(name for name in body.names if name not in arguments)
    return [
        f"{name} = {zeros.get(body.names[name], '0')}"
        for name in names
        if body.names[name] not in INTS or not name.startswith("_")
    ]
